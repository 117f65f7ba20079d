import { randomBytes } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Io, Kernel, Workspace } from '../../../core/index.js'
import { modes } from '../../../core/config/index.js'
import { redact, type Mode } from '../../../core/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { createGuard } from '../../lib/page/index.js'
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
/** A server that is up: where, what its page has to show, and how it ends. */
export interface Inspector {
  port: number
  token: string
  close(): void
}
interface Serving extends InspectorOptions {
  readonly facts: FreshKernel
  readonly tickets: Map<string, { session: string; until: number }>
  /** Aborts when the server ends. */
  readonly over: AbortController
  guard: ReturnType<typeof createGuard>
  streams: number
  guesses: number
}
const host = '127.0.0.1'
const most = { streams: 16, body: 1024 * 1024, connections: 256, waiting: 4 * 1024 * 1024 }
/** How long a ticket for one look at a page counts, in milliseconds. */
const ticketMs = 30_000
const routes = {
  '/': ['GET'],
  '/api/facts': ['GET'],
  '/api/explain': ['POST'],
  '/api/sessions': ['GET'],
  '/api/live': ['GET'],
  '/api/ticket': ['GET'],
  '/trace': ['GET'],
}
const always = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/** Serves the inspector on the loopback address. No route changes anything; all but the empty page need the token. Rejects where the port is taken. */
export async function serveInspector(options: InspectorOptions): Promise<Inspector> {
  const token = randomBytes(32).toString('base64url')
  const serving: Serving = {
    ...options,
    facts: new FreshKernel(options.kernel),
    tickets: new Map(),
    over: new AbortController(),
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
  const server = createHttpServer(limits, (message, response) => void answer(serving, message, response))
  server.maxConnections = most.connections
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
  await listening(server, options.port)
  server.on('error', (error) => say(options.io, 'warning', error.message))
  const { port } = server.address() as AddressInfo
  serving.guard = createGuard({ host, port, token, routes, open: ['/', '/trace'] })
  return { port, token, close: () => (serving.over.abort(), server.close(), server.closeAllConnections()) }
}

const listening = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => (server.off('error', reject), resolve()))
  })

async function answer(serving: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const objection = serving.guard(message)
  if (objection) {
    if (objection.status === 401) tellGuess(serving)
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

/** A token has 256 bits, so that guessing it leads nowhere; but whoever tries it is worth a word. */
function tellGuess(serving: Serving): void {
  serving.guesses += 1
  if (/^10+$/.test(`${serving.guesses}`))
    say(
      serving.io,
      'warning',
      `${serving.guesses} requests came without the token; somebody on this machine, or a page of theirs, tries it.`,
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
      return explain(serving, message, response)
    case '/api/sessions':
      return sendJson(response, 200, { sessions: (await serving.agent.listSessions(serving.workspace)).slice(0, 500) })
    case '/api/live':
      return stream(serving, session, response)
    case '/api/ticket':
      return sendJson(response, 200, { ticket: newTicket(serving, session ?? '') })
    default:
      return trace(serving, searchParams.get('ticket') ?? '', response)
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...always, ...headers })
  response.end(`${JSON.stringify(value)}\n`)
}

async function sendPage(response: ServerResponse, policy: string, pieces: Iterable<string>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy, ...always })
  for (const piece of pieces) if (!response.write(piece)) await waitForDrain(response)
  response.end()
}

/** What the policies say of a call that somebody typed. It is never made. */
async function explain({ kernel }: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length
    if (size > most.body)
      return sendJson(response, 413, { error: `The body is larger than ${most.body} bytes.` }, { connection: 'close' })
    parts.push(part)
  }
  let asked: { tool?: unknown; input?: unknown; mode?: unknown }
  try {
    asked = (JSON.parse(Buffer.concat(parts).toString()) ?? {}) as typeof asked
  } catch (error) {
    return sendJson(response, 400, { error: `The body is no JSON: ${(error as Error).message}` })
  }
  const { tool, input = {}, mode } = asked
  if (typeof tool !== 'string' || tool === '')
    return sendJson(response, 400, { error: 'Say which tool: { "tool": "unified_file/read", "input": {…} }.' })
  if (mode !== undefined && !modes.includes(mode as Mode))
    return sendJson(response, 400, { error: `mode is one of ${modes.join(', ')}.` })
  sendJson(response, 200, redact(await kernel.explain(tool, input, mode === undefined ? {} : { mode: mode as Mode })))
}

async function stream(serving: Serving, session: string | undefined, response: ServerResponse): Promise<void> {
  if (serving.streams >= most.streams)
    return sendJson(response, 503, { error: 'Too many pages listen at once; close one.' })
  serving.streams += 1
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream', ...always })
  response.write(': begins\n\n')
  const beat = setInterval(() => response.write(': still here\n\n'), 15_000).unref()
  try {
    for await (const rows of followSessions(
      serving.workspace,
      session,
      AbortSignal.any([gone.signal, serving.over.signal]),
    )) {
      if (!response.write(`data: ${JSON.stringify(redact(rows))}\n\n`) && response.writableLength > most.waiting)
        await waitForDrain(response)
    }
  } finally {
    clearInterval(beat)
    serving.streams -= 1
    response.end()
  }
}

function newTicket({ tickets }: Serving, session: string): string {
  const now = Date.now()
  for (const [ticket, { until }] of tickets) if (until < now) tickets.delete(ticket)
  const ticket = randomBytes(32).toString('base64url')
  tickets.set(ticket, { session, until: now + ticketMs })
  return ticket
}

/** The page of a session, for one look: a frame shows no token, so it comes with a ticket that counts once. */
async function trace({ tickets, agent, workspace }: Serving, ticket: string, response: ServerResponse): Promise<void> {
  const known = tickets.get(ticket)
  tickets.delete(ticket)
  if (!known || known.until < Date.now())
    return sendJson(response, 401, { error: 'The page is opened by the inspector only; open it there again.' })
  const { events } = await agent.recordsOfSession(workspace, known.session)
  const run = await agent.reduceLog(events)
  return sendPage(response, "sandbox allow-scripts; frame-ancestors 'self'", agent.tracePage(run))
}
