import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { resolve } from 'node:path'
import {
  startDeadline,
  createChildEnvironment,
  findProgram,
  isForeign,
  listSearchFolders,
  spawnProgram,
} from '../../../core/system/index.js'
import type { AdapterContext } from '../../../core/contract/index.js'

/** Time limit of a sign-in in milliseconds. */
const SIGN_IN_TIMEOUT_MS = 300_000
const MAX_CONNECTIONS = 64

/** Listener on the loopback address that a browser returns to after a sign-in (RFC 8252). */
export class LoopbackListener {
  #state = ''
  #back: Promise<URLSearchParams> | undefined
  #arrive: (params: URLSearchParams) => void = () => {}

  private constructor(private readonly listener: Server) {}

  /** Opens a listener on this port, or on a free one if the port is taken. */
  static async open(port = 0): Promise<LoopbackListener> {
    const limits = {
      requestTimeout: 10_000,
      headersTimeout: 5_000,
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: 65_536,
    }
    const listener = createServer(limits, ({ method, url = '', headers: { host } }, response) => {
      // Any program or web page on this machine can send requests, so they are compared and not parsed.
      const [path = '', query = ''] = url.split('?', 2)
      const params = new URLSearchParams(query)
      const ours =
        method === 'GET' &&
        path === '/callback' &&
        host === `127.0.0.1:${login.port}` &&
        login.#state !== '' &&
        params.get('state') === login.#state
      response.on('error', () => {})
      response.writeHead(ours ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      response.end(ours ? 'You are signed in. You can close this window.\n' : 'Not found.\n')
      if (!ours) return
      // Each answer counts once.
      login.#state = ''
      login.#arrive(params)
    })
    const open = new Set<Socket>()
    listener.on('connection', (socket) => {
      open.add(socket.on('error', () => {}).on('close', () => void open.delete(socket)))
      // The oldest connection makes room, so that idle ones of another program keep no browser out.
      if (open.size <= MAX_CONNECTIONS) return
      const [oldest] = open
      open.delete(oldest!)
      oldest!.destroy()
    })
    listener.on('upgrade', (_, socket) => socket.destroy())
    const login = new LoopbackListener(listener)
    const listen = (candidate: number) =>
      new Promise<boolean>((resolve) => {
        listener.once('error', () => resolve(false))
        listener.listen(candidate, '127.0.0.1', () => resolve(true))
      })
    if (!(await listen(port))) await listen(0)
    listener.on('error', () => {})
    listener.unref()
    return login
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`
  }
  /** Begins a sign-in: from now on only an answer with the returned state counts. */
  state(): string {
    this.#back = new Promise((resolve) => (this.#arrive = resolve))
    return (this.#state = randomBytes(24).toString('base64url'))
  }

  /** Waits for the parameters that the browser returns after the sign-in. */
  async answer(signal: AbortSignal): Promise<URLSearchParams> {
    using limit = startDeadline(SIGN_IN_TIMEOUT_MS, signal)
    const timedOut = new Promise<never>((_, reject) =>
      limit.signal.addEventListener('abort', () => reject(new Error('no sign-in within 5 minutes')), { once: true }),
    )
    // The listener keeps the process alive while it waits.
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

/** Opens the sign-in page in the browser of the user, if there is one. Throws for an address that is no web page. */
export function showSignInPage(
  url: URL,
  to: string,
  { env, workspace }: Pick<AdapterContext, 'env' | 'workspace'>,
): void {
  const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  // A server may have chosen this address, so only pages may be opened.
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local))
    throw new Error(`the sign-in page must use https, not '${url.protocol}'`)
  process.stderr.write(`vtcode: sign in to ${to}: ${url.href}\n`)
  openInBrowser(url.href, { env, workspace })
}

/**
 * Opens an address in the browser of the user without waiting; `false` if no browser is found. No program of the
 * workspace or its repository is started.
 */
export function openInBrowser(address: string, { env, workspace }: Pick<AdapterContext, 'env' | 'workspace'>): boolean {
  const names = [env['BROWSER'], process.platform === 'darwin' ? 'open' : 'xdg-open'].filter(
    (name) => name !== undefined,
  )
  const program = names
    .map((name) => (name.includes('/') ? name : findProgram(name, listSearchFolders(env['PATH'], workspace))))
    .find((file) => file !== undefined && !isForeign(resolve(workspace, file)))
  if (program === undefined) return false
  const shown = Object.fromEntries(
    ['DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'].flatMap((name) =>
      env[name] === undefined ? [] : [[name, env[name]]],
    ),
  )
  spawnProgram(
    { file: program, args: [address], cwd: workspace, env: { ...createChildEnvironment(), ...shown } },
    'ignore',
    'own',
  )
    .on('error', () => {})
    .unref()
  return true
}
