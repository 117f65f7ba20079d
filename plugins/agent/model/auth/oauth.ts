import { randomBytes } from 'node:crypto'
import { deadline, redactText, sha256 } from '../../../../core/base/index.js'
import { TokenStore } from '../../../lib/state/index.js'
import { oneLine } from '../../../lib/terminal/index.js'
import { AgentError, messageOf, type AgentProviders } from '../../base/index.js'
import { limited } from '../body.js'
import type { Auth } from '../providers/entry.js'
import type { Credential } from './types.js'

/** Who signs in, and where the token is good: it is asked for anew when the address of the provider changes. */
export interface SignIn {
  provider: string
  base_url: string
  auth: Auth
  /** The `.vtcode` folder of the user, where the tokens are kept. */
  home: string
  providers: Pick<AgentProviders, 'fetch' | 'clock' | 'env'>
}
interface Kept {
  access_token: string
  refresh_token?: string
  /** Milliseconds since the epoch; absent when the server named no end. */
  expires_at?: number
}

const patience_ms = 30_000
// A token that ends within this time is as good as gone.
const margin_ms = 60_000

const refused = ({ provider }: SignIn, why: string) =>
  new AgentError('VT_LLM_AUTH', redactText(`The sign-in to the provider '${provider}': ${why}.`), { hint: `Sign in with \`vtcode models login ${provider}\`.` })

// oauth4webapi would not shorten this: it refuses an error behind status 200 (GitHub's device flow), a device answer without `expires_in`, a
// token without `token_type` and any `id_token` of an issuer that the settings do not name; the answers would be rewritten for it first.

/** The token of a sign-in that was made before (RFC 6749); it is renewed where the server allows it, and nobody is asked here. Throws VT_LLM_AUTH. */
export function bySignIn(way: SignIn): Credential {
  let renewal: Promise<Kept> | undefined
  const renewed = (old: Kept) => (renewal ??= renew(way, old).finally(() => (renewal = undefined)))
  let spent: string | undefined
  const known = () => {
    const kept = load(way)
    if (!kept) throw refused(way, 'nobody has signed in yet')
    return kept
  }
  known()
  return {
    async read() {
      let kept = known()
      const over = kept.access_token === spent || (kept.expires_at !== undefined && kept.expires_at - margin_ms < way.providers.clock.now())
      if (over) kept = await renewed(kept)
      return { headers: { authorization: `Bearer ${kept.access_token}` } }
    },
    refresh() {
      const kept = load(way)
      spent = kept?.access_token
      return kept?.refresh_token !== undefined
    },
  }
}

async function renew(way: SignIn, old: Kept): Promise<Kept> {
  if (old.refresh_token === undefined) throw refused(way, 'the token has ended')
  try {
    return save(way, await granted(way, { grant_type: 'refresh_token', refresh_token: old.refresh_token }), old.refresh_token)
  } catch (error) {
    // Another process may have been first; servers give each renewal once.
    const kept = load(way)
    if (kept && kept.access_token !== old.access_token) return kept
    throw error
  }
}

/** Signs the user in, with a browser here or with a code to type in elsewhere, and keeps the token. Throws VT_LLM_AUTH. */
export async function signIn(way: SignIn, workspace: string, signal: AbortSignal): Promise<void> {
  save(way, way.auth.device === undefined ? await byBrowser(way, workspace, signal) : await byDevice(way, signal))
}
/** Forgets the token; `false` when there is none. */
export function signOut(way: SignIn): boolean {
  const known = load(way) !== undefined
  storeOf(way).forget()
  return known
}

type Granted = Record<string, unknown>

/** The code flow with PKCE (RFC 7636). */
async function byBrowser(way: SignIn, workspace: string, signal: AbortSignal): Promise<Granted> {
  const { auth, provider, providers } = way
  // A server of our own is needed once a sign-in, not once a start.
  const { showPage, WayBack } = await import('../../../lib/net/index.js')
  const back = await WayBack.open()
  try {
    const verifier = randomBytes(32).toString('base64url')
    const page = new URL(auth.authorization_url!)
    const parameters = { response_type: 'code', client_id: auth.client_id!, redirect_uri: back.url, state: back.state(), code_challenge: challengeOf(verifier), code_challenge_method: 'S256', ...scope(auth) }
    for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value)
    showPage(page, provider, { env: providers.env, workspace })
    const answer = await back.answer(signal).catch((error: unknown) => Promise.reject(refused(way, messageOf(error))))
    const code = answer.get('code')
    if (code === null) throw refused(way, `the server says ${oneLine(answer.get('error_description') ?? answer.get('error') ?? 'nothing')}`)
    return await granted(way, { grant_type: 'authorization_code', code, redirect_uri: back.url, code_verifier: verifier })
  } finally {
    back.close()
  }
}

