import type { Context } from '../../../core/index.js'
import { astGrep, astGrepPath } from '../../shared/ast_grep.js'
import type { Range } from '../../shared/outline.js'
import type { Language } from '../../shared/languages.js'

export type Place = Pick<Range, 'start' | 'end'>

/** Where a pattern does not parse, in the tree that ast-grep makes of it; `undefined` where the tree has no error or nothing can make one. */
export async function errorPlace(pattern: string, language: Language, { workspace, signal }: Context): Promise<Place | undefined> {
  // An explanation is not worth an installation.
  if (!astGrepPath(workspace.root)) return undefined
  // Without standard input the program would search the folder it stands in.
  const args = ['run', `--pattern=${pattern}`, `--lang=${language.id}`, '--debug-query=cst', '--color=never', '--stdin']
  const answered = await astGrep(workspace.root, args, { cwd: workspace.root, input: Buffer.alloc(0), signal, seconds: 10 }, () => {})
  const [, ...numbers] = /^ *(?:\w+: )?(?:ERROR|MISSING .*) \((\d+),(\d+)\)-\((\d+),(\d+)\)$/m.exec(answered?.stderr ?? '') ?? []
  if (numbers.length === 0) return undefined
  const [line, column, endLine, endColumn] = numbers.map(Number) as [number, number, number, number]
  return { start: { line, column }, end: { line: endLine, column: endColumn } }
}
