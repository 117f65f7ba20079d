import type { Context } from '../../../core/index.js'
import { runAstGrep, findAstGrep, type Language, type Library, type Range } from '../../lib/syntax/index.js'

export type PatternPlace = Pick<Range, 'start' | 'end'>

/**
 * Whether the pattern that is looked for holds what does not parse, however deep. The program itself warns of an error at the top only, and only
 * where nothing matched; what a metavariable stands for is no error in its own view of a pattern.
 */
export const holdsError = async (pattern: string, language: Language, context: Context): Promise<boolean> =>
  showsError(treeIn(await explained(pattern, language, 'pattern', context)))

/** The same by the library, for the languages whose grammars it brings. */
export function holdsErrorHere({ parse }: Library, pattern: string, language: Language): boolean {
  const errors = parse(language.title, spelled(pattern, language))
    .root()
    .findAll({ rule: { kind: 'ERROR' } })
  // In these languages what is read in the place of `$` is as long as it.
  return errors
    .map((node) => node.range())
    .some(({ start, end }) => !/^\$+[A-Z_]?\w*$/.test(pattern.slice(start.index, end.index)))
}

/** Whether a pattern parses completely in those languages: an added node has no length. */
export function lacksNothing({ parse }: Library, pattern: string, language: Language): boolean {
  const left = [parse(language.title, spelled(pattern, language)).root()]
  for (let node = left.pop(); node; node = left.pop()) {
    const { start, end } = node.range()
    if (start.index === end.index || node.is('ERROR')) return false
    left.push(...node.children())
  }
  return true
}

/** How the program read a pattern, where it was asked to say so. */
export const treeIn = (stderr: string): string | undefined =>
  /Debug \w+:\n([\s\S]*?)(\n\n|$)/.exec(stderr)?.[1]?.trimEnd()

export const showsError = (tree = ''): boolean => /^ *ERROR( |$)/m.test(tree)

/** Where a pattern does not parse, in code points; `undefined` where all of it parses or nothing can tell. */
export const errorPlace = (pattern: string, language: Language, context: Context): Promise<PatternPlace | undefined> =>
  placeOf('ERROR|MISSING .*', pattern, language, context)

/** Where the parser added what the pattern lacks. What only lacks the end of its statement is matched all the same. */
export const gapPlace = (pattern: string, language: Language, context: Context): Promise<PatternPlace | undefined> =>
  placeOf('MISSING (?!;).*', pattern, language, context)

async function placeOf(
  what: string,
  pattern: string,
  language: Language,
  context: Context,
): Promise<PatternPlace | undefined> {
  const readable = spelled(pattern, language)
  const lines = readable.split('\n').map((line) => Buffer.from(line))
  const point = (line: number, byte: number) => ({
    line,
    column: Array.from(lines[line]?.toString('utf8', 0, byte) ?? '').length,
  })
  const tree = await explained(readable, language, 'cst', context)
  for (const [, ...numbers] of tree.matchAll(
    new RegExp(`^ *(?:\\w+: )?(?:${what}) \\((\\d+),(\\d+)\\)-\\((\\d+),(\\d+)\\)$`, 'gm'),
  )) {
    const [line, column, endLine, endColumn] = numbers.map(Number) as [number, number, number, number]
    const place = { start: point(line, column), end: point(endLine, endColumn) }
    if (!ofMetavariable(pattern, place)) return place
  }
  return undefined
}

/** A view of the pattern that only the program has; empty where there is none. */
async function explained(
  pattern: string,
  language: Language,
  view: 'pattern' | 'cst',
  context: Context,
): Promise<string> {
  // An explanation is not worth an installation.
  const { root } = context.workspace
  if (!findAstGrep(context.workspace)) return ''
  // Without standard input the program would search the folder it stands in.
  const args = [
    'run',
    `--pattern=${pattern}`,
    `--lang=${language.id}`,
    `--debug-query=${view}`,
    '--color=never',
    '--stdin',
  ]
  return (
    (
      await runAstGrep(
        context,
        args,
        { cwd: root, input: Buffer.alloc(0), seconds: Math.min(10, context.host.waits.engine / 1000) },
        () => {},
      )
    )?.stderr ?? ''
  )
}

/** Languages in which a name may begin with `$`; in the others ast-grep reads another character. */
const dollars = new Set([
  'bash',
  'dart',
  'java',
  'javascript',
  'json',
  'lua',
  'markdown',
  'scala',
  'solidity',
  'tsx',
  'typescript',
  'yaml',
])
const sigils: Record<string, string> = { c: '𐀀', cpp: '𐀀', css: '_', html: 'z', nix: '_' }

function spelled(pattern: string, { id }: Language): string {
  return dollars.has(id)
    ? pattern
    : pattern.replace(/\$+(?=[A-Z_])|\${3}/g, (run) => (sigils[id] ?? 'µ').repeat(run.length))
}

/** Whether the error is a metavariable in a place without names, or what follows one. */
function ofMetavariable(pattern: string, { start, end }: PatternPlace): boolean {
  const line = Array.from(pattern.split('\n')[start.line] ?? '')
  const [before, text] = [line.slice(0, start.column), line.slice(start.column, end.column)].map((part) =>
    part.join(''),
  )
  return text === '' ? /\$(\$\$|[A-Z_]\w*)\s*$/.test(before!) : start.line === end.line && /^\$+[A-Z_]?\w*$/.test(text!)
}
