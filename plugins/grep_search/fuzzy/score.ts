const weight = { dense: 0.6, adjacent: 0.2, wordStart: 0.2 }
/** With a threshold that any span reaches, spans over this many times the pattern are not looked at. */
const widest = 10

/**
 * Scores lines by a pattern whose characters stand in them in order: 0.6 · length / span + 0.2 · adjacent pairs / (length − 1) +
 * 0.2 · hits at word starts / length, of the best span; 0 for a line below the threshold. Positions are UTF-16 units.
 */
export function scorer(pattern: string, threshold: number, case_sensitive: boolean): (line: string) => number {
  const fold = (text: string) => (case_sensitive ? text : text.toLowerCase())
  const wanted = fold(pattern)
  const length = wanted.length
  const reachable = threshold - weight.adjacent - weight.wordStart
  // No longer span can reach the threshold.
  const longest = Math.min(
    widest * length,
    reachable > 0 ? Math.floor((weight.dense * length) / reachable + 1e-9) : Infinity,
  )
  const pair = weight.adjacent / Math.max(1, length - 1)
  const startBonus = (text: string, at: number) => (startsWord(text, at) ? weight.wordStart / length : 0)
  return (line) => {
    const text = fold(line)
    // Folding may change the length of a few letters; then starts of words are told by the folded text.
    const original = text.length === line.length ? line : text
    let best = 0
    for (let from = text.indexOf(wanted[0]!); from >= 0; from = text.indexOf(wanted[0]!, from + 1)) {
      best = Math.max(best, spanFrom(from, text, original))
    }
    return best >= threshold - 1e-9 ? best : 0
  }

  /** The best score of a span that begins at `from`. */
  function spanFrom(from: number, text: string, original: string): number {
    const end = Math.min(text.length, from + longest)
    // For the pattern's part so far: the best bonus with its last character at each place; -1 where it cannot stand.
    let bonus = new Float64Array(end - from).fill(-1)
    bonus[0] = startBonus(original, from)
    for (let at = 1; at < length; at++) {
      const next = new Float64Array(end - from).fill(-1)
      let before = -1
      for (let place = at; place < end - from; place++) {
        const last = bonus[place - 1]!
        if (text[from + place] === wanted[at] && (before >= 0 || last >= 0)) {
          next[place] = Math.max(before, last < 0 ? -1 : last + pair) + startBonus(original, from + place)
        }
        before = Math.max(before, last)
      }
      bonus = next
    }
    let best = 0
    for (let place = length - 1; place < end - from; place++) {
      if (bonus[place]! >= 0) best = Math.max(best, (weight.dense * length) / (place + 1) + bonus[place]!)
    }
    return best
  }
}

/** Behind what is no letter or digit, or a capital behind what is none. */
function startsWord(text: string, at: number): boolean {
  const [before = ' ', char = ''] = [text[at - 1], text[at]]
  return (
    (!/[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(char)) || (/\p{Lu}/u.test(char) && !/\p{Lu}/u.test(before))
  )
}
