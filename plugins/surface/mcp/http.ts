import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import type { Io, Kernel } from '../../../core/index.js'
import { createGuard, isLoopback } from '../../lib/page/index.js'
import { say } from '../../lib/terminal/index.js'
import { MAX_FRAME } from './frames.js'
import { loadSdk } from './sdk.js'
import type { Showing } from './server.js'
import { createSessions } from './sessions.js'
import { readRequestBody, sendRefusal, send, sendUnread, toRequest } from './web.js'

const PORT = 7420
const MAX_REQUESTS = 256
/** Answers that go on as events; they wait for most of their life and are counted apart, so that listening keeps nobody from calling. */
const MAX_STREAMS = 512
const MAX_CONNECTIONS = 1024
/** How long requests in flight may still be answered at the end, in milliseconds. */
const DRAIN = 1_500

export interface HttpFlags {
  port: number
  host: string
  token_file?: string
  /** Absent = made at the start. */
  token?: string | null
}

/** The flags of `vtcode mcp --http`, or what is wrong with them. */
export function readHttpFlags(argv: string[]): HttpFlags | { wrong: string } {
  try {
    const options = {
      http: { type: 'boolean' },
      host: { type: 'string', default: '127.0.0.1' },
      'token-file': { type: 'string' },
      'no-token': { type: 'boolean' },
    } as const
    // `--http=3000` and `--http 3000` are the same; without a number it is our own port.
    const words = argv.flatMap((word) =>
      word.startsWith('--http=') ? ['--http', word.slice('--http='.length)] : [word],
    )
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
    const port = positionals[0] === undefined ? PORT : Number(positionals[0])
    if (!values.http) return { wrong: `Unknown word '${argv[0]}'.` }
    if (positionals.length > 1 || !Number.isInteger(port) || port < 0 || port > 65_535)
      return { wrong: `'${positionals.join(' ')}' is not a port.` }
    if (values['no-token'] && !isLoopback(values.host))
      return { wrong: '--no-token is for the loopback address only: anybody on the network could run the tools.' }
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

/** Serves until the program is told to stop; requests in flight then get a moment to be answered. */
export async function overHttp(kernel: Kernel, flags: HttpFlags, showing: Showing, io: Io): Promise<number> {
  const token = flags.token === undefined ? randomBytes(32).toString('base64url') : flags.token
  const sessions = createSessions({
    kernel,
    sdk: loadSdk('http'),
    showing,
    onerror: (error) => say(io, 'warning', error.message),
  })
  const serving: Serving = { sessions, io, running: 0, streams: 0 }
  const limits = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 5_000,
  }
  const server = createHttpServer(limits, (message, response) => void answer(serving, message, response))
  server.maxConnections = MAX_CONNECTIONS
  // A socket is nobody's before its request is read and after an upgrade is asked for: its error would end the program.
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
  const failure = await new Promise<Error | undefined>((resolve) => {
    server.once('error', resolve)
    server.listen(flags.port, flags.host, () => resolve(undefined))
  })
  if (failure) {
    say(io, 'error', `${flags.host}:${flags.port} cannot be listened on: ${failure.message}`)
    return 1
  }
  server.on('error', (error) => say(io, 'warning', error.message))
  const { port } = server.address() as AddressInfo
  serving.guard = createGuard({ host: flags.host, port, token, routes: { '/mcp': ['POST', 'GET', 'DELETE'] } })
  void kernel.inspection.loadDeferred()
  io.stderr.write(
    greeting(`http://${flags.host.includes(':') ? `[${flags.host}]` : flags.host}:${port}/mcp`, token, flags),
  )

  await new Promise<void>((resolve) =>
    io.signal.aborted ? resolve() : io.signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, DRAIN).unref())])
  await sessions.close()
  server.closeAllConnections()
  return 0
}

/** What serves the requests, with how many are under way. */
interface Serving {
  readonly sessions: ReturnType<typeof createSessions>
  readonly io: Io
  /** Known as soon as the port is; no request comes before. */
  guard?: ReturnType<typeof createGuard>
  running: number
  streams: number
}

async function answer(serving: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
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
    const body = await readRequestBody(message, MAX_FRAME)
    if (body === undefined)
      return sendRefusal(response, { status: 413, text: `The body is larger than ${MAX_FRAME} bytes.` })
    const asked = toRequest(message, response, body)
    if ('code' in asked) return sendUnread(response, asked)
    const reply = await serving.sessions.handle(asked)
    if (!isStream(reply)) return await send(reply, response)
    if (serving.streams >= MAX_STREAMS) {
      await reply.body?.cancel()
      return sendRefusal(response, {
        status: 503,
        text: 'Too many listeners at once; try again soon.',
        headers: { 'retry-after': '1' },
      })
    }
    stream(serving, reply, response)
  } catch (error) {
    say(serving.io, 'warning', (error as Error).message)
    if (!response.headersSent) sendRefusal(response, { status: 500, text: 'Internal error.' })
    else response.destroy()
  } finally {
    serving.running--
  }
}

function stream(serving: Serving, reply: Response, response: ServerResponse): void {
  serving.streams++
  void send(reply, response)
    .catch(() => response.destroy())
    .finally(() => serving.streams--)
}

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** What a person pastes into a client; a token from a file is not repeated. */
function greeting(url: string, token: string | null, { token_file }: HttpFlags): string {
  const shown = token_file === undefined ? token : `<the token in ${token_file}>`
  const entry = { type: 'http', url, ...(shown !== null && { headers: { Authorization: `Bearer ${shown}` } }) }
  return `vtcode serves MCP at ${url}\n${JSON.stringify({ mcpServers: { vtcode: entry } }, null, 2)}\n`
}
