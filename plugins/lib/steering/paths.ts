import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isInside, toRealPath } from '../../../core/system/index.js'
import { findOwnPaths, type OwnPath } from '../../../core/trust/index.js'
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
import { findConfiguredPaths } from './configured.js'
import { GIT_ABSENT_NAMES, GIT_CHANGES, STEERING_NAMES } from './table.js'
import { searchSteeringFiles } from './tree.js'

/** Steering files of a workspace, for a sandbox that protects them. All paths are absolute. */
export interface SteeringPaths {
  /** Existing real paths, outer ones first. */
  readOnly: string[]
  /** Paths among those that commands may change. */
  writable: string[]
  /** Names of steering files that do not exist: a command that ran in between created any later one. */
  absent: string[]
  /** Names of steering files that are links: the target is among the paths, but the link itself can be replaced. */
  links: string[]
  /** Names of steering files in the workspace, relative to it, outer ones first. */
  names: string[]
  /** Folders of repositories, worktrees and submodules, also outside the workspace. */
  gitFolders: string[]
  /** Links in those folders: git of the user would write through a new one. */
  gitLinks: string[]
  /** Paths of the user's own programs and settings, including missing ones. */
  own: readonly OwnPath[]
  /** Links on the way to those: a command could replace a link. */
  ownLinks: string[]
  /** Git folders that stay read-only as a whole, because there are too many: git cannot write in them. */
  whole: string[]
  /** False if the limits ended the search: further steering files are not among the paths. */
  isComplete: boolean
}

// Outer folders come first; each searched folder delays the command.
export const SEARCH_LIMITS = { depth: 16, folders: 1000 }

/**
 * Returns the names of steering files near the root of a workspace (real path), and the git folders with the links in
 * them.
 */
export function findSteeringNames(
  root: string,
): Pick<SteeringPaths, 'names' | 'gitFolders' | 'gitLinks' | 'isComplete'> {
  const { found, whole } = searchSteeringFiles(root, '.', SEARCH_LIMITS)
  const folders = findGitFolders(
    root,
    found.map((path) => join(root, path)),
  )
  return {
    names: found,
    gitFolders: folders,
    gitLinks: [...new Set(folders.flatMap((folder) => listLinks(folder).links.map((link) => join(folder, link))))],
    isComplete: whole,
  }
}

/**
 * Number of git folders in which a command may change the usual files of git. Each needs several mounts, and their
 * cost grows with the square; further repositories stay read-only.
 */
const MAX_WRITABLE = 16

/** Returns the steering files near the root of a workspace, for a command that runs in `cwd`. */
export async function findSteeringPaths(workspace: SteeredWorkspace, cwd = workspace.root): Promise<SteeringPaths> {
  const { root } = workspace
  const { names: found, gitFolders: gits, gitLinks, isComplete } = findSteeringNames(root)
  const names = found.map((path) => join(root, path))
  const nearest = findEnclosingGitFolders(cwd, root).filter((folder) => gits.includes(folder))
  const inTurn = [...new Set([...nearest, ...gits])]
  const whole = inTurn.slice(MAX_WRITABLE)
  const git = [
    ...inTurn.slice(0, MAX_WRITABLE).flatMap(listGitPaths),
    ...(await findConfiguredPaths(root)),
    ...findInnerHome(workspace),
  ]
  const own = findOwnPaths(root)
  const readOnly = [
    ...own.flatMap(({ real, kind }) => (kind === 'missing' ? [] : [real])),
    ...names.filter((path) => !isGitDirectory(path)).map(toRealPath),
    ...git.filter((path) => existsSync(path)),
    ...whole,
  ]
  const absent = [...listRootNames().map((name) => join(root, name)), ...git].filter((path) => !isThere(path))
  const writable = listExceptions()
    .map((path) => join(root, path))
    .filter((path) => existsSync(path))
  const links = [...names, ...git].filter((path) => isThere(path) && lstatSync(path).isSymbolicLink())
  return {
    readOnly: keepOuterPaths(readOnly),
    writable,
    absent: [...new Set(absent)],
    links: [...new Set(links)],
    names: found,
    gitFolders: gits,
    gitLinks,
    own,
    ownLinks: own.flatMap(({ path }) => listLinksOnWay(path, root)),
    whole,
    isComplete,
  }
}

