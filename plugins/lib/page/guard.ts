import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Why a request is not served. */
export interface RequestObjection {
  status: number
  text: string
  headers?: Record<string, string>
}
export interface GuardOptions {
  host: string
  port: number
  /** `null` = nobody has to show one. */
  token: string | null
  /** Which methods each path takes. */
  routes: Readonly<Record<string, readonly string[]>>
  /** Paths that say nothing, and so need no token. */
  open?: readonly string[]
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function showsToken(authorization: string | undefined, expected: Buffer): boolean {
  const shown = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  return shown !== undefined && timingSafeEqual(digest(shown), expected)
}

/**
 * Who may speak to the server. A page of others in a browser must not: Host and Origin are each checked against the names of this very
 * server, and nothing is ever answered with permission for other origins. A token is compared in constant time and never logged.
 */
export function createGuard({
  host,
  port,
  token,
  routes,
  open = [],
}: GuardOptions): (message: IncomingMessage) => RequestObjection | undefined {
  const names = new Set([
    host.includes(':') ? `[${host}]` : host,
    ...(isLoopback(host) ? ['127.0.0.1', 'localhost', '[::1]'] : []),
  ])
  const hosts = new Set([...names].flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])))
  const origins = new Set([...hosts].map((name) => `http://${name}`))
  const expected = token === null ? undefined : digest(token)

  return ({ headers, method = '', url = '' }) => {
    const { host = '' } = headers
    const path = url.split('?')[0]!
    if (!hosts.has(host.toLowerCase())) return { status: 403, text: 'This Host is not served here.' }
    if (headers.origin !== undefined && !origins.has(headers.origin))
      return { status: 403, text: 'This Origin is not allowed.' }
    if (!Object.hasOwn(routes, path)) return { status: 404, text: `There is only ${Object.keys(routes).join(', ')}.` }
    if (!routes[path]!.includes(method))
      return { status: 405, text: `${method} is not served.`, headers: { allow: routes[path]!.join(', ') } }
    if (expected && !open.includes(path) && !showsToken(headers.authorization, expected)) {
      const text = 'Show the bearer token that was printed at the start.'
      return { status: 401, text, headers: { 'www-authenticate': 'Bearer' } }
    }
    const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
    if (method === 'POST' && type !== 'application/json')
      return { status: 415, text: 'The body has to be application/json.' }
    return undefined
  }
}
