import { stripVTControlCharacters } from 'node:util'
import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import { runShort } from '../../lib/process/index.js'
import { UserError } from './user_error.js'

/** The kernel and streams of the command that starts a program. */
export interface ProgramContext {
  kernel: Kernel
  io: Io
}

const MAX_PRINTED_BYTES = 16 * 1_048_576

/** Runs a program and returns its output. Throws UserError with the end of its stderr. */
export async function captureVerbOutput(
  name: string,
  args: string[],
  cwd: string,
  { kernel, io }: ProgramContext,
  env: Record<string, string> = {},
  seconds = 120,
): Promise<string> {
  const file = findProgram(name, listSearchFolders(io.env['PATH'], kernel.workspace))
  if (!file) throw new UserError(`the program '${name}' is not installed`)
  const ended = await runShort({ file, args, cwd, env }, { signal: io.signal, seconds, most: MAX_PRINTED_BYTES })
  if (ended?.exit_code === 0) return stripVTControlCharacters(ended.stdout.toString())
  const complaints = stripVTControlCharacters(ended?.stderr.subarray(-2_048).toString() ?? '').trim()
  const limit = ended?.stopped ? 'printed more than 16 MiB' : 'failed'
  const problem = ended?.timed_out ? `did not end within ${seconds} s` : limit
  throw new UserError(`${name} ${problem}: ${complaints || 'it printed no message'}`)
}
