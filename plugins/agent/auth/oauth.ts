import type * as OAuth from 'oauth4webapi'
import { startDeadline } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import { TokenStore } from '../../lib/state/index.js'
import { toOneLine } from '../../lib/terminal/index.js'
import { AgentError, toErrorMessage, readLimited, type AgentProviders } from '../base/index.js'
import type { Auth, Credential } from './types.js'

/** A sign-in to a provider. Its token serves one address: a provider that moves needs a new sign-in. */
export interface SignIn {
  provider: string
  base_url: string
  auth: Auth
  /** The `.vtcode` folder of the user, where the tokens are kept. */
  home: string
  providers: Pick<AgentProviders, 'fetch' | 'clock' | 'env'>
}
interface StoredToken {
  access_token: string
  refresh_token?: string | undefined
  /** Milliseconds since the epoch; absent when the server named no end. */
  expires_at?: number | undefined
}

const REQUEST_TIMEOUT_MS = 30_000
// A token that ends within this time is renewed before its use.
const EXPIRY_MARGIN_MS = 60_000
const CODE_LIFETIME = { usual: 600, longest: 1800 }

const refuse = ({ provider }: SignIn, why: string): AgentError =>
  new AgentError('VT_LLM_AUTH', redactText(`The sign-in to the provider '${provider}': ${why}.`), {
    hint: `Sign in with \`vtcode models login ${provider}\`.`,
  })

/** Returns the credential of an earlier sign-in, renewed where the server allows it. Throws VT_LLM_AUTH. */
export function createTokenCredential(login: SignIn): Credential {
  let renewal: Promise<StoredToken> | undefined
  let refused: string | undefined
  const load = () => {
    const token = loadToken(login)
    if (!token) throw refuse(login, 'no user has signed in yet')
    return token
  }
  load()
  return {
    async read() {
      let token = load()
      const { access_token, expires_at = Infinity } = token
      const hasEnded = access_token === refused || expires_at - EXPIRY_MARGIN_MS < login.providers.clock.now()
      if (hasEnded) token = await (renewal ??= renew(login, token).finally(() => (renewal = undefined)))
      return { headers: { authorization: `Bearer ${token.access_token}` } }
    },
    refresh() {
      const token = loadToken(login)
      refused = token?.access_token
      return token?.refresh_token !== undefined
    },
  }
}

async function renew(login: SignIn, { access_token, refresh_token }: StoredToken): Promise<StoredToken> {
  if (refresh_token === undefined) throw refuse(login, 'the token has ended')
  try {
    return saveToken(login, await requestToken(login, 'refresh_token', { refresh_token }), refresh_token)
  } catch (error) {
    // Servers accept a refresh token once: another process may have been first.
    const token = loadToken(login)
    if (token && token.access_token !== access_token) return token
    throw explain(login, error)
  }
}

/** Signs the user in, with a browser or with a code to type in elsewhere, and keeps the token. Throws VT_LLM_AUTH. */
export async function signIn(login: SignIn, workspace: string, signal: AbortSignal): Promise<void> {
  const isByDevice = login.auth.device !== undefined
  const flow = isByDevice ? runDeviceFlow(login, signal) : runCodeFlow(login, workspace, signal)
  saveToken(login, await flow.catch((error: unknown) => Promise.reject(explain(login, error))))
}

/** Forgets the token; `false` when there is none. */
export function signOut(login: SignIn): boolean {
  const isKnown = loadToken(login) !== undefined
  openStore(login).forget()
  return isKnown
}

type Token = OAuth.TokenEndpointResponse

async function requestToken(login: SignIn, grant: string, fields: Record<string, string>): Promise<Token> {
  const { genericTokenEndpointRequest, processGenericTokenEndpointResponse } = await import('oauth4webapi')
  const [server, client, key, options] = await openClient(login)
  const response = await genericTokenEndpointRequest(server, client, key, grant, fields, options)
  return processGenericTokenEndpointResponse(server, client, response)
}

/** Returns the arguments of the library's requests. */
async function openClient(login: SignIn) {
  const { allowInsecureRequests, customFetch, None } = await import('oauth4webapi')
  const { token_url = '', device = '', client_id = '' } = login.auth
  const server = { issuer: new URL(token_url).origin, token_endpoint: token_url, device_authorization_endpoint: device }
  const ask = (url: string, request: object) => send(login, url, request)
  // The check of the settings lets http through for this machine only.
  return [server, { client_id }, None(), { [allowInsecureRequests]: true, [customFetch]: ask }] as const
}

