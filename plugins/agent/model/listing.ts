import { deadline } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { AgentError, messageOf, readLimited, type AgentProviders } from '../base/index.js'
import { accessTo } from './connect.js'
import { keyHeaders, transport } from './transport.js'
import {
  buildModel,
  firstModels,
  isReady,
  keyVariable,
  knownModels,
  mostOfOne,
  providerSources,
  type Model,
  type ProviderSource,
} from '../providers/index.js'

export interface Listed {
  models: Model[]
  /** Providers that could be had with a key, and the variable it goes in. */
  without_key: { name: string; variable: string }[]
  /** What could not be asked or used, and why. */
  faults: string[]
}

const patience_ms = 10_000
// A server of this machine answers at once, or nobody waits for it.
const moment_ms = 3000
const mostBytes = 4 * 1024 * 1024

/** The models that can be asked as things stand; where an entry says `discover`, its server is asked for more. */
export async function listModels(kernel: Kernel, providers: AgentProviders, signal: AbortSignal): Promise<Listed> {
  const { all, faults } = providerSources(kernel, providers.env)
  const ready = all.filter((source) => isReady(source, providers.env))
  const found = await Promise.all(
    ready.map(async (source) => {
      try {
        return [
          ...new Set([...knownModels(source), ...(await discoveredModels(kernel, source, providers, signal))]),
        ].map((name) => buildModel(source, name))
      } catch (error) {
        // A server of this machine that does not run is no news.
        if (!source.builtin) faults.push(`${source.entry.name}: ${messageOf(error)}`)
        return knownModels(source).map((name) => buildModel(source, name))
      }
    }),
  )
  return { models: found.flat(), without_key: withoutKey(all, ready), faults }
}

/** The models to choose from: a few of each provider that has a key, and of each server that answers at once. The user's own come first, servers of this machine that nobody named last. */
export async function offeredModels(kernel: Kernel, providers: AgentProviders, signal: AbortSignal): Promise<Listed> {
  const { all, faults } = providerSources(kernel, providers.env)
  const ready = all.filter((source) => isReady(source, providers.env))
  const found = await Promise.all(
    ready.map(async (source) => {
      const names = firstModels(source)
      if (names.length > 0) return { source, names }
      try {
        const listed = await discoveredModels(kernel, source, providers, signal, moment_ms)
        if (listed.length === 0)
          faults.push(`${source.entry.name}: the server at ${source.entry.base_url} lists no model.`)
        return { source, names: listed }
      } catch (error) {
        if (!source.builtin) faults.push(`${source.entry.name}: ${messageOf(error)}`)
        return { source, names: [] }
      }
    }),
  )
  const rank = ({ builtin, entry, from }: ProviderSource) =>
    !builtin ? (from.layer === 'user' ? 0 : 3) : keyVariable(entry) === undefined ? 2 : 1
  const sorted = found.toSorted((a, b) => rank(a.source) - rank(b.source))
  return {
    models: sorted.flatMap(({ source, names }) => names.slice(0, mostOfOne).map((name) => buildModel(source, name))),
    without_key: withoutKey(all, ready),
    faults,
  }
}

const withoutKey = (all: ProviderSource[], ready: ProviderSource[]): Listed['without_key'] =>
  all
    .filter((source) => !ready.includes(source))
    .map(({ entry }) => ({ name: entry.name, variable: keyVariable(entry)! }))

async function discoveredModels(
  kernel: Kernel,
  source: ProviderSource,
  providers: AgentProviders,
  signal: AbortSignal,
  wait_ms = patience_ms,
): Promise<string[]> {
  const { entry, load } = source
  if (!load && !entry.discover) return []
  const access = await accessTo(kernel, source, providers)
  if (load)
    return (await import('./module.js')).moduleModels(source, { resolve: access.resolve, home: kernel.inspection.home })
  const model = buildModel(source, '')
  const ask = transport(model, access.credential, access, access.reach)
  using limit = deadline(wait_ms, signal)
  const response = await ask(`${entry.base_url!.replace(/\/+$/, '')}/models`, {
    headers: keyHeaders(model.format),
    signal: limit.signal,
  })
  if (!response.ok) throw new AgentError('VT_LLM_REQUEST', `the server answers ${response.status} to GET /models.`)
  const text = await readLimited(response, mostBytes)
  return idsIn(JSON.parse(text))
}

/** Ids as OpenAI and Anthropic (`data`) and Google (`models`, named `models/<id>`) list them. */
function idsIn(answer: unknown): string[] {
  const { data, models } = (answer ?? {}) as { data?: { id?: unknown }[]; models?: { name?: unknown }[] }
  const ids = Array.isArray(data)
    ? data.map((one) => one?.id)
    : Array.isArray(models)
      ? models.map(({ name }) => toText(name).replace(/^models\//, ''))
      : []
  return ids.filter((id): id is string => typeof id === 'string' && id !== '' && id.length <= 256)
}
