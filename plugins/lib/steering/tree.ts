import { basename, join } from 'node:path'
import { listEntries, isGitFolder, type FolderEntry } from '../git/index.js'
import { judgeName, openIn } from './names.js'

/** How far the search goes: a folder in the root has depth 1. */
export interface SearchLimits {
  depth: number
  folders: number
}

const packages = 'node_modules'

/**
 * What of a folder and below it steers programs, as paths relative to `root`, outer ones only. Packages that a package manager put there
 * are taken as they are. `whole` is false where the limits ended the search.
 */
export function steeringBelow(
  root: string,
  start: string,
  { depth, folders }: SearchLimits,
): { found: string[]; whole: boolean } {
  const found: string[] = []
  const queue: [string, number][] = basename(start) === packages ? [] : [[start, 0]]
  let whole = true
  for (let next = 0; next < queue.length; next += 1) {
    const [folder, deep] = queue[next]!
    const within = next < folders && deep <= depth
    const { names, opened, below, isGit } = within
      ? partsOf(root, folder)
      : { names: [], opened: [], below: [], isGit: isGitFolder(join(root, folder)) }
    if (isGit && next > 0) {
      found.push(folder)
      continue
    }
    whole &&= within
    found.push(...names)
    for (const { path, open } of opened)
      for (const inner of folderNames(join(root, path)))
        if (open.includes(inner)) queue.push([`${path}/${inner}`, deep + 1])
    for (const path of below) queue.push([path, deep + 1])
  }
  return { found, whole }
}

interface Parts {
  folder: string
  /** What steers by its name. */
  names: string[]
  /** Of those the folders that hold what tools write as everywhere, with its names. */
  opened: { path: string; open: string[] }[]
  /** The other folders, in which to go on. */
  below: string[]
  isGit: boolean
}
/** By what is in the folder: that is kept for as long as it stays the same. */
const known = new WeakMap<readonly FolderEntry[], Parts>()

function partsOf(root: string, folder: string): Parts {
  const entries = listEntries(join(root, folder))
  const before = known.get(entries)
  if (before?.folder === folder) return before
  const parts: Parts = {
    folder,
    names: [],
    opened: [],
    below: [],
    isGit: entries.length === 0 ? isGitFolder(join(root, folder)) : areOfGit(entries),
  }
  for (const { name, isFolder } of entries) {
    const path = folder === '.' ? name : `${folder}/${name}`
    if (judgeName(path)) {
      parts.names.push(path)
      const open = isFolder ? openIn(path) : []
      if (open.length > 0) parts.opened.push({ path, open: [...open] })
    } else if (isFolder && name !== packages) parts.below.push(path)
  }
  known.set(entries, parts)
  return parts
}

/** What a git folder has, as `isGitFolder` looks for it. */
function areOfGit(entries: readonly FolderEntry[]): boolean {
  const has = (wanted: string): boolean => entries.some(({ name }) => name === wanted)
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'))
}

/** Names of the folders in a folder. */
export const folderNames = (folder: string): string[] =>
  listEntries(folder)
    .filter(({ isFolder }) => isFolder)
    .map(({ name }) => name)
