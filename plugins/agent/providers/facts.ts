import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../core/shapes/index.js'
import { programFile } from '../../../core/system/index.js'
import {
  mergeObjects,
  type ApiFormat,
  type Compat,
  type ModelFacts,
  type Profile,
  type ProviderEntry,
  type ProviderSource,
} from './entry.js'

/** One model of one provider. */
export interface Model {
  /** `<provider>/<name>`. */
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly source: ProviderSource
  readonly entry: ProviderEntry
  readonly format: ApiFormat
  /** Facts, and the source of each. */
  readonly facts: ModelFacts
  readonly sources: Readonly<Record<string, string>>
  readonly compat: Compat
  /** Fields merged into each request. */
  readonly body: JsonObject
}

const assumedWindow = 128_000
const mostOutput = 32_000

// Defaults of a format. Few openai-chat servers know prompt_cache_key.
const defaults: Record<ApiFormat, ModelFacts> = {
  'openai-chat': { supports_tools: true, supports_parallel_tool_calls: true, supports_context_caching: false },
  'openai-responses': { supports_tools: true, supports_parallel_tool_calls: true, supports_context_caching: true },
  'anthropic-messages': { supports_tools: true, supports_parallel_tool_calls: true, supports_context_caching: true },
  'google-generative-ai': { supports_tools: true, supports_parallel_tool_calls: true, supports_context_caching: false },
  'ai-sdk': { supports_tools: true },
  module: { supports_tools: true },
}

/** Takes each fact from the nearest: profile, list of models, entry, snapshot, format. */
export function buildModel(source: ProviderSource, name: string): Model {
  const { entry } = source
  const id = `${entry.name}/${name}`
  const profile = getOwn(entry.profiles, name) ?? {}
  const listed = Array.isArray(entry.models) ? {} : (getOwn(entry.models, name) ?? {})
  const declared = profile.api_format ?? listed.api_format ?? entry.api_format ?? 'auto'
  const format = declared === 'auto' ? 'openai-chat' : declared
  const layers: [string, Profile][] = [
    [`profiles."${name}"`, profile],
    [`models."${name}"`, listed],
    ['entry', entry],
    [`snapshot of ${loadSnapshot().as_of}`, source.builtin ? (getOwn(loadSnapshot().models, id) ?? {}) : {}],
    [`default of ${format}`, defaults[format]],
    ['default', { max_output_tokens: mostOutput }],
    ['assumed', { context_window: assumedWindow }],
  ]
  return {
    id,
    name,
    display_name: profile.display_name ?? listed.display_name ?? entry.display_name ?? entry.name,
    source,
    entry,
    format,
    ...mergeFacts(layers),
    compat: { ...entry.compat, ...listed.compat, ...profile.compat },
    body: mergeObjects(entry.body, listed.body, profile.body),
  }
}

/** Takes each fact from the first layer that has it. */
function mergeFacts(layers: readonly [from: string, Profile][]): Pick<Model, 'facts' | 'sources'> {
  const facts: ModelFacts = {}
  const sources: Record<string, string> = {}
  for (const [from, layer] of layers) {
    for (const [key, value] of Object.entries(layer)) {
      if (value === undefined || key in sources || !factKey.test(key)) continue
      Object.assign(facts, { [key]: value })
      sources[key] = from
    }
  }
  return { facts, sources }
}

const factKey = /^(context_window|max_output_tokens|cost|supports_\w+)$/

/** Returns the place of the context window in the settings. */
export const formatWindowKey = ({ name, source: { key, builtin, from } }: Model): string =>
  `${key}.profiles.${JSON.stringify(name)}.context_window in ${builtin ? 'your settings' : from.file}`

interface Snapshot {
  as_of: string
  /** The origin of the facts. */
  source: string
  /** The suggested models of a provider; the first is the default. */
  first: Record<string, string[]>
  models: Record<string, ModelFacts>
}
let read: Snapshot | undefined
/** Loads the models of built-in providers at build time. */
export const loadSnapshot = (): Snapshot =>
  (read ??= JSON.parse(readFileSync(programFile('manifests/provider/_models.json'), 'utf8')) as Snapshot)

const getOwn = <T>(map: Record<string, T> | undefined, key: string): T | undefined =>
  map && Object.hasOwn(map, key) ? map[key] : undefined
