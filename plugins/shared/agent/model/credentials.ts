import type { AgentProviders } from '../dictionary.js'
import { AgentError } from '../errors.js'
import { keepSecret } from '../../redact.js'
import type { ApiFormat, Entry } from './provider.js'

/** What opens the door of one provider, and of no other. */
export interface Credential {
  /** Headers and query parameters; asked for at each request. */
  read(): Promise<{ headers: Record<string, string>; query: Record<string, string> }>
  /** After a refusal: true when a fresh one can be tried. */
  refresh(): boolean
}

/** The text that a typed value of an entry stands for; `field` names its place. Throws VT_LLM_AUTH. */
export type Resolve = (value: unknown, field: string) => Promise<string>

// The header a format carries a bare key in, unless `auth` says another.
const keyHeader: Partial<Record<ApiFormat, string>> = { 'anthropic-messages': 'x-api-key', 'google-generative-ai': 'x-goog-api-key' }

/** The credential of an entry: that of `auth`, else the key in its variable. Throws VT_LLM_AUTH for one that is asked for by name and not there. */
export async function credentialOf(entry: Entry, format: ApiFormat, providers: AgentProviders, resolve: Resolve): Promise<Credential> {
  if (entry.auth) return (await import('./auth.js')).authOf(entry.name, entry.auth, providers, resolve)
  const name = entry.api_key_env ?? `${entry.name.toUpperCase().replace(/-/g, '_')}_API_KEY`
  const key = name === 'none' ? undefined : providers.env[name]
  if (!key && entry.api_key_env !== undefined && name !== 'none') {
    throw new AgentError('VT_LLM_AUTH', `The key of the provider '${entry.name}' is missing: ${name} is not set.`, { hint: `Set ${name} in the environment, or say api_key_env: none for a server without keys.` })
  }
  if (key) keepSecret(key)
  const header = keyHeader[format]
  const headers: Record<string, string> = key ? (header ? { [header]: key } : { authorization: `Bearer ${key}` }) : {}
  return { read: async () => ({ headers, query: {} }), refresh: () => false }
}
