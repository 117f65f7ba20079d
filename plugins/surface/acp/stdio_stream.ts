import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import type { Io } from '../../../core/index.js'
import { createMessageSplitter } from '../../lib/frames/index.js'
import type { AcpFront } from './front.js'

/** The largest message that is read, in bytes. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

/**
 * Creates the stream of messages over the streams of the process. A line that is no message is answered with an error
 * and never ends the connection, as the stream of the SDK would. stdout belongs to the protocol from now on: all other
 * output goes to stderr.
 */
export function createStdioStream({ stdin, stdout, stderr, ...io }: Io): Stream & { readonly ended: Promise<void> } {
  const front = io.front as AcpFront | undefined
  const writeText = stdout.write.bind(stdout) as (text: string, done: (error?: Error | null) => void) => boolean
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  const write = (message: unknown) =>
    new Promise<void>((resolve, reject) =>
      writeText(`${serialize(message)}\n`, (error) => (error ? reject(error) : resolve())),
    )
  const refuse = (id: string | number | null, code: number, message: string) =>
    void write({ jsonrpc: '2.0', id, error: { code, message } }).catch(() => {})
  const gate = new OpeningGate()
  let markEnded: () => void
  const ended = new Promise<void>((resolve) => (markEnded = resolve))
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      gate.deliver = (message) => controller.enqueue(message)
      const take = createMessageSplitter(MAX_MESSAGE_BYTES, {
        line(text) {
          const read = readMessage(text)
          if ('message' in read) gate.receive(read.message)
          else refuse(null, read.code, read.text)
        },
        refuse: (id) =>
          refuse(id, -32600, `The message is larger than ${MAX_MESSAGE_BYTES} bytes; send it in smaller parts.`),
      })
      let closed = false
      const end = () => {
        if (closed) return
        closed = true
        markEnded()
        controller.close()
      }
      for (const chunk of front?.chunks ?? []) take(chunk)
      stdin.on('data', take)
      for (const event of ['end', 'close', 'error']) stdin.on(event, end)
      // A stream that ended earlier emits no further event.
      if ((stdin as { readableEnded?: boolean }).readableEnded) end()
      stdin.resume()
    },
  })
  let answered = front?.answered
  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      const isAnswered = answered !== undefined && 'id' in message && !('method' in message) && message.id === answered
      if (isAnswered) answered = undefined
      else await write(message)
      gate.handleSent(message)
    },
  })
  return { readable, writable, ended }
}

/**
 * Holds messages back until `initialize` is answered. The SDK refuses a request that it reads before, also one that an
 * editor sent in good order.
 */
class OpeningGate {
  deliver: (message: AnyMessage) => void = () => {}
  #opening: { id: unknown; waiting: AnyMessage[] } | undefined

  receive(message: AnyMessage): void {
    if (this.#opening) return void this.#opening.waiting.push(message)
    if ('method' in message && message.method === 'initialize' && 'id' in message)
      this.#opening = { id: message.id, waiting: [] }
    this.deliver(message)
  }

  handleSent(message: AnyMessage): void {
    if (!this.#opening || 'method' in message || message.id !== this.#opening.id) return
    const { waiting } = this.#opening
    this.#opening = undefined
    for (const one of waiting) this.receive(one)
  }
}

type Read = { message: AnyMessage } | { code: number; text: string }

/** Parses one line. The refusal repeats nothing of it, because messages hold keys of servers. */
function readMessage(text: string): Read {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { code: -32700, text: 'Parse error: the line is no JSON. Send one JSON-RPC message a line.' }
  }
  const { jsonrpc, id, method } = (value ?? {}) as Record<string, unknown>
  const isId = id === null || id === undefined || typeof id === 'string' || typeof id === 'number'
  const isCall = typeof method === 'string'
  const isAnswer = method === undefined && id !== undefined
  return jsonrpc === '2.0' && isId && (isCall || isAnswer) && !Array.isArray(value)
    ? { message: value as AnyMessage }
    : { code: -32600, text: 'Invalid request: send one JSON-RPC 2.0 object a line, without batches.' }
}

/** Serializes a message. Half of a surrogate pair, which strict readers of JSON refuse, becomes U+FFFD. */
function serialize(message: unknown): string {
  const text = JSON.stringify(message)
  return /\\ud[89a-f]/.test(text)
    ? JSON.stringify(message, (_, value: unknown) =>
        typeof value === 'string' ? (value as string & { toWellFormed(): string }).toWellFormed() : value,
      )
    : text
}
