import { problem, type JsonObject, type Kernel } from '../../../../core/index.js'
import { AgentError } from '../errors.js'

export type ApiFormat = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'google-generative-ai' | 'ai-sdk'
/** What is known of a model; prices are USD for a million tokens. */
export interface Facts {
  context_window?: number
  max_output_tokens?: number
  cost?: { input: number; output: number; cache_read?: number; cache_write?: number }
  supports_tools?: boolean
  supports_reasoning?: boolean
  supports_reasoning_effort?: boolean
  supports_vision?: boolean
  supports_structured_output?: boolean
  supports_parallel_tool_calls?: boolean
  supports_context_caching?: boolean
  [name: `supports_${string}`]: boolean | undefined
}
type Profile = Facts & { api_format?: ApiFormat | 'auto'; display_name?: string; body?: JsonObject; compat?: JsonObject }
export type Auth = JsonObject & { type?: string; command?: string }
/** An entry of `custom_providers`, as the settings' schema has checked it. */
export interface Entry extends Facts {
  name: string
  display_name?: string
  base_url?: string
  api_format?: ApiFormat | 'auto'
  package?: string
  factory?: string
  package_options?: JsonObject
  model?: string
  models?: string[] | Record<string, Profile>
  api_key_env?: string
  auth?: Auth
  headers?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: JsonObject
  timeouts?: { connect_ms?: number; first_token_ms?: number; idle_ms?: number; total_ms?: number }
  retries?: { request?: number; stream?: number }
  tls?: { ca_file?: string; cert_file?: string; key_file?: string }
  proxy?: string
  compat?: JsonObject
  profiles?: Record<string, Profile>
}
/** One model of one provider, ready to be asked. */
export interface Model {
  /** `<provider>/<name>`. */
  readonly id: string
  readonly name: string
  readonly entry: Entry
  readonly format: ApiFormat
  /** Each fact with where it comes from, nearest first. */
  readonly facts: Facts
  readonly sources: Readonly<Record<string, string>>
  /** Fields merged into each request. */
  readonly body: JsonObject
}

const assumedWindow = 128_000
const mostOutput = 32_000

/** Every provider that can be named, the user's own first. */
export function entries(kernel: Kernel): Entry[] {
  const custom = (kernel.settings['custom_providers'] ?? []) as Entry[]
  for (const [index, entry] of custom.entries()) check(kernel, entry, index)
  return custom
}

/** The model that `id` names, `<provider>/<model>`, or `<provider>` for its default one. Throws VT_LLM_NO_MODEL. */
export function findModel(kernel: Kernel, id: string | undefined): Model {
  const all = entries(kernel)
  const known = all.length > 0 ? `Known providers: ${all.map(({ name }) => name).join(', ')}.` : 'No provider is configured.'
  if (!id) throw new AgentError('VT_LLM_NO_MODEL', `No model is chosen. ${known}`)
  const [provider = '', ...rest] = id.split('/')
  const entry = all.find(({ name }) => name === provider)
  if (!entry) throw new AgentError('VT_LLM_NO_MODEL', `There is no provider '${provider}' (model '${id}'). ${known}`)
  const name = rest.join('/') || entry.model || modelsOf(entry)[0]
  if (!name) throw new AgentError('VT_LLM_NO_MODEL', `The provider '${provider}' names no model: say ${provider}/<model>.`)
  return modelOf(entry, name)
}

/** The models an entry names itself. */
export const modelsOf = ({ model, models = [], profiles = {} }: Entry): string[] => [
  ...new Set([...(model ? [model] : []), ...(Array.isArray(models) ? models : Object.keys(models)), ...Object.keys(profiles)]),
]

/** Profile, then the list of models, then the entry itself: the nearest that says a fact wins. */
export function modelOf(entry: Entry, name: string): Model {
  const listed = Array.isArray(entry.models) ? undefined : own(entry.models, name)
  const layers: [string, Profile][] = [
    [`profiles."${name}"`, own(entry.profiles, name) ?? {}],
    [`models."${name}"`, listed ?? {}],
    ['entry', entry],
  ]
  const facts: Facts = {}
  const sources: Record<string, string> = {}
  const note = (key: string, value: unknown, source: string) => {
    if (value === undefined || key in sources || !/^(context_window|max_output_tokens|cost|supports_\w+)$/.test(key)) return
    Object.assign(facts, { [key]: value })
    sources[key] = source
  }
  for (const [source, layer] of layers) for (const [key, value] of Object.entries(layer)) note(key, value, source)
  note('context_window', assumedWindow, 'assumed')
  note('max_output_tokens', mostOutput, 'default')
  const said = layers.map(([, layer]) => layer.api_format).find((format) => format !== undefined) ?? 'auto'
  const format = said === 'auto' ? 'openai-chat' : said
  return { id: `${entry.name}/${name}`, name, entry, format, facts, sources, body: merged(entry.body ?? {}, layers[1]![1].body ?? {}, layers[0]![1].body ?? {}) }
}

const own = <T>(map: Record<string, T> | undefined, key: string): T | undefined => (map && Object.hasOwn(map, key) ? map[key] : undefined)

/** Objects merged into each other by key, later ones win. */
export function merged(...objects: JsonObject[]): JsonObject {
  const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)
  return objects.reduce<JsonObject>((all, one) => {
    const copy = { ...all }
    for (const [key, value] of Object.entries(one)) copy[key] = isObject(value) && isObject(copy[key]) ? merged(copy[key], value) : value
    return copy
  }, {})
}

const reserved = new Set(
  'openai anthropic gemini google copilot deepseek meta meta-ai openrouter ollama lmstudio llamacpp moonshot zai minimax huggingface openresponses'.split(' '),
)
const ours = /^(authorization|host|content-length)$/i
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** What the schema of the settings cannot say. Throws VT_CONFIG_INVALID that names the file and the key. */
function check(kernel: Kernel, entry: Entry, index: number): void {
  const place = `custom_providers[${index}] (${entry.name})`
  const wrong = objection(entry)
  if (wrong === undefined) return
  const origin = kernel.origins().find(({ path }) => path === `custom_providers.${index}` || path === 'custom_providers')
  throw problem('VT_CONFIG_INVALID', { problem: `${origin ? `${origin.file}: ` : ''}${place}: ${wrong}` })
}

function objection(entry: Entry): string | undefined {
  if (reserved.has(entry.name)) return `name '${entry.name}' is reserved; choose another.`
  if (entry.api_key_env !== undefined && entry.auth) return 'api_key_env and auth exclude each other.'
  if (entry.api_format === 'ai-sdk' && !entry.package) return "api_format 'ai-sdk' needs package."
  if (entry.api_format !== 'ai-sdk' && (entry.package || entry.factory)) return "package and factory belong to api_format 'ai-sdk'."
  const header = Object.keys(entry.headers ?? {}).find((name) => ours.test(name))
  if (header) return `headers cannot set '${header}'; say it under auth.`
  if (entry.base_url === undefined) return entry.api_format === 'ai-sdk' ? undefined : 'base_url is missing.'
  return addressFault(entry.base_url)
}

/** https, or http to this machine; nothing hidden in the address. */
export function addressFault(address: string): string | undefined {
  if (!URL.canParse(address)) return `base_url '${address}' is not an absolute URL.`
  const { protocol, hostname, username, password, hash } = new URL(address)
  if (username || password) return 'base_url holds a user name; say it under auth.'
  if (hash) return `base_url '${address}' has a fragment.`
  if (protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))) return undefined
  return `base_url '${address}' is neither https nor http to this machine.`
}
