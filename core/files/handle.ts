import { closeSync, fstatSync, opendirSync, read, readdirSync, readSync, statSync, type BigIntStats } from 'node:fs'
import { problem } from '../shapes/index.js'
import { encodeName, toPathError, escapePath } from '../system/index.js'
import { formatReference, statDirectory, type Directory } from './directory.js'
import { quickselect } from './quickselect.js'
import type { EntryKind, EntryStat, Handle } from './types.js'
import type { Location } from './walk.js'

const { promisify } = process.getBuiltinModule('node:util')

/** Opens the regular file or directory that a walk with `follow` has reached. Closes the location, also on a throw. */
export function openLocation(location: Location, path: string): Handle {
  try {
    if (!location.entry) throw problem('VT_PATH_NOT_FOUND', { path: escapePath(path) })
    const { stats } = location.entry
    const stat = toStat(stats)
    if (stat.kind === 'directory') {
      return new OpenHandle(path, location.resolved, 'directory', stat, location.directory.openDirectory(location.name))
    }
    if (stat.kind !== 'file') throw problem('VT_PATH_SPECIAL', { path: escapePath(path), kind: nameSpecialKind(stats) })
    return createFileHandle(path, location.resolved, location.directory.pathTo(location.name), {
      fd: location.entry.open(),
      stats,
    })
  } catch (error) {
    throw toPathError(error, path)
  } finally {
    location.close()
  }
}

/** Returns the handle of a regular file that was opened at `place`. */
function createFileHandle(
  path: string,
  resolved: string,
  place: string | Buffer,
  { fd, stats }: { fd: number; stats: BigIntStats },
): Handle {
  const target = { fd, ref: formatReference(fd, place), close: () => closeSync(fd) }
  return new OpenHandle(path, resolved, 'file', toStat(stats), target)
}

/** Converts a `stat` of the system. */
export function toStat(stats: BigIntStats): EntryStat {
  return {
    kind: classifyEntry(stats),
    bytes: Number(stats.size),
    mtime_ms: Number(stats.mtimeMs),
    mtime_ns: stats.mtimeNs,
    dev: stats.dev,
    ino: stats.ino,
    mode: Number(stats.mode) & 0o7777,
    nlink: Number(stats.nlink),
  }
}

const classifyEntry = (entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryKind =>
  entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'other'

const nameSpecialKind = (stats: BigIntStats): string =>
  stats.isFIFO() ? 'FIFO' : stats.isSocket() ? 'socket' : 'device'

const readAsync = promisify(read)
// A blocking read of so few cached bytes is cheaper than a turn through the thread pool.
const SYNC_READ_BYTES = 64 * 1024

const joinPath = (folder: string, name: string): string => (folder === '.' ? name : `${folder}/${name}`)

interface NamedEntry {
  name: string
  kind: EntryKind
}
const compareNames = (a: NamedEntry, b: NamedEntry): number => (a.name < b.name ? -1 : 1)

/** A folder of more bytes holds too many names for one read. */
const LARGE_FOLDER_BYTES = 4 * 1024 * 1024

function listAllNames({ ref, fd }: Pick<Directory, 'ref' | 'fd'>, most: number): NamedEntry[] {
  // A `stat` of the descriptor is faster than a `stat` of a path through it.
  if (most < Infinity && (fd < 0 ? statSync(ref) : fstatSync(fd)).size > LARGE_FOLDER_BYTES)
    return listFirstNames(ref, most)
  const entries = readdirSync(ref, { withFileTypes: true })
  // Names as bytes are slower, so they are read only when a name needs them.
  const namedEntries = entries.some(({ name }) => isInexact(name))
    ? readdirSync(ref, { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
        name: encodeName(entry.name),
        kind: classifyEntry(entry),
      }))
    : entries.map((entry) => ({ name: entry.name, kind: classifyEntry(entry) }))
  return namedEntries.sort(compareNames)
}

