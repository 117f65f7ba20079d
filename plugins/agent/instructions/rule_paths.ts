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

/** A rule file without its front matter. */
export interface ParsedRule {
  text: string
  /** Patterns of the paths that the rule is for; absent for a rule of everything. */
  paths?: string[]
  /** The rule is for a model that asks for it, or for a person: its description, or an empty text. */
  onDemand?: string
}

/** Keys for paths: ours and Claude Code's, Copilot's, Cursor's and Windsurf's, Kiro's. */
const PATH_KEYS = ['paths', 'applyTo', 'globs', 'fileMatchPattern']

/**
 * Parses a rule: its text and the conditions in its front matter. YAML parsers reject an unquoted pattern that begins
 * with `*`, so this one reads lines.
 */
export function parseRuleFile(text: string): ParsedRule {
  const [whole, front] = /^---\n([\s\S]*?)\n?---(?:\n|$)/.exec(text) ?? []
  if (whole === undefined) return { text }
  const body = text.slice(whole.length)
  const paths = PATH_KEYS.flatMap((key) => readItems(front!, key))
  const isAlways =
    /^alwaysApply:[ \t]*true\b/m.test(front!) || paths.some((path) => /^(?:\.?\/)?\*\*(?:\/\*)?$/.test(path))
  if (isAlways) return { text: body }
  const counted = paths.filter((item) => item.length <= MAX_PATTERNS.length).slice(0, MAX_PATTERNS.count)
  if (paths.length > 0) return { paths: counted, text: body }
  return isOnDemand(front!)
    ? { onDemand: readItems(front!, 'description', false)[0] ?? '', text: body }
    : { text: body }
}

/** Returns whether a rule without paths waits until it is asked for, as Cursor, Windsurf and Kiro write it. */
const isOnDemand = (front: string): boolean =>
  /^alwaysApply:[ \t]*false\b/m.test(front) ||
  /^(?:trigger|inclusion):[ \t]*['"]?(?:manual|model_decision|auto)\b/m.test(front)

/** Returns the items of a key: a text, a list in brackets or of lines; `splits`: commas separate items. */
function readItems(front: string, key: string, splits = true): string[] {
  const declared = new RegExp(`^${key}:[ \\t]*(.*(?:\\n[ \\t]+-.*)*)`, 'm').exec(front)?.[1]
  if (declared === undefined) return []
  // Quotes may stand around the whole list: applyTo: "**/*.ts,**/*.tsx".
  const list = /^(['"])(.*)\1[ \t]*$/.exec(declared)?.[2] ?? declared
  const items = splits ? splitItems(list.trim().replace(/^\[|\]$/g, '')) : [list]
  return items
    .map((item) =>
      item
        .trim()
        .replace(/^-\s*/, '')
        .replace(/^(['"])(.*)\1$/, '$2'),
    )
    .filter(Boolean)
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
