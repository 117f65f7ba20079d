import type { Transport } from '@modelcontextprotocol/client'
import { pause } from './timing.js'
import { framed } from './wire.js'

/** The largest message of a server, and the largest list of tools over all its pages, in bytes. */
export const MAX_ANSWER = 32 * 1_048_576

/** The most tools of one server: each is a name that every list, policy and model is told of. */
export const MAX_TOOLS = 2_000

const window_ms = 100
/** In so long a time: how many notifications are worth a word, and behind how many nothing more is read until it is over. */
const notifications = { told: 500, most: 5_000 }

/** Counts what a server sends. While a list is read, the whole of it is bounded: its pages are kept until the last has come. */
export class Intake {
  #window = { from: 0, count: 0, lists: 0 }
  #bytes = 0
  #most = Infinity
  #exceeded: () => void = () => {}
  /** Why the connection had to be closed. */
  fault: string | undefined
  /** Closes the connection. */
  onFault: () => void = () => {}
  /** The server says that one of its lists has changed. */
  onChanged: () => void = () => {}
  /** There are many notifications, most of them of changed lists or not. */
  onFlood: (lists: boolean) => void = () => {}

  readonly add = (bytes: number): void => {
    this.#bytes += bytes
    if (this.#bytes <= this.#most) return
    this.#most = Infinity
    this.#exceeded()
  }

  /** Nothing more is read of a server that sends too much: a stream that broke off would be asked for again, and its call would wait. */
  fail(what: string): Error {
    this.fault ??= `it sent ${what}`
    this.onFault()
    return new Error(`The server sent ${what}.`)
  }

  /** How long nothing more shall be read, because the server says too much without being asked. */
  get rest_ms(): number {
    const { from, count } = this.#window
    return count < notifications.most ? 0 : Math.max(0, from + window_ms - performance.now())
  }

  /** Of what the server says without being asked, whether its reader is to have it. That a list has changed is ours to know. */
  #passes(message: unknown): boolean {
    const { id, method } = message as { id?: unknown; method?: unknown }
    if (id !== undefined || typeof method !== 'string') return true
    const now = performance.now()
    if (now - this.#window.from > window_ms) this.#window = { from: now, count: 0, lists: 0 }
    const isList = method.endsWith('/list_changed')
    if (isList) this.#window.lists++
    if (++this.#window.count === notifications.told) this.onFlood(this.#window.lists > notifications.told / 2)
    if (!isList) return this.#window.count < notifications.most
    this.onChanged()
    return this.#window.lists === 1
  }

  /** The same transport: a message that its reader cannot take, such as one nested without end, ends the connection and not the program. */
  guard<T extends Transport>(transport: T): T {
    let reader: Transport['onmessage']
    const guarded =
      (read: NonNullable<Transport['onmessage']>): typeof read =>
      (message, extra) => {
        try {
          if (this.#passes(message)) read(framed(message), extra)
        } catch {
          transport.onerror?.(this.fail('a message that cannot be read'))
        }
      }
    return Object.defineProperty(transport, 'onmessage', {
      get: () => reader,
      set(read: Transport['onmessage']) {
        reader = read && guarded(read)
      },
    })
  }

  /** Runs work during which the server may send `MAX_ANSWER` bytes; then `exceeded` is called. */
  async within<T>(work: () => Promise<T>, exceeded: () => void): Promise<T> {
    this.#most = this.#bytes + MAX_ANSWER
    this.#exceeded = exceeded
    try {
      return await work()
    } finally {
      this.#most = Infinity
    }
  }
}

/** A remote server, and what its definition has sent to it. */
export interface RemoteServer {
  url: URL
  headers: Readonly<Record<string, string>>
  /** What becomes of a redirect, for a transport that would follow it to whatever origin. */
  redirect?: 'error'
  /** How often it may have a stream opened, in milliseconds, after the first ones. */
  reopen_ms: number
}
/** Streams that are opened at once. */
const MOST_AT_ONCE = 8

/**
 * The fetch of a remote server: each answer, and each event of a stream, has at most `MAX_ANSWER` decoded bytes. The headers of its
 * definition go to its own origin; where it has its users sign in is another place.
 */
export function boundedFetch(
  intake: Intake,
  { url, headers: declared, redirect, reopen_ms }: RemoteServer,
): typeof fetch {
  const opened: number[] = []
  // A server says how soon a stream that ends is asked for again, and may end it at once.
  const turn = async (signal: AbortSignal): Promise<void> => {
    const now = performance.now()
    const at =
      opened.length < MOST_AT_ONCE
        ? now
        : Math.max(now, opened.at(-1)! + reopen_ms, opened.shift()! + reopen_ms * MOST_AT_ONCE)
    opened.push(at)
    await pause(at - now, signal)
  }
  const sentTo = (to: URL, given: ConstructorParameters<typeof Headers>[0]): Headers => {
    const all = new Headers(given)
    // What the protocol says itself stands; what lets one in is the definition's at the server, and the sign-in's elsewhere.
    const stands = (name: string): boolean =>
      all.has(name) && (to.href !== url.href || name.toLowerCase() !== 'authorization')
    for (const [name, value] of to.origin === url.origin ? Object.entries(declared) : [])
      if (!stands(name)) all.set(name, value)
    return all
  }
  return async (input, init) => {
    const sent = sentTo(new URL(input instanceof Request ? input.url : input), init?.headers)
    if ((init?.method ?? 'GET') === 'GET' && sent.get('accept')?.includes('text/event-stream'))
      await turn(init?.signal ?? new AbortController().signal)
    const answer = await fetch(input, { ...init, headers: sent, ...(redirect && { redirect }) })
    if (!answer.body) return answer
    const events = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const body = answer.body.pipeThrough(bounded(intake, events))
    const { status, statusText, headers } = answer
    // The rules for redirects look at the address that answered.
    return Object.defineProperties(new Response(body, { status, statusText, headers }), {
      url: { value: answer.url },
      redirected: { value: answer.redirected },
      type: { value: answer.type },
    })
  }
}

function bounded(intake: Intake, events: boolean): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
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

  /** An event ends with an empty line; a carriage return is part of the end of its line. */
  function count(byte: number): void {
    size++
    if (byte === 13) return
    if (byte !== 10) blank = false
    else if (blank) size = 0
    else blank = true
  }
}
