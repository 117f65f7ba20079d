import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram, searchPath } from '../../../core/base/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { runProgram } from '../../lib/process/index.js'
import { oneLine } from '../../lib/terminal/index.js'

const mostCommits = 5
// A log runs nothing that the repository brings: no signature is checked, no missing object fetched, no diff made. A status would run filters.
const settings = ['log.showSignature=false', 'core.fsmonitor=false', 'core.hooksPath=/dev/null', 'protocol.allow=never'].flatMap((one) => ['-c', one])
const log = ['--no-pager', '--no-optional-locks', ...settings, 'log', `-${mostCommits}`, '--no-patch', '--no-notes', '--no-color', '--decorate-refs=HEAD', '--decorate-refs=refs/heads/', '--format=%D%x00%h %s']

/** Branch and latest commits of the repository that the workspace lies in, as lines for the prompt; nothing where there is none. */
export async function repository(workspace: Workspace, env: Readonly<Record<string, string | undefined>>): Promise<string[]> {
  const folder = repositoryOf(workspace.root)
  if (folder === undefined) return []
  const commits = await latest(workspace.root, env)
  const head = await workspace.text('.git/HEAD', { max_bytes: 1024 }).catch(() => '')
  const branch = /^HEAD -> ([^,]+)/.exec(commits[0]?.[0] ?? '')?.[1] ?? /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  return [
    ...(branch ? [`Git branch: ${oneLine(branch).slice(0, 200)}`] : []),
    ...(commits.length > 0 ? ['Latest commits:', ...commits.map(([, text]) => `  ${oneLine(text!).slice(0, 120)}`)] : []),
  ]
}

function repositoryOf(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder
  return dirname(folder) === folder ? undefined : repositoryOf(dirname(folder))
}

/** Names and text of each commit. */
async function latest(root: string, env: Readonly<Record<string, string | undefined>>): Promise<string[][]> {
  const file = findProgram('git', searchPath(env['PATH'], root))
  if (!file) return []
  let output = ''
  const limits = { signal: new AbortController().signal, seconds: 2 }
  const ended = await runProgram({ file, args: log, cwd: root, env: { GIT_NO_LAZY_FETCH: '1', GIT_TERMINAL_PROMPT: '0' } }, limits, (chunk) => {
    output += String(chunk)
    return output.length < 65_536 ? undefined : false
  }).catch(() => undefined)
  return ended?.exit_code === 0 ? output.split('\n').filter(Boolean).map((line) => line.split('\0')) : []
}
