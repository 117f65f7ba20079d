import type { Readable } from 'node:stream'
import type { DataCallback, Disposable, MessageReader } from 'vscode-jsonrpc'

/** Limits in bytes: of one message, of its header, and of text between messages. */
const MAX = { message: 33_554_432, header: 8_192, noise: 65_536 }
// Another header may come first, and is skipped like other text.
const HEADER = /Content-Length: *(\d{1,9})\r\n(?:[\w-]+:[^\r\n]*\r\n)*\r\n/i

/**
 * Reads the messages of a server: a header with the length, then JSON. Text between messages is skipped, because some
 * servers print greetings. A message over 32 MiB or one that is no JSON is a fault, after which nothing is read.
 */
export class FrameReader implements MessageReader {
  #take: DataCallback = () => {}
  #chunks: Buffer[] = []
  #bytes = 0
  /** The bytes that the next step needs. */
  #wanted = 1
  #body: number | undefined
  #faulty = false

  constructor(
    private readonly source: Readable,
    private readonly onFault: (reason: string) => void,
  ) {}

  listen(take: DataCallback): Disposable {
    this.#take = take
    this.source.on('data', this.#add)
    return { dispose: () => this.dispose() }
  }
  dispose(): void {
    this.source.off('data', this.#add)
  }
  // The owner of the process reports its end.
  onError = (): Disposable => NOTHING
  onClose = (): Disposable => NOTHING
  onPartialMessage = (): Disposable => NOTHING

  readonly #add = (chunk: Buffer): void => {
    if (this.#faulty) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    // Chunks of a large message are joined once, when it is complete.
    while (!this.#faulty && this.#bytes >= this.#wanted && this.#readNext());
  }

  /** Reads a header or a body. Returns false where more bytes are needed. */
  #readNext(): boolean {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const used = this.#body === undefined ? this.#readHeader(all) : this.#readBody(all, this.#body)
    this.#chunks = used < all.length ? [all.subarray(used)] : []
    this.#bytes = all.length - used
    if (used === 0) this.#wanted = Math.max(this.#wanted, all.length + 1)
    return used > 0
  }

  #readHeader(all: Buffer): number {
    const text = all.subarray(0, MAX.header + MAX.noise).toString('latin1')
    const found = HEADER.exec(text)
    if (!found) {
      if (all.length > MAX.header + MAX.noise) this.#fail('it prints text that is no message')
      return 0
    }
    const length = Number(found[1])
    if (length > MAX.message) this.#fail('it sent a message of more than 32 MiB')
    this.#body = length
    this.#wanted = Math.max(1, length)
    return found.index + found[0].length
  }

  #readBody(all: Buffer, length: number): number {
    this.#body = undefined
    this.#wanted = 1
    let message: unknown
    try {
      message = JSON.parse(all.toString('utf8', 0, length))
    } catch {
      this.#fail('it sent a message that is no JSON')
      return length
    }
    if (typeof message === 'object' && message !== null && !Array.isArray(message))
      this.#take(message as Parameters<DataCallback>[0])
    return length
  }

  #fail(reason: string): void {
    this.#faulty = true
    this.onFault(reason)
  }
}

const NOTHING: Disposable = { dispose: () => {} }
