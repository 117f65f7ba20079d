import { compilePathPattern, compileWildcard, matchSequence } from './glob.js'

/**
 * Compiles the paths of a rule: a pattern, or the text of an ignore file. Such a text begins with a comment that names
 * the file.
 */
export const compilePathSpec = (spec: string, machine: { root: string; home: string }): ((path: string) => boolean) =>
  spec.includes('\n') ? compileIgnoreList(spec) : compilePathPattern(spec, machine)

/** Returns the patterns that ignore paths in the text of an ignore file; the pattern itself for any other. */
export const listIgnorePatterns = (spec: string): string[] =>
  spec.includes('\n')
    ? spec
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => /^[^#!]/.test(line))
    : [spec]

/** A line of an ignore file. */
interface Line {
  negated: boolean
  matches(segments: readonly string[]): boolean
}
type Element = '**' | ((segment: string) => boolean)

/** Lines with a pattern. */
const MAX_LINES = 5_000
/** Characters of a line. No path is longer. */
const MAX_LINE = 4_096

/** Describes the lines of an ignore file that do not count as the author meant them. */
export function describeUnusedLines(text: string): string[] {
  let count = 0
  return text.split('\n').flatMap((line, index) => {
    const problem =
      trimLine(line).length > MAX_LINE
        ? `is longer than ${MAX_LINE} characters`
        : parseLine(line).length > 0 && (count += 1) > MAX_LINES
          ? `comes after ${MAX_LINES} others`
          : /^[^#]*\[\[[:.=]/.test(line)
            ? 'has a class in brackets, such as [[:alpha:]]'
            : undefined
    return problem === undefined ? [] : [`line ${index + 1}, which ${problem}`]
  })
}

/**
 * Compiles the text of a gitignore file over `/`-separated paths. The last line that matches decides; below an ignored
 * folder nothing counts as included. The last part counts as a file and as a folder. Format: gitignore(5), git 2.39.
 */
function compileIgnoreList(text: string): (path: string) => boolean {
  const findLine = createLineFinder(text)
  return (path) => findLine(path) !== undefined
}

/** Returns the number of the line of an ignore file that ignores a path. `spec` is as in `compilePathSpec`. */
export const findIgnoreLine = (spec: string, path: string): number | undefined =>
  spec.includes('\n') ? createLineFinder(spec)(path) : undefined

/** The comment that names the file precedes its first line, so the index of a line is its number in the file. */
function createLineFinder(text: string): (path: string) => number | undefined {
  const all = text.split('\n').flatMap((line, number) => parseLine(line).map((parsed) => ({ ...parsed, number })))
  const lines = all.slice(0, MAX_LINES)
  return (path) => {
    const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
    for (let length = 1; length <= segments.length; length += 1) {
      const part = segments.slice(0, length)
      const line = lines.findLast(({ matches }) => matches(part))
      if (line?.negated === false) return line.number
    }
    return undefined
  }
}

/**
 * Removes blanks at the end of a line; one after a backslash counts. A regular expression would restart at every blank
 * of a long run.
 */
function trimLine(line: string): string {
  const whole = line.endsWith('\r') ? line.slice(0, -1) : line
  let end = whole.length
  while (end > 0 && (whole[end - 1] === ' ' || whole[end - 1] === '\t')) end -= 1
  return whole.slice(0, end < whole.length && whole[end - 1] === '\\' ? end + 1 : end)
}

function parseLine(line: string): Line[] {
  const plain = trimLine(line)
  if (plain === '' || plain.startsWith('#') || plain.length > MAX_LINE) return []
  const negated = plain.startsWith('!')
  const body = plain
    .replace(/^!/, '')
    .replace(/^\\(?=[#!])/, '')
    .replace(/\/$/, '')
  const anchored = body.includes('/')
  const segments = body.replace(/^\//, '').split('/')
  if (segments.every((segment) => segment === '')) return []
  const elements: Element[] = [...(anchored ? [] : ['**']), ...segments].map((segment) =>
    segment === '**' ? '**' : compileWildcard(segment, true),
  )
  const matches = (path: readonly string[]): boolean =>
    matchSequence(
      elements,
      path,
      (element) => element === '**',
      (element, part) => element !== '**' && element(part),
    )
  return [{ negated, matches }]
}
