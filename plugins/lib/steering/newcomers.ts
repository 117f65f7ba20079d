import { basename, dirname, join, relative } from 'node:path'
import { inside, realPathOf } from '../../../core/system/index.js'
import { findGitFolder, isGitFolder, isThere, resolveGitFolder } from '../git/index.js'
import { liesIn, steeringNow, type SteeringPaths } from './paths.js'

/** What steers programs now and did not before; paths relative to the workspace. */
export interface Newcomers {
  /** Files and folders of clients, and what git reads in a repository that was there before. */
  names: string[]
  /** Repositories that were not there: the name by which they are found, and the real place of the git folder. */
  repositories: { name: string; folder: string }[]
  /** Links in repositories that were there before; absolute, for a repository may lie outside. */
  links: string[]
}

/** What has come since `before`. */
export function newcomers(root: string, before: SteeringPaths): Newcomers {
  const now = steeringNow(root)
  const [names, gitFolders] = [new Set(before.names), new Set(before.gitFolders)]
  const inGit = before.absent
    .filter((path) => isThere(path) && liesIn(path, gitFolders))
    .map((path) => relative(root, path))
  const fresh = now.names.filter((name) => !names.has(name))
  const found = fresh.flatMap((name) => repositoryOf(root, name) ?? [])
  const [foundNames, foundFolders] = [
    new Set(found.map(({ name }) => name)),
    new Set(found.map(({ folder }) => folder)),
  ]
  const within = now.gitFolders.filter(
    (folder) => !gitFolders.has(folder) && inside(root, folder) && !foundFolders.has(folder),
  )
  const repositories = [...found, ...within.map((folder) => ({ name: relative(root, folder), folder }))]
  const links = now.gitLinks.filter((link) => !before.gitLinks.includes(link) && liesIn(link, gitFolders))
  return {
    names: [...new Set([...fresh.filter((name) => !foundNames.has(name)), ...inGit])],
    repositories: repositories.filter(({ folder }) => folder !== root),
    links,
  }
}

function repositoryOf(root: string, name: string): { name: string; folder: string } | undefined {
  const path = join(root, name)
  if (basename(name).toLowerCase() !== '.git') return isGitFolder(path) ? { name, folder: realPathOf(path) } : undefined
  const folder = findGitFolder(dirname(path))
  return folder && { name, folder: folder.path }
}

/** Whether a git folder shares nothing with one that is neither in the workspace nor was known before. */
export function keepsToItself(folder: string, root: string, before: SteeringPaths): boolean {
  const { path, common } = resolveGitFolder(folder)
  return [path, common].every(
    (one) =>
      inside(root, one) ||
      before.gitFolders.includes(one) ||
      before.gitFolders.some((known) => inside(join(known, 'worktrees'), one)),
  )
}
