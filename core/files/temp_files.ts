import { randomBytes } from 'node:crypto'
import { appendFileSync, closeSync, readFileSync, unlinkSync } from 'node:fs'
import { isProcessRunning, type Seal } from '../system/index.js'
import type { Directory } from './directory.js'
import { list, removeTree } from './tree.js'

// A temporary file lies beside the file it becomes. A killed process cannot clear up after itself, so each writes down once per
// directory that it puts some there, and whoever opens the workspace next removes those of processes that are gone.

const prefix = '.vtcode-tmp-'
/** Whether this is the name of a temporary file, which only the notes speak for. */
export const isTemp = (name: string): boolean => name.startsWith(prefix)
/** Names this process in the names of its temporary files. */
const token = `${process.pid}-${randomBytes(4).toString('hex')}`
/** The note of a process in one workspace: its name says that it is ours. */
const noteName = (owner: string, seal: Seal): string => `${owner}-${seal.nameMark('temps', owner)}.dirs`
const largestNote = 1024 * 1024
const live = new Map<string, Directory>()
let count = 0
/** Something could not be removed: it is left to whoever opens the workspace next. */
let stuck = false

export interface Temp {
  readonly name: string
  /** Removes what is there under the name, if anything is. Contract: does not throw. */
  drop(): void
}

/** A name in `directory` that no one else uses; what is there is removed by `drop`, or when the process ends. */
export function tempIn(directory: Directory): Temp {
  if (count === 0) process.once('exit', () => live.forEach((holder, name) => attempt(() => removeTree(holder, name))))
  const name = `${prefix}${token}-${count++}`
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
    attempt(() => removeTree(holder, name))
    live.delete(name)
  }
}

/** Writes down in `folder` that temporary files of this process may lie in the directory `path`. */
export function noteTemps(folder: Directory, seal: Seal, path: string): void {
  appendFileSync(folder.at(noteName(token, seal)), `${JSON.stringify(path)}\n`, { mode: 0o600 })
}

/** Ends this process's note, if nothing of it is left. */
export const endNote = (folder: Directory, seal: Seal): void =>
  attempt(() => !stuck && unlinkSync(folder.at(noteName(token, seal))))

/** Removes what processes that are gone have noted in `folder` and left behind. `enter` stands in a directory by its path. */
export function sweepTemps(folder: Directory, seal: Seal, enter: (path: string) => Directory): void {
  for (const file of list(folder)) {
    const [, owner, pid] = /^((\d+)-[0-9a-f]{8})-[0-9a-f]{12}\.dirs$/.exec(file) ?? []
    // A note that is not ours may name any directory, and be of any size.
    if (!owner || owner === token || file !== noteName(owner, seal) || isProcessRunning(Number(pid))) continue
    attempt(() => {
      // A directory may be gone by now; the others are looked at all the same.
      for (const line of noteText(folder, file).split('\n').filter(Boolean))
        attempt(() => sweep(owner, enter(JSON.parse(line) as string)))
      unlinkSync(folder.at(file))
    })
  }
}

/** Throws for what is no file of a moderate size: it is not waited for, either. */
function noteText(folder: Directory, file: string): string {
  const entry = folder.peek(file)
  try {
    if (!entry?.stats.isFile() || entry.stats.size > largestNote) throw new Error('no note')
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

function sweep(owner: string, directory: Directory): void {
  try {
    for (const name of list(directory))
      if (name.startsWith(`${prefix}${owner}-`)) attempt(() => removeTree(directory, name))
  } finally {
    directory.close()
  }
}

/** Does what can be done: nothing depends on it. */
export function attempt(run: () => void): void {
  try {
    run()
  } catch {
    // What cannot be removed now is left to the next sweep.
  }
}
