import type { Transport } from '@modelcontextprotocol/client'
import { pause } from './timing.js'
import { frameMessage } from './wire.js'

/** The largest message of a server, and the largest list of tools over all its pages, in bytes. */
export const MAX_ANSWER = 32 * 1_048_576

/** The most tools of one server: every list, policy and model gets each name. */
export const MAX_TOOLS = 2_000

const WINDOW_MS = 100
/**
 * Notifications per window: the count that is reported, and the count after which reading pauses until the window ends.
 */
const NOTIFICATION_LIMITS = { reported: 500, most: 5_000 }

/** Counts the input of a server. A list is limited as a whole, because its pages are kept until the last one. */
export class Intake {
  #window = { from: 0, count: 0, lists: 0 }
  #bytes = 0
  #most = Infinity
  #exceeded: () => void = () => {}
  /** The number of messages of the server so far. */
  messages = 0
  /** The reason for which the connection was closed. */
  fault: string | undefined
  /** Closes the connection. */
  onFault: () => void = () => {}
  /** Called when the server reports a changed list. */
  onChanged: () => void = () => {}
  /** Called at many notifications; `lists` is true when most report changed lists. */
  onFlood: (lists: boolean) => void = () => {}

  readonly add = (bytes: number): void => {
    this.#bytes += bytes
    if (this.#bytes <= this.#most) return
    this.#most = Infinity
    this.#exceeded()
  }

  /**
   * Closes the connection and returns the error. A broken stream alone would be requested again while its call waits.
   */
  fail(what: string): Error {
    this.fault ??= `it sent ${what}`
    this.onFault()
    return new Error(`The server sent ${what}.`)
  }

  /** Milliseconds to pause reading because of too many notifications. */
  get rest_ms(): number {
    const { from, count } = this.#window
    return count < NOTIFICATION_LIMITS.most ? 0 : Math.max(0, from + WINDOW_MS - performance.now())
  }

  /** Returns whether the reader gets a message. Reports of changed lists are handled here. */
  #passes(message: unknown): boolean {
    const { id, method } = message as { id?: unknown; method?: unknown }
    if (id !== undefined || typeof method !== 'string') return true
    const now = performance.now()
    if (now - this.#window.from > WINDOW_MS) this.#window = { from: now, count: 0, lists: 0 }
    const isList = method.endsWith('/list_changed')
    if (isList) this.#window.lists++
    if (++this.#window.count === NOTIFICATION_LIMITS.reported)
      this.onFlood(this.#window.lists > NOTIFICATION_LIMITS.reported / 2)
    if (!isList) return this.#window.count < NOTIFICATION_LIMITS.most
    this.onChanged()
    return this.#window.lists === 1
  }

  /**
   * Returns the transport, guarded: a message that cannot be read, such as `null`, ends the connection and not the
   * program.
   */
  guard<T extends Transport>(transport: T): T {
    let reader: Transport['onmessage']
    const guardReader =
      (read: NonNullable<Transport['onmessage']>): typeof read =>
      (message, extra) => {
        this.messages++
        try {
          if (this.#passes(message)) read(frameMessage(message), extra)
        } catch {
          transport.onerror?.(this.fail('a message that cannot be read'))
        }
      }
    return Object.defineProperty(transport, 'onmessage', {
      get: () => reader,
      set(read: Transport['onmessage']) {
        reader = read && guardReader(read)
      },
    })
  }

  /** Runs work during which the server may send `MAX_ANSWER` bytes; then `exceeded` is called. */
  async runBounded<T>(work: () => Promise<T>, exceeded: () => void): Promise<T> {
    this.#most = this.#bytes + MAX_ANSWER
    this.#exceeded = exceeded
    try {
      return await work()
    } finally {
      this.#most = Infinity
    }
  }
}

/** A remote server, and the headers of its definition. */
export interface RemoteServer {
  url: URL
  headers: Readonly<Record<string, string>>
  /** The redirect mode, for a transport that would follow redirects to any origin. */
  redirect?: 'error'
  /** Milliseconds between the streams that are opened, after the first ones. */
  reopen_ms: number
}
/** Streams that may open at once. */
const MAX_OPEN_STREAMS = 8

/**
 * Creates the fetch of a remote server. Each response and each event of a stream has at most `MAX_ANSWER` decoded
 * bytes. The headers of the definition go only to its own origin, not to the place of the sign-in.
 */
export function createBoundedFetch(
  intake: Intake,
  { url, headers: declared, redirect, reopen_ms }: RemoteServer,
): typeof fetch {
  const opened: number[] = []
  // A server sets how soon a stream is requested again, and may end it at once.
  const waitTurn = async (signal: AbortSignal): Promise<void> => {
    const now = performance.now()
    const at =
      opened.length < MAX_OPEN_STREAMS
        ? now
        : Math.max(now, opened.at(-1)! + reopen_ms, opened.shift()! + reopen_ms * MAX_OPEN_STREAMS)
    opened.push(at)
    await pause(at - now, signal)
  }
  const mergeHeaders = (to: URL, given: ConstructorParameters<typeof Headers>[0]): Headers => {
    const all = new Headers(given)
    // Headers of the protocol win. For `authorization`, the definition wins at the server and the sign-in elsewhere.
    const isSet = (name: string): boolean =>
      all.has(name) && (to.href !== url.href || name.toLowerCase() !== 'authorization')
    for (const [name, value] of to.origin === url.origin ? Object.entries(declared) : [])
      if (!isSet(name)) all.set(name, value)
    return all
  }
  return async (input, init) => {
    const sent = mergeHeaders(new URL(input instanceof Request ? input.url : input), init?.headers)
    if ((init?.method ?? 'GET') === 'GET' && sent.get('accept')?.includes('text/event-stream'))
      await waitTurn(init?.signal ?? new AbortController().signal)
    const answer = await fetch(input, { ...init, headers: sent, ...(redirect && { redirect }) })
    if (!answer.body) return answer
    const events = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const body = answer.body.pipeThrough(limitStream(intake, events))
    const { status, statusText, headers } = answer
    // The rules for redirects need the address that answered.
    return Object.defineProperties(new Response(body, { status, statusText, headers }), {
      url: { value: answer.url },
      redirected: { value: answer.redirected },
      type: { value: answer.type },
    })
  }
}

function limitStream(
  intake: Intake,
  events: boolean,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let size = 0
  let blank = false
  return new TransformStream({
    transform(chunk, controller) {
      intake.add(chunk.length)
      if (events) for (const byte of chunk) count(byte)
      else size += chunk.length
      if (size > MAX_ANSWER) controller.error(intake.fail('an answer of more than 32 MiB'))
      else controller.enqueue(chunk)
    },
  })

  /** Counts one byte. An event ends with an empty line; a carriage return belongs to the end of its line. */
  function count(byte: number): void {
    size++
    if (byte === 13) return
    if (byte !== 10) blank = false
    else if (blank) size = 0
    else blank = true
  }
}
