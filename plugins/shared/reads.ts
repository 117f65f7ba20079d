import { createHash } from 'node:crypto'
import type { Session } from '../../core/index.js'

/** What a session knows of a file since it last read or wrote it. */
export interface Remembered {
  hash: string
  /** Kept for small files, to show what changed. */
  bytes?: Buffer
}

/** Hex digits of SHA-256 by which the tools name a content. */
export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

/** The files a session has seen, by the workspace-relative path that links lead to. */
export function readsOf(session: Session): Reads {
  return session.state('unified_file/reads', () => new Reads())
}

const keptBytes = 256 * 1024
const keptTotal = 8 * 1024 * 1024

export class Reads {
  private readonly files = new Map<string, Remembered>()
  private total = 0

  get(path: string): Remembered | undefined {
    return this.files.get(path)
  }

  /** Remembers that `path` holds what `hash` names, and the bytes themselves while there is room. */
  remember(path: string, hash: string, bytes?: Buffer): void {
    this.forget(path)
    if (!bytes || bytes.length > keptBytes) {
      this.files.set(path, { hash })
      return
    }
    this.files.set(path, { hash, bytes: Buffer.from(bytes) })
    this.total += bytes.length
    for (const [oldest, { bytes: held, hash: known }] of this.files) {
      if (this.total <= keptTotal) break
      if (!held) continue
      this.total -= held.length
      this.files.set(oldest, { hash: known })
    }
  }

  forget(path: string): void {
    this.total -= this.files.get(path)?.bytes?.length ?? 0
    this.files.delete(path)
  }
}
