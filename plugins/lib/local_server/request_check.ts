import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Reason for refusing a request. */
export interface RequestObjection {
  status: number
  text: string
  headers?: Record<string, string>
}
export interface RequestCheckOptions {
  host: string
  port: number
  /** `null` if no token is required. */
  token: string | null
  /** Methods that each path accepts. */
  routes: Readonly<Record<string, readonly string[]>>
  /** Paths without data, which need no token. */
  open?: readonly string[]
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function hasToken(authorization: string | undefined, expected: Buffer): boolean {
  const shown = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  return shown !== undefined && timingSafeEqual(digest(shown), expected)
}

/**
 * Creates a check of requests to the server. Host and Origin are each compared with the names of this server, so that a
 * foreign page in a browser has no access; no CORS header is sent. Tokens are compared in constant time and never
 * logged.
 */
export function createRequestCheck({
  host,
  port,
  token,
  routes,
  open = [],
}: RequestCheckOptions): (message: IncomingMessage) => RequestObjection | undefined {
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
    if (!hosts.has(host.toLowerCase()))
      return { status: 403, text: 'This Host is not served; use the address printed at the start.' }
    if (headers.origin !== undefined && !origins.has(headers.origin))
      return { status: 403, text: 'This Origin is not allowed.' }
    if (!Object.hasOwn(routes, path))
      return { status: 404, text: `The path does not exist; use ${Object.keys(routes).join(', ')}.` }
    if (!routes[path]!.includes(method)) {
      const allow = routes[path]!.join(', ')
      return { status: 405, text: `The method ${method} is not allowed; use ${allow}.`, headers: { allow } }
    }
    if (expected && !open.includes(path) && !hasToken(headers.authorization, expected)) {
      const text = 'The bearer token is missing or wrong; send the one printed at the start.'
      return { status: 401, text, headers: { 'www-authenticate': 'Bearer' } }
    }
    const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
    if (method === 'POST' && type !== 'application/json')
      return { status: 415, text: 'The body must be application/json.' }
    return undefined
  }
}
