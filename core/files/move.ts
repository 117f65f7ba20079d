import { linkSync, renameSync, unlinkSync } from 'node:fs'
import { problem } from '../shapes/index.js'
import { errno, escapePath } from '../system/index.js'
import { syncDirectory, type Directory, type DirectoryEntry } from './directory.js'
import type { TempName } from './temp_files.js'
import type { Location } from './walk.js'

/**
 * Moves `source` to `target`. With `replace`, a file may take a used name; the name `spare` keeps the old file until
 * the move is on disk and `after` has run. Throws EEXIST for a used name. Any other failure undoes the move.
 */
export function moveInto(
  source: Location,
  target: Location,
  replace: boolean,
  spare: TempName | undefined,
  after?: () => void,
): void {
  const [from, to] = [source.directory.pathTo(source.name), target.directory.pathTo(target.name)]
  const backup = spare && target.directory.pathTo(spare.name)
  try {
    const kept = backup !== undefined && tryLink(to, backup)
    // A directory cannot have a hard link. Its rename replaces nothing but an empty directory.
    if (replace || source.entry?.stats.isDirectory()) renameSync(from, to)
    else moveToFreeName(from, to, target.directory.peek(target.name))
    const undo = () => {
      renameSync(to, from)
      if (kept) renameSync(backup, to)
    }
    syncOrUndo([target.directory, source.directory], undo, after)
  } finally {
    spare?.drop()
  }
}

/** Gives a file a second name. Returns `false` where the file system has no hard links. */
export function tryLink(from: string | Buffer, to: string | Buffer): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errno(error) ?? '')) return false
    throw error
  }
}

/** Moves a file to an unused name. Closes `existing`, the entry of that name, if any. Throws EEXIST. */
export function moveToFreeName(from: string | Buffer, to: string | Buffer, existing: DirectoryEntry | undefined): void {
  existing?.close()
  if (existing) throw Object.assign(new Error('taken'), { code: 'EEXIST' })
  // A rename would replace a file that was made meanwhile; a hard link fails.
  if (!tryLink(from, to)) return renameSync(from, to)
  try {
    unlinkSync(from)
  } catch (error) {
    unlinkSync(to)
    throw error
  }
}

/** Writes the names of the directories to disk, then runs `after`. Runs `undo` if either fails. */
export function syncOrUndo(directories: readonly Directory[], undo: () => void, after?: () => void): void {
  try {
    for (const directory of new Set(directories)) syncDirectory(directory)
    after?.()
  } catch (error) {
    undo()
    throw error
  }
}

/** Throws VT_PATH_EXISTS for a used name that may not be replaced. */
export function refuseTaken(target: Location, replace: boolean, path: string): void {
  if (!target.entry) return
  if (replace && !target.entry.stats.isDirectory()) return
  throw problem('VT_PATH_EXISTS', { path: escapePath(path) })
}
