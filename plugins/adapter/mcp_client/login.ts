import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { OAuthClientInformationContext, OAuthClientMetadata, OAuthClientProvider, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { sha256 } from '../../../core/base/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Premises } from '../../../core/index.js'
import { showPage, WayBack } from '../../lib/net/index.js'

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
  readonly #way: WayBack
  #verifier = ''

  private constructor(options: LoginOptions, file: string, kept: Kept, way: WayBack) {
    this.#options = options
    // An address as the id names the document that describes us (Client ID Metadata Documents).
    if (options.client_id?.startsWith('https://')) this.clientMetadataUrl = options.client_id
    this.#file = file
    this.#kept = kept
    this.#way = way
  }

  /** Listens for the browser's way back, on the port of the last time where it is free: some servers know that one only. */
  static async open(options: LoginOptions): Promise<Login> {
    const file = join(options.premises.home, 'mcp-logins', `${sha256(options.url.href).slice(0, 32)}.json`)
    const kept = read(file)
    const way = await WayBack.open(kept.port)
    if (kept.port !== undefined && kept.port !== way.port) kept.clients = {}
    kept.port = way.port
    return new Login(options, file, kept, way)
  }

  close(): void {
    this.#way.close()
  }

  get redirectUrl(): string {
    return this.#way.url
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
    return this.#way.state()
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
    showPage(url, this.#options.server, this.#options.premises)
  }

  /** What the browser came back with, once the user has signed in. */
  answer(signal: AbortSignal): Promise<URLSearchParams> {
    return this.#way.answer(signal)
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
