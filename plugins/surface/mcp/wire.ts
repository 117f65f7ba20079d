import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { toText } from '../../../core/text/index.js'
import type { Io } from '../../../core/index.js'
import type { BeginningWatch } from './beginning.js'
import { readFrames } from './frames.js'
import type { Front } from './front.js'

/** How long requests in flight may still be answered after the client closed its end. */
const GRACE = 1_000

/** UTF-16 units of answers that wait to be written. */
const MOST_UNWRITTEN = 65_536

/**
 * MCP over the streams of the process, one JSON document per line. What is no message is answered with an error and never
 * ends the connection; the end of input does, when the answers that are due have been written or the grace is over.
 */
export class Wire implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: () => void
  onerror?: (error: Error) => void
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
  #resolveClosed!: () => void
  readonly #due = new Set<unknown>()
  readonly #write: (line: string) => void
  readonly #stdin: Io['stdin']
  readonly #front: Front | undefined
  #unwritten = ''
  #ended = false
  #closed = false

  constructor(
    io: Io,
    readonly beginning: BeginningWatch,
  ) {
    this.#front = io.front as Front | undefined
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve))
    this.#stdin = io.stdin
    // Whatever a plugin prints would garble the protocol: from here on stdout belongs to the wire, and all else goes to stderr.
    this.#write = io.stdout.write.bind(io.stdout) as (line: string) => void
    io.stdout.write = io.stderr.write.bind(io.stderr) as typeof io.stdout.write
  }

  async start(): Promise<void> {
    const take = readFrames({
      message: (message) => this.#deliver(message),
      refuse: (id, code, text) => this.#refuse(id, code, text),
    })
    // Who starts a transport may listen only when it has started.
    if (this.#front) await new Promise(setImmediate)
    for (const chunk of this.#front?.chunks ?? []) take(chunk)
    // What ended before says so no more.
    if (this.#front && (this.#stdin as { readableEnded?: boolean }).readableEnded) this.#end()
    this.#stdin.on('data', take)
    for (const end of ['end', 'close', 'error']) this.#stdin.on(end, () => this.#end())
    this.#stdin.resume()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    const shown = this.beginning.shown(message)
    if (shown) this.#line(shown)
    if ('id' in message && !('method' in message)) this.#due.delete(message.id)
    if (this.#ended && this.#due.size === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#flush()
    this.#closed = true
    this.#stdin.pause()
    this.onclose?.()
    this.#resolveClosed()
  }

  #deliver(message: JSONRPCMessage): void {
    if ('method' in message && 'id' in message) {
      // Nobody could tell whose answer is whose.
      if (this.#due.has(message.id))
        return this.#refuse(
          null,
          -32600,
          `Invalid request: the id ${toText(message.id).slice(0, 80)} is that of a request that is not answered yet.`,
        )
      this.#due.add(message.id)
    }
    // A cancelled request is not answered.
    if ('method' in message && message.method === 'notifications/cancelled' && !('id' in message))
      this.#due.delete(message.params?.['requestId'])
    this.beginning.asked(message)
    this.onmessage?.(message)
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#line({ jsonrpc: '2.0', id, error: { code, message } })
  }

  /** Answers that come together go out together: each write is a call of the system, which costs as much as a call of a tool. */
  #line(message: unknown): void {
    if (this.#unwritten === '') process.nextTick(() => this.#flush())
    this.#unwritten += `${JSON.stringify(message)}\n`
    if (this.#unwritten.length > MOST_UNWRITTEN) this.#flush()
  }

  #flush(): void {
    if (this.#unwritten === '') return
    const lines = this.#unwritten
    this.#unwritten = ''
    this.#write(lines)
    this.beginning.sent()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#due.size === 0) void this.close()
    else setTimeout(() => void this.close(), GRACE).unref()
  }
}
