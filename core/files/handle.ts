import { closeSync, fstatSync, opendirSync, read, readdirSync, readSync, statSync, type BigIntStats } from 'node:fs'
import { problem } from '../shapes/index.js'
import { encodeName, systemRefusal, shownPath } from '../system/index.js'
import { reference, statOf, type Directory } from './directory.js'
import { bringInFront } from './quickselect.js'
import type { EntryKind, EntryStat, Handle } from './types.js'
import type { Spot } from './walk.js'

const { promisify } = process.getBuiltinModule('node:util')

/** Opens what a walk that follows links arrived at: a regular file or a directory. The spot is used up, also if this throws. */
export function openSpot(spot: Spot, path: string): Handle {
  try {
    if (!spot.entry) throw problem('VT_PATH_NOT_FOUND', { path: shownPath(path) })
    const { stats } = spot.entry
    const stat = toStat(stats)
    if (stat.kind === 'directory') {
      return new Opened(path, spot.resolved, 'directory', stat, spot.directory.enter(spot.name))
    }
    if (stat.kind !== 'file') throw problem('VT_PATH_SPECIAL', { path: shownPath(path), kind: specialKind(stats) })
    return opened(path, spot.resolved, spot.directory.at(spot.name), { fd: spot.entry.open(), stats })
  } catch (error) {
    throw systemRefusal(error, path)
  } finally {
    spot.close()
  }
}

/** A regular file that was opened at `place`. */
function opened(
  path: string,
  resolved: string,
  place: string | Buffer,
  { fd, stats }: { fd: number; stats: BigIntStats },
): Handle {
  const held = { fd, ref: reference(fd, place), close: () => closeSync(fd) }
  return new Opened(path, resolved, 'file', toStat(stats), held)
}

/** What a `stat` of the system says, in the kernel's terms. */
export function toStat(stats: BigIntStats): EntryStat {
  return {
    kind: entryKind(stats),
    bytes: Number(stats.size),
    mtime_ms: Number(stats.mtimeMs),
    mtime_ns: stats.mtimeNs,
    dev: stats.dev,
    ino: stats.ino,
    mode: Number(stats.mode) & 0o7777,
    nlink: Number(stats.nlink),
  }
}

const entryKind = (entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryKind =>
  entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'other'

const specialKind = (stats: BigIntStats): string => (stats.isFIFO() ? 'FIFO' : stats.isSocket() ? 'socket' : 'device')

const readAsync = promisify(read)
// Below this a blocking read of cached pages is cheaper than a turn through the thread pool.
const small = 64 * 1024

const below = (folder: string, name: string): string => (folder === '.' ? name : `${folder}/${name}`)

interface Named {
  name: string
  kind: EntryKind
}
const byName = (a: Named, b: Named): number => (a.name < b.name ? -1 : 1)

/** A folder of more bytes holds too many names to read all at once. */
const vastFolder = 4 * 1024 * 1024

function namesIn({ ref, fd }: Pick<Directory, 'ref' | 'fd'>, most: number): Named[] {
  // A descriptor is asked sooner than a path through it.
  if (most < Infinity && (fd < 0 ? statSync(ref) : fstatSync(fd)).size > vastFolder) return firstNamesIn(ref, most)
  const entries = readdirSync(ref, { withFileTypes: true })
  // Bytes are slower.
  const named = entries.some(({ name }) => isInexact(name))
    ? readdirSync(ref, { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
        name: encodeName(entry.name),
        kind: entryKind(entry),
      }))
    : entries.map((entry) => ({ name: entry.name, kind: entryKind(entry) }))
  return named.sort(byName)
}

