import { compileGlob } from '../../lib/globs/index.js'

// The repository controls these patterns, and each call checks all of them.
const MAX_PATTERNS = { count: 50, length: 256 }

/** Returns a matcher of paths; a pattern that expands too far matches none. */
export function createPathMatcher(pattern: string): (path: string) => boolean {
  try {
    return compileGlob(pattern, true)
  } catch {
    return () => false
  }
}

/**
 * Parses a rule: its text without front matter, and its `paths`. YAML parsers reject an unquoted pattern that begins
 * with `*`, so this one reads lines.
 */
export function parseRuleFile(text: string): { paths?: string[]; text: string } {
  const [whole, front] = /^---\n([\s\S]*?)\n---\n?/.exec(text) ?? []
  if (whole === undefined) return { text }
  const declared = /^paths:[ \t]*(.*(?:\n[ \t]+-.*)*)/m.exec(front!)?.[1]
  const items = declared === undefined ? [] : splitItems(declared.replace(/^\[|\]$/g, ''))
  const paths = items
    .map((item) =>
      item
        .trim()
        .replace(/^-\s*/, '')
        .replace(/^(['"])(.*)\1$/, '$2'),
    )
    .filter(Boolean)
  const counted = paths.filter((item) => item.length <= MAX_PATTERNS.length).slice(0, MAX_PATTERNS.count)
  return { ...(paths.length > 0 && { paths: counted }), text: text.slice(whole.length) }
}

/** Splits a list at commas and line ends, except commas in braces. */
function splitItems(list: string): string[] {
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
