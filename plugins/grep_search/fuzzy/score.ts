const WEIGHT = { dense: 0.6, adjacent: 0.2, wordStart: 0.2 }
/** Longest span as a multiple of the pattern, for a threshold that any span reaches. */
const MAX_SPAN_FACTOR = 10

/**
 * Creates a scorer of lines that hold the characters of a pattern in order. Score of the best span: 0.6 · length /
 * span + 0.2 · adjacent pairs / (length − 1) + 0.2 · hits at word starts / length; 0 below the threshold. Positions
 * are UTF-16 units.
 */
export function createScorer(pattern: string, threshold: number, case_sensitive: boolean): (line: string) => number {
  const fold = (text: string) => (case_sensitive ? text : text.toLowerCase())
  const wanted = fold(pattern)
  const length = wanted.length
  const reachable = threshold - WEIGHT.adjacent - WEIGHT.wordStart
  // No longer span can reach the threshold.
  const longest = Math.min(
    MAX_SPAN_FACTOR * length,
    reachable > 0 ? Math.floor((WEIGHT.dense * length) / reachable + 1e-9) : Infinity,
  )
  const pair = WEIGHT.adjacent / Math.max(1, length - 1)
  const computeStartBonus = (text: string, at: number) => (isWordStart(text, at) ? WEIGHT.wordStart / length : 0)
  return (line) => {
    const text = fold(line)
    // Folding may change the length of a few letters; then word starts are detected in the folded text.
    const original = text.length === line.length ? line : text
    let best = 0
    for (let from = text.indexOf(wanted[0]!); from >= 0; from = text.indexOf(wanted[0]!, from + 1)) {
      best = Math.max(best, scoreSpan(from, text, original))
    }
    return best >= threshold - 1e-9 ? best : 0
  }

  /** Returns the best score of a span that begins at `from`. */
  function scoreSpan(from: number, text: string, original: string): number {
    const end = Math.min(text.length, from + longest)
    // For each prefix of the pattern: the best bonus with its last character at each position; -1 where impossible.
    let bonus = new Float64Array(end - from).fill(-1)
    bonus[0] = computeStartBonus(original, from)
    for (let at = 1; at < length; at++) {
      const next = new Float64Array(end - from).fill(-1)
      let before = -1
      for (let place = at; place < end - from; place++) {
        const last = bonus[place - 1]!
        if (text[from + place] === wanted[at] && (before >= 0 || last >= 0)) {
          next[place] = Math.max(before, last < 0 ? -1 : last + pair) + computeStartBonus(original, from + place)
        }
        before = Math.max(before, last)
      }
      bonus = next
    }
    let best = 0
    for (let place = length - 1; place < end - from; place++) {
      if (bonus[place]! >= 0) best = Math.max(best, (WEIGHT.dense * length) / (place + 1) + bonus[place]!)
    }
    return best
  }
}

/** Taken from the score of a line that matches only with two neighbouring letters exchanged. */
const EXCHANGE_PENALTY = 0.05

/** Creates a scorer that also accepts one exchange of two neighbouring letters, as in a mistyped word. */
export function createTolerantScorer(
  pattern: string,
  threshold: number,
  case_sensitive: boolean,
): (line: string) => number {
  const [exact, ...others] = listSpellings(pattern).map((spelling, index) =>
    createScorer(spelling, index === 0 ? threshold : threshold + EXCHANGE_PENALTY, case_sensitive),
  )
  return (line) => {
    const score = exact!(line)
    if (score > 0) return score
    const best = Math.max(0, ...others.map((scoreLine) => scoreLine(line)))
    return best === 0 ? 0 : best - EXCHANGE_PENALTY
  }
}

/** Lists a pattern, and it with each pair of neighbouring letters or digits exchanged. */
export function listSpellings(pattern: string): string[] {
  const chars = Array.from(pattern)
  const exchanged = chars.slice(1).map((char, at) => [...chars.slice(0, at), char, chars[at]!, ...chars.slice(at + 2)])
  const pairs = exchanged.filter((_, at) => [chars[at], chars[at + 1]].every((char) => /[\p{L}\p{N}]/u.test(char!)))
  return [...new Set([pattern, ...pairs.map((one) => one.join(''))])]
}

/**
 * Returns whether a word starts at `at`: a letter or digit after another character, or a capital after a non-capital.
 */
function isWordStart(text: string, at: number): boolean {
  const [before = ' ', char = ''] = [text[at - 1], text[at]]
  return (
    (!/[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(char)) || (/\p{Lu}/u.test(char) && !/\p{Lu}/u.test(before))
  )
}