/** The first in order, with few more in memory. */
function firstNamesIn(ref: string, most: number, encoding: 'utf8' | 'buffer' = 'utf8'): Named[] {
  // That names may come as bytes is not in the types.
  const folder = opendirSync(ref, { encoding: encoding as BufferEncoding, bufferSize: 1024 })
  try {
    // With its kind after a NUL, which sorts before any name, each entry is one text that sorts fast.
    const named: string[] = []
    /** No name behind this one is among the first. */
    let last: string | undefined
    for (let entry; (entry = folder.readSync());) {
      if (encoding === 'utf8' && isInexact(entry.name)) return firstNamesIn(ref, most, 'buffer')
      const name = encoding === 'utf8' ? entry.name : encodeName(entry.name as unknown as Buffer)
      if (last !== undefined && name > last) continue
      named.push(`${name}\0${entryKind(entry)}`)
      if (named.length < 1.25 * most) continue
      bringInFront(named, most, (a, b) => a < b)
      named.length = most
      last = named.at(-1)
    }
    return named
      .sort()
      .slice(0, most)
      .map((text) => {
        const end = text.indexOf('\0')
        return { name: text.slice(0, end), kind: text.slice(end + 1) as EntryKind }
      })
  } finally {
    folder.closeSync()
  }
}

/** Whether a name is no text, or reads like what stands for such bytes. */
const isInexact = (name: string): boolean => name.includes('\ufffd') || name.includes('\\x')

class Opened implements Handle {
  private closed = false
  private reading = 0
  private idle = () => {}
  constructor(
    readonly path: string,
    readonly resolved: string,
    readonly kind: 'file' | 'directory',
    private known: EntryStat | undefined,
    private readonly held: Pick<Directory, 'fd' | 'ref' | 'close'> & Partial<Directory>,
  ) {}

  /** Of a folder that a walk enters nobody may ask, and the system is not asked either. */
  get stat(): EntryStat {
    return (this.known ??= toStat(statOf(this.held as Directory)))
  }

  get fd(): number {
    return this.held.fd
  }

  get ref(): string {
    return this.held.ref
  }

  async read(offset: number, length: number, reused?: Buffer): Promise<Buffer> {
    if (this.kind === 'directory') throw problem('VT_PATH_IS_DIRECTORY', { path: shownPath(this.path) })
    if (this.closed) throw problem('VT_FILE_IO', { path: shownPath(this.path), reason: 'the handle is closed' })
    const wanted = Math.max(0, Math.min(length, this.stat.bytes - offset))
    const buffer = reused?.subarray(0, wanted) ?? Buffer.allocUnsafe(wanted)
    this.reading++
    try {
      let filled = 0
      while (filled < buffer.length) {
        const left = buffer.length - filled
        const bytes =
          left <= small
            ? readSync(this.fd, buffer, filled, left, offset + filled)
            : (await readAsync(this.fd, buffer, filled, left, offset + filled)).bytesRead
        if (bytes === 0) break
        filled += bytes
      }
      return buffer.subarray(0, filled)
    } catch (error) {
      throw systemRefusal(error, this.path)
    } finally {
      if (--this.reading === 0) this.idle()
    }
  }

  names(most = Infinity): Named[] {
    try {
      return namesIn(this.held, most)
    } catch (error) {
      throw systemRefusal(error, this.path)
    }
  }

  enter(name: string): Handle {
    const [path, resolved] = [below(this.path, name), below(this.resolved, name)]
    if (!this.held.enter) throw problem('VT_PATH_NOT_DIRECTORY', { path: shownPath(this.path) })
    try {
      return new Opened(path, resolved, 'directory', undefined, this.held.enter(name))
    } catch (error) {
      throw systemRefusal(error, path)
    }
  }

  file(name: string): Handle | undefined {
    const path = below(this.path, name)
    if (this.kind === 'file') throw problem('VT_PATH_NOT_DIRECTORY', { path: shownPath(this.path) })
    const folder = this.held as Directory
    const file = folder.openFile(name)
    return file && opened(path, below(this.resolved, name), folder.at(name), file)
  }

  // An active read would continue with a descriptor that may belong to another file.
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    if (this.reading > 0) await new Promise<void>((resolve) => (this.idle = resolve))
    this.held.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
