import { inside } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { askGit, findOutsideReference, findMisplacement, findRepository, type Repository } from '../../lib/git/index.js'
import { toOneLine } from '../../lib/terminal/index.js'

const mostCommits = 5
// A log runs nothing that the repository brings: no signature is checked, no missing object fetched, no diff made. A status would run filters.
const log = [
  'log',
  `-${mostCommits}`,
  '--no-patch',
  '--no-notes',
  '--no-color',
  '--no-show-signature',
  '--decorate-refs=HEAD',
  '--decorate-refs=refs/heads/',
  '--format=%D%x00%h %s',
]

/** Branch and latest commits of the repository that the workspace lies in, as lines for the prompt; nothing where there is none. */
export async function repository(workspace: Workspace): Promise<string[]> {
  const { root } = workspace
  const found = await findRepository(root, root)
  if (!found) return []
  const commits = 'repository' in found ? await latest(found.repository, root) : []
  const head = await workspace.readText('.git/HEAD', { max_bytes: 1024 }).catch(() => '')
  const branch = /^HEAD -> ([^,]+)/.exec(commits[0]?.[0] ?? '')?.[1] ?? /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  return [
    ...(branch ? [`Git branch: ${toOneLine(branch).slice(0, 200)}`] : []),
    ...(commits.length > 0
      ? ['Latest commits:', ...commits.map(([, text]) => `  ${toOneLine(text!).slice(0, 120)}`)]
      : []),
  ]
}

/** Names and text of each commit; none where git would tell of a repository of somebody else. */
async function latest(repository: Repository, root: string): Promise<string[][]> {
  const bounds = inside(root, repository.top) ? root : repository.top
  if ((findMisplacement(repository, bounds) ?? findOutsideReference(repository, bounds)) !== undefined) return []
  const answer = await askGit(log, root, root)
  return 'output' in answer
    ? answer.output
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\0'))
    : []
}
