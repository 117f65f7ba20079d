import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deadline, environment, findProgram, searchPath, start } from '../../../core/system/index.js'
import type { AdapterContext } from '../../../core/contract/index.js'

/** How long a user may take to sign in, in milliseconds. */
const PATIENCE = 300_000

/** The way back of a user's browser after a sign-in: a listener of our own on the loopback address (RFC 8252). */
export class WayBack {
  #state = ''
  #back: Promise<URLSearchParams> | undefined
  #arrive: (params: URLSearchParams) => void = () => {}

  private constructor(private readonly listener: Server) {}

  /** On this port where it is free. */
  static async open(port = 0): Promise<WayBack> {
    const limits = {
      requestTimeout: 10_000,
      headersTimeout: 5_000,
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: 65_536,
    }
    const listener = createServer(limits, ({ method, url = '', headers: { host } }, response) => {
      // Anybody on this machine can ask, and a page in a browser can make it ask: what is asked is compared, not parsed.
      const [path = '', query = ''] = url.split('?', 2)
      const params = new URLSearchParams(query)
      const ours =
        method === 'GET' &&
        path === '/callback' &&
        host === `127.0.0.1:${way.port}` &&
        way.#state !== '' &&
        params.get('state') === way.#state
      response.on('error', () => {})
      response.writeHead(ours ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      response.end(ours ? 'You are signed in; this window can be closed.\n' : 'There is nothing here.\n')
      if (!ours) return
      // An answer counts once.
      way.#state = ''
      way.#arrive(params)
    })
    listener.maxConnections = 64
    listener.on('connection', (socket) => socket.on('error', () => {}))
    listener.on('upgrade', (_, socket) => socket.destroy())
    const way = new WayBack(listener)
    const listen = (wanted: number) =>
      new Promise<boolean>((resolve) => {
        listener.once('error', () => resolve(false))
        listener.listen(wanted, '127.0.0.1', () => resolve(true))
      })
    if (!(await listen(port))) await listen(0)
    listener.on('error', () => {})
    listener.unref()
    return way
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`
  }
  /** Begins a sign-in: from now on an answer with this state counts, and no other. */
  state(): string {
    this.#back = new Promise((resolve) => (this.#arrive = resolve))
    return (this.#state = randomBytes(24).toString('base64url'))
  }

  /** What the browser came back with, once the user has signed in. */
  async answer(signal: AbortSignal): Promise<URLSearchParams> {
    using limit = deadline(PATIENCE, signal)
    const timedOut = new Promise<never>((_, reject) =>
      limit.signal.addEventListener('abort', () => reject(new Error('nobody signed in')), { once: true }),
    )
    // Meanwhile nothing else may keep the process alive.
    this.listener.ref()
    try {
      return await Promise.race([this.#back ?? timedOut, timedOut])
    } finally {
      this.listener.unref()
      this.#state = ''
    }
  }

  close(): void {
    this.listener.close()
    this.listener.closeAllConnections()
  }
}

/** Shows the user the page to sign in at, in their browser where there is one. Throws for what is no page. */
export function showPage(url: URL, to: string, { env, workspace }: Pick<AdapterContext, 'env' | 'workspace'>): void {
  const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  // A server may have chosen this address: nothing but a page may be opened by it.
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local))
    throw new Error(`the page to sign in at is no https address: ${url.protocol}`)
  process.stderr.write(`vtcode: sign in to ${to}: ${url.href}\n`)
  openInBrowser(url.href, { env, workspace })
}

/** Opens an address in the user's browser, without waiting for it; `false` where none is found. The program is looked for outside of the workspace. */
export function openInBrowser(address: string, { env, workspace }: Pick<AdapterContext, 'env' | 'workspace'>): boolean {
  const names = [env['BROWSER'], process.platform === 'darwin' ? 'open' : 'xdg-open'].filter(
    (name) => name !== undefined,
  )
  const program = names
    .map((name) => (name.includes('/') ? name : findProgram(name, searchPath(env['PATH'], workspace))))
    .find((file) => file !== undefined)
  if (program === undefined) return false
  const shown = Object.fromEntries(
    ['DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'].flatMap((name) =>
      env[name] === undefined ? [] : [[name, env[name]]],
    ),
  )
  start({ file: program, args: [address], cwd: workspace, env: { ...environment(), ...shown } }, 'ignore', 'own')
    .on('error', () => {})
    .unref()
  return true
}
