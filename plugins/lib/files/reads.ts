import type { Session } from '../../../core/contract/index.js'
import type { EntryStat } from '../../../core/workspace/index.js'

/** A file as this session last read or wrote it: the hash if the session saw all of it, else the version. */
export interface SeenVersion {
  hash?: string
  stat?: EntryStat
  /** Kept for small files to show a diff. */
  bytes?: Buffer
}

/** Returns the files that a session has seen, by resolved workspace path. */
export function getReads(session: Session): Reads {
  return session.state('files/reads', () => new Reads())
}

/** Checks whether two stats describe the same version of a file, as far as the system reports it. */
export const isSameVersion = (a: EntryStat, b: EntryStat): boolean =>
  a.ino === b.ino && a.dev === b.dev && a.bytes === b.bytes && a.mtime_ns === b.mtime_ns

const MAX_KEPT_BYTES = 256 * 1024
const MAX_KEPT_TOTAL_BYTES = 8 * 1024 * 1024

export class Reads {
  private readonly files = new Map<string, SeenVersion>()
  private total = 0

  get(path: string): SeenVersion | undefined {
    return this.files.get(path)
  }

  /**
   * Remembers a version of `path`, with its bytes while there is room. A partial read of a known version changes
   * nothing.
   */
  remember(path: string, version: SeenVersion): void {
    const known = this.files.get(path)
    if (version.hash === undefined && version.stat && known?.stat && isSameVersion(known.stat, version.stat)) return
    this.forget(path)
    const { bytes, ...rest } = version
    if (!bytes || bytes.length > MAX_KEPT_BYTES) {
      this.files.set(path, rest)
      return
    }
    this.files.set(path, { ...rest, bytes: Buffer.from(bytes) })
    this.total += bytes.length
    for (const [oldest, { bytes: held, ...without }] of this.files) {
      if (this.total <= MAX_KEPT_TOTAL_BYTES) break
      if (!held) continue
      this.total -= held.length
      this.files.set(oldest, without)
    }
  }

  forget(path: string): void {
    this.total -= this.files.get(path)?.bytes?.length ?? 0
    this.files.delete(path)
  }
}
