import type { Context } from '../../../core/contract/index.js'
import { findAstGrep, runAstGrep, type Language, type Library } from '../syntax/index.js'

/** A node of a parsed pattern. Offsets are UTF-16 units of the pattern with its metavariables spelled as names. */
export interface PatternNode {
  kind: string
  start: number
  end: number
}

/**
 * Parses a pattern, or code around one, into its nodes, outer ones first. Empty if no parser for it is available.
 * The program and the library parse metavariables as names.
 */
export async function parsePattern(
  pattern: string,
  language: Language,
  library: Library | undefined,
  context: Context,
): Promise<PatternNode[]> {
  const text = spellMetavariables(pattern, language)
  return library
    ? listNodes(library, text, language)
    : parseNodes(await explainPattern(text, language, 'cst', context), text)
}

function listNodes({ parse }: Library, text: string, language: Language): PatternNode[] {
  const nodes: PatternNode[] = []
  const left = [parse(language.title, text).root()]
  for (let node = left.pop(); node; node = left.pop()) {
    const { start, end } = node.range()
    // Only a node that the parser added has no length; an empty program has none either.
    const isAdded = start.index === end.index && text !== ''
    nodes.push({ kind: isAdded ? `MISSING ${node.kind()}` : String(node.kind()), start: start.index, end: end.index })
    left.push(...node.children().reverse())
  }
  return nodes
}

/** Parses the tree that the program prints; its columns are bytes. */
function parseNodes(tree: string, text: string): PatternNode[] {
  const lines = text.split('\n')
  const starts = lines.reduce<number[]>((all, line) => [...all, all.at(-1)! + line.length + 1], [0])
  const toOffset = (line: string, column: string): number =>
    starts[Number(line)]! + Buffer.from(lines[Number(line)] ?? '').toString('utf8', 0, Number(column)).length
  return [...tree.matchAll(/^ *(?:\w+: )?(\S.*) \((\d+),(\d+)\)-\((\d+),(\d+)\)$/gm)].map(
    ([, kind, line, column, endLine, endColumn]) => ({
      kind: kind!,
      start: toOffset(line!, column!),
      end: toOffset(endLine!, endColumn!),
    }),
  )
}

/** Returns a view of the pattern that only the program provides; empty without the program. */
export async function explainPattern(
  pattern: string,
  language: Language,
  view: 'pattern' | 'cst',
  context: Context,
): Promise<string> {
  // The program is not installed for an explanation.
  const { root } = context.workspace
  if (!findAstGrep(context.workspace)) return ''
  // Without standard input the program would search its working directory.
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
        { cwd: root, input: Buffer.alloc(0), seconds: Math.min(10, context.host.timeouts.engine / 1000) },
        () => {},
      )
    )?.stderr ?? ''
  )
}

/** Languages in which a name may begin with `$`; in the others ast-grep replaces it. */
const DOLLAR_LANGUAGES = new Set([
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
const SIGILS: Record<string, string> = { c: '𐀀', cpp: '𐀀', css: '_', html: 'z', nix: '_' }

/** Replaces the dollars of metavariables as ast-grep does before it parses. */
export function spellMetavariables(pattern: string, { id }: Language): string {
  return DOLLAR_LANGUAGES.has(id)
    ? pattern
    : pattern.replace(/\$+(?=[A-Z_])|\${3}/g, (run) => (SIGILS[id] ?? 'µ').repeat(run.length))
}
