import type { Context } from '../../../core/index.js'
import { openSpool, type Spool } from '../spool.js'
import { blot } from './blot.js'
import { countNewlines } from './newlines.js'
import { kept, Ring } from './ring.js'
import { shownLength } from './text.js'

/** Bytes of one stream that are kept on disk; beyond them it is only counted. */
const longestSpool = 64 * 1024 * 1024
/** Bytes that may wait for the disk before the program is held back. */
const longestQueue = 1024 * 1024

/** Bytes that an unfinished escape sequence may hold back. */
const lookBack = 256

/** A position in a stream, with the newlines before it, so that nothing is read again to count them. */
export interface Place {
  at: number
  newlines: number
}

/**
 * What one stream of a program brought: all of it as long as it is short, else its two ends in memory and the whole in a spool
 * file. Positions are bytes from the start of the stream.
 */
export class StreamLog {
  newlines = 0
  /** Where the whole stream can be read, once it is kept. */
  spool_path: string | undefined
  private readonly ring = new Ring()
  private file: Promise<Spool | undefined> | undefined
  private queue: Buffer[] = []
  private queued = 0
  private accepted = 0
  private cleaned = 0
  private flushing: Promise<void> | undefined

  constructor(
    private readonly context: Context,
    private readonly label: string,
  ) {}

  get total(): number {
    return this.ring.total
  }
  get spool_truncated(): boolean {
    return this.file !== undefined && this.total > longestSpool
  }

  /** The promise, if there is one, holds the next chunk back. */
  append(chunk: Buffer): Promise<void> | undefined {
    if (!this.file && this.total + chunk.length > kept.head + kept.tail) this.open()
    this.ring.append(chunk)
    this.newlines += countNewlines(chunk)
    return this.file && this.enqueue(chunk)
  }

  /** Up to where the stream can be shown while more may come. */
  shown(plain: boolean): Place {
    const last = this.ring.read(Math.max(0, this.total - lookBack), this.total)!
    const length = shownLength(last, plain)
    return { at: this.total - last.length + length, newlines: this.newlines - countNewlines(last.subarray(length)) }
  }

  /** The bytes from `from` to `to`; fewer if some are neither in memory nor on disk. */
  async read(from: number, to: number): Promise<Buffer> {
    const held = this.ring.read(from, to)
    if (held) return held
    await this.flushing
    if (this.spool_path === undefined) return Buffer.alloc(0)
    await using file = await this.context.workspace.openFile(this.spool_path)
    return await file.read(from, to - from)
  }

  /** Puts the stream on disk, if it is not there yet; answers where. */
  async keep(): Promise<string | undefined> {
    if (!this.file) this.open()
    await this.clean()
    return this.spool_path
  }

  async close(): Promise<void> {
    await this.clean()
    await (await this.file)?.close()
  }

  /** Takes the secrets out of what is on disk, once for what was written since. */
  private async clean(): Promise<void> {
    await this.flushing
    const file = await this.file
    if (!file || this.spool_path === undefined || this.cleaned === this.accepted) return
    this.cleaned = this.accepted
    await blot(file, this.context)
  }

  private open(): void {
    this.file = openSpool(this.context, this.label).then(
      (file) => {
        this.spool_path = file.path
        return file
      },
      // Without room on the disk the program runs on; the answer names no file then.
      () => undefined,
    )
    void this.enqueue(this.ring.read(0, this.total)!)
  }

  private enqueue(chunk: Buffer): Promise<void> | undefined {
    const piece = chunk.subarray(0, Math.max(0, longestSpool - this.accepted))
    this.accepted += piece.length
    if (piece.length > 0) {
      this.queue.push(piece)
      this.queued += piece.length
    }
    this.flushing ??= this.flush()
    return this.queued > longestQueue ? this.flushing : undefined
  }

  private async flush(): Promise<void> {
    const file = await this.file
    while (this.queue.length > 0) {
      const batch = this.queue
      this.queue = []
      this.queued = 0
      await file?.writeAll(batch).catch(() => this.lose())
    }
    this.flushing = undefined
  }

  private lose(): void {
    this.spool_path = undefined
    this.accepted = longestSpool
  }
}
