import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { AdapterContext } from '../../../core/index.js'
import { showSignInPage, LoopbackListener } from '../../lib/net/index.js'
import { TokenStore } from '../../lib/state/index.js'

interface StoredLogin {
  port?: number
  /** Keyed by issuer: a grant of one server is never sent to another. */
  clients: Record<string, StoredOAuthClientInformation>
  tokens: Record<string, StoredOAuthTokens>
  latest?: string
  /** Keyed by client id: the issuer that got its secret first. */
  issuers?: Record<string, string>
}
export interface LoginOptions {
  /** Names the server to the user. */
  server: string
  url: URL
  adapterContext: Pick<AdapterContext, 'home' | 'env' | 'workspace'>
  client_id?: string
  client_secret?: string | undefined
  /** The issuer that registered the secret; by default the first one that the server names. */
  issuer?: string
  scopes?: string[]
}

/**
 * Signs in to a server with OAuth 2.1 and PKCE (MCP 2025-11-25 and later). Uses the user's browser and a listener on
 * the loopback address (RFC 8252). Grants are kept in a file that only the user can read.
 */
export class Login implements OAuthClientProvider {
  readonly clientMetadataUrl?: string
  readonly #options: LoginOptions
  readonly #store: TokenStore<StoredLogin>
  readonly #kept: StoredLogin
  readonly #way: LoopbackListener
  #verifier = ''
  #discovery: OAuthDiscoveryState | undefined

  private constructor(options: LoginOptions, store: TokenStore<StoredLogin>, kept: StoredLogin, way: LoopbackListener) {
    this.#options = options
    // An https address as client id names the document that describes us (Client ID Metadata Documents).
    if (options.client_id?.startsWith('https://')) this.clientMetadataUrl = options.client_id
    this.#store = store
    this.#kept = kept
    this.#way = way
  }

  /**
   * Listens for the redirect of the browser, on the previous port if it is free: some servers accept that port only.
   */
  static async open(options: LoginOptions): Promise<Login> {
    const store = new TokenStore<StoredLogin>(
      options.adapterContext.home,
      'mcp-logins',
      { to: options.url.href, digits: 32 },
      options.server,
    )
    const kept: StoredLogin = { clients: {}, tokens: {}, ...store.read() }
    const way = await LoopbackListener.open(kept.port)
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
      // Without a secret, the client id is only a name.
      if (client_secret === undefined || issuer === undefined)
        return { client_id, ...(issuer !== undefined && { issuer }) }
      this.#requireIssuer(client_id, issuer)
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
  /**
   * Keeps the issuer that the server named when the sign-in began. The code goes only to that issuer; the next sign-in
   * asks again.
   */
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
    showSignInPage(url, this.#options.server, this.#options.adapterContext)
  }

  /** Returns the parameters of the redirect after the user has signed in. */
  answer(signal: AbortSignal): Promise<URLSearchParams> {
    return this.#way.answer(signal)
  }

  /** Requires the issuer with which the client secret was registered (SEP-2352). Throws for any other. */
  #requireIssuer(client_id: string, issuer: string): void {
    const plain = (text: string): string => text.replace(/\/$/, '')
    const known = this.#options.issuer ?? this.#kept.issuers?.[client_id]
    if (known === undefined) {
      this.#kept.issuers = { ...this.#kept.issuers, [client_id]: issuer }
      this.#save()
    } else if (plain(known) !== plain(issuer)) {
      throw new Error(
        `its client secret belongs to ${known}, but the server now names the issuer ${issuer.slice(0, 300)}; ` +
          'set `auth.issuer` to the issuer that may get the secret',
      )
    }
  }

  #save(): void {
    this.#store.write(this.#kept)
  }
}
