import { isObject, type Contribution, type JsonObject, type Settings } from '../../../core/shapes/index.js'
import type { Provider } from '../../../core/contract/index.js'
import { authType, type Auth } from '../auth/index.js'

type Declared = Settings['custom_providers'][number]
export type ApiFormat = Exclude<NonNullable<Declared['api_format']>, 'auto'> | 'module'
export type Profile = NonNullable<Declared['profiles']>[string]
/** Deviations of a server from its format; the schema of the settings explains each. */
export type Compat = NonNullable<Profile['compat']>
/** Facts about a model; prices are USD for a million tokens. */
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

/** Names that settings and plugins cannot take, so that a key of one of these stays with its provider. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  (
    'openai anthropic google gemini copilot deepseek meta meta-ai openrouter ' +
    'ollama lmstudio llamacpp moonshot zai minimax huggingface openresponses'
  ).split(' '),
)
const ours = /^(authorization|host|content-length)$/i
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Returns the fault of an entry that the schema cannot detect. */
export function findEntryFault(entry: ProviderEntry): string | undefined {
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
    if (own) return `${own} is allowed in your own settings only.`
  }
  if (entry.api_key_env !== undefined && auth) return 'api_key_env and auth exclude each other.'
  if (api_format === 'ai-sdk' && !entry.package) return "api_format 'ai-sdk' needs package."
  if (api_format !== 'ai-sdk' && (entry.package || entry.factory || entry.package_options))
    return "package, factory and package_options belong to api_format 'ai-sdk'."
  const header = Object.keys(entry.headers ?? {}).find((name) => ours.test(name))
  if (header) return `headers cannot set '${header}'; set it under auth.`
  const wrong = auth && findAuthFault(auth)
  if (wrong) return wrong
  if (entry.base_url === undefined) return api_format === 'ai-sdk' ? undefined : 'base_url is missing.'
  return findAddressFault(entry.base_url)
}

// The required and the optional fields of each type of `auth`.
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

function findAuthFault(auth: Auth): string | undefined {
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
    .map((name) => auth[name] && findAddressFault(auth[name], `auth.${name}`))
    .find(Boolean)
}

/** Returns the fault of an address: only https, or http to this machine, without user name and fragment. */
export function findAddressFault(address: string, field = 'base_url'): string | undefined {
  if (!URL.canParse(address)) return `${field} '${address}' is not an absolute URL.`
  const { protocol, hostname, username, password, hash } = new URL(address)
  if (username || password) return `${field} has a user name; set it under auth.`
  if (hash) return `${field} '${address}' has a fragment.`
  if (protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))) return undefined
  return `${field} '${address}' is neither https nor http to this machine.`
}

/** Merges objects by key; later ones win. */
export function mergeObjects(...objects: (JsonObject | undefined)[]): JsonObject {
  return objects.reduce<JsonObject>((all, one) => {
    const copy = { ...all }
    for (const [key, value] of Object.entries(one ?? {}))
      copy[key] = isObject(value) && isObject(copy[key]) ? mergeObjects(copy[key], value) : value
    return copy
  }, {})
}
/** An entry with its contribution, whose rights apply when references are resolved. */
export interface ProviderSource {
  entry: ProviderEntry
  from: Contribution
  options: Readonly<JsonObject>
  /** A built-in provider, whose models the snapshot has. */
  builtin: boolean
  /** The place of its settings, as in `custom_providers[0]`. */
  key: string
  /** Loads the provider of a module. */
  load?: Provider['load']
}
