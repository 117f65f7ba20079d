import { randomUUID } from 'node:crypto'
import { toText } from '../../../core/text/index.js'
import { AgentError } from '../base/index.js'
import type { Credential } from '../auth/index.js'
import { bounded } from './body.js'
import { shaped } from './compat.js'
import { addressFault, type ApiFormat, type Model } from '../providers/index.js'

type Fetch = typeof globalThis.fetch

/** Stands for the key in what a client library makes: each puts keys into a header of its own, and never sees the real one. */
export const stand_in = `key-${randomUUID()}`

/** Where a format puts its key, for requests that no library makes. */
export function keyHeaders(format: ApiFormat): Record<string, string> {
  if (format === 'anthropic-messages') return { 'x-api-key': stand_in, 'anthropic-version': '2023-06-01' }
  if (format === 'google-generative-ai') return { 'x-goog-api-key': stand_in }
  return { authorization: `Bearer ${stand_in}` }
}

// What another origin may see when a server redirects to it: enough to understand the request, nothing that opens a door.
const harmless = /^(accept|content-type|user-agent|anthropic-(version|beta))$/
const mostHops = 5

/**
 * What carries requests of one model: adds what the entry says of headers, query and body, and the credential, which goes to the
 * origin of the entry and nowhere else, whatever a redirect says.
 */
export function transport(
  model: Model,
  credential: Credential,
  extra: { headers: Record<string, string>; query: Record<string, string> },
  base: Fetch,
): Fetch {
  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : toText(input))
    const home = model.entry.base_url === undefined ? url.origin : new URL(model.entry.base_url).origin
    const door = await credential.read()
    const own = new Headers()
    for (const [name, value] of new Headers(init.headers)) {
      if (!value.includes(stand_in)) own.set(name, value)
      else if (door.key !== undefined)
        put(
          own,
          name,
          value.replaceAll(stand_in, () => door.key!),
          model,
        )
    }
    for (const [name, value] of Object.entries({ ...extra.headers, ...door.headers })) put(own, name, value, model)
    const plain = new Headers([...own].filter(([name]) => harmless.test(name)))
    const body = typeof init.body === 'string' ? wellFormed(shaped(init.body, model)) : init.body
    let at_home = true
    for (let hops = 0; ; hops++) {
      // Who was sent away once is not trusted again.
      at_home &&= url.origin === home
      if (at_home)
        for (const [name, value] of Object.entries({ ...extra.query, ...door.query })) url.searchParams.set(name, value)
      const headers = !at_home
        ? plain
        : door.sign
          ? await door.sign({ method: init.method ?? 'GET', url, headers: own, body })
          : own
      const response = await base(url.href, {
        ...init,
        ...(body !== undefined && { body }),
        headers,
        redirect: 'manual',
      })
      const to = response.headers.get('location')
      if (response.status < 301 || response.status > 308 || to === null) return bounded(readable(response, url))
      await response.body?.cancel()
      const next = URL.canParse(to, url.href) ? new URL(to, url) : undefined
      const fault =
        next === undefined
          ? 'the target is not a URL.'
          : hops === mostHops
            ? 'too many redirects.'
            : addressFault(next.href, 'the target')
      if (fault) throw new AgentError('VT_LLM_REQUEST', `The model server of '${model.entry.name}' redirects: ${fault}`)
      url = next!
    }
  }
}

/** Names the header that cannot be sent but not its value, which the platform's own message would show. */
function put(headers: Headers, name: string, value: string, { entry }: Model): void {
  try {
    headers.set(name, value)
  } catch {
    throw new AgentError(
      'VT_LLM_AUTH',
      `What the header '${name}' for the provider '${entry.name}' is to hold is nothing that a header can: it has a line break or a character beyond Latin-1.`,
    )
  }
}

/** Throws VT_LLM_REQUEST for a page: whoever answers so is a proxy or a web site, and no model server. */
function readable(response: Response, { origin }: URL): Response {
  if (!response.ok || !/^text\/html\b/i.test(response.headers.get('content-type') ?? '')) return response
  void response.body?.cancel()
  throw new AgentError('VT_LLM_REQUEST', `${origin} answers with a page, as a web site or a proxy does.`, {
    hint: 'Check base_url of the provider, and whether the network wants a sign-in.',
  })
}

/**
 * JSON without halves of characters, which a text has that was cut or that a model wrote so: servers refuse the whole conversation for
 * one of them. Whole characters are never escaped here, so every such escape is a half.
 */
const wellFormed = (json: string): string =>
  json.includes('\\ud')
    ? json.replace(/\\(?:ud[89a-f][\da-f]{2}|.)/g, (escape) => (escape.startsWith('\\ud') ? '\ufffd' : escape))
    : json
