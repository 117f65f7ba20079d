import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { AdapterContext } from '../../../core/index.js'
import { showPage, WayBack } from '../../lib/net/index.js'
import { TokenStore } from '../../lib/state/index.js'

interface Kept {
  port?: number
  /** By issuer: a grant of one server is never sent to another. */
  clients: Record<string, StoredOAuthClientInformation>
  tokens: Record<string, StoredOAuthTokens>
  latest?: string
  /** By client id: the issuer that its secret went to first. */
  issuers?: Record<string, string>
}
export interface LoginOptions {
  /** Names the server to the user. */
  server: string
  url: URL
  adapterContext: Pick<AdapterContext, 'home' | 'env' | 'workspace'>
  client_id?: string
  client_secret?: string | undefined
  /** Whom the secret was registered with; by default the first issuer that the server names. */
  issuer?: string
  scopes?: string[]
}

/**
 * Signing in to a server: OAuth 2.1 with PKCE as MCP 2025-11-25 and later want it, by the user's browser and a listener of our own on
 * the loopback address (RFC 8252). What was granted is kept in a file that only the user can read.
 */
export class Login implements OAuthClientProvider {
  readonly clientMetadataUrl?: string
  readonly #options: LoginOptions
  readonly #store: TokenStore<Kept>
  readonly #kept: Kept
  readonly #way: WayBack
  #verifier = ''
  #discovery: OAuthDiscoveryState | undefined

  private constructor(options: LoginOptions, store: TokenStore<Kept>, kept: Kept, way: WayBack) {
    this.#options = options
    // An address as the id names the document that describes us (Client ID Metadata Documents).
    if (options.client_id?.startsWith('https://')) this.clientMetadataUrl = options.client_id
    this.#store = store
    this.#kept = kept
    this.#way = way
  }

  /** Listens for the browser's redirect, on the previous port where it is free: some servers accept that port only. */
  static async open(options: LoginOptions): Promise<Login> {
    const store = new TokenStore<Kept>(
      options.adapterContext.home,
      'mcp-logins',
      { to: options.url.href, digits: 32 },
      options.server,
    )
    const kept: Kept = { clients: {}, tokens: {}, ...store.read() }
    const way = await WayBack.open(kept.port)
    if (kept.port !== undefined && kept.port !== way.port) kept.clients = {}
    kept.port = way.port
    return new Login(options, store, kept, way)
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
    if (client_id !== undefined && !this.clientMetadataUrl) {
      // Without a secret, the id of the client is no more than its name.
      if (client_secret === undefined || issuer === undefined)
        return { client_id, ...(issuer !== undefined && { issuer }) }
      this.#holdIssuer(client_id, issuer)
      return { client_id, client_secret, issuer }
    }
    return this.#kept.clients[issuer ?? this.#kept.latest ?? '']
  }
  saveClientInformation(
    client: StoredOAuthClientInformation,
    { issuer }: Partial<OAuthClientInformationContext> = {},
  ): void {
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
    if (scope === 'all' || scope === 'discovery') this.#discovery = undefined
    this.#save()
  }
  /** What the server said of its issuer when the sign-in began: the code goes to that issuer and to no other. The next sign-in asks again. */
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier(): string {
    return this.#verifier
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    showPage(url, this.#options.server, this.#options.adapterContext)
  }

  /** The parameters of the browser's redirect, once the user has signed in. */
  answer(signal: AbortSignal): Promise<URLSearchParams> {
    return this.#way.answer(signal)
  }

  /** A client secret goes to the issuer that it was registered with (SEP-2352). Throws for any other. */
  #holdIssuer(client_id: string, issuer: string): void {
    const plain = (text: string): string => text.replace(/\/$/, '')
    const known = this.#options.issuer ?? this.#kept.issuers?.[client_id]
    if (known === undefined) {
      this.#kept.issuers = { ...this.#kept.issuers, [client_id]: issuer }
      this.#save()
    } else if (plain(known) !== plain(issuer)) {
      throw new Error(
        `its client secret belongs to ${known}, and the server now names ${issuer.slice(0, 300)} to sign in at; \`auth.issuer\` says where the secret may go`,
      )
    }
  }

  #save(): void {
    this.#store.write(this.#kept)
  }
}
