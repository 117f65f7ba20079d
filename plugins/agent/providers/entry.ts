import { isObject, type Contribution, type JsonObject, type Settings } from '../../../core/shapes/index.js'
import type { Provider } from '../../../core/contract/index.js'
import { authType, type Auth } from '../auth/index.js'

type Declared = Settings['custom_providers'][number]
export type ApiFormat = Exclude<NonNullable<Declared['api_format']>, 'auto'> | 'module'
export type Profile = NonNullable<Declared['profiles']>[string]
/** Where a server almost speaks its format; the schema of the settings says what each means. */
export type Compat = NonNullable<Profile['compat']>
/** What is known of a model; prices are USD for a million tokens. */
export type ModelFacts = Omit<Profile, 'api_format' | 'display_name' | 'body' | 'compat'>
/** An entry of `custom_providers`, or of a manifest of kind provider, as the schema has checked it. */
export interface ProviderEntry extends Omit<Declared, 'api_format' | 'auth' | 'headers' | 'query'> {
  /** The layer of the settings that declares it. */
  layer?: string
  api_format?: ApiFormat | 'auto'
  auth?: Auth
  headers?: Record<string, unknown>
  query?: Record<string, unknown>
}

/** Names that settings and plugins cannot take: a key for one of these is not sent elsewhere under its name. */
export const reserved: ReadonlySet<string> = new Set(
  'openai anthropic google gemini copilot deepseek meta meta-ai openrouter ollama lmstudio llamacpp moonshot zai minimax huggingface openresponses'.split(
    ' ',
  ),
)
const ours = /^(authorization|host|content-length)$/i
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** What the schema cannot say of an entry. */
export function entryFault(entry: ProviderEntry): string | undefined {
  const { api_format, auth } = entry
  const unnamed =
    entry.models !== undefined &&
    Object.keys(entry.models).length === 0 &&
    !entry.model &&
    !entry.profiles &&
    !entry.discover
  if (unnamed) return 'models is empty; name one, as in `models: [my-model]`, or ask the server with `discover: true`.'
  if (entry.layer === 'workspace') {
    const field = (['package', 'factory', 'package_options', 'tls', 'proxy'] as const).find(
      (name) => entry[name] !== undefined,
    )
    const own = field ?? (auth?.type === 'aws_sigv4' ? 'auth of the type aws_sigv4' : undefined)
    if (own) return `${own} counts in your own settings only.`
  }
  if (entry.api_key_env !== undefined && auth) return 'api_key_env and auth exclude each other.'
  if (api_format === 'ai-sdk' && !entry.package) return "api_format 'ai-sdk' needs package."
  if (api_format !== 'ai-sdk' && (entry.package || entry.factory || entry.package_options))
    return "package, factory and package_options belong to api_format 'ai-sdk'."
  const header = Object.keys(entry.headers ?? {}).find((name) => ours.test(name))
  if (header) return `headers cannot set '${header}'; say it under auth.`
  const wrong = auth && authFault(auth)
  if (wrong) return wrong
  if (entry.base_url === undefined) return api_format === 'ai-sdk' ? undefined : 'base_url is missing.'
  return addressFault(entry.base_url)
}

// What each type of `auth` needs, and may have beside it.
const fields: Record<NonNullable<Auth['type']>, [needs: (keyof Auth)[], may: string[]]> = {
  none: [[], []],
  bearer: [['value'], []],
  header: [['name', 'value'], []],
  query: [['name', 'value'], []],
  basic: [['username', 'password'], []],
  command: [['command'], ['args', 'cwd', 'timeout_ms', 'refresh_interval_ms']],
  oauth: [
    ['token_url', 'client_id'],
    ['authorization_url', 'device', 'scopes'],
  ],
  aws_sigv4: [['region'], ['profile', 'service']],
}

function authFault(auth: Auth): string | undefined {
  const type = authType(auth)
  if (!type) return `auth needs a type: ${Object.keys(fields).join(', ')}.`
  const [needs, may] = fields[type]
  const missing = needs.find((name) => auth[name] === undefined)
  if (missing) return `auth of the type '${type}' needs ${missing}.`
  const strange = Object.keys(auth).find(
    (name) => name !== 'type' && !needs.some((one) => one === name) && !may.includes(name),
  )
  if (strange) return `auth of the type '${type}' has no ${strange}.`
  if (type !== 'oauth') return undefined
  if ((auth.authorization_url === undefined) === (auth.device === undefined))
    return "auth of the type 'oauth' needs authorization_url or device, one of them."
  return (['authorization_url', 'token_url', 'device'] as const)
    .map((name) => auth[name] && addressFault(auth[name], `auth.${name}`))
    .find(Boolean)
}

/** https, or http to this machine; nothing hidden in the address. */
export function addressFault(address: string, field = 'base_url'): string | undefined {
  if (!URL.canParse(address)) return `${field} '${address}' is not an absolute URL.`
  const { protocol, hostname, username, password, hash } = new URL(address)
  if (username || password) return `${field} holds a user name; say it under auth.`
  if (hash) return `${field} '${address}' has a fragment.`
  if (protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))) return undefined
  return `${field} '${address}' is neither https nor http to this machine.`
}

/** Objects merged into each other by key, later ones win. */
export function merged(...objects: (JsonObject | undefined)[]): JsonObject {
  return objects.reduce<JsonObject>((all, one) => {
    const copy = { ...all }
    for (const [key, value] of Object.entries(one ?? {}))
      copy[key] = isObject(value) && isObject(copy[key]) ? merged(copy[key], value) : value
    return copy
  }, {})
}
/** An entry with the contribution that declares it: references in its values are resolved with the rights of that contribution. */
export interface ProviderSource {
  entry: ProviderEntry
  from: Contribution
  options: Readonly<JsonObject>
  /** One of ours, whose models the snapshot knows. */
  builtin: boolean
  /** Where its settings stand, as in `custom_providers[0]`. */
  key: string
  /** Makes the provider, where a module does. */
  load?: Provider['load']
}
