import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import type { OAuthClientInformationContext, OAuthClientMetadata, OAuthClientProvider, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { readBytes, type Premises } from '../../../core/index.js'
import { environment, start } from '../../shared/process.js'
import { findProgram, searchPath } from '../../shared/programs.js'

/** How long a user may take to sign in, in milliseconds. */
const PATIENCE = 300_000

interface Kept {
  port?: number
  /** By the issuer: what one server granted is never shown to another. */
  clients: Record<string, StoredOAuthClientInformation>
  tokens: Record<string, StoredOAuthTokens>
  latest?: string
}
export interface LoginOptions {
  /** Names the server to the user. */
  server: string
  url: URL
  premises: Pick<Premises, 'home' | 'env' | 'workspace'>
  client_id?: string
  client_secret?: string | undefined
  scopes?: string[]
}

/**
 * Signing in to a server: OAuth 2.1 with PKCE as MCP 2025-11-25 and later want it, by the user's browser and a listener of our own on
 * the loopback address (RFC 8252). What was granted is kept in a file that only the user can read.
 */
export class Login implements OAuthClientProvider {
  readonly clientMetadataUrl?: string
  readonly #options: LoginOptions
  readonly #file: string
  readonly #kept: Kept
  #listener: Server | undefined
  #state = ''
  #verifier = ''
  #back: Promise<URLSearchParams> | undefined
  #arrive: (params: URLSearchParams) => void = () => {}

  private constructor(options: LoginOptions) {
    this.#options = options
    // An address as the id names the document that describes us (Client ID Metadata Documents).
    if (options.client_id?.startsWith('https://')) this.clientMetadataUrl = options.client_id
    this.#file = join(options.premises.home, 'mcp-logins', `${createHash('sha256').update(options.url.href).digest('hex').slice(0, 32)}.json`)
    this.#kept = read(this.#file)
  }

  /** Listens for the browser's way back, on the port of the last time where it is free: some servers know that one only. */
  static async open(options: LoginOptions): Promise<Login> {
    const login = new Login(options)
    const listener = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
      const ours = pathname === '/callback' && searchParams.get('state') === login.#state && login.#state !== ''
      response.writeHead(ours ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' })
      response.end(ours ? 'You are signed in; this window can be closed.\n' : 'There is nothing here.\n')
      if (ours) login.#arrive(searchParams)
    })
    const listen = (port: number) =>
      new Promise<boolean>((resolve) => {
        listener.once('error', () => resolve(false))
        listener.listen(port, '127.0.0.1', () => resolve(true))
      })
    if (!(await listen(login.#kept.port ?? 0))) {
      await listen(0)
      login.#kept.clients = {}
    }
    listener.unref()
    login.#listener = listener
    login.#kept.port = (listener.address() as AddressInfo).port
    return login
  }

  close(): void {
    this.#listener?.close()
    this.#listener?.closeAllConnections()
  }

  get redirectUrl(): string {
    return `http://127.0.0.1:${this.#kept.port}/callback`
  }
  get clientMetadata(): OAuthClientMetadata {
    const { client_secret, scopes } = this.#options
    return {
      client_name: 'vtcode',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(client_secret === undefined && { token_endpoint_auth_method: 'none' }),
      ...(scopes && { scope: scopes.join(' ') }),
    }
  }
  state(): string {
    return (this.#state = randomBytes(24).toString('base64url'))
  }

  clientInformation({ issuer }: Partial<OAuthClientInformationContext> = {}): StoredOAuthClientInformation | undefined {
    const { client_id, client_secret } = this.#options
    if (client_id !== undefined && !this.clientMetadataUrl) return { client_id, ...(client_secret !== undefined && { client_secret }) }
    return this.#kept.clients[issuer ?? this.#kept.latest ?? '']
  }
  saveClientInformation(client: StoredOAuthClientInformation, { issuer }: Partial<OAuthClientInformationContext> = {}): void {
    this.#kept.clients[issuer ?? ''] = client
    this.#save()
  }
  tokens({ issuer }: Partial<OAuthClientInformationContext> = {}): StoredOAuthTokens | undefined {
    return this.#kept.tokens[issuer ?? this.#kept.latest ?? '']
  }
  saveTokens(tokens: StoredOAuthTokens, { issuer }: Partial<OAuthClientInformationContext> = {}): void {
    this.#kept.tokens[issuer ?? ''] = tokens
    this.#kept.latest = issuer ?? ''
    this.#save()
  }
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') this.#kept.clients = {}
    if (scope === 'all' || scope === 'tokens') this.#kept.tokens = {}
    this.#save()
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier(): string {
    return this.#verifier
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.#back = new Promise((resolve) => (this.#arrive = resolve))
    const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
    // The server chose this address: nothing but a page may be opened by it.
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local)) throw new Error(`the page to sign in at is no https address: ${url.protocol}`)
    process.stderr.write(`vtcode: sign in to ${this.#options.server}: ${url.href}\n`)
    const { env, workspace } = this.#options.premises
    const names = [env['BROWSER'], process.platform === 'darwin' ? 'open' : 'xdg-open'].filter((name) => name !== undefined)
    const program = names.map((name) => (name.includes('/') ? name : findProgram(name, searchPath(env['PATH'], workspace)))).find((file) => file !== undefined)
    if (program === undefined) return
    const shown = Object.fromEntries(['DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'].flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
    start({ file: program, args: [url.href], cwd: workspace, env: { ...environment(), ...shown } }, 'ignore').on('error', () => {}).unref()
  }

  /** What the browser came back with, once the user has signed in. */
  async answer(signal: AbortSignal): Promise<URLSearchParams> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)])
    const given = new Promise<never>((_, reject) => late.addEventListener('abort', () => reject(new Error('nobody signed in')), { once: true }))
    // Meanwhile nothing else may keep the process alive.
    this.#listener?.ref()
    try {
      return await Promise.race([this.#back ?? given, given])
    } finally {
      this.#listener?.unref()
      this.#state = ''
    }
  }

  #save(): void {
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
    writeFileSync(this.#file, JSON.stringify(this.#kept), { mode: 0o600 })
  }
}

function read(file: string): Kept {
  try {
    return { clients: {}, tokens: {}, ...(JSON.parse(readBytes(file).toString()) as Partial<Kept>) }
  } catch {
    return { clients: {}, tokens: {} }
  }
}
