import { lstatSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { inside } from '../../../core/base/index.js'
import { gitFolderAt, isGitFolder, named, realPathOf } from '../git/index.js'
import { steeringPaths, type SteeringPaths } from './paths.js'

/** What steers programs now and did not before; paths relative to the workspace. */
export interface Newcomers {
  /** Files and folders of clients, and what git reads in a repository that was there before. */
  names: string[]
  /** Repositories that were not there: the name by which they are found, and the real place of the git folder. */
  repositories: { name: string; folder: string }[]
}

export async function newcomers(root: string, before: SteeringPaths): Promise<Newcomers> {
  const now = await steeringPaths(root)
  const inGit = before.absent.filter((path) => before.gitFolders.some((folder) => inside(folder, path)) && isThere(path)).map((path) => relative(root, path))
  const fresh = now.names.filter((name) => !before.names.includes(name))
  const found = fresh.flatMap((name) => repositoryOf(root, name) ?? [])
  const within = now.gitFolders.filter((folder) => !before.gitFolders.includes(folder) && inside(root, folder) && !found.some((one) => one.folder === folder))
  const repositories = [...found, ...within.map((folder) => ({ name: relative(root, folder), folder }))]
  const names = fresh.filter((name) => !found.some((one) => one.name === name))
  return { names: [...new Set([...names, ...inGit])], repositories: repositories.filter(({ folder }) => folder !== root) }
}

function repositoryOf(root: string, name: string): { name: string; folder: string } | undefined {
  const path = join(root, name)
  if (basename(name).toLowerCase() !== '.git') return isGitFolder(path) ? { name, folder: realPathOf(path) } : undefined
  const folder = gitFolderAt(dirname(path))
  return folder && { name, folder: folder.path }
}

/** Whether a git folder shares nothing with one that is neither in the workspace nor was known before. */
export function keepsToItself(folder: string, root: string, before: SteeringPaths): boolean {
  const { path, common } = named(folder)
  return [path, common].every((one) => inside(root, one) || before.gitFolders.includes(one) || before.gitFolders.some((known) => inside(join(known, 'worktrees'), one)))
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
