import { chmodSync, mkdirSync, renameSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs'
import { createTempName, syncOrUndo, type Location } from '../files/index.js'
import { decodeName } from '../system/index.js'

/** The state that an entry is given: permission bits for a file and a directory, the target for a link. */
export type PlacedEntry =
  | { kind: 'nothing' }
  | { kind: 'directory'; mode: number }
  | { kind: 'link'; target: string }
  | { kind: 'file'; bytes: Uint8Array; mode: number }

/** Removes an entry of another kind than wanted. A directory must be empty. Returns whether one was removed. */
export function removeOtherKind({ directory, name, entry }: Location, kind: PlacedEntry['kind']): boolean {
  const { stats } = entry!
  if (kind === 'directory' ? stats.isDirectory() : kind === 'file' && stats.isFile() && isWritable(entry!)) return false
  if (stats.isDirectory()) rmdirSync(directory.pathTo(name))
  else if (kind === 'link') return false
  else unlinkSync(directory.pathTo(name))
  return true
}

/** A read-only file is not replaced by a write, so a restore removes the old name first. */
function isWritable(entry: NonNullable<Location['entry']>): boolean {
  try {
    entry.refuseReadonly()
    return true
  } catch {
    return false
  }
}

/** Makes a directory, or gives an existing one the mode. */
export function placeDirectory({ directory, name, entry }: Location, mode: number): void {
  if (!entry) mkdirSync(directory.pathTo(name), { mode: 0o700 })
  const made = directory.openDirectory(name)
  try {
    chmodSync(made.pathTo('.'), mode)
  } finally {
    made.close()
  }
}

/** Makes a link in one step, also where another link or a file has the name. The target is not judged. */
export function placeLink({ directory, name }: Location, target: string): void {
  const temp = createTempName(directory)
  try {
    symlinkSync(decodeName(target), directory.pathTo(temp.name))
    renameSync(directory.pathTo(temp.name), directory.pathTo(name))
    syncOrUndo([directory], () => {})
  } finally {
    temp.drop()
  }
}
