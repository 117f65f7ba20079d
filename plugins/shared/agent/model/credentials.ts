import { keepSecret } from '../../../../core/index.js'
import type { AgentProviders } from '../dictionary.js'
import { AgentError } from '../errors.js'
import { keyVariable, type Source } from './provider.js'

/** What opens the door of one provider, and of no other. */
export interface Credential {
  /** Asked for at each request. */
  read(): Promise<Door>
  /** After a refusal: true when a fresh one can be tried. */
  refresh(): boolean
}
/** A key goes where the client library puts keys; headers and parameters go as they are; a signature is made of the whole request. */
export interface Door {
  key?: string
  headers?: Record<string, string>
  query?: Record<string, string>
  sign?: (request: Leaving) => Promise<Headers>
}
/** A request as it leaves. */
export interface Leaving {
  method: string
  url: URL
  headers: Headers
  body: RequestInit['body']
}

/** The text that a typed value of an entry stands for; `field` names its place. Throws VT_LLM_AUTH. */
export type Resolve = (value: unknown, field: string) => Promise<string>
/** How what an entry names is found; no program of the workspace is started for it. */
export interface Finding {
  resolve: Resolve
  workspace: string
}

/** The credential of an entry: that of `auth`, else the key in its variable. Throws VT_LLM_AUTH for one that is asked for by name and not there. */
export async function credentialOf({ entry, builtin }: Source, providers: AgentProviders, finding: Finding): Promise<Credential> {
  if (entry.auth) return (await import('./auth.js')).authOf(entry, entry.auth, providers, finding)
  const variable = keyVariable(entry)
  const key = variable === undefined ? undefined : providers.env[variable]
  if (!key && variable !== undefined && (builtin || entry.api_key_env !== undefined)) {
    throw new AgentError('VT_LLM_AUTH', `The key of the provider '${entry.name}' is missing: ${variable} is not set.`, {
      hint: `Set ${variable} in the environment${builtin ? '.' : ', or say api_key_env: none for a server without keys.'}`,
    })
  }
  if (key) keepSecret(key, variable!)
  return fixed(key ? { key } : {})
}

export const fixed = (door: Door): Credential => ({ read: async () => door, refresh: () => false })
