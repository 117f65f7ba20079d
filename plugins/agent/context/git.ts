import { isInside } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { askGit, findOutsideReference, findMisplacement, findRepository, type Repository } from '../../lib/git/index.js'
import { toOneLine } from '../../lib/terminal/index.js'

const MAX_COMMITS = 5
// With these options `git log` runs no program of the repository: no signature checks, no fetch of missing objects,
// no diff.
// A `git status` would run filters.
const LOG_COMMAND = [
  'log',
  `-${MAX_COMMITS}`,
  '--no-patch',
  '--no-notes',
  '--no-color',
  '--no-show-signature',
  '--decorate-refs=HEAD',
  '--decorate-refs=refs/heads/',
  '--format=%D%x00%h %s',
]

/** Describes branch and latest commits of the repository for the prompt, as lines; empty outside of a repository. */
export async function describeRepository(workspace: Workspace): Promise<string[]> {
  const { root } = workspace
  const found = await findRepository(root, root)
  if (!found) return []
  const commits = 'repository' in found ? await listCommits(found.repository, root) : []
  const head = await workspace.readText('.git/HEAD', { max_bytes: 1024 }).catch(() => '')
  const branch = /^HEAD -> ([^,]+)/.exec(commits[0]?.[0] ?? '')?.[1] ?? /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  return [
    ...(branch ? [`Git branch: ${toOneLine(branch).slice(0, 200)}`] : []),
    ...(commits.length > 0
      ? ['Latest commits:', ...commits.map(([, text]) => `  ${toOneLine(text!).slice(0, 120)}`)]
      : []),
  ]
}

/** Lists refs and text of the latest commits; empty if git would read a repository outside of the workspace. */
async function listCommits(repository: Repository, root: string): Promise<string[][]> {
  const bounds = isInside(root, repository.top) ? root : repository.top
  if ((findMisplacement(repository, bounds) ?? findOutsideReference(repository, bounds)) !== undefined) return []
  const answer = await askGit(LOG_COMMAND, root, root)
  return 'output' in answer
    ? answer.output
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\0'))
    : []
}
