import { page, redirect, site } from '../support/server.js'

/** A page of a local server that cannot be fetched, with the fetch that the advice leads to. */
export interface WebSituation {
  readonly code: string
  /** A path of the server, or a whole address. */
  readonly url: string
  readonly input?: Record<string, unknown>
  readonly advice: RegExp
  /** The path that is fetched instead. */
  readonly then: string
}

let tries = 0
export const pages = site({
  '/page': page('<p>Text of a page.</p>'),
  '/large': page('x'.repeat(200_000), 'text/plain', { 'content-length': String(64 * 1024 * 1024) }),
  '/picture': page(Buffer.from([0x89, 0x50]), 'image/png'),
  '/loop': redirect('/loop'),
  '/broken': (_, response) => response.socket?.destroy(),
  '/silent': (_, response) => (tries++ === 0 ? undefined : response.end('Text of a page.')),
})

export const webSituations: readonly WebSituation[] = [
  { code: 'VT_WEB_URL', url: 'ftp://127.0.0.1/page', advice: /full public URL/, then: '/page' },
  { code: 'VT_WEB_HTTP', url: '/gone', advice: /Check the address/, then: '/page' },
  { code: 'VT_WEB_TYPE', url: '/picture', advice: /text version/, then: '/page' },
  { code: 'VT_WEB_TOO_LARGE', url: '/large', advice: /smaller page/, then: '/page' },
  { code: 'VT_WEB_REDIRECTS', url: '/loop', advice: /final address/, then: '/page' },
  { code: 'VT_WEB_TIMEOUT', url: '/silent', input: { timeout_secs: 1 }, advice: /Try again/, then: '/silent' },
  { code: 'VT_WEB_NETWORK', url: '/broken', advice: /Try again/, then: '/page' },
]
