import { stripVTControlCharacters } from 'node:util'
import { findProgram, searchPath } from '../../../core/system/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import { runShort } from '../../lib/process/index.js'
import { UserError } from './user_error.js'

/** For whom a program is started. */
export interface Starting {
  kernel: Kernel
  io: Io
}

const mostPrinted = 16 * 1_048_576

/** What a program prints. Throws Refusal with the end of what it complained about. */
export async function started(
  name: string,
  args: string[],
  cwd: string,
  { kernel, io }: Starting,
  env: Record<string, string> = {},
  seconds = 120,
): Promise<string> {
  const file = findProgram(name, searchPath(io.env['PATH'], kernel.workspace))
  if (!file) throw new UserError(`it takes the program '${name}', which is not here`)
  const ended = await runShort({ file, args, cwd, env }, { signal: io.signal, seconds, most: mostPrinted })
  if (ended?.exit_code === 0) return stripVTControlCharacters(ended.stdout.toString())
  const complaints = stripVTControlCharacters(ended?.stderr.subarray(-2_048).toString() ?? '').trim()
  throw new UserError(
    `${name} ${ended?.timed_out ? `did not end within ${seconds} s` : ended?.stopped ? 'printed more than 16 MiB' : 'failed'}: ${complaints || 'it said nothing'}`,
  )
}
