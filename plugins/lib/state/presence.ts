import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { makeFolder, sha256, toRealPath, writeStateSync } from '../../../core/system/index.js'
import { getOwnHolder, isHolder, isHolderAlive, type Holder } from './holder.js'

/** A session that works in a folder. */
export interface Presence extends Holder {
  session: string
  surface: string
  /** Start of its work, in milliseconds since the epoch. */
  since: number
}

const MAX_BYTES = 4_096
/** Of more sessions only these many are listed. */
const MAX_SESSIONS = 32

const folders = new Map<string, PresentSessions>()

/** The sessions of all processes that work in one folder: one file each in the home of the user. */
export class PresentSessions {
  /** Time of the last change of the folder when it was read. */
  #read = -1
  /** The sessions by the names of their files, whose content never changes. */
  #known = new Map<string, Presence | undefined>()

  private constructor(readonly folder: string) {}

  /** Returns the sessions of a folder, one object in a process. */
  static open(root: string, home: string): PresentSessions {
    const folder = join(home, 'present', sha256(toRealPath(root)).slice(0, 20))
    const sessions = folders.get(folder) ?? new PresentSessions(folder)
    folders.set(folder, sessions)
    return sessions
  }

  /** Adds a session and returns the function that removes it. */
  add(session: string, surface: string, since: number): () => void {
    const file = join(this.folder, `${sha256(`${session}\0${process.pid}\0${since}`).slice(0, 20)}.json`)
    const presence: Presence = { ...getOwnHolder(), session, surface, since }
    makeFolder(this.folder, 0o700)
    writeStateSync(file, JSON.stringify(presence), { durable: false })
    return () => rmSync(file, { force: true })
  }

  /** Returns the sessions of live processes. Files of others are removed. */
  list(): Presence[] {
    const { mtimeMs = -1 } = statSync(this.folder, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs !== this.#read) this.#readFolder()
    this.#read = mtimeMs
    return [...this.#known.values()].filter((one) => one !== undefined).slice(0, MAX_SESSIONS)
  }

  #readFolder(): void {
    const known = new Map<string, Presence | undefined>()
    for (const name of readdirSync(this.folder).filter((one) => one.endsWith('.json'))) {
      const file = join(this.folder, name)
      const presence = this.#known.has(name) ? this.#known.get(name) : parsePresence(file)
      if (presence && presence.pid !== process.pid && !isHolderAlive(presence)) rmSync(file, { force: true })
      else known.set(name, presence)
    }
    this.#known = known
  }
}

function parsePresence(file: string): Presence | undefined {
  try {
    const value: unknown = JSON.parse(readBytes(file, { limit: MAX_BYTES }).toString())
    const isPresence =
      isObject(value) &&
      isHolder(value) &&
      typeof value['session'] === 'string' &&
      typeof value['surface'] === 'string' &&
      typeof value['since'] === 'number'
    return isPresence ? (value as unknown as Presence) : undefined
  } catch {
    return undefined
  }
}