/** Returns the first `most` names in order and keeps few more in memory. */
function listFirstNames(ref: string, most: number, encoding: 'utf8' | 'buffer' = 'utf8'): NamedEntry[] {
  // The types of Node do not allow names as bytes.
  const folder = opendirSync(ref, { encoding: encoding as BufferEncoding, bufferSize: 1024 })
  try {
    // Each entry is one text that sorts fast: the name, then a NUL, which sorts before any name, then the kind.
    const texts: string[] = []
    /** Names after this one are not among the first. */
    let last: string | undefined
    for (let entry; (entry = folder.readSync());) {
      if (encoding === 'utf8' && isInexact(entry.name)) return listFirstNames(ref, most, 'buffer')
      const name = encoding === 'utf8' ? entry.name : encodeName(entry.name as unknown as Buffer)
      if (last !== undefined && name > last) continue
      texts.push(`${name}\0${classifyEntry(entry)}`)
      if (texts.length < 1.25 * most) continue
      quickselect(texts, most, (a, b) => a < b)
      texts.length = most
      last = texts.at(-1)
    }
    return texts
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

/** Returns whether a name is not UTF-8, or looks like an escape of such bytes. */
const isInexact = (name: string): boolean => name.includes('\ufffd') || name.includes('\\x')

class OpenHandle implements Handle {
  private closed = false
  private activeReads = 0
  private onIdle = () => {}
  constructor(
    readonly path: string,
    readonly resolved: string,
    readonly kind: 'file' | 'directory',
    private knownStat: EntryStat | undefined,
    private readonly target: Pick<Directory, 'fd' | 'ref' | 'close'> & Partial<Directory>,
  ) {}

  /** The `stat` of a folder is read on first use: most folders that a search enters never need it. */
  get stat(): EntryStat {
    return (this.knownStat ??= toStat(statDirectory(this.target as Directory)))
  }

  get fd(): number {
    return this.target.fd
  }

  get ref(): string {
    return this.target.ref
  }

  async read(offset: number, length: number, reused?: Buffer): Promise<Buffer> {
    if (this.kind === 'directory') throw problem('VT_PATH_IS_DIRECTORY', { path: escapePath(this.path) })
    if (this.closed) throw problem('VT_FILE_IO', { path: escapePath(this.path), reason: 'the handle is closed' })
    const size = Math.max(0, Math.min(length, this.stat.bytes - offset))
    const buffer = reused?.subarray(0, size) ?? Buffer.allocUnsafe(size)
    this.activeReads++
    try {
      let filled = 0
      while (filled < buffer.length) {
        const left = buffer.length - filled
        const bytes =
          left <= SYNC_READ_BYTES
            ? readSync(this.fd, buffer, filled, left, offset + filled)
            : (await readAsync(this.fd, buffer, filled, left, offset + filled)).bytesRead
        if (bytes === 0) break
        filled += bytes
      }
      return buffer.subarray(0, filled)
    } catch (error) {
      throw toPathError(error, this.path)
    } finally {
      if (--this.activeReads === 0) this.onIdle()
    }
  }

  listNames(most = Infinity): NamedEntry[] {
    try {
      return listAllNames(this.target, most)
    } catch (error) {
      throw toPathError(error, this.path)
    }
  }

  openDirectory(name: string): Handle {
    const [path, resolved] = [joinPath(this.path, name), joinPath(this.resolved, name)]
    if (!this.target.openDirectory) throw problem('VT_PATH_NOT_DIRECTORY', { path: escapePath(this.path) })
    try {
      return new OpenHandle(path, resolved, 'directory', undefined, this.target.openDirectory(name))
    } catch (error) {
      throw toPathError(error, path)
    }
  }

  openFile(name: string): Handle | undefined {
    const path = joinPath(this.path, name)
    if (this.kind === 'file') throw problem('VT_PATH_NOT_DIRECTORY', { path: escapePath(this.path) })
    const folder = this.target as Directory
    const file = folder.openFile(name)
    return file && createFileHandle(path, joinPath(this.resolved, name), folder.pathTo(name), file)
  }

  // Closing waits for active reads: their descriptor could belong to another file afterwards.
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    if (this.activeReads > 0) await new Promise<void>((resolve) => (this.onIdle = resolve))
    this.target.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
