import type { SessionOptions } from './types.js'

const smallest = { columns: 20, rows: 6 }

/** Why a session cannot be drawn there; nothing where it can. */
export function unfitTerminal({ stdin, output, env }: Pick<SessionOptions, 'stdin' | 'output' | 'env'>): string | undefined {
  if (stdin.isTTY !== true) return 'stdin is no terminal'
  if (output.isTTY !== true) return 'the output is no terminal'
  if (env['TERM'] === 'dumb' || env['TERM'] === '') return `TERM is '${env['TERM']}': the terminal cannot move its cursor`
  const { columns = 80, rows = 24 } = output
  if (columns < smallest.columns || rows < smallest.rows) return `the terminal has ${columns} columns and ${rows} rows, and at least ${smallest.columns} and ${smallest.rows} are needed`
  return undefined
}
