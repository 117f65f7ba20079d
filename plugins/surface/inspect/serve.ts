import { randomBytes } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Io, Kernel, Workspace } from '../../../core/index.js'
import { MODES } from '../../../core/config/index.js'
import { redact, type Mode } from '../../../core/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { createRequestCheck } from '../../lib/local_server/index.js'
import { say } from '../../lib/terminal/index.js'
import { FreshKernel } from './facts.js'
import { followSessions } from './follow.js'
import { inspectorPage, inspectorPolicy } from './page.js'

type Agent = typeof import('../../agent/cli/index.js')
export interface InspectorOptions {
  kernel: Kernel
  workspace: Workspace
  agent: Agent
  /** The session that is shown first. */
  session?: string
  port: number
  io: Io
}
/** A running server: its port, the token of its page, and a function to close it. */
export interface Inspector {
  port: number
  token: string
  close(): void
}
interface Serving extends InspectorOptions {
  readonly facts: FreshKernel
  readonly tickets: Map<string, { session: string; until: number }>
  /** Aborts when the server ends. */
  readonly closing: AbortController
  guard: ReturnType<typeof createRequestCheck>
  streams: number
  guesses: number
}
const host = '127.0.0.1'
const LIMITS = { streams: 16, body: 1024 * 1024, connections: 256, waiting: 4 * 1024 * 1024 }
/** Lifetime of a ticket for one view of a page, in milliseconds. */
const TICKET_LIFETIME_MS = 30_000
const routes = {
  '/': ['GET'],
  '/api/facts': ['GET'],
  '/api/explain': ['POST'],
  '/api/sessions': ['GET'],
  '/api/live': ['GET'],
  '/api/ticket': ['GET'],
  '/trace': ['GET'],
}
const COMMON_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/**
 * Serves the inspector on the loopback address. No route changes anything, and all except the empty page need the
 * token.
 * Rejects if the port is in use.
 */
export async function serveInspector(options: InspectorOptions): Promise<Inspector> {
  const token = randomBytes(32).toString('base64url')
  const serving: Serving = {
    ...options,
    facts: new FreshKernel(options.kernel),
    tickets: new Map(),
    closing: new AbortController(),
    guard: () => undefined,
    streams: 0,
    guesses: 0,
  }
  const limits = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 5_000,
  }
  const server = createHttpServer(limits, (message, response) => void handleRequest(serving, message, response))
  server.maxConnections = LIMITS.connections
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
  await listen(server, options.port)
  server.on('error', (error) => say(options.io, 'warning', error.message))
  const { port } = server.address() as AddressInfo
  serving.guard = createRequestCheck({ host, port, token, routes, open: ['/', '/trace'] })
  return { port, token, close: () => (serving.closing.abort(), server.close(), server.closeAllConnections()) }
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => (server.off('error', reject), resolve()))
  })

async function handleRequest(serving: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const objection = serving.guard(message)
  if (objection) {
    if (objection.status === 401) warnOfGuess(serving)
    return sendJson(response, objection.status, { error: objection.text }, objection.headers)
  }
  try {
    const url = new URL(message.url!, 'http://inspector')
    await route(serving, url, message, response)
  } catch (error) {
    if (response.headersSent) response.destroy()
    else sendJson(response, 500, { error: (error as Error).message })
  }
}

/** Warns about requests without the token. A guess cannot succeed against 256 bits, but the user should know. */
function warnOfGuess(serving: Serving): void {
  serving.guesses += 1
  if (/^10+$/.test(`${serving.guesses}`))
    say(
      serving.io,
      'warning',
      `${serving.guesses} requests came without the token; a program or web page on this machine tries to guess it.`,
    )
}

