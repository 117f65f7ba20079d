import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inside } from '../../../core/base/index.js'
import { named } from '../git/index.js'
import { realPlace } from './sight.js'

/**
 * Repositories outside the workspace that say themselves that their working tree lies in it: that of a worktree, that of a submodule. A
 * `.git` file alone says nothing, for a command can write one.
 */
export function linkedRepositories(gitFolders: string[], workspace: string): string[] {
  const linked = gitFolders.filter((folder) => !inside(workspace, folder) && worktreesOf(folder).some((path) => inside(workspace, realPlace(path) ?? '/')))
  const roots = [...new Set(linked.map((folder) => named(folder).common))]
  return roots.filter((root) => !roots.some((other) => other !== root && inside(other, root)) && !inside(root, workspace))
}

/** Where a git folder says that its working tree is. */
function worktreesOf(folder: string): string[] {
  const [pointer] = /^[^\r\n\0]+/.exec(text(join(folder, 'gitdir'))) ?? []
  const [, worktree] = /^\s*worktree\s*=\s*"?([^\r\n"]+)/m.exec(text(join(folder, 'config'))) ?? []
  return [...(pointer === undefined ? [] : [dirname(resolve(folder, pointer))]), ...(worktree === undefined ? [] : [resolve(folder, worktree)])]
}

function text(file: string): string {
  try {
    const stat = statSync(file)
    return stat.isFile() && stat.size < 65_536 ? readFileSync(file, 'latin1') : ''
  } catch {
    return ''
  }
}
