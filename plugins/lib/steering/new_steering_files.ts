import { statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { isInside, toRealPath } from '../../../core/system/index.js'
import { findGitFolder, isGitFolder, isThere, resolveGitFolder } from '../git/index.js'
import { isInsideAny, findSteeringNames, type SteeringPaths } from './paths.js'

/** Steering files that are new; paths relative to the workspace. */
export interface NewSteeringFiles {
  /** Files and folders of clients, files that git reads in a known repository, and those of the user's own programs. */
  names: string[]
  /** New repositories: the name in the workspace, and the real path of the git folder. */
  repositories: { name: string; folder: string }[]
  /** New links in known repositories; absolute, because a repository may be outside. */
  links: string[]
  /** False if the limits ended the search. */
  isComplete: boolean
}

/** Returns the steering files that are new since `before`. */
export function findNewSteeringFiles(root: string, before: SteeringPaths): NewSteeringFiles {
  const now = findSteeringNames(root)
  const [names, gitFolders] = [new Set(before.names), new Set(before.gitFolders)]
  const inGit = before.absent
    .filter((path) => isThere(path) && isInsideAny(path, gitFolders))
    .map((path) => relative(root, path))
  const own = before.own
    .filter(({ path, kind }) => kind === 'missing' && isInside(root, path) && isFile(path))
    .map(({ path }) => relative(root, path))
  const fresh = now.names.filter((name) => !names.has(name))
  const found = fresh.flatMap((name) => findRepository(root, name) ?? [])
  const [foundNames, foundFolders] = [
    new Set(found.map(({ name }) => name)),
    new Set(found.map(({ folder }) => folder)),
  ]
  const within = now.gitFolders.filter(
    (folder) => !gitFolders.has(folder) && isInside(root, folder) && !foundFolders.has(folder),
  )
  const repositories = [...found, ...within.map((folder) => ({ name: relative(root, folder), folder }))]
  const links = now.gitLinks.filter((link) => !before.gitLinks.includes(link) && isInsideAny(link, gitFolders))
  return {
    names: [...new Set([...fresh.filter((name) => !foundNames.has(name)), ...inGit, ...own])],
    repositories: repositories.filter(({ folder }) => folder !== root),
    links,
    isComplete: now.isComplete,
  }
}

const isFile = (path: string): boolean => isThere(path) && !statSync(path, { throwIfNoEntry: false })?.isDirectory()

function findRepository(root: string, name: string): { name: string; folder: string } | undefined {
  const path = join(root, name)
  if (basename(name).toLowerCase() !== '.git') return isGitFolder(path) ? { name, folder: toRealPath(path) } : undefined
  const folder = findGitFolder(dirname(path))
  return folder && { name, folder: folder.path }
}

/** Checks whether all parts of a git folder are in the workspace or in a known repository. */
export function isSelfContained(folder: string, root: string, before: SteeringPaths): boolean {
  const { path, common } = resolveGitFolder(folder)
  return [path, common].every(
    (one) =>
      isInside(root, one) ||
      before.gitFolders.includes(one) ||
      before.gitFolders.some((known) => isInside(join(known, 'worktrees'), one)),
  )
}
