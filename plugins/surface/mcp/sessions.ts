import { randomUUID } from 'node:crypto'
import type { WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Kernel } from '../../../core/index.js'
import { MAX_FRAME } from './frames.js'
import type { HttpSdk } from './sdk.js'
import { createServer, type Showing } from './server.js'
import type { WebRequest } from './web.js'

const MAX_SESSIONS = 64
/** A session that nobody used for so long is ended, in milliseconds. */
const IDLE = 30 * 60_000
/** Ids that nobody was given, in a minute; whoever tries more of them is guessing. */
const MAX_FORGED = 100

export interface SessionsOptions {
  kernel: Kernel
  sdk: HttpSdk
  showing: Showing
  onerror: (error: Error) => void
}

interface OpenSession {
  transport: Transport
  used: number
  /** Answers that it still reads, such as the stream of what changes. */
  read: number
}
type OpenSessions = Map<string, OpenSession>

/** What a client of the 2026-07-28 revision calls its session by: a secret of its own choice, in `_meta` of each request. */
const NAMED = 'dev.vtcode/session'

/**
 * Serves both revisions at one address; sessions share nothing. Those of the earlier revisions are the protocol's. The 2026-07-28 revision has none,
 * so each request is a session, which ends with its answer: nothing allowed for a session and no running command is there for the next
 * request, whose sender may be another client with the same token. A client that names a session by a secret keeps it.
 */
export function createSessions({ kernel, sdk, showing, onerror }: SessionsOptions) {
  const open: OpenSessions = new Map()
  /** By id, when a named session was last used. */
  const named = new Map<string, number>()
  const made = (session: string) => createServer(kernel, sdk, { ...showing, session, lasting: named.has(session) })
  const modern = sdk.createMcpHandler(({ authInfo }) => made(authInfo!.clientId), {
    legacy: 'reject',
    maxRequestBodySize: MAX_FRAME,
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
    for (const { transport, used } of open.values()) if (Date.now() - used > IDLE) void transport.close()
    for (const [id, used] of named) if (Date.now() - used > IDLE && named.delete(id)) void kernel.endSession(id)
  }, 60_000).unref()

  async function beginning({ request, parsed }: WebRequest): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null && ++forged > MAX_FORGED)
      return refusal(429, 'Too many sessions that do not exist; begin one with initialize.', { 'retry-after': '60' })
    if (id !== null) return refusal(404, 'Session not found; begin a new one with initialize.')
    const opens = request.method === 'POST' && sdk.isInitializeRequest(parsed.parsedBody)
    if (!opens)
      return request.method === 'POST'
        ? refusal(400, 'Begin with initialize, then send its mcp-session-id.')
        : refusal(400, 'The header mcp-session-id is missing.')
    if (await isFull(kernel, open, named)) return full()
    return (await begin({ kernel, sdk, showing }, open)).handleRequest(request, parsed)
  }

  async function single(asked: WebRequest): Promise<Response> {
    const { request, parsed } = asked
    const name = nameIn(parsed.parsedBody)
    const id = `mcp-${name === undefined ? randomUUID() : sha256(name)}`
    if (name !== undefined && !named.has(id) && (await isFull(kernel, open, named))) return full()
    if (name !== undefined) named.set(id, Date.now())
    const reply = await modern.fetch(request, { ...parsed, authInfo: { token: '', clientId: id, scopes: [] } })
    return name === undefined ? finished(reply, () => kernel.endSession(id)) : reply
  }

  return {
    async handle(asked: WebRequest): Promise<Response> {
      const { request, parsed } = asked
      const known = open.get(request.headers.get('mcp-session-id') ?? '')
      if (known) {
        const over = reading(known)
        return finished(await known.transport.handleRequest(request, parsed), over)
      }
      return (await sdk.isLegacyRequest(request, parsed.parsedBody)) ? beginning(asked) : single(asked)
    },
    async close(): Promise<void> {
      clearInterval(sweep)
      stops.forEach((stop) => stop())
      await Promise.allSettled([modern.close(), ...[...open.values()].map(({ transport }) => transport.close())])
    },
  }
}

/** Whether no further session has room. One that nobody ends makes room: of those that read no answer, the one that was left alone longest. */
async function isFull(kernel: Kernel, open: OpenSessions, named: Map<string, number>): Promise<boolean> {
  if (open.size + named.size < MAX_SESSIONS) return false
  const left = [
    ...[...open].filter(([, { read }]) => read === 0).map(([id, { used }]) => ({ id, used })),
    ...[...named].map(([id, used]) => ({ id, used })),
  ]
  const oldest = left.sort((a, b) => a.used - b.used)[0]
  if (!oldest) return true
  await open.get(oldest.id)?.transport.close()
  if (named.delete(oldest.id)) await kernel.endSession(oldest.id)
  return false
}

/** Notes that a session reads an answer; the function returned says that it has. */
function reading(session: OpenSession): () => void {
  const note = (change: number): void => {
    session.used = Date.now()
    session.read += change
  }
  note(1)
  return () => note(-1)
}

/** The name that a client gives its session; a short one could be guessed. */
function nameIn(body: unknown): string | undefined {
  const { params } = isObject(body) ? body : {}
  const { _meta: meta } = isObject(params) ? params : {}
  const name = isObject(meta) ? meta[NAMED] : undefined
  return typeof name === 'string' && name.length >= 16 && name.length <= 256 ? name : undefined
}

/** The same answer; `over` is called when it has been read, or nobody reads it any more. */
function finished(reply: Response, over: () => void | Promise<void>): Response {
  const reader = reply.body?.getReader()
  if (!reader) {
    void over()
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
      await over()
    },
    async cancel(reason) {
      await reader.cancel(reason).catch(() => {})
      await over()
    },
  })
  const { status, statusText, headers } = reply
  return new Response(body, { status, statusText, headers })
}

/**
 * A session that is entered when its client has initialized it, and left when its transport closes. Its id is a secret of its client: folders and
 * variables, which others see, have a digest of it.
 */
async function begin(
  { kernel, sdk, showing }: Omit<SessionsOptions, 'onerror'>,
  open: OpenSessions,
): Promise<Transport> {
  const id = randomUUID()
  const session = `mcp-${sha256(id).slice(0, 32)}`
  const transport: Transport = new sdk.WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    onsessioninitialized: () => void open.set(id, { transport, used: Date.now(), read: 0 }),
    maxRequestBodySize: MAX_FRAME,
  })
  await createServer(kernel, sdk, { ...showing, session }).connect(transport)
  const closed = transport.onclose
  transport.onclose = () => {
    open.delete(id)
    void kernel.endSession(session)
    closed?.()
  }
  return transport
}

const full = (): Response =>
  refusal(503, `There are ${MAX_SESSIONS} sessions already; end one or wait.`, { 'retry-after': '60' })

function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { jsonrpc: '2.0', id: null, error: { code: status === 404 ? -32001 : -32000, message } },
    { status, headers },
  )
}
