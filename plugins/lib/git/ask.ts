import { findProgram, searchPath } from '../../../core/base/index.js'
import { runProgram } from '../process/index.js'
import { gitHardened } from './hardened.js'

const longest = 64 * 1024 * 1024
const seconds = 5

/** What git prints about a folder, hardened; else its own words why not. The program is looked for outside of `workspace`. */
export async function askGit(args: readonly string[], folder: string, workspace: string): Promise<{ output: string } | { refused: string }> {
  const file = findProgram('git', searchPath(process.env.PATH, workspace))
  if (!file) return { refused: 'git is not installed' }
  const chunks: Buffer[] = []
  let bytes = 0
  let message = ''
  const take = (chunk: Buffer): void | false => {
    chunks.push(chunk)
    return (bytes += chunk.length) > longest ? false : undefined
  }
  const hear = (chunk: Buffer): void => {
    if (message.length < 1000) message += chunk.toString()
  }
  const launch = { file, args: ['--no-pager', ...args], cwd: folder, env: { ...gitHardened, LC_ALL: 'C' } }
  const ended = await runProgram(launch, { signal: new AbortController().signal, seconds }, take, hear).catch(() => undefined)
  if (ended?.exit_code === 0 && !ended.stopped) return { output: Buffer.concat(chunks).toString() }
  return { refused: ended ? message.split('\n')[0]!.slice(0, 200) || 'git gives no answer' : 'git cannot be started there' }
}
