import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { realPathOf } from '../../../core/system/index.js'
import { listEntries } from './entries.js'
import { bigStat } from './file_state.js'

/** The places that steer one repository, or one worktree of it. */
export interface GitFolder {
  /** Real path of the folder that holds HEAD and index. */
  path: string
  /** Real path of the folder that holds configuration and hooks: another one for a worktree. */
  common: string
}

/** Whether git takes a folder for a repository: it holds HEAD, and objects and refs or the name of the folder that does; by what is there, or would be. */
export function isGitFolder(path: string, has: (path: string) => boolean = isThere): boolean {
  if (!has(join(path, 'HEAD'))) return false
  return (has(join(path, 'objects')) && has(join(path, 'refs'))) || has(join(path, 'commondir'))
}

/** The git folder that `.git` in this folder is or names, whether anything is there or not. */
export function findGitFolder(folder: string): GitFolder | undefined {
  const path = join(folder, '.git')
  const stat = bigStat(path)
  if (!stat) return undefined
  if (!stat.isFile()) return resolveGitFolder(path)
  const [, target] = /^gitdir: *([^\r\n\0]+)/.exec(readSmallFile(path) ?? '') ?? []
  return target === undefined ? undefined : resolveGitFolder(resolve(folder, target))
}

/** A git folder with the one that it shares with others. */
export function resolveGitFolder(path: string): GitFolder {
  const real = realPathOf(path)
  const shared = (readSmallFile(join(real, 'commondir')) ?? '').replace(/[\r\n]+$/, '')
  return { path: real, common: shared === '' ? real : realPathOf(resolve(real, shared)) }
}

/** Git folders inside of one, at any depth: those of its worktrees and of its submodules, whose names may hold slashes. */
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

/** The git folder that a place lies in: the nearest one upwards, down to `root`; none where a working tree comes first. `has` as for `isGitFolder`. */
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

/** Whether a name is borne by anything, be it a link that leads nowhere. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** All of a small regular file; `undefined` where there is none, or where it is something else or longer than `most` bytes. */
export function readSmallFile(path: string, most = 4096): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > most) return undefined
    const bytes = Buffer.alloc(most)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, most, 0))
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
