import { dirname, join, resolve } from 'node:path'
import { isInside, readSmallFile } from '../../../core/system/index.js'
import { resolveGitFolder, readSettingsFile } from '../git/index.js'
import { findRealPath } from './mounts.js'

/**
 * Returns the repositories outside the workspace whose own files name a working tree in it: of worktrees and
 * submodules. A `.git` file alone proves nothing, because a command can write one.
 */
export async function findLinkedRepositories(gitFolders: string[], workspace: string): Promise<string[]> {
  const outside = gitFolders.filter((folder) => !isInside(workspace, folder))
  const answers = await Promise.all(
    outside.map(async (folder) =>
      (await readWorktrees(folder, workspace)).some((path) => isInside(workspace, findRealPath(path) ?? '/')),
    ),
  )
  const roots = [
    ...new Set(outside.filter((_, index) => answers[index]).map((folder) => resolveGitFolder(folder).common)),
  ]
  return roots.filter(
    (root) => !roots.some((other) => other !== root && isInside(other, root)) && !isInside(root, workspace),
  )
}

/**
 * Returns the working trees that a git folder names: for a worktree in the file `gitdir`, for a submodule in its
 * settings.
 */
async function readWorktrees(folder: string, workspace: string): Promise<string[]> {
  const [pointer] = /^[^\r\n\0]+/.exec(readSmallFile(join(folder, 'gitdir')) ?? '') ?? []
  if (pointer !== undefined) return [dirname(resolve(folder, pointer))]
  const settings = (await readSettingsFile(join(folder, 'config'), workspace)) ?? []
  return settings.flatMap(({ key, value }) => (key === 'core.worktree' ? [resolve(folder, value)] : []))
}
