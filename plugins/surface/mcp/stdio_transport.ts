import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { toText } from '../../../core/text/index.js'
import type { Io } from '../../../core/index.js'
import type { HandshakeRecorder } from './handshake_recorder.js'
import { createFrameReader } from './frames.js'
import type { Front } from './front.js'

/** Time that requests in flight have to finish after the client closed its end, in milliseconds. */
const GRACE_MS = 1_500

/** The most UTF-16 units of answers that wait to be written. */
const MAX_UNWRITTEN = 65_536

/**
 * Carries MCP over the streams of the process, one JSON document per line. An invalid line is answered with an error
 * and never ends the connection. The end of input does, after pending answers were written or `GRACE_MS` has passed.
 */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: () => void
  onerror?: (error: Error) => void
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>
  #resolveClosed!: () => void
  readonly #pending = new Set<unknown>()
  readonly #write: (line: string) => void
  readonly #stdin: Io['stdin']
  readonly #front: Front | undefined
  #unwritten = ''
  #ended = false
  #closed = false

  constructor(
    io: Io,
    readonly recorder: HandshakeRecorder,
  ) {
    this.#front = io.front as Front | undefined
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve))
    this.#stdin = io.stdin
    // Output of plugins would garble the protocol: stdout now belongs to this transport, and all else goes to stderr.
    this.#write = io.stdout.write.bind(io.stdout) as (line: string) => void
    io.stdout.write = io.stderr.write.bind(io.stderr) as typeof io.stdout.write
  }

  async start(): Promise<void> {
    const take = createFrameReader({
      message: (message) => this.#deliver(message),
      refuse: (id, code, text) => this.#refuse(id, code, text),
    })
    // The SDK may set its listeners only after `start` returns.
    if (this.#front) await new Promise(setImmediate)
    for (const chunk of this.#front?.chunks ?? []) take(chunk)
    // A stream that ended earlier emits no further event.
    if (this.#front && (this.#stdin as { readableEnded?: boolean }).readableEnded) this.#end()
    this.#stdin.on('data', take)
    for (const end of ['end', 'close', 'error']) this.#stdin.on(end, () => this.#end())
    this.#stdin.resume()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    const filtered = this.recorder.filterAnswer(message)
    if (filtered) this.#writeLine(filtered)
    if ('id' in message && !('method' in message)) this.#pending.delete(message.id)
    if (this.#ended && this.#pending.size === 0) await this.close()
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
      // Two requests with one id could not be matched with their answers.
      if (this.#pending.has(message.id))
        return this.#refuse(
          null,
          -32600,
          `Invalid request: the id ${toText(message.id).slice(0, 80)} belongs to a request without an answer; ` +
            'use another id.',
        )
      this.#pending.add(message.id)
    }
    // A cancelled request is not answered.
    if ('method' in message && message.method === 'notifications/cancelled' && !('id' in message))
      this.#pending.delete(message.params?.['requestId'])
    this.recorder.recordRequest(message)
    this.onmessage?.(message)
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#writeLine({ jsonrpc: '2.0', id, error: { code, message } })
  }

  /** Writes answers of one tick together, because a system call costs as much as a call of a tool. */
  #writeLine(message: unknown): void {
    if (this.#unwritten === '') process.nextTick(() => this.#flush())
    this.#unwritten += `${JSON.stringify(message)}\n`
    if (this.#unwritten.length > MAX_UNWRITTEN) this.#flush()
  }

  #flush(): void {
    if (this.#unwritten === '') return
    const lines = this.#unwritten
    this.#unwritten = ''
    this.#write(lines)
    this.recorder.saveIfComplete()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#pending.size === 0) void this.close()
    else setTimeout(() => void this.close(), GRACE_MS).unref()
  }
}
