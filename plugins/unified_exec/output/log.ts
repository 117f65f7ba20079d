import type { Context } from '../../../core/index.js'
import {
  MAX_SECRET_CHARACTERS,
  openSpool,
  findSettledEnd,
  SpoolRedactor,
  redactBytes,
  type SpoolFile,
} from '../../lib/state/index.js'
import { countNewlines } from './newlines.js'
import { RING_BYTES, Ring } from './ring.js'
import { measureSafeLength } from './text.js'

/** Bytes of one stream that are kept on disk; more are only counted. */
const MAX_SPOOL_BYTES = 64 * 1024 * 1024

/** The longest unfinished escape sequence that delays output. */
const LOOK_BACK_BYTES = 256

/** A position in a stream with the newlines before it, so that they are counted once. */
export interface StreamPosition {
  at: number
  newlines: number
}

/**
 * The output of one stream of a program. A short one stays in memory; of a long one, memory holds both ends and a spool
 * file the whole. Positions are bytes from the start of the stream.
 */
export class StreamLog {
  newlines = 0
  /** The spool file with the whole stream, once there is one. */
  spool_path: string | undefined
  private readonly ring = new Ring()
  private opening: Promise<void> | undefined
  private file: SpoolFile | undefined
  private cleaner: SpoolRedactor | undefined
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
    return this.opening !== undefined && this.total > MAX_SPOOL_BYTES
  }

  /** Appends a chunk. The next chunk must wait for the returned promise, if any. */
  append(chunk: Buffer): Promise<void> | undefined {
    this.ring.append(chunk)
    this.newlines += countNewlines(chunk)
    if (this.file) this.write(chunk)
    // Results show less than this, so the file will be needed. Memory drops nothing before it exists.
    else if (this.total > RING_BYTES.head) this.opening ??= this.open()
    return this.file || this.total < RING_BYTES.tail ? undefined : this.opening
  }

  /**
   * Returns the position up to which the stream can be shown while more may come: before a partial escape sequence or
   * secret.
   */
  findSafeEnd(plain: boolean): StreamPosition {
    const last = this.ring.read(Math.max(0, this.total - MAX_SECRET_CHARACTERS), this.total)!
    const cut = Math.max(0, last.length - LOOK_BACK_BYTES)
    const length = Math.min(cut + measureSafeLength(last.subarray(cut), plain), findSettledEnd(last.toString('latin1')))
    return { at: this.total - last.length + length, newlines: this.newlines - countNewlines(last.subarray(length)) }
  }

  /** Returns the end of the stream, at most `bytes` of it. */
  readEnd(bytes: number): string {
    return this.ring.read(Math.max(0, this.total - bytes), this.total)!.toString()
  }

  /** Returns the bytes from `from` to `to`; fewer if some are neither in memory nor on disk. */
  async read(from: number, to: number): Promise<Buffer> {
    const held = this.ring.read(from, to)
    if (held) return held
    await this.cleaning
    if (this.spool_path === undefined) return Buffer.alloc(0)
    await using file = await this.context.workspace.openFile(this.spool_path)
    return await file.read(from, to - from)
  }

  /**
   * Writes the stream to disk once and returns the path. Its secrets are removed after the result, before the file is
   * read.
   */
  async saveSpool(): Promise<string | undefined> {
    await (this.opening ??= this.open(redactBytes))
    void this.clean()
    return this.spool_path
  }

  async close(): Promise<void> {
    await this.opening
    await this.clean()
    await this.file?.close()
    this.file = undefined
  }

  /** A complete stream can be redacted before it is written. */
  private async open(clean?: (bytes: Buffer) => Buffer): Promise<void> {
    // On a full disk the program continues; the result then names no file.
    const file = await openSpool(this.context, this.label).catch(() => undefined)
    if (!file) return
    this.file = file
    this.cleaner = new SpoolRedactor(file, this.context)
    this.spool_path = file.path
    const bytes = this.ring.read(0, this.total)!
    this.write(clean ? clean(bytes) : bytes)
    if (clean) this.cleaned = this.written
  }

  /**
   * Writes synchronously into the cache of the system, which is faster than another thread. The next chunk needs it
   * written anyway.
   */
  private write(chunk: Buffer): void {
    const piece = chunk.subarray(0, MAX_SPOOL_BYTES - this.written)
    if (piece.length === 0 || this.spool_path === undefined) return
    try {
      this.file!.writeNow(piece)
      this.written += piece.length
    } catch {
      this.spool_path = undefined
      this.file!.discard().catch(() => {})
    }
  }

  /** Redacts the file, once for the bytes written since the last time. */
  private clean(): Promise<void> {
    const { cleaner } = this
    if (cleaner && this.cleaned !== this.written) {
      this.cleaned = this.written
      this.cleaning = this.cleaning.then(() => cleaner.redact())
    }
    return this.cleaning
  }
}
