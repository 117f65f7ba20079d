import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeFolder, sha256, writeStateSync } from '../../../core/system/index.js'
import type { IndexEntry, Uncovered } from './types.js'

/** The place of a content: file below `packs`, first byte, length. */
type ContentPlace = [pack: string, at: number, bytes: number]

interface LogLine {
  contents?: [sha256: string, ...ContentPlace][]
  entries?: [path: string, entry: IndexEntry | null][]
  /** Replaces the list of trees that are left out. */
  skipped?: Uncovered[]
}

/**
 * The index and the contents of one workspace, in a folder of the user's home. Contents lie in `packs`, many in one
 * file, each once. `log` has one JSON document a line: contents and index entries, in order of time. Several processes
 * append to it; each reads what the others added. A line that a killed process left incomplete is skipped.
 */
export class StateLog {
  readonly entries = new Map<string, IndexEntry>()
  readonly contents = new Map<string, ContentPlace>()
  skipped: Uncovered[] = []
  /** Bytes of all packs. */
  pack_bytes = 0
  #position = 0
  #inode = 0

  constructor(readonly folder: string) {
    makeFolder(join(folder, 'packs'), 0o700)
    for (const name of readdirSync(join(folder, 'packs'))) this.pack_bytes += measureFile(join(folder, 'packs', name))
  }

  /** Position in the log up to which lines were read: generation and byte. */
  get position(): { inode: number; at: number } {
    return { inode: this.#inode, at: this.#position }
  }

  /** Reads the lines that were added since the last call. `note` receives each index entry before it is applied. */
  read(note: (path: string, entry: IndexEntry | null) => void, until = Infinity): void {
    let fd: number
    try {
      fd = openSync(this.#file, 'r')
    } catch {
      return
    }
    try {
      const { ino, size } = fstatSync(fd)
      if (ino !== this.#inode || size < this.#position) this.#restart(ino)
      const bytes = Buffer.alloc(Math.min(size, until) - this.#position)
      if (bytes.length === 0) return
      let length = 0
      for (
        let got;
        length < bytes.length &&
        (got = readSync(fd, bytes, length, bytes.length - length, this.#position + length)) > 0;
      )
        length += got
      const end = bytes.lastIndexOf(0x0a, length - 1) + 1
      for (const line of bytes.toString('utf8', 0, end).split('\n')) if (line !== '') this.#apply(line, note)
      this.#position += end
    } finally {
      closeSync(fd)
    }
  }

  /** Appends contents and entries, contents first: an entry never names a content that is not on disk. */
  append(packed: ReadonlyMap<string, Buffer>, line: Omit<LogLine, 'contents'>): void {
    const contents: LogLine['contents'] = []
    if (packed.size > 0) {
      const name = `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`
      let at = 0
      for (const [hash, bytes] of packed) {
        contents.push([hash, name, at, bytes.length])
        at += bytes.length
      }
      appendFile(join(this.folder, 'packs', name), [...packed.values()], 'wx')
      this.pack_bytes += at
    }
    const text = JSON.stringify({ ...(contents.length > 0 && { contents }), ...line })
    // A line feed first ends the line of a process that was killed while it wrote.
    appendFile(this.#file, [Buffer.from(`\n${text}\n`)], 'a', packed.size > 0)
    this.read(() => {})
  }

  /** Returns a kept content; `undefined` if it is lost or damaged. */
  readContent(hash: string): Buffer | undefined {
    const place = this.contents.get(hash)
    if (!place) return undefined
    const [pack, at, length] = place
    try {
      const fd = openSync(join(this.folder, 'packs', pack), 'r')
      try {
        const bytes = Buffer.alloc(length)
        for (let done = 0, got; done < length && (got = readSync(fd, bytes, done, length - done, at + done)) > 0;)
          done += got
        return sha256(bytes) === hash ? bytes : undefined
      } finally {
        closeSync(fd)
      }
    } catch {
      return undefined
    }
  }

  /**
   * Writes the log again with the present state only, and drops contents that neither the index nor `isUsed` needs.
   * Packs that are mostly unused are written again. The caller holds the lock of the store.
   */
  compact(isUsed: (sha256: string) => boolean): void {
    const { live, packs } = this.#measurePacks(isUsed)
    for (const name of readdirSync(join(this.folder, 'packs'))) {
      const file = join(this.folder, 'packs', name)
      const { live: kept, bytes } = packs.get(name) ?? { live: [], bytes: 0 }
      if (bytes > measureFile(file) / 2) continue
      const moved = new Map(kept.flatMap((hash) => toPair(hash, this.readContent(hash))))
      if (moved.size > 0) this.append(moved, {})
      packs.delete(name)
    }
    const kept = [...this.contents].filter(([hash, [pack]]) => packs.has(pack) || live.has(hash) || isUsed(hash))
    const line: LogLine = {
      contents: kept.map(([hash, place]) => [hash, ...place]),
      entries: [...this.entries],
      skipped: this.skipped,
    }
    writeStateSync(this.#file, `${JSON.stringify(line)}\n`)
    this.read(() => {})
    const used = new Set([...this.contents.values()].map(([pack]) => pack))
    for (const name of readdirSync(join(this.folder, 'packs')))
      if (!used.has(name)) rmSync(join(this.folder, 'packs', name), { force: true })
    this.pack_bytes = 0
    for (const name of used) this.pack_bytes += measureFile(join(this.folder, 'packs', name))
  }

  /** Finds the contents that are needed, and the number of needed bytes of each pack. */
  #measurePacks(isUsed: (sha256: string) => boolean) {
    const live = new Set<string>()
    for (const { state } of this.entries.values()) if (state.kind === 'file' && state.sha256) live.add(state.sha256)
    const packs = new Map<string, { live: string[]; bytes: number }>()
    for (const [hash, [pack, , bytes]] of this.contents) {
      const one = packs.get(pack) ?? { live: [], bytes: 0 }
      packs.set(pack, one)
      if (!live.has(hash) && !isUsed(hash)) continue
      one.live.push(hash)
      one.bytes += bytes
    }
    return { live, packs }
  }

  /** Returns the bytes of the log. */
  get log_bytes(): number {
    return measureFile(this.#file)
  }

  get #file(): string {
    return join(this.folder, 'log')
  }

  #restart(inode: number): void {
    this.#inode = inode
    this.#position = 0
    this.entries.clear()
    this.contents.clear()
    this.skipped = []
  }

  #apply(text: string, note: (path: string, entry: IndexEntry | null) => void): void {
    let line: LogLine
    try {
      line = JSON.parse(text) as LogLine
    } catch {
      return
    }
    for (const [hash, ...place] of line.contents ?? []) this.contents.set(hash, place)
    for (const [path, entry] of line.entries ?? []) {
      note(path, entry)
      if (entry) this.entries.set(path, entry)
      else this.entries.delete(path)
    }
    if (line.skipped) this.skipped = line.skipped
  }
}

const toPair = (hash: string, bytes: Buffer | undefined): [string, Buffer][] => (bytes ? [[hash, bytes]] : [])

const measureFile = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Writes all parts to a file; a part of a write that failed is removed where the file is new. */
function appendFile(file: string, parts: readonly Buffer[], flag: 'a' | 'wx', durable = true): void {
  const fd = openSync(file, flag, 0o600)
  try {
    for (const bytes of parts) for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
    if (durable) fdatasyncSync(fd)
  } catch (error) {
    if (flag === 'wx') rmSync(file, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}
