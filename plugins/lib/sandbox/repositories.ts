import { dirname, join, resolve } from 'node:path'
import { inside } from '../../../core/system/index.js'
import { resolveGitFolder, readSettingsFile, readSmallFile } from '../git/index.js'
import { resolveRealPath } from './sight.js'

/**
 * Repositories outside the workspace that say themselves that their working tree lies in it: that of a worktree, that of a submodule. A
 * `.git` file alone says nothing, for a command can write one.
 */
export async function findLinkedRepositories(gitFolders: string[], workspace: string): Promise<string[]> {
  const outside = gitFolders.filter((folder) => !inside(workspace, folder))
  const answers = await Promise.all(
    outside.map(async (folder) =>
      (await readWorktrees(folder, workspace)).some((path) => inside(workspace, resolveRealPath(path) ?? '/')),
    ),
  )
  const roots = [
    ...new Set(outside.filter((_, index) => answers[index]).map((folder) => resolveGitFolder(folder).common)),
  ]
  return roots.filter(
    (root) => !roots.some((other) => other !== root && inside(other, root)) && !inside(root, workspace),
  )
}

/** Where a git folder says that its working tree is: that of a worktree in a file of its own, that of a submodule in its settings. */
async function readWorktrees(folder: string, workspace: string): Promise<string[]> {
  const [pointer] = /^[^\r\n\0]+/.exec(readSmallFile(join(folder, 'gitdir')) ?? '') ?? []
  if (pointer !== undefined) return [dirname(resolve(folder, pointer))]
  const settings = (await readSettingsFile(join(folder, 'config'), workspace)) ?? []
  return settings.flatMap(({ key, value }) => (key === 'core.worktree' ? [resolve(folder, value)] : []))
}
