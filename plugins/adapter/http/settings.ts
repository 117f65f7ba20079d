import { VtError, type Contribution } from '../../../core/index.js'
import { toHost } from '../../lib/net/index.js'

/** The `http` field of a manifest with its defaults; the manifest schema has checked its form. */
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

// Headers that frame the message: a value in one could start another request.
const FRAMING_HEADERS = /^(?:host|content-length|transfer-encoding|connection)$/i

/** Reads `http` of a manifest. Throws VT_MANIFEST_INVALID. */
export function parseHttpSettings({ manifest, layer }: Contribution): HttpSettings {
  const declared = manifest.http as Partial<HttpSettings> & { url: string }
  const wrong = Object.keys(declared.headers ?? {}).find(
    (name) => FRAMING_HEADERS.test(name) || !/^[\w!#$%&'*+.^`|~-]+$/.test(name),
  )
  if (wrong !== undefined) throw createManifestError(`http.headers may not hold ${JSON.stringify(wrong)}.`)
  if (declared.network && layer === 'workspace')
    throw createManifestError('Only your own manifests may set http.network.')
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

/**
 * Returns whether a URL may be requested. Plain http can be read in transit, so it needs this machine or `network.http`
 * of a user's manifest.
 */
export const isSafe = (url: URL, { network }: Pick<HttpSettings, 'network'>): boolean =>
  url.protocol !== 'http:' || network.http === true || /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(toHost(url))

export const createManifestError = (message: string): VtError =>
  new VtError({ code: 'VT_MANIFEST_INVALID', message, hint: 'Fix `http` of the manifest.', retryable: false })