/** The device flow (RFC 8628): the user types a code in elsewhere, and the server is asked until they have. */
async function byDevice(way: SignIn, signal: AbortSignal): Promise<Granted> {
  const { clock } = way.providers
  const grant = await posted(way, way.auth.device!, scope(way.auth))
  const { device_code, user_code, verification_uri, interval = 5, expires_in = 600 } = grant as { device_code?: unknown; user_code?: unknown; verification_uri?: unknown; interval?: unknown; expires_in?: unknown }
  if (typeof device_code !== 'string' || typeof user_code !== 'string' || typeof verification_uri !== 'string') throw refused(way, faultIn(grant) ?? 'the server gives no code')
  process.stderr.write(`vtcode: sign in to ${way.provider}: type ${oneLine(user_code)} at ${oneLine(verification_uri)}\n`)
  const until = clock.now() + Math.min(Number(expires_in) || 600, 1800) * 1000
  let wait_ms = Math.max(1, Number(interval) || 5) * 1000
  while (clock.now() < until) {
    await clock.sleep(wait_ms, signal)
    const answer = await posted(way, way.auth.token_url!, { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code })
    if (answer['error'] === 'slow_down') wait_ms += 5000
    else if (answer['error'] !== 'authorization_pending') return checked(way, answer)
  }
  throw refused(way, 'nobody signed in')
}

const granted = async (way: SignIn, fields: Record<string, string>): Promise<Granted> => checked(way, await posted(way, way.auth.token_url!, fields))

function checked(way: SignIn, answer: Granted): Granted {
  if (typeof answer['access_token'] !== 'string' || answer['access_token'] === '') throw refused(way, faultIn(answer) ?? 'the server gives no token')
  return answer
}
const faultIn = ({ error, error_description }: Granted): string | undefined =>
  typeof error === 'string' ? `the server says ${oneLine(error)}${typeof error_description === 'string' ? `: ${oneLine(error_description).slice(0, 300)}` : ''}` : undefined

/** A request to the server that signs in: never sent on to another, and its answer is small. */
async function posted(way: SignIn, url: string, fields: Record<string, string>): Promise<Granted> {
  const body = new URLSearchParams({ client_id: way.auth.client_id!, ...fields }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  using limit = deadline(patience_ms)
  try {
    const response = await way.providers.fetch(url, { method: 'POST', headers, body, redirect: 'error', signal: limit.signal })
    const answer: unknown = JSON.parse(await limited(response, 64 * 1024))
    return typeof answer === 'object' && answer !== null ? (answer as Granted) : {}
  } catch (error) {
    throw refused(way, `${new URL(url).origin} cannot be asked (${messageOf(error)})`)
  }
}

const scope = ({ scopes = [] }: Auth): Record<string, string> => (scopes.length > 0 ? { scope: scopes.join(' ') } : {})
const challengeOf = (verifier: string): string => sha256(verifier, 'base64url')

function storeOf({ provider, base_url, auth, home }: SignIn): TokenStore<Kept> {
  const place = base_url === '' ? '' : new URL(base_url).origin
  const to = JSON.stringify([provider, place, auth.token_url, auth.client_id])
  return new TokenStore(home, 'model-logins', { to, digits: 16, prefix: `${provider}-` }, provider)
}

function load(way: SignIn): Kept | undefined {
  const kept = storeOf(way).read()
  return typeof kept?.access_token === 'string' ? (kept as Kept) : undefined
}

function save(way: SignIn, { access_token, refresh_token, expires_in }: Granted, before?: string): Kept {
  const lasting = Number(expires_in)
  const renewing = typeof refresh_token === 'string' ? refresh_token : before
  const kept: Kept = {
    access_token: access_token as string,
    ...(renewing !== undefined && { refresh_token: renewing }),
    ...(Number.isFinite(lasting) && lasting > 0 && { expires_at: way.providers.clock.now() + lasting * 1000 }),
  }
  storeOf(way).write(kept)
  return kept
}
