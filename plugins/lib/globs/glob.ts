import { matchSequence } from '../../../core/text/index.js'

/**
 * Compiles globs like `-g` of ripgrep. Matching takes time linear in pattern times text: user input never reaches a
 * backtracking regular expression.
 */

type Token =
  | { kind: 'char'; char: string }
  | { kind: 'any' }
  | { kind: 'star' }
  | { kind: 'class'; not: boolean; ranges: [string, string][] }
type Segment = ((name: string) => boolean) | '**'

const MAX_ALTERNATIVES = 1000

/** Checks whether a text is a pattern. */
export const isGlob = (text: string): boolean => /[*?[{]/.test(text)

/**
 * Compiles a glob to a test of `/`-separated relative paths. A glob without `/` is tested against the last name. Throws
 * RangeError for a glob that expands too far.
 */
export function compileGlob(pattern: string, case_sensitive: boolean): (path: string) => boolean {
  const fold = (text: string) => (case_sensitive ? text : text.toLowerCase())
  const bare = pattern.replace(/^\//, '')
  const byName = !pattern.includes('/')
  // Fast path: most patterns are a plain name or an ending.
  const [, star, plain] = (byName && /^(\*?)([^\\*?[\]{}]*)$/.exec(fold(bare))) || []
  if (plain !== undefined) {
    const ends = star ? (name: string) => name.endsWith(plain) : (name: string) => name === plain
    return (path) => ends(fold(path.slice(path.lastIndexOf('/') + 1)))
  }
  const alternatives = expandBraces(fold(bare)).map(parseSegments)
  // Fast path: after `**/` the last name alone decides.
  const lasts = alternatives.map((segments) =>
    byName && segments.length === 1
      ? segments[0]!
      : segments.length === 2 && segments[0] === '**'
        ? segments[1]!
        : '**',
  )
  const tests = lasts.filter((last) => last !== '**')
  if (tests.length === lasts.length) {
    return (path) => {
      const name = fold(path.slice(path.lastIndexOf('/') + 1))
      return tests.some((test) => test(name))
    }
  }
  return (path) => {
    const names = fold(path).split('/')
    const subject = byName ? names.slice(-1) : names
    return alternatives.some((segments) => matchPath(segments, subject))
  }
}

/** Returns the fault of an invalid glob in the words of ripgrep; `undefined` for a valid one. */
export function findGlobFault(pattern: string): string | undefined {
  let open = 0
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\' && ++at === pattern.length) return "dangling '\\'"
    if (char === '{') open++
    else if (char === '}' && open-- === 0) return "unopened alternate group; missing '{'"
    else if (char === '[') {
      const close = pattern.indexOf(']', at + (/[!^]/.test(pattern[at + 1] ?? '') ? 3 : 2))
      if (close < 0) return "unclosed character class; missing ']'"
      const read = parseClass(Array.from(pattern.slice(at + 1, close)))
      const wrong = read.kind === 'class' && read.ranges.find(([from, to]) => from > to)
      if (wrong) return `invalid range; '${wrong[0]}' > '${wrong[1]}'`
      at = close
    }
  }
  return open > 0 ? "unclosed alternate group; missing '}'" : undefined
}

/** Expands `{a,b}` to separate patterns. Throws RangeError for a glob that expands too far. */
export function expandBraces(pattern: string): string[] {
  const group = findOuterGroup(pattern)
  if (!group) return [pattern]
  const { start, end, options } = group
  const all = options.flatMap((option) => expandBraces(pattern.slice(0, start) + option + pattern.slice(end + 1)))
  if (all.length > MAX_ALTERNATIVES) throw new RangeError(`expands to more than ${MAX_ALTERNATIVES} alternatives`)
  return all
}

function findOuterGroup(pattern: string): { start: number; end: number; options: string[] } | undefined {
  const start = findUnescaped(pattern, '{', 0)
  if (start < 0) return undefined
  const options: string[] = []
  let depth = 0
  let from = start + 1
  for (let at = start; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\') at++
    else if (char === '{') depth++
    else if (char === ',' && depth === 1) {
      options.push(pattern.slice(from, at))
      from = at + 1
    } else if (char === '}' && --depth === 0) return { start, end: at, options: [...options, pattern.slice(from, at)] }
  }
  return undefined
}

function findUnescaped(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === wanted) return at
  }
  return -1
}

/** A final `**` matches entries inside the folder, not the folder itself. */
const parseSegments = (pattern: string): Segment[] =>
  pattern
    .replace(/\/\*\*$/, '/**/*')
    .split('/')
    .map((part) => (part === '**' ? part : compileName(tokenize(part))))

/** Returns the name that a part of a glob spells without a wildcard; `undefined` for a pattern. */
export function readLiteralName(part: string): string | undefined {
  const tokens = tokenize(part)
  return tokens.every((token) => token.kind === 'char') ? tokens.map(({ char }) => char).join('') : undefined
}

/** Compiles a test of one name. Fast path: at most one star with plain text around it. */
function compileName(part: Token[]): (name: string) => boolean {
  const star = part.findIndex(({ kind }) => kind === 'star')
  const text = (some: Token[]) => some.map((token) => (token.kind === 'char' ? token.char : '')).join('')
  if (!part.every(({ kind }, at) => kind === 'char' || at === star)) return (name) => matchName(part, name)
  const [begin, end] = star < 0 ? [text(part), ''] : [text(part.slice(0, star)), text(part.slice(star + 1))]
  if (star < 0) return (name) => name === begin
  return (name) => name.length >= begin.length + end.length && name.startsWith(begin) && name.endsWith(end)
}

function tokenize(part: string): Token[] {
  const found: Token[] = []
  const chars = Array.from(part)
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!
    const close = char === '[' ? chars.indexOf(']', at + (/[!^]/.test(chars[at + 1] ?? '') ? 3 : 2)) : -1
    if (char === '\\' && at + 1 < chars.length) found.push({ kind: 'char', char: chars[++at]! })
    else if (char === '?') found.push({ kind: 'any' })
    else if (char === '*') {
      if (found.at(-1)?.kind !== 'star') found.push({ kind: 'star' })
    } else if (close > 0) {
      found.push(parseClass(chars.slice(at + 1, close)))
      at = close
    } else found.push({ kind: 'char', char })
  }
  return found
}

function parseClass(chars: string[]): Token {
  const not = chars[0] === '!' || chars[0] === '^'
  const body = not ? chars.slice(1) : chars
  const ranges: [string, string][] = []
  for (let at = 0; at < body.length; at++) {
    const ranged = body[at + 1] === '-' && at + 2 < body.length
    ranges.push([body[at]!, ranged ? body[at + 2]! : body[at]!])
    if (ranged) at += 2
  }
  return { kind: 'class', not, ranges }
}

const matchPath = (segments: Segment[], names: string[]): boolean =>
  matchSequence(
    segments,
    names,
    (segment) => segment === '**',
    (segment, name) => segment !== '**' && segment(name),
  )

const matchName = (part: Token[], name: string): boolean =>
  matchSequence(part, Array.from(name), (token) => token.kind === 'star', matchChar)

function matchChar(token: Token, char: string): boolean {
  if (token.kind === 'class') return token.not !== token.ranges.some(([from, to]) => from <= char && char <= to)
  return token.kind === 'any' || (token.kind === 'char' && token.char === char)
}
