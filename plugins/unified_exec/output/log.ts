import type { Context } from '../../../core/index.js'
import {
  longestSecret,
  openSpool,
  settledWithin,
  SpoolCleaner,
  withoutSecrets,
  type Spool,
} from '../../lib/state/index.js'
import { countNewlines } from './newlines.js'
import { kept, Ring } from './ring.js'
import { shownLength } from './text.js'

/** Bytes of one stream that are kept on disk; beyond them it is only counted. */
const longestSpool = 64 * 1024 * 1024

/** Bytes that an unfinished escape sequence may hold back. */
const lookBack = 256

/** A position in a stream, with the newlines before it, so that nothing is read again to count them. */
export interface StreamPosition {
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
  private opening: Promise<void> | undefined
  private file: Spool | undefined
  private cleaner: SpoolCleaner | undefined
  private written = 0
  private cleaned = 0
  private cleaning: Promise<void> = Promise.resolve()

  constructor(
    private readonly context: Context,
    private readonly label: string,
  ) {}

  get total(): number {
    return this.ring.total
  }
  get spool_truncated(): boolean {
    return this.opening !== undefined && this.total > longestSpool
  }

  /** The promise, if there is one, holds the next chunk back. */
  append(chunk: Buffer): Promise<void> | undefined {
    this.ring.append(chunk)
    this.newlines += countNewlines(chunk)
    if (this.file) this.write(chunk)
    // An answer shows less than this, so the file will be asked for. Nothing may leave the memory before there is one.
    else if (this.total > kept.head) this.opening ??= this.open()
    return this.file || this.total < kept.tail ? undefined : this.opening
  }

  /** Up to where the stream can be shown while more may come: neither an escape sequence nor a secret is told in halves. */
  shown(plain: boolean): StreamPosition {
    const last = this.ring.read(Math.max(0, this.total - longestSecret), this.total)!
    const cut = Math.max(0, last.length - lookBack)
    const length = Math.min(cut + shownLength(last.subarray(cut), plain), settledWithin(last.toString('latin1')))
    return { at: this.total - last.length + length, newlines: this.newlines - countNewlines(last.subarray(length)) }
  }

  /** The bytes from `from` to `to`; fewer if some are neither in memory nor on disk. */
  async read(from: number, to: number): Promise<Buffer> {
    const held = this.ring.read(from, to)
    if (held) return held
    await this.cleaning
    if (this.spool_path === undefined) return Buffer.alloc(0)
    await using file = await this.context.workspace.openFile(this.spool_path)
    return await file.read(from, to - from)
  }

  /** Puts the stream on disk, if it is not there yet; answers where. Its secrets leave the file behind the answer, before it is read. */
  async keep(): Promise<string | undefined> {
    await (this.opening ??= this.open(withoutSecrets))
    void this.clean()
    return this.spool_path
  }

  async close(): Promise<void> {
    await this.opening
    await this.clean()
    await this.file?.close()
    this.file = undefined
  }

  /** What is all there can be cleaned on its way to the disk. */
  private async open(clean?: (bytes: Buffer) => Buffer): Promise<void> {
    // Without room on the disk the program runs on; the answer names no file then.
    const file = await openSpool(this.context, this.label).catch(() => undefined)
    if (!file) return
    this.file = file
    this.cleaner = new SpoolCleaner(file, this.context)
    this.spool_path = file.path
    const bytes = this.ring.read(0, this.total)!
    this.write(clean ? clean(bytes) : bytes)
    if (clean) this.cleaned = this.written
  }

  /**
   * At once, into the memory of the system: handing it to another thread takes longer than writing it, and what came has to be
   * written before more comes in any case.
   */
  private write(chunk: Buffer): void {
    const piece = chunk.subarray(0, longestSpool - this.written)
    if (piece.length === 0 || this.spool_path === undefined) return
    try {
      this.file!.writeNow(piece)
      this.written += piece.length
    } catch {
      this.spool_path = undefined
      this.file!.discard().catch(() => {})
    }
  }

  /** Takes the secrets out of what is on disk, once for what was written since. */
  private clean(): Promise<void> {
    const { cleaner } = this
    if (cleaner && this.cleaned !== this.written) {
      this.cleaned = this.written
      this.cleaning = this.cleaning.then(() => cleaner.clean())
    }
    return this.cleaning
  }
}
