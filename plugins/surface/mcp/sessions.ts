import { randomUUID } from 'node:crypto'
import type { WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Kernel } from '../../../core/index.js'
import { MAX_FRAME_BYTES } from './frames.js'
import type { HttpSdk } from './sdk.js'
import { createServer, type PresentationOptions } from './server.js'
import type { WebRequest } from './web.js'

const MAX_SESSIONS = 64
/** Time that a session may be unused before it ends, in milliseconds. */
const IDLE_MS = 30 * 60_000
/** The most unknown session ids a minute; more of them are guesses. */
const MAX_FORGED = 100

export interface SessionsOptions {
  kernel: Kernel
  sdk: HttpSdk
  presentation: PresentationOptions
  onerror: (error: Error) => void
}

interface OpenSession {
  transport: Transport
  used: number
  /** Number of answers that the client still reads, such as a stream of notifications. */
  read: number
}
type OpenSessions = Map<string, OpenSession>

/** The key in `_meta` by which a client of the 2026-07-28 revision names its session with a secret of its own. */
const SESSION_KEY = 'dev.vtcode/session'

/**
 * Serves both revisions at one address; sessions share nothing. Earlier revisions have sessions in the protocol.
 * The 2026-07-28 revision has none, so each request is a session that ends with its answer. The next request may come
 * from another client with the same token, so it gets no approval and no running command of an earlier one.
 * A client that names a session by a secret keeps it.
 */
export function createSessions({ kernel, sdk, presentation, onerror }: SessionsOptions) {
  const open: OpenSessions = new Map()
  /** Time of the last use of each named session, by id. */
  const named = new Map<string, number>()
  const createModernServer = (session: string) =>
    createServer(kernel, sdk, { ...presentation, session, keepsSession: named.has(session) })
  const modern = sdk.createMcpHandler(({ authInfo }) => createModernServer(authInfo!.clientId), {
    legacy: 'reject',
    maxRequestBodySize: MAX_FRAME_BYTES,
    onerror,
  })
  const stops = [
    kernel.inspection.onReload(() => {
      modern.notify.toolsChanged()
      modern.notify.resourcesChanged()
      modern.notify.promptsChanged()
    }),
    kernel.inspection.onChange((uri) => modern.notify.resourceUpdated(uri)),
  ]
  let forged = 0
  const sweep = setInterval(() => {
    forged = 0
    for (const { transport, used } of open.values()) if (Date.now() - used > IDLE_MS) void transport.close()
    for (const [id, used] of named) if (Date.now() - used > IDLE_MS && named.delete(id)) void kernel.endSession(id)
  }, 60_000).unref()

  async function openSession({ request, parsed }: WebRequest): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null && ++forged > MAX_FORGED)
      return createRefusal(429, 'Too many sessions that do not exist; begin one with initialize.', {
        'retry-after': '60',
      })
    if (id !== null) return createRefusal(404, 'Session not found; begin a new one with initialize.')
    const opens = request.method === 'POST' && sdk.isInitializeRequest(parsed.parsedBody)
    if (!opens)
      return request.method === 'POST'
        ? createRefusal(400, 'Begin with initialize, then send its mcp-session-id.')
        : createRefusal(400, 'The header mcp-session-id is missing.')
    if (await isFull(kernel, open, named)) return refuseFull()
    return (await createSession({ kernel, sdk, presentation }, open)).handleRequest(request, parsed)
  }

  async function handleModern(webRequest: WebRequest): Promise<Response> {
    const { request, parsed } = webRequest
    const name = readSessionName(parsed.parsedBody)
    const id = `mcp-${name === undefined ? randomUUID() : sha256(name)}`
    if (name !== undefined && !named.has(id) && (await isFull(kernel, open, named))) return refuseFull()
    if (name !== undefined) named.set(id, Date.now())
    const reply = await modern.fetch(request, { ...parsed, authInfo: { token: '', clientId: id, scopes: [] } })
    return name === undefined ? callWhenRead(reply, () => kernel.endSession(id)) : reply
  }

  return {
    async handle(webRequest: WebRequest): Promise<Response> {
      const { request, parsed } = webRequest
      const known = open.get(request.headers.get('mcp-session-id') ?? '')
      if (known) {
        const onEnd = trackReading(known)
        return callWhenRead(await known.transport.handleRequest(request, parsed), onEnd)
      }
      return (await sdk.isLegacyRequest(request, parsed.parsedBody))
        ? openSession(webRequest)
        : handleModern(webRequest)
    },
    async close(): Promise<void> {
      clearInterval(sweep)
      stops.forEach((stop) => stop())
      await Promise.allSettled([modern.close(), ...[...open.values()].map(({ transport }) => transport.close())])
    },
  }
}

