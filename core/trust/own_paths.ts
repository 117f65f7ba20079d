import { lstatSync, statSync } from 'node:fs'
import { isInside, toRealPath } from '../system/index.js'

/** A file or folder in a workspace with a program or settings of the user, which run outside the sandbox. */
export interface OwnPath {
  /** Absolute path as the user names it; links on the way are not followed. */
  path: string
  /** Its real path. */
  real: string
  kind: 'file' | 'folder' | 'missing'
}

/** Own paths by workspace; `sure`: the path counts although it is missing. */
const known = new Map<string, Map<string, { sure: boolean; folder: boolean }>>()

/**
 * Records paths of the user's own programs and settings that lie in a workspace or lead there. A path that has not the
 * form of a path (`sure`) counts only while it is a file. Recorded paths count for the rest of this process.
 */
export function addOwnPaths(
  workspace: string,
  paths: Iterable<string>,
  { sure = true, folder = false }: { sure?: boolean; folder?: boolean } = {},
): void {
  for (const path of paths) {
    if (!isInside(workspace, path) && !isInside(workspace, toRealPath(path))) continue
    const here = known.get(workspace) ?? new Map<string, { sure: boolean; folder: boolean }>()
    known.set(workspace, here)
    const before = here.get(path)
    here.set(path, { sure: sure || before?.sure === true, folder: folder || before?.folder === true })
  }
}

/** Returns the recorded paths of a workspace that count at present. A folder counts only if it was recorded as one. */
export function findOwnPaths(workspace: string): OwnPath[] {
  return [...(known.get(workspace) ?? [])].flatMap(([path, { sure, folder }]): OwnPath[] => {
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
    if (isFolder !== folder && isFolder) return []
    const isMissing = lstatSync(path, { throwIfNoEntry: false }) === undefined
    if (isMissing && !sure) return []
    return [{ path, real: toRealPath(path), kind: isMissing ? 'missing' : isFolder ? 'folder' : 'file' }]
  })
}
