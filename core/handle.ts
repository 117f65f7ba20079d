import { closeSync, read, readSync, type BigIntStats } from 'node:fs'
import { promisify } from 'node:util'
import { reference } from './directory.js'
import { refusal } from './errno.js'
import { problem } from './errors.js'
import { shown } from './paths.js'
import type { EntryKind, EntryStat, Handle } from './types.js'
import type { Spot } from './walk.js'

/** Opens what a walk that follows links arrived at: a regular file or a directory. The spot is used up, also if this throws. */
export function openSpot(spot: Spot, path: string): Handle {
  try {
    if (!spot.entry) throw problem('VT_PATH_NOT_FOUND', { path: shown(path) })
    const { stats } = spot.entry
    const stat = toStat(stats)
    if (stat.kind === 'directory') {
      const { fd, ref, close } = spot.directory.enter(spot.name)
      return new Opened(path, spot.resolved, 'directory', stat, fd, ref, close)
    }
    if (stat.kind !== 'file') throw problem('VT_PATH_SPECIAL', { path: shown(path), kind: specialKind(stats) })
    const fd = spot.entry.open()
    return new Opened(path, spot.resolved, 'file', stat, fd, reference(fd, spot.directory.at(spot.name)), () => closeSync(fd))
  } catch (error) {
    throw refusal(error, path)
  } finally {
    spot.close()
  }
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

export const entryKind = (entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryKind =>
  entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'other'

const specialKind = (stats: BigIntStats): string => (stats.isFIFO() ? 'FIFO' : stats.isSocket() ? 'socket' : 'device')

const readAsync = promisify(read)
// Below this a blocking read of cached pages is cheaper than a turn through the thread pool.
const small = 64 * 1024

class Opened implements Handle {
  private closed = false
  private reading = 0
  private idle = () => {}
  constructor(
    readonly path: string,
    readonly resolved: string,
    readonly kind: 'file' | 'directory',
    readonly stat: EntryStat,
    readonly fd: number,
    readonly ref: string,
    private readonly release: () => void,
  ) {}

  async read(offset: number, length: number, reused?: Buffer): Promise<Buffer> {
    if (this.kind === 'directory') throw problem('VT_PATH_IS_DIRECTORY', { path: shown(this.path) })
    if (this.closed) throw problem('VT_FILE_IO', { path: shown(this.path), reason: 'the handle is closed' })
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
      throw refusal(error, this.path)
    } finally {
      if (--this.reading === 0) this.idle()
    }
  }

  // A read that runs would go on with the number of a descriptor that may be another file's by then.
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    if (this.reading > 0) await new Promise<void>((resolve) => (this.idle = resolve))
    this.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
