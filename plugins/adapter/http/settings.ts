import { VtError, type Contribution } from '../../../core/index.js'
import { hostOf } from '../../lib/net/index.js'

/** `http` of a manifest with its defaults; its form is the manifest schema's business. */
export interface HttpSettings {
  method: string
  url: string
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body?: { json: unknown } | { form: Record<string, unknown> } | { text: string }
  auth?: {
    type: 'bearer' | 'basic' | 'header' | 'query'
    name?: string
    username?: string
    value?: unknown
    password?: unknown
  }
  timeout_secs: number
  max_response_bytes: number
  redirects: number
  response?: 'json' | 'text'
  select?: string
  status: { ok: string[]; empty: string[]; map: Record<string, { code: string; message: string; retryable?: boolean }> }
  retry: { attempts: number; on: number[] }
  network: { private?: boolean; http?: boolean }
}

// They frame the message; one of our own would let a value begin another request.
const framing = /^(?:host|content-length|transfer-encoding|connection)$/i

/** Throws VT_MANIFEST_INVALID. */
export function httpSettings({ manifest, layer }: Contribution): HttpSettings {
  const declared = manifest.http as Partial<HttpSettings> & { url: string }
  const wrong = Object.keys(declared.headers ?? {}).find(
    (name) => framing.test(name) || !/^[\w!#$%&'*+.^`|~-]+$/.test(name),
  )
  if (wrong !== undefined) throw invalidHttp(`http.headers may not hold ${JSON.stringify(wrong)}.`)
  if (declared.network && layer === 'workspace') throw invalidHttp('http.network counts in your own manifests only.')
  return {
    ...declared,
    method: declared.method ?? 'GET',
    query: declared.query ?? {},
    headers: declared.headers ?? {},
    timeout_secs: declared.timeout_secs ?? 30,
    max_response_bytes: declared.max_response_bytes ?? 1_048_576,
    redirects: declared.redirects ?? 3,
    status: { ok: ['2xx'], empty: [], map: {}, ...declared.status },
    retry: { attempts: 0, on: [429, 502, 503, 504], ...declared.retry },
    network: declared.network ?? {},
  }
}

/** Plain http can be read by everybody on the way; only this machine, or a manifest of the user's own that allows it, may use it. */
export const isSafe = (url: URL, { network }: Pick<HttpSettings, 'network'>): boolean =>
  url.protocol !== 'http:' || network.http === true || /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(hostOf(url))

export const invalidHttp = (message: string): VtError =>
  new VtError({ code: 'VT_MANIFEST_INVALID', message, hint: 'Fix `http` of the manifest.', retryable: false })
