import { randomUUID } from 'node:crypto'
import type { WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/server'
import type { Kernel } from '../../../core/index.js'
import { MAX_FRAME } from './frames.js'
import type { HttpSdk } from './sdk.js'
import { createServer } from './server.js'
import type { WebRequest } from './web.js'

const MAX_SESSIONS = 64
const IDLE = 30 * 60_000
/** Ids that nobody was given, in a minute; whoever tries more of them is guessing. */
const MAX_FORGED = 100

export interface SessionsOptions {
  kernel: Kernel
  sdk: HttpSdk
  deferred: boolean
  onerror: (error: Error) => void
}

type OpenSessions = Map<string, { transport: Transport; used: number }>

/** Serves both revisions at one address: 2026-07-28 request by request, the earlier ones in sessions that share nothing. */
export function createSessions({ kernel, sdk, deferred, onerror }: SessionsOptions) {
  const open: OpenSessions = new Map()
  const modern = sdk.createMcpHandler(() => createServer(kernel, sdk, { session: 'mcp-http', deferred }), { legacy: 'reject', maxRequestBodySize: MAX_FRAME, onerror })
  const stops = [
    kernel.onReload(() => {
      modern.notify.toolsChanged()
      modern.notify.resourcesChanged()
      modern.notify.promptsChanged()
    }),
    kernel.onChange((uri) => modern.notify.resourceUpdated(uri)),
  ]
  let forged = 0
  const sweep = setInterval(() => {
    forged = 0
    for (const { transport, used } of open.values()) if (Date.now() - used > IDLE) void transport.close()
  }, 60_000).unref()

  async function beginning({ request, parsed }: WebRequest): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null && ++forged > MAX_FORGED) return refusal(429, 'Too many sessions that do not exist; begin one with initialize.', { 'retry-after': '60' })
    if (id !== null) return refusal(404, 'There is no such session; begin a new one with initialize.')
    const opens = request.method === 'POST' && sdk.isInitializeRequest(parsed.parsedBody)
    if (!opens) return request.method === 'POST' ? refusal(400, 'Begin with initialize, then send its mcp-session-id.') : refusal(400, 'The header mcp-session-id is missing.')
    if (open.size >= MAX_SESSIONS) return refusal(503, `There are ${MAX_SESSIONS} sessions already; end one or wait.`)
    return (await begin({ kernel, sdk, deferred }, open)).handleRequest(request, parsed)
  }

  return {
    async handle(asked: WebRequest): Promise<Response> {
      const { request, parsed } = asked
      const known = open.get(request.headers.get('mcp-session-id') ?? '')
      if (known) {
        known.used = Date.now()
        return known.transport.handleRequest(request, parsed)
      }
      return (await sdk.isLegacyRequest(request, parsed.parsedBody)) ? beginning(asked) : modern.fetch(request, parsed)
    },
    async close(): Promise<void> {
      clearInterval(sweep)
      stops.forEach((stop) => stop())
      await Promise.allSettled([modern.close(), ...[...open.values()].map(({ transport }) => transport.close())])
    },
  }
}

/** A session that is entered when its client has initialized it, and left when its transport closes. */
async function begin({ kernel, sdk, deferred }: Omit<SessionsOptions, 'onerror'>, open: OpenSessions): Promise<Transport> {
  const id = randomUUID()
  const transport: Transport = new sdk.WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    onsessioninitialized: () => void open.set(id, { transport, used: Date.now() }),
    maxRequestBodySize: MAX_FRAME,
  })
  await createServer(kernel, sdk, { session: `mcp-${id}`, deferred }).connect(transport)
  const closed = transport.onclose
  transport.onclose = () => {
    open.delete(id)
    void kernel.endSession(`mcp-${id}`)
    closed?.()
  }
  return transport
}

function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: status === 404 ? -32001 : -32000, message } }, { status, headers })
}
