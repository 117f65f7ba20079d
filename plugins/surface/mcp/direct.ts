import type { CallToolResult, InputRequiredResult, JSONRPCMessage, Server, Transport } from '@modelcontextprotocol/server'
import { isObject, LazyAbort } from '../../../core/base/index.js'
import type { McpRequest } from './asking.js'

/** What begins the names of members of `_meta` that are the protocol's. */
const PROTOCOL = 'io.modelcontextprotocol/'
/** What each request of the 2026-07-28 revision says of its client. */
const ENVELOPE = ['protocolVersion', 'clientInfo', 'clientCapabilities'].map((name) => PROTOCOL + name)

type Answer = CallToolResult | InputRequiredResult
type Call = (name: string, input: unknown, context: McpRequest) => Promise<Answer>

/**
 * The short way of a call of a tool on stdio. Most calls are a name and its arguments and come to text: what the library would check of them we have
 * read and made ourselves. Whatever else a call comes to, an error, a question, a picture, goes on the way of the library, which is given the outcome.
 */
export class DirectCalls {
  readonly #running = new Map<unknown, LazyAbort>()
  readonly #begun = new Map<unknown, Promise<Answer>>()
  #server: Server | undefined
  #call: Call | undefined
  #stamp: Stamp | undefined
  #accepted: Accepted | undefined

  /**
   * From when the client of this server has initialized it, its calls are made here. With a stamp its client speaks the 2026-07-28 revision: then
   * the calls are made here that say of their client what the last one did that the library has read.
   */
  serve(server: Server, call: Call, stamp?: Stamp): void {
    this.#server = server
    this.#call = call
    this.#stamp = stamp
    this.#accepted = undefined
  }

  /** The library has read what a request says of its client, and let it through. */
  accept(envelope: unknown): void {
    if (this.#stamp && isObject(envelope) && Object.keys(envelope).length === ENVELOPE.length) this.#accepted = { text: envelopeText(envelope), envelope: envelope as Accepted['envelope'] }
  }

  /** Aborts what is under way. */
  close(): void {
    this.#server = undefined
    for (const abort of this.#running.values()) abort.abort()
  }

  /** Of a request that was begun here, what comes of it; once. */
  begun(id: unknown): Promise<Answer> | undefined {
    const outcome = this.#begun.get(id)
    this.#begun.delete(id)
    return outcome
  }

  /** Nobody waits for it any more. */
  cancel(id: unknown): void {
    this.#running.get(id)?.abort()
  }

  /** Whether a message that came over the wire is a call that is made here. */
  take(message: JSONRPCMessage, wire: Pick<Transport, 'send' | 'onmessage'>): boolean {
    if (!('method' in message) || message.method !== 'tools/call' || !('id' in message)) return false
    const { id, params } = message
    if (!isPlainCall(params) || this.#server?.getNegotiatedProtocolVersion() === undefined || !this.#isKnown(params._meta)) return false
    const abort = new LazyAbort()
    this.#running.set(id, abort)
    const stamp = this.#stamp
    const outcome = this.#call!(params.name, params.arguments ?? {}, { mcpReq: new DirectRequest(this.#server, params._meta, abort, this.#accepted?.envelope) })
    const settle = (answer?: Answer) => {
      if (this.#running.get(id) === abort) this.#running.delete(id)
      // A cancelled request is not answered.
      if (abort.aborted) return
      if (answer && isText(answer)) return void wire.send({ result: stamp ? stamped(answer, stamp) : answer, jsonrpc: '2.0', id })
      this.#begun.set(id, outcome)
      wire.onmessage?.(message)
    }
    outcome.then(settle, () => settle())
    return true
  }

  /** Whether what a call says for the protocol needs no reading: nothing, and of the 2026-07-28 revision what was read before. */
  #isKnown(meta: PlainCall['_meta']): boolean {
    const said = Object.keys(meta ?? {}).filter((name) => name.startsWith(PROTOCOL))
    if (!this.#stamp) return said.length === 0
    return said.length === ENVELOPE.length && this.#accepted?.text === envelopeText(meta!)
  }
}

/** Who answers, as each answer of the 2026-07-28 revision says it. */
export type Stamp = Readonly<{ name: string; version: string }>
interface Accepted {
  text: string
  envelope: McpRequest['mcpReq']['envelope']
}
const envelopeText = (meta: Record<string, unknown>): string => JSON.stringify(ENVELOPE.map((name) => meta[name]))
const stamped = ({ _meta, ...answer }: CallToolResult, stamp: Stamp): CallToolResult => ({ ...answer, resultType: 'complete', _meta: { ..._meta, [`${PROTOCOL}serverInfo`]: stamp } })

/** What a call takes of its request, made when it is asked for. */
class DirectRequest implements Readonly<McpRequest['mcpReq']> {
  readonly method = 'tools/call'
  constructor(
    private readonly server: Server,
    readonly _meta: McpRequest['mcpReq']['_meta'],
    readonly cancel: LazyAbort,
    readonly envelope: McpRequest['mcpReq']['envelope'],
  ) {}
  get signal(): AbortSignal {
    return this.cancel.signal
  }
  requestState(): undefined {
    return undefined
  }
  notify(notification: Parameters<Server['notification']>[0]): Promise<void> {
    return this.server.notification(notification)
  }
  log(level: Parameters<McpRequest['mcpReq']['log']>[0], data: unknown, logger?: string): Promise<void> {
    // Since 2026-07-28 who wants to hear something says so in the request, which is read by the library then.
    if (this.envelope) return Promise.resolve()
    return this.server.sendLoggingMessage({ level, data, ...(logger !== undefined && { logger }) })
  }
}

interface PlainCall {
  name: string
  arguments?: Record<string, unknown>
  _meta?: McpRequest['mcpReq']['_meta']
}
/** Whether a call is a name and arguments, with what may stand beside them. */
function isPlainCall(params: unknown): params is PlainCall {
  if (!isObject(params) || typeof params['name'] !== 'string') return false
  for (const key in params) {
    const value = params[key]
    if (key === 'name') continue
    if ((key !== 'arguments' && key !== '_meta') || !isObject(value)) return false
  }
  return true
}

/** Whether an answer is text and nothing else. */
function isText(answer: Answer): answer is CallToolResult {
  for (const key in answer) if (key !== 'content' && key !== 'isError' && key !== '_meta') return false
  const { content } = answer as CallToolResult
  return Array.isArray(content) && content.every((block) => block.type === 'text' && Object.keys(block).length === 2)
}
