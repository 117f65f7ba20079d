import { randomUUID } from 'node:crypto'
import type { WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Kernel } from '../../../core/index.js'
import { callWhenRead } from '../../lib/local_server/index.js'
import { hasRunningCommand } from '../../lib/process/index.js'
import { MAX_FRAME_BYTES } from './frames.js'
import type { HttpSdk } from './sdk.js'
import { createServer, type PresentationOptions } from './server.js'
import type { WebRequest } from './web.js'

const MAX_SESSIONS = 64
/** Time that a session may be unused before it ends, in milliseconds. */
const IDLE_MS = 30 * 60_000
/** Unknown session ids a minute; more are guesses. */
const MAX_FORGED = 100

export interface SessionsOptions {
  kernel: Kernel
  sdk: HttpSdk
  presentation: PresentationOptions
  onerror: (error: Error) => void
}

interface SessionUse {
  used: number
  /** Answers that the client still reads, such as that of a running call. */
  read: number
}
interface OpenSession extends SessionUse {
  transport: Transport
}
type OpenSessions = Map<string, OpenSession>

/** The key in `_meta` by which a client names its session with a secret of its own. */
const SESSION_KEY = 'dev.vtcode/session'

/**
 * Serves both revisions at one address; sessions share nothing. Earlier revisions have sessions in the protocol. In the
 * 2026-07-28 revision each request is a session that ends with its answer, because the next one may come from another
 * client with the same token. A client that names a session by a secret keeps it.
 */
export function createSessions({ kernel, sdk, presentation, onerror }: SessionsOptions) {
  const open: OpenSessions = new Map()
  /** Named sessions by id. */
  const named = new Map<string, SessionUse>()
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
  async function endSession(id: string): Promise<void> {
    await open.get(id)?.transport.close()
    if (named.delete(id)) await kernel.endSession(id)
  }
  /** Returns whether no session can be added. A full table first ends the longest unused one. */
  async function isFull(): Promise<boolean> {
    if (open.size + named.size < MAX_SESSIONS) return false
    const oldest = findUnused([...open, ...named], kernel)
    if (oldest !== undefined) await endSession(oldest)
    return oldest === undefined
  }
  let forged = 0
  const sweep = setInterval(() => {
    forged = 0
    for (const [id, use] of [...open, ...named]) if (isIdle(use)) void endSession(id)
  }, 60_000).unref()

  async function openSession({ request, parsed }: WebRequest): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null && ++forged > MAX_FORGED)
      return createRefusal(429, 'Too many sessions that do not exist; begin one with initialize.', {
        'retry-after': '60',
      })
    if (id !== null) return createRefusal(404, 'Session not found; begin a new one with initialize.')
    if (request.method !== 'POST') return createRefusal(400, 'The header mcp-session-id is missing.')
    if (!sdk.isInitializeRequest(parsed.parsedBody))
      return createRefusal(400, 'Begin with initialize, then send its mcp-session-id.')
    if (await isFull()) return refuseFull()
    return (await createSession({ kernel, sdk, presentation }, open)).handleRequest(request, parsed)
  }

  async function handleModern(webRequest: WebRequest): Promise<Response> {
    const { request, parsed } = webRequest
    const name = readSessionName(parsed.parsedBody)
    const id = `mcp-${name === undefined ? randomUUID() : sha256(name)}`
    if (name !== undefined && !named.has(id) && (await isFull())) return refuseFull()
    const use = named.get(id) ?? { used: Date.now(), read: 0 }
    if (name !== undefined) named.set(id, use)
    const onEnd = name === undefined ? () => kernel.endSession(id) : trackReading(use)
    const reply = modern.fetch(request, { ...parsed, authInfo: { token: '', clientId: id, scopes: [] } })
    return callWhenRead(await reply, onEnd)
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

/** Finds the longest unused session that reads no answer and has no running command. */
function findUnused(all: [string, SessionUse][], { inspection }: Kernel): string | undefined {
  const isBusy = (id: string): boolean =>
    [id, toKernelSession(id)].map(inspection.findSession).some((session) => session && hasRunningCommand(session))
  const unused = all.filter(([id, { read }]) => read === 0 && !isBusy(id))
  return unused.sort(([, a], [, b]) => a.used - b.used)[0]?.[0]
}
const toKernelSession = (id: string): string => `mcp-${sha256(id).slice(0, 32)}`
const isIdle = ({ used, read }: SessionUse): boolean => read === 0 && Date.now() - used > IDLE_MS
/** Records that a session reads an answer. Returns a function that records the end of the read. */
function trackReading(session: SessionUse): () => void {
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

/**
 * Creates a session that opens when its client initializes it and ends when its transport closes. Its id is a secret of
 * its client: what others see contains a digest of it.
 */
async function createSession(
  { kernel, sdk, presentation }: Omit<SessionsOptions, 'onerror'>,
  open: OpenSessions,
): Promise<Transport> {
  const id = randomUUID()
  const session = toKernelSession(id)
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