/** Lists the links of the workspace on the way to a path, the path itself included. */
const listLinksOnWay = (path: string, root: string): string[] =>
  path === root || !isInside(root, path)
    ? []
    : [
        ...listLinksOnWay(dirname(path), root),
        ...(lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? [path] : []),
      ]

/** Real path of a workspace, and the home of its kernel. */
export type SteeredWorkspace = Pick<Workspace, 'root' | 'home'>

/**
 * Returns the home of the kernel if it is inside the workspace under another name than `.vtcode`, which is protected
 * anyway.
 */
export function findInnerHome({ root, home }: SteeredWorkspace): string[] {
  const real = toRealPath(home)
  return real !== root && isInside(root, real) && real !== join(root, '.vtcode') ? [real] : []
}

/** Returns the git folders that the found names are or point to. */
function findGitFolders(root: string, names: string[]): string[] {
  const direct = names.flatMap((path): GitFolder[] => {
    if (basename(path).toLowerCase() === '.git') return [findGitFolder(dirname(path)) ?? []].flat()
    return isGitFolder(path) ? [resolveGitFolder(path)] : []
  })
  if (isGitFolder(root)) direct.push(resolveGitFolder(root))
  const all = direct.flatMap((one) => [one, ...listInnerGitFolders(one)])
  return [...new Set(all.flatMap(({ path, common }) => [path, common]))].filter((path) => existsSync(path))
}

/** Returns the git folders of the repositories around a folder, the innermost first. */
function findEnclosingGitFolders(folder: string, root: string): string[] {
  const around = findGitFolder(folder) ?? (isGitFolder(folder) ? resolveGitFolder(folder) : undefined)
  const outer = folder.length > root.length ? findEnclosingGitFolders(dirname(folder), root) : []
  return [...(around ? [around.path, around.common] : []), ...outer]
}

/** Returns the paths of a git folder that git does not change itself, including missing ones. */
function listGitPaths(folder: string): string[] {
  const there = listEntries(toRealPath(folder))
    .filter(({ name, isLink }) => (isLink || !isContainer(name)) && !GIT_CHANGES.some((changes) => changes.test(name)))
    .map(({ name }) => name)
  const alternates = listNames(join(folder, 'objects/info'))
    .map((name) => `objects/info/${name}`)
    .filter((name) => !/\/(packs|commit-graphs?|.*\.lock)$/.test(name))
  return [...new Set([...there, ...alternates, ...GIT_ABSENT_NAMES])].map((name) => join(folder, name))
}
// Git creates folders for worktrees and submodules; existing ones are protected one by one.
const isContainer = (name: string): boolean => name === 'worktrees' || name === 'modules'

const isGitDirectory = (path: string): boolean =>
  (basename(path).toLowerCase() === '.git' && (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false)) ||
  isGitFolder(path)

/** Returns the names of the table that are plain names in the root. */
const listRootNames = (): string[] =>
  [...new Set(STEERING_NAMES.map(({ name }) => name))].filter((name) => !/[*/]/.test(name))
const listExceptions = (): string[] =>
  STEERING_NAMES.flatMap(({ name, except = [] }) => except.map((one) => `${name}/${one}`))

/** Removes paths inside other ones, and sorts outer ones first. */
function keepOuterPaths(paths: string[]): string[] {
  const kept = new Set<string>()
  for (const path of [...new Set(paths)].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)))
    if (!isInsideAny(path, kept)) kept.add(path)
  return [...kept]
}

/** Checks whether a path is one of these paths or below one. */
export function isInsideAny(path: string, places: ReadonlySet<string>): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (places.has(at)) return true
    if (dirname(at) === at) return false
  }
}

const listNames = (folder: string): string[] => listEntries(toRealPath(folder)).map(({ name }) => name)
