import { decodeEntities, replaceTags } from '../../lib/net/index.js'
import type { PageReading } from './page_reading.js'

/** Elements without an end tag. */
const VOID_ELEMENTS = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'track',
  'wbr',
])

/** Counts the elements of a document and their depth by its tags, without building a tree. */
export function measureMarkup(html: string): { elements: number; depth: number } {
  let elements = 0
  let depth = 0
  let deepest = 0
  for (const [, end, name] of html.matchAll(/<(\/?)([a-z][\w-]*)/gi)) {
    if (!end) elements++
    if (VOID_ELEMENTS.has(name!.toLowerCase())) continue
    depth = Math.max(0, depth + (end ? -1 : 1))
    if (depth > deepest) deepest = depth
  }
  return { elements, depth: deepest }
}

/**
 * Reads the text of a page without its structure, in linear time, for pages that are too deep, large or slow for the
 * reader.
 */
export function readBareText(html: string): PageReading {
  const title = findTitle(html)
  const text = replaceTags(dropUnread(html), (tag) => (BREAKING_TAG.test(tag) ? '\n' : ' '))
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
  const cleaned = title && decodeEntities(title).replace(/\s+/g, ' ').trim()
  return { ...(cleaned && { title: cleaned }), markdown: decodeEntities(text).trim(), links: [], structured: false }
}

const BREAKING_TAG = /^<\/?(?:p|div|li|ul|ol|tr|table|h[1-6]|br|section|article|blockquote|pre)\b/i

function findTitle(html: string): string | undefined {
  const start = html.search(/<title\b/i)
  const end = start < 0 ? -1 : html.indexOf('>', start)
  return end < 0 ? undefined : /^[^<]{0,1000}/.exec(html.slice(end + 1, end + 1001))?.[0]
}

/** Removes elements without readable text. The search for end tags by index stays linear with many open scripts. */
function dropUnread(html: string): string {
  const lower = html.toLowerCase()
  const kept: string[] = []
  let from = 0
  for (const { 0: start, 1: name, index } of html.matchAll(/<(script|style|noscript|template|svg|nav|head)\b|<!--/gi)) {
    if (index < from) continue
    const close = name ? `</${name.toLowerCase()}` : '-->'
    const end = lower.indexOf(close, index + start.length)
    kept.push(html.slice(from, index))
    if (end < 0) return kept.join('')
    from = name ? lower.indexOf('>', end) + 1 || html.length : end + close.length
  }
  return kept.join('') + html.slice(from)
}
