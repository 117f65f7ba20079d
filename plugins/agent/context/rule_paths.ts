import { compileGlob } from '../../lib/globs/index.js'

// A repository writes them, and each call looks at all of them.
const mostPatterns = { count: 50, length: 256 }

/** What paths a pattern is about; one that stands for too many is about none. */
export function matcher(pattern: string): (path: string) => boolean {
  try {
    return compileGlob(pattern, true)
  } catch {
    return () => false
  }
}

/** A rule without its front matter; `paths` are those it is for. gray-matter cannot read what people write here: to YAML a pattern without quotes that begins with `*` is a reference to nothing. */
export function ruleOf(text: string): { paths?: string[]; text: string } {
  const [whole, front] = /^---\n([\s\S]*?)\n---\n?/.exec(text) ?? []
  if (whole === undefined) return { text }
  const declared = /^paths:[ \t]*(.*(?:\n[ \t]+-.*)*)/m.exec(front!)?.[1]
  const items = declared === undefined ? [] : itemsOf(declared.replace(/^\[|\]$/g, ''))
  const paths = items
    .map((item) =>
      item
        .trim()
        .replace(/^-\s*/, '')
        .replace(/^(['"])(.*)\1$/, '$2'),
    )
    .filter(Boolean)
  const counted = paths.filter((item) => item.length <= mostPatterns.length).slice(0, mostPatterns.count)
  return { ...(paths.length > 0 && { paths: counted }), text: text.slice(whole.length) }
}

/** The parts between commas and line ends; a comma in braces belongs to its pattern. */
function itemsOf(list: string): string[] {
  const items: string[] = []
  let from = 0
  let depth = 0
  for (let at = 0; at <= list.length; at++) {
    const mark = list[at]
    if (mark === '{') depth += 1
    if (mark === '}') depth -= 1
    const ends = mark === undefined || mark === '\n' || (mark === ',' && depth <= 0)
    if (!ends) continue
    items.push(list.slice(from, at))
    from = at + 1
    if (mark === '\n') depth = 0
  }
  return items
}
