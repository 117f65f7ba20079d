import { takeCodePoints } from '../../lib/net/index.js'

/** Limits: number of passages, and characters of each. */
const MAX_PASSAGES = 8
const PASSAGE_CHARS = 1000

/** Finds the parts of a text that match a prompt best. Words of the prompt weigh more if rare in the text. */
export function findPassages(prompt: string, text: string): string[] {
  const wanted = new Set(splitWords(prompt))
  const parts = splitParts(text).map((part) => ({ part, words: new Set(splitWords(part)) }))
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
    .slice(0, MAX_PASSAGES)
    .map(({ part }) => part)
}

/** Splits a text into paragraphs; joins short ones with the next, so that a heading stays with its text. */
function splitParts(text: string): string[] {
  const parts: string[] = []
  let open = ''
  for (const paragraph of text.split(/\n{2,}/)) {
    const joined = open ? `${open}\n\n${paragraph}` : paragraph
    if (open && joined.length > PASSAGE_CHARS) {
      parts.push(open)
      open = paragraph
    } else open = joined
    if (open.length >= PASSAGE_CHARS / 2) {
      parts.push(open)
      open = ''
    }
  }
  return [...parts, open].map((part) => takeCodePoints(part.trim(), PASSAGE_CHARS)).filter(Boolean)
}

// Common words occur in every passage.
const STOP_WORDS = new Set(
  (
    'a an and are as at be by for from how in is it its of on or that the this to was ' +
    'what when where which who why with'
  ).split(' '),
)
const splitWords = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !STOP_WORDS.has(word))
