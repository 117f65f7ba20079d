import { decodeEntities, withoutMarkup } from '../../lib/net/index.js'
import type { PageReading } from './reading.js'

/** Elements that have no end. */
const empty = new Set([
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

/** How many elements a document has and how deep they lie in each other, counted on its tags: nothing is built that could be too much. */
export function markupShape(html: string): { elements: number; depth: number } {
  let elements = 0
  let depth = 0
  let deepest = 0
  for (const [, end, name] of html.matchAll(/<(\/?)([a-z][\w-]*)/gi)) {
    if (!end) elements++
    if (empty.has(name!.toLowerCase())) continue
    depth = Math.max(0, depth + (end ? -1 : 1))
    if (depth > deepest) deepest = depth
  }
  return { elements, depth: deepest }
}

/** The text of a page without its structure, in linear time: for pages that are too deep, too big or too slow for the reader. */
export function bareText(html: string): PageReading {
  const title = titleOf(html)
  const text = withoutMarkup(dropped(html), (tag) => (breaking.test(tag) ? '\n' : ' '))
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
  const cleaned = title && decodeEntities(title).replace(/\s+/g, ' ').trim()
  return { ...(cleaned && { title: cleaned }), markdown: decodeEntities(text).trim(), links: [], structured: false }
}

const breaking = /^<\/?(?:p|div|li|ul|ol|tr|table|h[1-6]|br|section|article|blockquote|pre)\b/i

function titleOf(html: string): string | undefined {
  const start = html.search(/<title\b/i)
  const end = start < 0 ? -1 : html.indexOf('>', start)
  return end < 0 ? undefined : /^[^<]{0,1000}/.exec(html.slice(end + 1, end + 1001))?.[0]
}

/** Without the elements that nobody reads. Searching for their ends by index keeps a page of a thousand open scripts linear. */
function dropped(html: string): string {
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