/** Runs the code flow with PKCE (RFC 7636). */
async function runCodeFlow(login: SignIn, workspace: string, signal: AbortSignal): Promise<Token> {
  const { auth, provider, providers } = login
  // Only this flow needs a server of our own.
  const { showSignInPage, LoopbackListener } = await import('../../lib/net/index.js')
  const { calculatePKCECodeChallenge, generateRandomCodeVerifier, validateAuthResponse } = await import('oauth4webapi')
  const [server, client] = await openClient(login)
  const back = await LoopbackListener.open()
  try {
    const page = new URL(auth.authorization_url!)
    const [state, redirect_uri, code_verifier] = [back.state(), back.url, generateRandomCodeVerifier()]
    const code_challenge = await calculatePKCECodeChallenge(code_verifier)
    const request = { response_type: 'code', ...client, redirect_uri, state, ...readScope(auth) }
    const challenge = { code_challenge, code_challenge_method: 'S256' }
    for (const [name, value] of Object.entries({ ...request, ...challenge })) page.searchParams.set(name, value)
    showSignInPage(page, provider, { env: providers.env, workspace })
    const answer = await back.answer(signal)
    // Google and Keycloak name their issuer (RFC 9207); the settings have none to compare it with.
    answer.delete('iss')
    const code = validateAuthResponse(server, client, answer, state).get('code') ?? ''
    return await requestToken(login, 'authorization_code', { code, redirect_uri, code_verifier })
  } finally {
    back.close()
  }
}

/** Runs the device flow (RFC 8628): the user types a code in elsewhere, and the server is asked until they have. */
async function runDeviceFlow(login: SignIn, signal: AbortSignal): Promise<Token> {
  const {
    auth,
    provider,
    providers: { clock },
  } = login
  const { deviceAuthorizationRequest, processDeviceAuthorizationResponse } = await import('oauth4webapi')
  const [server, client, key, options] = await openClient(login)
  const response = await deviceAuthorizationRequest(server, client, key, readScope(auth), options)
  const answer = await processDeviceAuthorizationResponse(server, client, response)
  const { device_code, user_code, verification_uri, expires_in, interval = 5 } = answer
  process.stderr.write(
    `vtcode: sign in to ${provider}: type ${toOneLine(user_code)} at ${toOneLine(verification_uri)}\n`,
  )
  const until = clock.now() + Math.min(expires_in, CODE_LIFETIME.longest) * 1000
  let wait_ms = Math.max(1, interval) * 1000
  while (clock.now() < until) {
    await clock.sleep(wait_ms, signal)
    try {
      return await requestToken(login, 'urn:ietf:params:oauth:grant-type:device_code', { device_code })
    } catch (error) {
      const { error: reason } = error as Partial<OAuth.ResponseBodyError>
      if (reason === 'slow_down') wait_ms += 5000
      else if (reason !== 'authorization_pending') throw error
    }
  }
  throw refuse(login, 'the user did not sign in')
}

/**
 * Sends a request of the library: never on to another server, and bounded in time and bytes. The library refuses what
 * real servers give: an error with status 200 (GitHub), no `token_type` (Slack), an `id_token` of an issuer that no
 * setting names (Google, OpenAI), `null` (servers in Python), an interval as text (Azure AD), a challenge with a token
 * (Keycloak after Kong).
 */
async function send(login: SignIn, url: string, request: RequestInit): Promise<Response> {
  using limit = startDeadline(REQUEST_TIMEOUT_MS)
  try {
    const response = await login.providers.fetch(url, { ...request, redirect: 'error', signal: limit.signal })
    const answer = JSON.parse(await readLimited(response, 64 * 1024)) as Record<string, unknown> | null
    const { id_token: _, interval, ...fields } = answer ?? {}
    const expires_in = fields['device_code'] && CODE_LIFETIME.usual
    const known = Object.entries({ expires_in, ...fields, interval: Number(interval), token_type: 'bearer' })
    const body = Object.fromEntries(known.filter(([, value]) => value && typeof value !== 'object'))
    return Response.json(body, { status: fields['error'] ? 400 : 200 })
  } catch (error) {
    throw refuse(login, `${new URL(url).origin} cannot be asked (${toErrorMessage(error)})`)
  }
}

function explain(login: SignIn, error: unknown): AgentError {
  if (error instanceof AgentError) return error
  const { error: code, error_description: text = '' } = error as Partial<OAuth.ResponseBodyError>
  const answer = toOneLine(`${text} (${code})`.trim()).slice(0, 300)
  return refuse(login, code === undefined ? toErrorMessage(error) : `the server says ${answer}`)
}

const readScope = ({ scopes }: Auth): Record<string, string> => (scopes?.length ? { scope: scopes.join(' ') } : {})

function openStore({ provider, base_url, auth, home }: SignIn): TokenStore<StoredToken> {
  const place = base_url === '' ? '' : new URL(base_url).origin
  const to = JSON.stringify([provider, place, auth.token_url, auth.client_id])
  return new TokenStore(home, 'model-logins', { to, digits: 16, prefix: `${provider}-` }, provider)
}

function loadToken(login: SignIn): StoredToken | undefined {
  const token = openStore(login).read()
  return typeof token?.access_token === 'string' ? (token as StoredToken) : undefined
}

function saveToken(login: SignIn, { access_token, refresh_token, expires_in }: Token, former?: string): StoredToken {
  const expires_at = expires_in && login.providers.clock.now() + expires_in * 1000
  const token = { access_token, refresh_token: refresh_token ?? former, expires_at }
  openStore(login).write(token)
  return token
}
