import { basename, join } from 'node:path'
import { entriesOf, isGitFolder } from '../git/index.js'
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
export function steeringBelow(root: string, start: string, { depth, folders }: SearchLimits): { found: string[]; whole: boolean } {
  const found: string[] = []
  const queue: [string, number][] = basename(start) === packages ? [] : [[start, 0]]
  let whole = true
  for (let next = 0; next < queue.length; next += 1) {
    const [folder, deep] = queue[next]!
    if (next >= folders || deep > depth) {
      whole = false
      continue
    }
    for (const { name, isFolder } of entriesOf(join(root, folder))) {
      const path = folder === '.' ? name : `${folder}/${name}`
      if (judgeName(path) || (isFolder && isGitFolder(join(root, path)))) {
        found.push(path)
        const open = isFolder ? openIn(path) : []
        for (const inner of open.length > 0 ? folderNames(join(root, path)) : []) if (open.includes(inner)) queue.push([`${path}/${inner}`, deep + 1])
      } else if (isFolder && name !== packages) queue.push([path, deep + 1])
    }
  }
  return { found, whole }
}

/** Names of the folders in a folder. */
export const folderNames = (folder: string): string[] => entriesOf(folder).filter(({ isFolder }) => isFolder).map(({ name }) => name)
