import { randomUUID } from 'node:crypto'
import { toText } from '../../../core/text/index.js'
import { AgentError } from '../base/index.js'
import type { Credential } from '../auth/index.js'
import { adaptBody } from './compat.js'
import { limitBody, repairAnswer } from '../wire/index.js'
import { findAddressFault, type ApiFormat, type Model } from '../providers/index.js'

type Fetch = typeof globalThis.fetch

/** Placeholder for the key: client libraries put keys into different headers and never get the real one. */
export const KEY_PLACEHOLDER = `key-${randomUUID()}`

/** Returns the key headers of a format, for requests without a client library. */
export function createKeyHeaders(format: ApiFormat): Record<string, string> {
  if (format === 'anthropic-messages') return { 'x-api-key': KEY_PLACEHOLDER, 'anthropic-version': '2023-06-01' }
  if (format === 'google-generative-ai') return { 'x-goog-api-key': KEY_PLACEHOLDER }
  return { authorization: `Bearer ${KEY_PLACEHOLDER}` }
}

// Headers that another origin gets after a redirect: no credentials.
const harmless = /^(accept|content-type|user-agent|anthropic-(version|beta))$/
const mostHops = 5

/**
 * Creates the fetch of one model. It adds the headers, query and body of the entry, and the credential, which only
 * goes to the origin of the entry, even after a redirect.
 */
export function createTransport(
  model: Model,
  credential: Credential,
  extra: { headers: Record<string, string>; query: Record<string, string> },
  base: Fetch,
): Fetch {
  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : toText(input))
    const home = model.entry.base_url === undefined ? url.origin : new URL(model.entry.base_url).origin
    const auth = await credential.read()
    const own = new Headers()
    for (const [name, value] of new Headers(init.headers)) {
      if (!value.includes(KEY_PLACEHOLDER)) own.set(name, value)
      else if (auth.key !== undefined)
        setHeader(
          own,
          name,
          value.replaceAll(KEY_PLACEHOLDER, () => auth.key!),
          model,
        )
    }
    for (const [name, value] of Object.entries({ ...extra.headers, ...auth.headers }))
      setHeader(own, name, value, model)
    const plain = new Headers([...own].filter(([name]) => harmless.test(name)))
    const body = typeof init.body === 'string' ? replaceLoneSurrogates(adaptBody(init.body, model)) : init.body
    let at_home = true
    for (let hops = 0; ; hops++) {
      // A request that left the origin gets no credential again.
      at_home &&= url.origin === home
      if (at_home)
        for (const [name, value] of Object.entries({ ...extra.query, ...auth.query })) url.searchParams.set(name, value)
      const headers = !at_home
        ? plain
        : auth.sign
          ? await auth.sign({ method: init.method ?? 'GET', url, headers: own, body })
          : own
      const response = await base(url.href, {
        ...init,
        ...(body !== undefined && { body }),
        headers,
        redirect: 'manual',
      })
      const to = response.headers.get('location')
      if (response.status < 301 || response.status > 308 || to === null)
        return repairAnswer(limitBody(rejectPage(response, url)), model.format, url.href, body)
      await response.body?.cancel()
      const next = URL.canParse(to, url.href) ? new URL(to, url) : undefined
      const fault =
        next === undefined
          ? 'the target is not a URL.'
          : hops === mostHops
            ? 'too many redirects.'
            : findAddressFault(next.href, 'the target')
      if (fault) throw new AgentError('VT_LLM_REQUEST', `The model server of '${model.entry.name}' redirects: ${fault}`)
      url = next!
    }
  }
}

/** Sets a header; the error names the header but not its value, which the platform's message would show. */
function setHeader(headers: Headers, name: string, value: string, { entry }: Model): void {
  try {
    headers.set(name, value)
  } catch {
    throw new AgentError(
      'VT_LLM_AUTH',
      `The header '${name}' of the provider '${entry.name}' cannot be sent: its value has a line break ` +
        'or a character beyond Latin-1.',
    )
  }
}

/** Rejects an HTML page: a proxy or a web site answers, not a model server. Throws VT_LLM_REQUEST. */
function rejectPage(response: Response, { origin }: URL): Response {
  if (!response.ok || !/^text\/html\b/i.test(response.headers.get('content-type') ?? '')) return response
  void response.body?.cancel()
  throw new AgentError('VT_LLM_REQUEST', `${origin} answers with a page, as a web site or a proxy does.`, {
    hint: 'Check base_url of the provider, and whether the network wants a sign-in.',
  })
}

/**
 * Replaces lone surrogates in JSON, which come from cut texts: servers refuse a conversation with one. Whole characters
 * are never escaped here, so every such escape is lone.
 */
const replaceLoneSurrogates = (json: string): string =>
  json.includes('\\ud')
    ? json.replace(/\\(?:ud[89a-f][\da-f]{2}|.)/g, (escape) => (escape.startsWith('\\ud') ? '\ufffd' : escape))
    : json
