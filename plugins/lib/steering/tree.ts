import { basename, join } from 'node:path'
import { listEntries, isGitFolder, type FolderEntry } from '../git/index.js'
import { judgeName, listOpenNames } from './names.js'

/** Limits of the search; a folder in the root has depth 1. */
export interface SearchLimits {
  depth: number
  folders: number
}

const PACKAGES_FOLDER = 'node_modules'

/**
 * Finds steering files in a folder and below, as paths relative to `root`, only outer ones. Skips installed packages.
 * `whole` is false if the limits ended the search.
 */
export function searchSteeringFiles(
  root: string,
  start: string,
  { depth, folders }: SearchLimits,
): { found: string[]; whole: boolean } {
  const found: string[] = []
  const queue: [string, number][] = basename(start) === PACKAGES_FOLDER ? [] : [[start, 0]]
  let whole = true
  for (let next = 0; next < queue.length; next += 1) {
    const [folder, deep] = queue[next]!
    const within = next < folders && deep <= depth
    const { names, opened, below, isGit } = within
      ? listParts(root, folder)
      : { names: [], opened: [], below: [], isGit: isGitFolder(join(root, folder)) }
    if (isGit && next > 0) {
      found.push(folder)
      continue
    }
    whole &&= within
    found.push(...names)
    for (const { path, open } of opened)
      for (const inner of listFolderNames(join(root, path)))
        if (open.includes(inner)) queue.push([`${path}/${inner}`, deep + 1])
    for (const path of below) queue.push([path, deep + 1])
  }
  return { found, whole }
}

interface FolderParts {
  folder: string
  /** Names of steering files. */
  names: string[]
  /** Folders among those with names that tools may write. */
  opened: { path: string; open: string[] }[]
  /** Further folders to search. */
  below: string[]
  isGit: boolean
}
/** Cached by the listing of a folder, which is reused while the folder is unchanged. */
const knownParts = new WeakMap<readonly FolderEntry[], FolderParts>()

function listParts(root: string, folder: string): FolderParts {
  const entries = listEntries(join(root, folder))
  const before = knownParts.get(entries)
  if (before?.folder === folder) return before
  const parts: FolderParts = {
    folder,
    names: [],
    opened: [],
    below: [],
    isGit: entries.length === 0 ? isGitFolder(join(root, folder)) : isGitListing(entries),
  }
  for (const { name, isFolder } of entries) {
    const path = folder === '.' ? name : `${folder}/${name}`
    if (judgeName(path)) {
      parts.names.push(path)
      const open = isFolder ? listOpenNames(path) : []
      if (open.length > 0) parts.opened.push({ path, open: [...open] })
    } else if (isFolder && name !== PACKAGES_FOLDER) parts.below.push(path)
  }
  knownParts.set(entries, parts)
  return parts
}

/** Checks a listing for the entries of a git folder, as `isGitFolder` does. */
function isGitListing(entries: readonly FolderEntry[]): boolean {
  const has = (wanted: string): boolean => entries.some(({ name }) => name === wanted)
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'))
}

/** Returns the names of the folders in a folder. */
export const listFolderNames = (folder: string): string[] =>
  listEntries(folder)
    .filter(({ isFolder }) => isFolder)
    .map(({ name }) => name)
