import type { JsonObject } from '../../../../core/index.js'
import type { Credential } from './credentials.js'
import { AgentError } from '../errors.js'
import { addressFault, merged, type Model } from './provider.js'

type Fetch = typeof globalThis.fetch

const doors = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']
const mostHops = 5

/**
 * What carries requests of one model: adds what the entry says of headers, query and body, and the credential, which goes to the
 * origin of the entry and nowhere else, whatever a redirect says.
 */
export function transport(model: Model, credential: Credential, extra: { headers: Record<string, string>; query: Record<string, string> }, base: Fetch): Fetch {
  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : String(input))
    const home = model.entry.base_url === undefined ? url.origin : new URL(model.entry.base_url).origin
    const { headers: open, query } = await credential.read()
    const plain = new Headers(init.headers)
    for (const name of doors) plain.delete(name)
    const own = new Headers(plain)
    for (const [name, value] of Object.entries({ ...extra.headers, ...open })) own.set(name, value)
    for (const [name, value] of Object.entries({ ...extra.query, ...query })) url.searchParams.set(name, value)
    const body = typeof init.body === 'string' ? JSON.stringify(shaped(JSON.parse(init.body) as JsonObject, model)) : init.body
    for (let hops = 0; ; hops++) {
      const response = await base(url, { ...init, ...(body !== undefined && { body }), headers: url.origin === home ? own : plain, redirect: 'manual' })
      const to = response.headers.get('location')
      if (response.status < 301 || response.status > 308 || to === null) return response
      await response.body?.cancel()
      url = new URL(to, url)
      const fault = hops === mostHops ? 'too many redirects.' : addressFault(url.href)
      if (fault) throw new AgentError('VT_LLM_REQUEST', `The model server of '${model.entry.name}' redirects: ${fault}`)
    }
  }
}

/** The body as this server wants it. */
function shaped(body: JsonObject, { body: extra, entry }: Model): JsonObject {
  const field = entry.compat?.['max_tokens_field']
  if (typeof field !== 'string' || !('max_tokens' in body)) return merged(body, extra)
  const { max_tokens, ...rest } = body
  return merged({ ...rest, [field]: max_tokens }, extra)
}
