import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import type { Io, Kernel } from '../../../core/index.js'
import { createRequestCheck, isLoopback } from '../../lib/local_server/index.js'
import { say } from '../../lib/terminal/index.js'
import { MAX_FRAME_BYTES } from './frames.js'
import { loadSdk } from './sdk.js'
import type { PresentationOptions } from './server.js'
import { createSessions } from './sessions.js'
import { readRequestBody, sendRefusal, sendResponse, sendMessageError, toRequest } from './web.js'

const DEFAULT_PORT = 7420
const MAX_REQUESTS = 256
/** The most event streams at once. Idle streams have their own limit, so they never block calls. */
const MAX_STREAMS = 512
const MAX_CONNECTIONS = 1024
/** Time that requests in flight have to finish after the end, in milliseconds. */
const DRAIN_MS = 1_500

export interface HttpFlags {
  port: number
  host: string
  token_file?: string
  /** Absent: created at the start; `null`: none. */
  token?: string | null
}

/** Parses the flags of `vtcode mcp --http`, or returns what is wrong with them. */
export function readHttpFlags(argv: string[]): HttpFlags | { wrong: string } {
  try {
    const options = {
      http: { type: 'boolean' },
      host: { type: 'string', default: '127.0.0.1' },
      'token-file': { type: 'string' },
      'no-token': { type: 'boolean' },
    } as const
    // `--http=3000` equals `--http 3000`; without a number the default port counts.
    const words = argv.flatMap((word) =>
      word.startsWith('--http=') ? ['--http', word.slice('--http='.length)] : [word],
    )
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
    const port = positionals[0] === undefined ? DEFAULT_PORT : Number(positionals[0])
    if (!values.http) return { wrong: `Unknown word '${argv[0]}'.` }
    if (positionals.length > 1 || !Number.isInteger(port) || port < 0 || port > 65_535)
      return { wrong: `Invalid port '${positionals.join(' ')}': use a number from 0 to 65535.` }
    if (values['no-token'] && !isLoopback(values.host))
      return { wrong: '--no-token works only with a loopback address: anybody on the network could run the tools.' }
    if (values['no-token']) return { port, host: values.host, token: null }
    if (values['token-file'] === undefined) return { port, host: values.host }
    const token = readFileSync(values['token-file'], 'utf8').trim()
    if (!/^[\w.~+/=-]{16,}$/.test(token))
      return { wrong: `${values['token-file']} must hold one token of at least 16 letters, digits and -._~+/=.` }
    return { port, host: values.host, token_file: values['token-file'], token }
  } catch (error) {
    return { wrong: `${(error as Error).message.split('. ')[0]}.` }
  }
}

/** Serves until the signal of the program aborts, then gives requests in flight a moment to finish. */
export async function runHttpServer(
  kernel: Kernel,
  flags: HttpFlags,
  presentation: PresentationOptions,
  io: Io,
): Promise<number> {
  const token = flags.token === undefined ? randomBytes(32).toString('base64url') : flags.token
  const sessions = createSessions({
    kernel,
    sdk: loadSdk('http'),
    presentation,
    onerror: (error) => say(io, 'warning', error.message),
  })
  const serving: Serving = { sessions, io, running: 0, streams: 0 }
  const limits = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 5_000,
  }
  const server = createHttpServer(limits, (message, response) => void handleRequest(serving, message, response))
  server.maxConnections = MAX_CONNECTIONS
  // Before a request and after an upgrade no handler owns the socket, and its error would end the program.
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
  const failure = await new Promise<Error | undefined>((resolve) => {
    server.once('error', resolve)
    server.listen(flags.port, flags.host, () => resolve(undefined))
  })
  if (failure) {
    say(io, 'error', `Cannot listen on ${flags.host}:${flags.port}: ${failure.message}`)
    return 1
  }
  server.on('error', (error) => say(io, 'warning', error.message))
  const { port } = server.address() as AddressInfo
  serving.guard = createRequestCheck({ host: flags.host, port, token, routes: { '/mcp': ['POST', 'GET', 'DELETE'] } })
  void kernel.inspection.loadDeferred()
  io.stderr.write(
    formatGreeting(`http://${flags.host.includes(':') ? `[${flags.host}]` : flags.host}:${port}/mcp`, token, flags),
  )

  await new Promise<void>((resolve) =>
    io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, DRAIN_MS).unref())])
  await sessions.close()
  server.closeAllConnections()
  return 0
}

/** The state of the server, with the number of active requests. */
interface Serving {
  readonly sessions: ReturnType<typeof createSessions>
  readonly io: Io
  /** Set after the port is known, before the first request. */
  guard?: ReturnType<typeof createRequestCheck>
  running: number
  streams: number
}

async function handleRequest(serving: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const objection = serving.guard!(message)
  if (objection) return sendRefusal(response, objection)
  if (serving.running >= MAX_REQUESTS)
    return sendRefusal(response, {
      status: 503,
      text: 'Too many requests at once; try again soon.',
      headers: { 'retry-after': '1' },
    })
  serving.running++
  try {
    const body = await readRequestBody(message, MAX_FRAME_BYTES)
    if (body === undefined)
      return sendRefusal(response, { status: 413, text: `The body is larger than ${MAX_FRAME_BYTES} bytes.` })
    const request = toRequest(message, response, body)
    if ('code' in request) return sendMessageError(response, request)
    const reply = await serving.sessions.handle(request)
    if (!isStream(reply)) return await sendResponse(reply, response)
    if (serving.streams >= MAX_STREAMS) {
      await reply.body?.cancel()
      return sendRefusal(response, {
        status: 503,
        text: 'Too many listeners at once; try again soon.',
        headers: { 'retry-after': '1' },
      })
    }
    sendStream(serving, reply, response)
  } catch (error) {
    say(serving.io, 'warning', (error as Error).message)
    if (!response.headersSent) sendRefusal(response, { status: 500, text: 'Internal error.' })
    else response.destroy()
  } finally {
    serving.running--
  }
}

function sendStream(serving: Serving, reply: Response, response: ServerResponse): void {
  serving.streams++
  void sendResponse(reply, response)
    .catch(() => response.destroy())
    .finally(() => serving.streams--)
}

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** Formats the entry that a person pastes into a client; a token from a file is not repeated. */
function formatGreeting(url: string, token: string | null, { token_file }: HttpFlags): string {
  const shown = token_file === undefined ? token : `<the token in ${token_file}>`
  const entry = { type: 'http', url, ...(shown !== null && { headers: { Authorization: `Bearer ${shown}` } }) }
  return `vtcode serves MCP at ${url}\n${JSON.stringify({ mcpServers: { vtcode: entry } }, null, 2)}\n`
}
