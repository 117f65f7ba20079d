/**
 * Returns the known name that a mistyped name most likely means: the edit distance is at most 2, or one name is a
 * prefix of the other.
 */
export function findNearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let least = 3
  for (const candidate of known) {
    const a = name.toLowerCase()
    const b = candidate.toLowerCase()
    const prefix = Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a))
    const far = prefix ? Math.min(2, Math.abs(a.length - b.length)) : measureDistance(a, b, 2)
    if (far < least) [best, least] = [candidate, far]
  }
  return best
}

/** Returns the known names that share most with another, the most similar first. */
export function findSimilar(name: string, known: Iterable<string>, most: number): string[] {
  const pairs = listPairs(name)
  const likeness = (other: string): number => {
    const own = listPairs(other)
    // The last words of a longer name describe its action: `read` of `unified_file_read`.
    const isTail = other.toLowerCase().endsWith(`_${name.toLowerCase()}`)
    return (2 * [...own].filter((pair) => pairs.has(pair)).length) / (own.size + pairs.size) + (isTail ? 0.5 : 0)
  }
  const ranked = [...new Set(known)].map((one) => ({ one, score: likeness(one) }))
  return ranked
    .sort((a, b) => b.score - a.score || (a.one < b.one ? -1 : 1))
    .slice(0, most)
    .map(({ one }) => one)
}

/** Lists pairs of neighbouring letters, of the first 80 characters. */
const listPairs = (name: string): Set<string> =>
  new Set(Array.from(`^${name.slice(0, 80).toLowerCase()}`, (letter, at) => letter + (name[at] ?? '').toLowerCase()))

/** Longest name that is compared, in UTF-16 units. */
const MAX_COMPARED = 256

/** Returns the Levenshtein distance in UTF-16 units: exact up to `most`, else one more. */
export function measureDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most || a.length > MAX_COMPARED) return most + 1
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return Math.min(most + 1, row[b.length]!)
}
