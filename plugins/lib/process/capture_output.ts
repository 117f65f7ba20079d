import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import { runShort } from './short_program.js'

/** A program of the user that prints one short text. */
export interface CaptureOptions {
  /** A path with a slash, or a name on the search path. */
  program: string
  args: readonly string[]
  cwd: string
  /** Added to the common environment. */
  env?: Record<string, string>
  /** Search path for bare names, without folders of the workspace. */
  path: string | undefined
  workspace: string
  seconds: number
  signal?: AbortSignal
}

const MAX_BYTES = 65_536

/**
 * Returns the trimmed output of a program, at most 64 KiB. Throws an error whose message describes the failure, or
 * VT_CALL_ABORTED.
 */
export async function captureOutput({
  program,
  args,
  cwd,
  env = {},
  path,
  workspace,
  seconds,
  signal = new AbortController().signal,
}: CaptureOptions): Promise<string> {
  const file = program.includes('/') ? program : findProgram(program, listSearchFolders(path, workspace))
  if (file === undefined) throw new Error('is not on the search path')
  const ended = await runShort({ file, args: [...args], cwd, env }, { signal, seconds, most: MAX_BYTES })
  if (!ended) throw new Error('cannot be started')
  if (ended.timed_out) throw new Error(`took longer than ${seconds} s`)
  if (ended.stopped) throw new Error('printed more than 64 KiB')
  if (ended.exit_code !== 0)
    throw new Error(ended.exit_code === undefined ? 'was ended by a signal' : `ended with exit code ${ended.exit_code}`)
  return ended.stdout.toString('utf8').trim()
}
