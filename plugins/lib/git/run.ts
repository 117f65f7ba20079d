import { findProgram, searchPath } from '../../../core/system/index.js'
import { runProgram } from '../process/index.js'
import { hardenedGitEnv } from './hardened.js'

/** How git is run. */
export interface GitRun {
  folder: string
  /** The program is looked for outside of it. */
  workspace: string
  /** Beside the hardening, or instead of it where it says more. */
  env?: Readonly<Record<string, string>>
  input?: Buffer
  signal?: AbortSignal
  /** Default: 5. */
  seconds?: number
  /** Bytes of output at most; default: 64 MiB. */
  most?: number
}
export interface GitEnd {
  /** Absent for one that was ended: by its time, by a signal, for printing too much. */
  exit_code?: number
  output: Buffer
  /** The beginning of what it said on its standard error. */
  message: string
}

/** Runs git, hardened, to its end; a text says why it could not be started. Throws VT_CALL_ABORTED. */
export async function runGit(
  args: readonly string[],
  { folder, workspace, env, input, signal, seconds = 5, most = 64 * 1024 * 1024 }: GitRun,
): Promise<GitEnd | string> {
  const file = findProgram('git', searchPath(process.env.PATH, workspace))
  if (!file) return 'git is not installed'
  const chunks: Buffer[] = []
  let bytes = 0
  let message = ''
  const take = (chunk: Buffer): void | false => {
    chunks.push(chunk)
    return (bytes += chunk.length) > most ? false : undefined
  }
  const addMessage = (chunk: Buffer): void => {
    if (message.length < 1000) message += chunk.toString()
  }
  const launch = {
    file,
    args: ['--no-pager', ...args],
    cwd: folder,
    env: { ...hardenedGitEnv, ...env, LC_ALL: 'C' },
    ...(input && { input }),
  }
  const ended = await runProgram(launch, { signal: signal ?? new AbortController().signal, seconds }, take, addMessage)
  if (!ended) return 'git cannot be started there'
  const { exit_code, stopped, timed_out } = ended
  const whole = !stopped && !timed_out && exit_code !== undefined
  return {
    ...(whole && { exit_code }),
    output: Buffer.concat(chunks),
    message:
      message ||
      (timed_out ? `git took more than ${seconds} seconds` : stopped ? `git printed more than ${most} bytes` : ''),
  }
}
