import { findProgram, searchPath } from '../../../core/system/index.js'
import { runShort } from './short_program.js'

/** A program of the user's that says one short thing. */
export interface Printing {
  /** With a slash the path itself, else looked for on the search path. */
  program: string
  args: readonly string[]
  cwd: string
  /** Added to what every program gets. */
  env?: Record<string, string>
  /** Where bare names are looked for; nothing of the workspace is started by one. */
  path: string | undefined
  workspace: string
  seconds: number
  signal?: AbortSignal
}

const mostBytes = 65_536

/** What a program prints, trimmed: nobody has to say more than 64 KiB. Throws an error whose message says what it did instead. VT_CALL_ABORTED. */
export async function printed({
  program,
  args,
  cwd,
  env = {},
  path,
  workspace,
  seconds,
  signal = new AbortController().signal,
}: Printing): Promise<string> {
  const file = program.includes('/') ? program : findProgram(program, searchPath(path, workspace))
  if (file === undefined) throw new Error('is not on the search path')
  const ended = await runShort({ file, args: [...args], cwd, env }, { signal, seconds, most: mostBytes })
  if (!ended) throw new Error('cannot be started')
  if (ended.timed_out) throw new Error(`took longer than ${seconds} s`)
  if (ended.stopped) throw new Error('printed more than 64 KiB')
  if (ended.exit_code !== 0)
    throw new Error(ended.exit_code === undefined ? 'was ended by a signal' : `ended with exit code ${ended.exit_code}`)
  return ended.stdout.toString('utf8').trim()
}
