import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import { runProgram } from '../process/index.js'
import { hardenedGitEnv } from './hardened_env.js'

/** Options for a run of git. */
export interface GitRun {
  folder: string
  /** The program is searched for outside this folder. */
  workspace: string
  /** Added to the hardened environment; takes precedence. */
  env?: Readonly<Record<string, string>>
  input?: Buffer
  signal?: AbortSignal
  /** Default: 5. */
  seconds?: number
  /** Bytes of output at most; default: 64 MiB. */
  most?: number
}
export interface GitEnd {
  /** Absent if a time limit, a signal or an output limit ended git. */
  exit_code?: number
  output: Buffer
  /** The first part of standard error. */
  message: string
}

/** Runs hardened git to its end. A text gives the reason why git could not start. Throws VT_CALL_ABORTED. */
export async function runGit(
  args: readonly string[],
  { folder, workspace, env, input, signal, seconds = 5, most = 64 * 1024 * 1024 }: GitRun,
): Promise<GitEnd | string> {
  const file = findProgram('git', listSearchFolders(process.env.PATH, workspace))
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
    hot: true as const,
  }
  const ended = await runProgram(launch, { signal: signal ?? new AbortController().signal, seconds }, take, addMessage)
  if (!ended) return 'git cannot be started in this folder'
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
