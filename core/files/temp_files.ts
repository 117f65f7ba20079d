import { randomBytes } from 'node:crypto'
import { appendFileSync, closeSync, readFileSync, unlinkSync } from 'node:fs'
import { isProcessRunning, type Seal } from '../system/index.js'
import type { Directory } from './directory.js'
import { listDirectory, removeTree } from './tree.js'

// A temporary file lies in the directory of the file that it becomes. A killed process cannot remove its temporary
// files. So each process records every directory once, and the next process that opens the workspace removes the files
// of ended processes.

const NAME_PREFIX = '.vtcode-tmp-'
/** Returns whether a name has the form of a temporary file. Only the records prove that it is one. */
export const isTempName = (name: string): boolean => name.startsWith(NAME_PREFIX)
/** Identifies this process in the names of its temporary files. */
const PROCESS_TOKEN = `${process.pid}-${randomBytes(4).toString('hex')}`
/** Returns the name of the record of a process. The mark in the name proves that this program wrote the record. */
const formatRecordName = (owner: string, seal: Seal): string => `${owner}-${seal.nameMark('temps', owner)}.dirs`
const MAX_RECORD_BYTES = 1024 * 1024
/** Active temporary names and their directories. */
const directoryByName = new Map<string, Directory>()
let count = 0
/** True if a temporary file could not be removed; the record then stays for the next process. */
let removalFailed = false

export interface TempName {
  readonly name: string
  /** Removes the entry of that name, if any. Contract: does not throw. */
  drop(): void
}

/** Returns an unused name in `directory`. `drop`, or the end of the process, removes its entry. */
export function createTempName(directory: Directory): TempName {
  if (count === 0)
    process.once('exit', () => directoryByName.forEach((holder, name) => ignoreErrors(() => removeTree(holder, name))))
  const name = `${NAME_PREFIX}${PROCESS_TOKEN}-${count++}`
  directoryByName.set(name, directory)
  return {
    name,
    drop: () => dropTemp(directory, name),
  }
}

function dropTemp(directory: Directory, name: string): void {
  try {
    removeTree(directory, name)
  } catch {
    removalFailed = true
  }
  directoryByName.delete(name)
}

/**
 * Removes the temporary files of a directory before it is closed. An active write there fails and keeps the old file.
 */
export function dropTemps(directory: Directory): void {
  for (const [name, holder] of directoryByName) if (holder === directory) dropTemp(directory, name)
}

/** Records in `folder` that this process may make temporary files in the directory `path`. */
export function recordTemps(folder: Directory, seal: Seal, path: string): void {
  appendFileSync(folder.pathTo(formatRecordName(PROCESS_TOKEN, seal)), `${JSON.stringify(path)}\n`, { mode: 0o600 })
}

/** Removes the record of this process, unless some of its files are left. */
export const removeOwnRecord = (folder: Directory, seal: Seal): void =>
  ignoreErrors(() => !removalFailed && unlinkSync(folder.pathTo(formatRecordName(PROCESS_TOKEN, seal))))

/**
 * Removes the temporary files of ended processes, by their records in `folder`. `enter` opens a directory by its
 * path.
 */
export function sweepTemps(folder: Directory, seal: Seal, enter: (path: string) => Directory): void {
  for (const file of listDirectory(folder)) {
    const [, owner, pid] = /^((\d+)-[0-9a-f]{8})-[0-9a-f]{12}\.dirs$/.exec(file) ?? []
    // A record that this program did not write may name any directory and have any size.
    if (!owner || owner === PROCESS_TOKEN || file !== formatRecordName(owner, seal) || isProcessRunning(Number(pid)))
      continue
    ignoreErrors(() => {
      // A missing directory must not keep the others from being swept.
      for (const line of readRecord(folder, file).split('\n').filter(Boolean))
        ignoreErrors(() => removeTempsByOwner(owner, enter(JSON.parse(line) as string)))
      unlinkSync(folder.pathTo(file))
    })
  }
}

/** Reads a record. Throws for anything but a small regular file, without waiting for a pipe. */
function readRecord(folder: Directory, file: string): string {
  const entry = folder.peek(file)
  try {
    if (!entry?.stats.isFile() || entry.stats.size > MAX_RECORD_BYTES) throw new Error('no record')
    const fd = entry.open()
    try {
      return readFileSync(fd, 'utf8')
    } finally {
      closeSync(fd)
    }
  } finally {
    entry?.close()
  }
}

function removeTempsByOwner(owner: string, directory: Directory): void {
  try {
    for (const name of listDirectory(directory))
      if (name.startsWith(`${NAME_PREFIX}${owner}-`)) ignoreErrors(() => removeTree(directory, name))
  } finally {
    directory.close()
  }
}

/** Runs a cleanup whose failure has no consequence. */
export function ignoreErrors(run: () => void): void {
  try {
    run()
  } catch {
    // The next sweep tries again.
  }
}
