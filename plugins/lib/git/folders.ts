import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readSmallFile, toRealPath } from '../../../core/system/index.js'
import { listEntries } from './entries.js'
import { bigStat } from './file_state.js'

/** Folders of one repository or worktree. */
export interface GitFolder {
  /** Real path of the folder with HEAD and index. */
  path: string
  /** Real path of the folder with configuration and hooks; a different one for a worktree. */
  common: string
}

/**
 * Checks whether git accepts a folder as a repository: it has HEAD, and either objects and refs or commondir. `has`
 * decides whether a path exists or will exist.
 */
export function isGitFolder(path: string, has: (path: string) => boolean = isThere): boolean {
  if (!has(join(path, 'HEAD'))) return false
  return (has(join(path, 'objects')) && has(join(path, 'refs'))) || has(join(path, 'commondir'))
}

/** Returns the git folder that `.git` in this folder is or names, whether that folder exists or not. */
export function findGitFolder(folder: string): GitFolder | undefined {
  const path = join(folder, '.git')
  const stat = bigStat(path)
  if (!stat) return undefined
  if (!stat.isFile()) return resolveGitFolder(path)
  const [, target] = /^gitdir: *([^\r\n\0]+)/.exec(readSmallFile(path) ?? '') ?? []
  return target === undefined ? undefined : resolveGitFolder(resolve(folder, target))
}

/** Resolves a git folder and the common folder that it shares with other worktrees. */
export function resolveGitFolder(path: string): GitFolder {
  const real = toRealPath(path)
  const shared = (readSmallFile(join(real, 'commondir')) ?? '').replace(/[\r\n]+$/, '')
  return { path: real, common: shared === '' ? real : toRealPath(resolve(real, shared)) }
}

/**
 * Lists git folders inside another at any depth: those of worktrees and of submodules, whose names may contain slashes.
 */
export function listInnerGitFolders(start: GitFolder): GitFolder[] {
  const found = new Map([[start.path, start]])
  for (const { path, common } of found.values()) {
    for (const folder of new Set([path, common])) {
      const inner = [
        ...listFolders(join(folder, 'worktrees')).map((name) => [join(folder, 'worktrees', name)]),
        listGitFoldersBelow(join(folder, 'modules'), 5),
      ].flat()
      for (const one of inner.filter((one) => isGitFolder(one)).map((one) => resolveGitFolder(one)))
        if (!found.has(one.path)) found.set(one.path, one)
    }
  }
  return [...found.values()].slice(1)
}

const listGitFoldersBelow = (folder: string, depth: number): string[] =>
  isGitFolder(folder)
    ? [folder]
    : depth === 0
      ? []
      : listFolders(folder).flatMap((name) => listGitFoldersBelow(join(folder, name), depth - 1))

/**
 * Returns the nearest git folder from `path` up to `root`; `undefined` if a working tree comes first. `has` as for
 * `isGitFolder`.
 */
export function findGitFolderAbove(path: string, root: string, has?: (path: string) => boolean): string | undefined {
  for (let at = path; ; at = dirname(at)) {
    if (isGitFolder(at, has)) return at
    if (at.length <= root.length || (at !== path && isThere(join(at, '.git')))) return undefined
  }
}

const MAX_NAMES = 1000
const listFolders = (folder: string): string[] =>
  listEntries(folder)
    .filter(({ isFolder }) => isFolder)
    .slice(0, MAX_NAMES)
    .map(({ name }) => name)

/** Checks whether an entry exists, including a dangling link. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
