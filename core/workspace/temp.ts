import { randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync, unlinkSync } from 'node:fs'
import type { Directory } from './directory.js'
import { list, removeTree } from './tree.js'

// A temporary file lies beside the file it becomes. A killed process cannot clear up after itself, so each writes down once per
// directory that it puts some there, and whoever opens the workspace next removes those of processes that are gone.

const prefix = '.vtcode-tmp-'
/** Names this process in the names of its temporary files. */
const token = `${process.pid}-${randomBytes(4).toString('hex')}`
const record = `${token}.dirs`
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
export function noteTemps(folder: Directory, path: string): void {
  appendFileSync(folder.at(record), `${JSON.stringify(path)}\n`, { mode: 0o600 })
}

/** Ends this process's note, if nothing of it is left. */
export const endNote = (folder: Directory): void => attempt(() => !stuck && unlinkSync(folder.at(record)))

/** Removes what processes that are gone have noted in `folder` and left behind. `enter` stands in a directory by its path. */
export function sweepTemps(folder: Directory, enter: (path: string) => Directory): void {
  for (const file of list(folder)) {
    const [, owner, pid] = /^((\d+)-[0-9a-f]{8})\.dirs$/.exec(file) ?? []
    if (!owner || owner === token || isAlive(Number(pid))) continue
    attempt(() => {
      // A directory may be gone by now; the others are looked at all the same.
      for (const line of readFileSync(folder.at(file), 'utf8').split('\n').filter(Boolean))
        attempt(() => sweep(owner, enter(JSON.parse(line) as string)))
      unlinkSync(folder.at(file))
    })
  }
}

function sweep(owner: string, directory: Directory): void {
  try {
    for (const name of list(directory)) if (name.startsWith(`${prefix}${owner}-`)) attempt(() => removeTree(directory, name))
  } finally {
    directory.close()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function attempt(run: () => void): void {
  try {
    run()
  } catch {
    // What cannot be removed now is left to the next sweep.
  }
}
