/** Ranking of short texts by words: BM25 over weighted fields. */

export interface Document<T> {
  subject: T
  /** Sorts documents of equal score. */
  name: string
  /** Texts with the weight of each word. */
  fields: { text: string; weight: number }[]
}

const k1 = 1.5
const b = 0.75

/** Returns the documents that share a word with the query, best first. */
export function rankDocuments<T>(documents: Document<T>[], query: string): T[] {
  const counted = documents.map(({ subject, name, fields }) => {
    const counts = new Map<string, number>()
    for (const { text, weight } of fields)
      for (const word of splitWords(text)) counts.set(word, (counts.get(word) ?? 0) + weight)
    return { subject, name, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) }
  })
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length)
  const wanted = new Set(splitWords(query))
  const weight = new Map(
    [...wanted].map((word) => {
      const holding = counted.filter(({ counts }) => counts.has(word)).length
      return [word, Math.log(1 + (counted.length - holding + 0.5) / (holding + 0.5))]
    }),
  )
  const score = ({ counts, length }: (typeof counted)[number]): number => {
    let sum = 0
    for (const word of wanted) {
      const count = counts.get(word) ?? 0
      sum += (weight.get(word)! * count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / average))
    }
    return sum
  }
  return counted
    .map((document) => ({ ...document, score: score(document) }))
    .filter((document) => document.score > 0)
    .sort((x, y) => y.score - x.score || (x.name < y.name ? -1 : 1))
    .map(({ subject }) => subject)
}

const splitWords = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
