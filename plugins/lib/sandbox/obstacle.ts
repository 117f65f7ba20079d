import { lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isInside } from '../../../core/system/index.js'
import { type Confinement, isFolder, isLink, listParentFolders, resolveWorkspacePath } from './profile.js'

/**
 * Returns why a sandbox cannot protect this workspace. A protected name that is a link could be replaced, although
 * its target is protected. A file with a second name could be written by that name. Checks only paths of git, of this
 * program, and those that the user names; commands may create others anyway.
 */
export function findObstacle({
  workspace,
  own: home,
  settings,
  steering,
}: Confinement): { path: string; why: string } | undefined {
  if (['/usr', '/etc', '/proc', '/dev'].some((path) => isInside(workspace, path)))
    return { path: workspace, why: 'it contains the system itself' }
  const held = settings.deny_write.map((path) => resolveWorkspacePath(path, workspace))
  const own = ['.git', '.vtcode'].map((name) => join(workspace, name))
  const ofGit = (steering?.links ?? []).filter((path) => /(^|\/)\.git(\/|$)/.test(path.slice(workspace.length)))
  const link =
    [...own, ...ofGit, ...(steering?.ownLinks ?? []), ...listParentFolders(held, workspace), ...held].find(isLink) ??
    findLink(home, workspace)
  if (link !== undefined) return { path: link, why: 'it is a symbolic link, which a command could replace' }
  const kept = (steering?.readOnly ?? []).filter(
    (path) => own[1] === path || steering!.gitFolders.some((folder) => isInside(folder, path)),
  )
  const doubled = kept.flatMap((path) => [path, ...listFiles(path)]).find(hasSecondName)
  return doubled === undefined
    ? undefined
    : { path: doubled, why: 'it is a hard link, which a command could write by its other name' }
}

const listFiles = (path: string): string[] => (isFolder(path) ? readdirSync(path).map((name) => join(path, name)) : [])
function hasSecondName(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && stat.isFile() && stat.nlink > 1
}

/** Returns the first link of the workspace on the way to a path. */
function findLink(path: string, workspace: string, hops = 40): string | undefined {
  let at = '/'
  for (const [index, name] of path.split('/').entries()) {
    const next = join(at, name)
    if (isLink(next)) {
      if (isInside(workspace, at) || hops === 0) return next
      return findLink(join(resolve(at, readlinkSync(next)), ...path.split('/').slice(index + 1)), workspace, hops - 1)
    }
    at = next
  }
  return undefined
}