async function route(
  serving: Serving,
  { pathname, searchParams }: URL,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const session = searchParams.get('session') ?? undefined
  switch (pathname) {
    case '/':
      return sendPage(response, inspectorPolicy, [inspectorPage])
    case '/api/facts':
      return sendJson(response, 200, {
        ...(await serving.facts.current()),
        ...(serving.session !== undefined && { session: serving.session }),
      })
    case '/api/explain':
      return handleExplain(serving, message, response)
    case '/api/sessions':
      return sendJson(response, 200, { sessions: (await serving.agent.listSessions(serving.workspace)).slice(0, 500) })
    case '/api/live':
      return streamRows(serving, session, response)
    case '/api/ticket':
      return sendJson(response, 200, { ticket: createTicket(serving, session ?? '') })
    default:
      return sendTrace(serving, searchParams.get('ticket') ?? '', response)
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...COMMON_HEADERS, ...headers })
  response.end(`${JSON.stringify(value)}\n`)
}

async function sendPage(response: ServerResponse, policy: string, pieces: Iterable<string>): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    ...COMMON_HEADERS,
  })
  for (const piece of pieces) if (!response.write(piece)) await waitForDrain(response)
  response.end()
}

/** Sends the verdict of the policies on a typed call, which is never made. */
async function handleExplain({ kernel }: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length
    if (size > LIMITS.body)
      return sendJson(
        response,
        413,
        { error: `The body is larger than ${LIMITS.body} bytes.` },
        { connection: 'close' },
      )
    parts.push(part)
  }
  let body: { tool?: unknown; input?: unknown; mode?: unknown }
  try {
    body = (JSON.parse(Buffer.concat(parts).toString()) ?? {}) as typeof body
  } catch (error) {
    return sendJson(response, 400, { error: `Invalid JSON in the body: ${(error as Error).message}` })
  }
  const { tool, input = {}, mode } = body
  if (typeof tool !== 'string' || tool === '')
    return sendJson(response, 400, { error: 'Name the tool: { "tool": "unified_file/read", "input": {…} }.' })
  if (mode !== undefined && !MODES.includes(mode as Mode))
    return sendJson(response, 400, { error: `Invalid mode: use one of ${MODES.join(', ')}.` })
  sendJson(response, 200, redact(await kernel.explain(tool, input, mode === undefined ? {} : { mode: mode as Mode })))
}

async function streamRows(serving: Serving, session: string | undefined, response: ServerResponse): Promise<void> {
  if (serving.streams >= LIMITS.streams)
    return sendJson(response, 503, { error: 'Too many pages listen at once; close one.' })
  serving.streams += 1
  const closed = new AbortController()
  response.on('close', () => closed.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream', ...COMMON_HEADERS })
  response.write(': begins\n\n')
  const beat = setInterval(() => response.write(': still here\n\n'), 15_000).unref()
  try {
    for await (const rows of followSessions(
      serving.workspace,
      session,
      AbortSignal.any([closed.signal, serving.closing.signal]),
    )) {
      if (!response.write(`data: ${JSON.stringify(redact(rows))}\n\n`) && response.writableLength > LIMITS.waiting)
        await waitForDrain(response)
    }
  } finally {
    clearInterval(beat)
    serving.streams -= 1
    response.end()
  }
}

function createTicket({ tickets }: Serving, session: string): string {
  const now = Date.now()
  for (const [ticket, { until }] of tickets) if (until < now) tickets.delete(ticket)
  const ticket = randomBytes(32).toString('base64url')
  tickets.set(ticket, { session, until: now + TICKET_LIFETIME_MS })
  return ticket
}

/** Sends the page of a session once. A frame cannot send the token, so its URL has a ticket that is valid once. */
async function sendTrace(
  { tickets, agent, workspace }: Serving,
  ticket: string,
  response: ServerResponse,
): Promise<void> {
  const known = tickets.get(ticket)
  tickets.delete(ticket)
  if (!known || known.until < Date.now())
    return sendJson(response, 401, { error: 'Invalid or used ticket; open the page again from the inspector.' })
  const { events } = await agent.openSessionRecords(workspace, known.session)
  const run = await agent.reduceLog(events)
  return sendPage(response, "sandbox allow-scripts; frame-ancestors 'self'", agent.renderPage(run))
}
