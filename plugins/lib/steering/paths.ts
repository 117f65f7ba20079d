import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { inside, realPathOf } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import {
  listEntries,
  listInnerGitFolders,
  findGitFolder,
  isGitFolder,
  isThere,
  listLinks,
  resolveGitFolder,
  type GitFolder,
} from '../git/index.js'
import { configuredPlaces } from './configured.js'
import { absentInGit, changesInGit, steeringNames } from './table.js'
import { steeringBelow } from './tree.js'

/** What steers programs in a workspace, for a sandbox that keeps it as it is. All paths are absolute. */
export interface SteeringPaths {
  /** Real places that are there, outer ones first. */
  readOnly: string[]
  /** Places in those that commands change all the same. */
  writable: string[]
  /** Names that would steer and that nothing bears yet: what bears one after a command was put there by that command. */
  absent: string[]
  /** Names that steer and are links: what they lead to is among the places, the name itself can be put up anew. */
  links: string[]
  /** Every name of the workspace that steers, relative to it, outer ones first. */
  names: string[]
  /** The folders of repositories, of their worktrees and submodules; those outside the workspace too. */
  gitFolders: string[]
  /** The links in those folders: git of the user would write through one that comes anew. */
  gitLinks: string[]
  /** Those of them that are kept whole, since they are many: git writes nothing there. */
  whole: string[]
}

// Outer folders come first; a command pays for every folder that is looked into.
const limits = { depth: 16, folders: 1000 }

/** The names that steer, near the root of the workspace with this real path, and the folders of its repositories with the links in them. */
export function steeringNow(root: string): Pick<SteeringPaths, 'names' | 'gitFolders' | 'gitLinks'> {
  const { found } = steeringBelow(root, '.', limits)
  const folders = gitFolders(
    root,
    found.map((path) => join(root, path)),
  )
  return {
    names: found,
    gitFolders: folders,
    gitLinks: [...new Set(folders.flatMap((folder) => listLinks(folder).links.map((link) => join(folder, link))))],
  }
}

/**
 * Git folders in which a command may change what git changes all day. Each takes a sandbox several mounts, whose price grows with their
 * square: of a workspace with more repositories the others are kept whole.
 */
const mostWritten = 16

/** What steers programs in a workspace, near its root, for a command that runs in `cwd`. */
export async function steeringPaths(workspace: SteeredPlace, cwd = workspace.root): Promise<SteeringPaths> {
  const { root } = workspace
  const { names: found, gitFolders: gits, gitLinks } = steeringNow(root)
  const names = found.map((path) => join(root, path))
  const nearest = gitFoldersAround(cwd, root).filter((folder) => gits.includes(folder))
  const inTurn = [...new Set([...nearest, ...gits])]
  const whole = inTurn.slice(mostWritten)
  const git = [
    ...inTurn.slice(0, mostWritten).flatMap(placesInGit),
    ...(await configuredPlaces(root)),
    ...homeWithin(workspace),
  ]
  const readOnly = [
    ...names.filter((path) => !isGitDirectory(path)).map(realPathOf),
    ...git.filter((path) => existsSync(path)),
    ...whole,
  ]
  const absent = [...rootNames().map((name) => join(root, name)), ...git].filter((path) => !isThere(path))
  const writable = exceptions()
    .map((path) => join(root, path))
    .filter((path) => existsSync(path))
  const links = [...names, ...git].filter((path) => isThere(path) && lstatSync(path).isSymbolicLink())
  return {
    readOnly: outerFirst(readOnly),
    writable,
    absent: [...new Set(absent)],
    links: [...new Set(links)],
    names: found,
    gitFolders: gits,
    gitLinks,
    whole,
  }
}

/** The real path of a workspace, and where the kernel that works in it has its home. */
export type SteeredPlace = Pick<Workspace, 'root' | 'home'>

/** The home, where it lies in the workspace under whatever name but that which is protected there anyway. */
export function homeWithin({ root, home }: SteeredPlace): string[] {
  const real = realPathOf(home)
  return real !== root && inside(root, real) && real !== join(root, '.vtcode') ? [real] : []
}

/** Every folder of a repository that the found names are or name. */
function gitFolders(root: string, names: string[]): string[] {
  const direct = names.flatMap((path): GitFolder[] => {
    if (basename(path).toLowerCase() === '.git') return [findGitFolder(dirname(path)) ?? []].flat()
    return isGitFolder(path) ? [resolveGitFolder(path)] : []
  })
  if (isGitFolder(root)) direct.push(resolveGitFolder(root))
  const all = direct.flatMap((one) => [one, ...listInnerGitFolders(one)])
  return [...new Set(all.flatMap(({ path, common }) => [path, common]))].filter((path) => existsSync(path))
}

/** The folders of the repositories that a folder lies in, the innermost first. */
function gitFoldersAround(folder: string, root: string): string[] {
  const around = findGitFolder(folder) ?? (isGitFolder(folder) ? resolveGitFolder(folder) : undefined)
  const outer = folder.length > root.length ? gitFoldersAround(dirname(folder), root) : []
  return [...(around ? [around.path, around.common] : []), ...outer]
}

/** What is in a git folder and git itself does not change, with what could be there. */
function placesInGit(folder: string): string[] {
  const there = listEntries(realPathOf(folder))
    .filter(({ name, isLink }) => (isLink || !isContainer(name)) && !changesInGit.some((changes) => changes.test(name)))
    .map(({ name }) => name)
  const alternates = namesIn(join(folder, 'objects/info'))
    .map((name) => `objects/info/${name}`)
    .filter((name) => !/\/(packs|commit-graphs?|.*\.lock)$/.test(name))
  return [...new Set([...there, ...alternates, ...absentInGit])].map((name) => join(folder, name))
}
// Git makes folders of its own for worktrees and submodules; those that are there are kept one by one.
const isContainer = (name: string): boolean => name === 'worktrees' || name === 'modules'

const isGitDirectory = (path: string): boolean =>
  (basename(path).toLowerCase() === '.git' && (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false)) ||
  isGitFolder(path)

/** Names of the table that may stand in the root as they are written. */
const rootNames = (): string[] =>
  [...new Set(steeringNames.map(({ name }) => name))].filter((name) => !/[*/]/.test(name))
const exceptions = (): string[] =>
  steeringNames.flatMap(({ name, except = [] }) => except.map((one) => `${name}/${one}`))

/** Without what lies in another of them, outer ones first. */
function outerFirst(paths: string[]): string[] {
  const kept = new Set<string>()
  for (const path of [...new Set(paths)].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)))
    if (!liesIn(path, kept)) kept.add(path)
  return [...kept]
}

/** Whether a path is one of these places or below one. */
export function liesIn(path: string, places: ReadonlySet<string>): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (places.has(at)) return true
    if (dirname(at) === at) return false
  }
}

const namesIn = (folder: string): string[] => listEntries(realPathOf(folder)).map(({ name }) => name)
