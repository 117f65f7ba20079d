import { randomBytes } from 'node:crypto'
import { appendFileSync, closeSync, readFileSync, unlinkSync } from 'node:fs'
import { isProcessRunning, type Seal } from '../system/index.js'
import type { Directory } from './directory.js'
import { listDirectory, removeTree } from './tree.js'

// A temporary file lies beside the file it becomes. A killed process cannot clear up after itself, so each writes down once per
// directory that it puts some there, and whoever opens the workspace next removes those of processes that are gone.

const NAME_PREFIX = '.vtcode-tmp-'
/** Whether this is the name of a temporary file, which only the notes speak for. */
export const isTempName = (name: string): boolean => name.startsWith(NAME_PREFIX)
/** Names this process in the names of its temporary files. */
const PROCESS_TOKEN = `${process.pid}-${randomBytes(4).toString('hex')}`
/** The note of a process in one workspace: its name says that it is ours. */
const formatRecordName = (owner: string, seal: Seal): string => `${owner}-${seal.nameMark('temps', owner)}.dirs`
const MAX_RECORD_BYTES = 1024 * 1024
const live = new Map<string, Directory>()
let count = 0
/** Something could not be removed: it is left to whoever opens the workspace next. */
let stuck = false

export interface TempName {
  readonly name: string
  /** Removes what is there under the name, if anything is. Contract: does not throw. */
  drop(): void
}

/** A name in `directory` that no one else uses; what is there is removed by `drop`, or when the process ends. */
export function createTempName(directory: Directory): TempName {
  if (count === 0)
    process.once('exit', () => live.forEach((holder, name) => ignoreErrors(() => removeTree(holder, name))))
  const name = `${NAME_PREFIX}${PROCESS_TOKEN}-${count++}`
  live.set(name, directory)
  return {
    name,
    drop() {
      try {
        removeTree(directory, name)
      } catch {
        stuck = true
      }
      live.delete(name)
    },
  }
}

/** Removes what lies in a directory that is about to be let go of; who is still writing there fails, and what was there stays. */
export function dropTemps(directory: Directory): void {
  for (const [name, holder] of live) {
    if (holder !== directory) continue
    ignoreErrors(() => removeTree(holder, name))
    live.delete(name)
  }
}

/** Writes down in `folder` that temporary files of this process may lie in the directory `path`. */
export function recordTemps(folder: Directory, seal: Seal, path: string): void {
  appendFileSync(folder.pathTo(formatRecordName(PROCESS_TOKEN, seal)), `${JSON.stringify(path)}\n`, { mode: 0o600 })
}

/** Ends this process's note, if nothing of it is left. */
export const removeRecord = (folder: Directory, seal: Seal): void =>
  ignoreErrors(() => !stuck && unlinkSync(folder.pathTo(formatRecordName(PROCESS_TOKEN, seal))))

/** Removes what processes that are gone have noted in `folder` and left behind. `enter` stands in a directory by its path. */
export function sweepTemps(folder: Directory, seal: Seal, enter: (path: string) => Directory): void {
  for (const file of listDirectory(folder)) {
    const [, owner, pid] = /^((\d+)-[0-9a-f]{8})-[0-9a-f]{12}\.dirs$/.exec(file) ?? []
    // A note that is not ours may name any directory, and be of any size.
    if (!owner || owner === PROCESS_TOKEN || file !== formatRecordName(owner, seal) || isProcessRunning(Number(pid)))
      continue
    ignoreErrors(() => {
      // A directory may be gone by now; the others are looked at all the same.
      for (const line of readRecord(folder, file).split('\n').filter(Boolean))
        ignoreErrors(() => removeTempsOf(owner, enter(JSON.parse(line) as string)))
      unlinkSync(folder.pathTo(file))
    })
  }
}

/** Throws for what is no file of a moderate size: it is not waited for, either. */
function readRecord(folder: Directory, file: string): string {
  const entry = folder.peek(file)
  try {
    if (!entry?.stats.isFile() || entry.stats.size > MAX_RECORD_BYTES) throw new Error('no note')
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

function removeTempsOf(owner: string, directory: Directory): void {
  try {
    for (const name of listDirectory(directory))
      if (name.startsWith(`${NAME_PREFIX}${owner}-`)) ignoreErrors(() => removeTree(directory, name))
  } finally {
    directory.close()
  }
}

/** Does what can be done: nothing depends on it. */
export function ignoreErrors(run: () => void): void {
  try {
    run()
  } catch {
    // What cannot be removed now is left to the next sweep.
  }
}
