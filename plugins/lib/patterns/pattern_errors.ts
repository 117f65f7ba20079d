import type { Context } from '../../../core/contract/index.js'
import type { Language, Library, Range } from '../syntax/index.js'
import { explainPattern, spellMetavariables } from './pattern_tree.js'

export type PatternPlace = Pick<Range, 'start' | 'end'>

/**
 * Returns whether the pattern has a syntax error at any depth. The program itself warns only of an error at the top,
 * and only without matches. Metavariables are no errors in its view of a pattern.
 */
export const hasError = async (pattern: string, language: Language, context: Context): Promise<boolean> =>
  hasErrorNode(parseTree(await explainPattern(pattern, language, 'pattern', context)))

/** Returns the same by the library, for the languages that it supports. */
export function hasErrorInProcess({ parse }: Library, pattern: string, language: Language): boolean {
  const errors = parse(language.title, spellMetavariables(pattern, language))
    .root()
    .findAll({ rule: { kind: 'ERROR' } })
  // In these languages the replacement of `$` has the same length.
  return errors
    .map((node) => node.range())
    .some(({ start, end }) => !/^\$+[A-Z_]?\w*$/.test(pattern.slice(start.index, end.index)))
}

/** Returns whether a pattern parses completely: a node added by the parser has no length. */
export function isComplete({ parse }: Library, pattern: string, language: Language): boolean {
  const left = [parse(language.title, spellMetavariables(pattern, language)).root()]
  for (let node = left.pop(); node; node = left.pop()) {
    const { start, end } = node.range()
    if (start.index === end.index || node.is('ERROR')) return false
    left.push(...node.children())
  }
  return true
}

/** Returns the tree of the pattern from the debug output of the program. */
export const parseTree = (stderr: string): string | undefined =>
  /Debug \w+:\n([\s\S]*?)(\n\n|$)/.exec(stderr)?.[1]?.trimEnd()

export const hasErrorNode = (tree = ''): boolean => /^ *ERROR( |$)/m.test(tree)

/** Finds the first syntax error of a pattern, in code points; `undefined` if there is none or it is unknown. */
export const findError = (pattern: string, language: Language, context: Context): Promise<PatternPlace | undefined> =>
  findPlace('ERROR|MISSING .*', pattern, language, context)

/** Finds the first position where the parser added a missing token, except the end of a statement. */
export const findGap = (pattern: string, language: Language, context: Context): Promise<PatternPlace | undefined> =>
  findPlace('MISSING (?!;).*', pattern, language, context)

async function findPlace(
  what: string,
  pattern: string,
  language: Language,
  context: Context,
): Promise<PatternPlace | undefined> {
  const readable = spellMetavariables(pattern, language)
  const lines = readable.split('\n').map((line) => Buffer.from(line))
  const point = (line: number, byte: number) => ({
    line,
    column: Array.from(lines[line]?.toString('utf8', 0, byte) ?? '').length,
  })
  const tree = await explainPattern(readable, language, 'cst', context)
  for (const [, ...numbers] of tree.matchAll(
    new RegExp(`^ *(?:\\w+: )?(?:${what}) \\((\\d+),(\\d+)\\)-\\((\\d+),(\\d+)\\)$`, 'gm'),
  )) {
    const [line, column, endLine, endColumn] = numbers.map(Number) as [number, number, number, number]
    const place = { start: point(line, column), end: point(endLine, endColumn) }
    if (!isMetavariable(pattern, place)) return place
  }
  return undefined
}

/** Returns whether an error is only a metavariable in a position without names, or directly after one. */
function isMetavariable(pattern: string, { start, end }: PatternPlace): boolean {
  const line = Array.from(pattern.split('\n')[start.line] ?? '')
  const [before, text] = [line.slice(0, start.column), line.slice(start.column, end.column)].map((part) =>
    part.join(''),
  )
  return text === '' ? /\$(\$\$|[A-Z_]\w*)\s*$/.test(before!) : start.line === end.line && /^\$+[A-Z_]?\w*$/.test(text!)
}

/** Returns a sentence about the position of an error. */
export function describePlace({ start, end }: PatternPlace): string {
  const at = ({ line, column }: PatternPlace['start'], by: number) => `line ${line + 1}, column ${column + by}`
  const missing = start.line === end.line && start.column === end.column
  return missing
    ? `Code is missing at ${at(start, 1)}.`
    : `The pattern does not parse from ${at(start, 1)} to ${at(end, 0)}.`
}
