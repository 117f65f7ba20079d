import { eastAsianWidth } from 'get-east-asian-width'

/** Printable ASCII. */
const NARROW = /^[\x20-\x7e]*$/
const ZERO_WIDTH = /^[\p{Cc}\p{Cf}\p{M}]+$/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
let segmenter: Intl.Segmenter | undefined

/** Returns the number of terminal columns that a text takes: two for a wide letter, none for a mark on a letter. */
export function measureTextWidth(text: string): number {
  if (NARROW.test(text)) return text.length
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += measureClusterWidth(segment)
  return width
}

function measureClusterWidth(cluster: string): number {
  if (ZERO_WIDTH.test(cluster)) return 0
  return EMOJI.test(cluster) ? 2 : eastAsianWidth(cluster.codePointAt(0)!)
}