/** Returns whether no session can be added. A full table first ends the longest unused session that reads no answer. */
async function isFull(kernel: Kernel, open: OpenSessions, named: Map<string, number>): Promise<boolean> {
  if (open.size + named.size < MAX_SESSIONS) return false
  const evictable = [
    ...[...open].filter(([, { read }]) => read === 0).map(([id, { used }]) => ({ id, used })),
    ...[...named].map(([id, used]) => ({ id, used })),
  ]
  const oldest = evictable.sort((a, b) => a.used - b.used)[0]
  if (!oldest) return true
  await open.get(oldest.id)?.transport.close()
  if (named.delete(oldest.id)) await kernel.endSession(oldest.id)
  return false
}

/** Records that a session reads an answer. Returns a function that records the end of the read. */
function trackReading(session: OpenSession): () => void {
  const note = (change: number): void => {
    session.used = Date.now()
    session.read += change
  }
  note(1)
  return () => note(-1)
}

/** Returns the name that a client gives its session, if it is too long to guess. */
function readSessionName(body: unknown): string | undefined {
  const { params } = isObject(body) ? body : {}
  const { _meta: meta } = isObject(params) ? params : {}
  const name = isObject(meta) ? meta[SESSION_KEY] : undefined
  return typeof name === 'string' && name.length >= 16 && name.length <= 256 ? name : undefined
}

/** Returns an equal answer that calls `onEnd` after it was read or cancelled. */
function callWhenRead(reply: Response, onEnd: () => void | Promise<void>): Response {
  const reader = reply.body?.getReader()
  if (!reader) {
    void onEnd()
    return reply
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
      } catch (error) {
        controller.error(error)
      }
      await onEnd()
    },
    async cancel(reason) {
      await reader.cancel(reason).catch(() => {})
      await onEnd()
    },
  })
  const { status, statusText, headers } = reply
  return new Response(body, { status, statusText, headers })
}

/**
 * Creates a session that opens when its client initializes it and ends when its transport closes. Its id is a secret
 * of its client: folders and variables, which others see, contain a digest of it.
 */
async function createSession(
  { kernel, sdk, presentation }: Omit<SessionsOptions, 'onerror'>,
  open: OpenSessions,
): Promise<Transport> {
  const id = randomUUID()
  const session = `mcp-${sha256(id).slice(0, 32)}`
  const transport: Transport = new sdk.WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    onsessioninitialized: () => void open.set(id, { transport, used: Date.now(), read: 0 }),
    maxRequestBodySize: MAX_FRAME_BYTES,
  })
  await createServer(kernel, sdk, { ...presentation, session }).connect(transport)
  const closed = transport.onclose
  transport.onclose = () => {
    open.delete(id)
    void kernel.endSession(session)
    closed?.()
  }
  return transport
}

const refuseFull = (): Response =>
  createRefusal(503, `There are ${MAX_SESSIONS} sessions already; end one or wait.`, { 'retry-after': '60' })

function createRefusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { jsonrpc: '2.0', id: null, error: { code: status === 404 ? -32001 : -32000, message } },
    { status, headers },
  )
}
