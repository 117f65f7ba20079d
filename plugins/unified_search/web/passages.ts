import { firstPoints } from '../../lib/net/index.js'

/** Passages that are shown, and the characters of each. */
const most = 8
const points = 1000

/** The parts of a text that have most to do with a prompt, best first: words of the prompt count by how rare they are in the text. */
export function passagesFor(prompt: string, text: string): string[] {
  const wanted = new Set(wordsOf(prompt))
  const parts = partsOf(text).map((part) => ({ part, words: new Set(wordsOf(part)) }))
  const weight = new Map(
    [...wanted].map((word) => [
      word,
      Math.log(1 + parts.length / (1 + parts.filter(({ words }) => words.has(word)).length)),
    ]),
  )
  return parts
    .map(({ part, words }, index) => ({
      part,
      index,
      score: [...weight].reduce((sum, [word, value]) => (words.has(word) ? sum + value : sum), 0),
    }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, most)
    .map(({ part }) => part)
}

/** Paragraphs, short ones together with what follows, so that a heading stands with its text. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let open = ''
  for (const paragraph of text.split(/\n{2,}/)) {
    const joined = open ? `${open}\n\n${paragraph}` : paragraph
    if (open && joined.length > points) {
      parts.push(open)
      open = paragraph
    } else open = joined
    if (open.length >= points / 2) {
      parts.push(open)
      open = ''
    }
  }
  return [...parts, open].map((part) => firstPoints(part.trim(), points)).filter(Boolean)
}

// Words without meaning would find every passage.
const stop = new Set(
  'a an and are as at be by for from how in is it its of on or that the this to was what when where which who why with'.split(
    ' ',
  ),
)
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !stop.has(word))
