import { startDeadline } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { AgentError, toErrorMessage, readLimited, type AgentProviders } from '../base/index.js'
import { openAccess } from './connect.js'
import { createKeyHeaders, createTransport } from './transport.js'
import {
  buildModel,
  rankModels,
  hasKey,
  getKeyVariable,
  listKnownModels,
  MAX_MODELS_PER_PROVIDER,
  listProviderSources,
  type Model,
  type ProviderSource,
} from '../providers/index.js'

export interface ModelListing {
  models: Model[]
  /** Providers that lack only a key, and the variable of the key. */
  without_key: { name: string; variable: string }[]
  /** Failures of providers, with the reason. */
  faults: string[]
}

const patience_ms = 10_000
// A local server answers at once or is skipped.
const moment_ms = 3000
const mostBytes = 4 * 1024 * 1024

/** Lists the models of all ready providers; entries with `discover` ask their server for more. */
export async function listModels(
  kernel: Kernel,
  providers: AgentProviders,
  signal: AbortSignal,
): Promise<ModelListing> {
  const { all, faults } = listProviderSources(kernel, providers.env)
  const ready = all.filter((source) => hasKey(source, providers.env))
  const found = await Promise.all(
    ready.map(async (source) => {
      try {
        return [
          ...new Set([...listKnownModels(source), ...(await discoverModels(kernel, source, providers, signal))]),
        ].map((name) => buildModel(source, name))
      } catch (error) {
        // A local server that is not running is not reported.
        if (!source.builtin) faults.push(`${source.entry.name}: ${toErrorMessage(error)}`)
        return listKnownModels(source).map((name) => buildModel(source, name))
      }
    }),
  )
  return { models: found.flat(), without_key: listWithoutKey(all, ready), faults }
}

/**
 * Suggests a few models of each provider with a key and of each server that answers at once. The user's own come
 * first, unconfigured local servers last.
 */
export async function suggestModels(
  kernel: Kernel,
  providers: AgentProviders,
  signal: AbortSignal,
): Promise<ModelListing> {
  const { all, faults } = listProviderSources(kernel, providers.env)
  const ready = all.filter((source) => hasKey(source, providers.env))
  const found = await Promise.all(
    ready.map(async (source) => {
      const names = rankModels(source)
      if (names.length > 0) return { source, names }
      try {
        const listed = await discoverModels(kernel, source, providers, signal, moment_ms)
        if (listed.length === 0)
          faults.push(`${source.entry.name}: the server at ${source.entry.base_url} lists no model.`)
        return { source, names: listed }
      } catch (error) {
        if (!source.builtin) faults.push(`${source.entry.name}: ${toErrorMessage(error)}`)
        return { source, names: [] }
      }
    }),
  )
  const rank = ({ builtin, entry, from }: ProviderSource) =>
    !builtin ? (from.layer === 'user' ? 0 : 3) : getKeyVariable(entry) === undefined ? 2 : 1
  const sorted = found.toSorted((a, b) => rank(a.source) - rank(b.source))
  return {
    models: sorted.flatMap(({ source, names }) =>
      names.slice(0, MAX_MODELS_PER_PROVIDER).map((name) => buildModel(source, name)),
    ),
    without_key: listWithoutKey(all, ready),
    faults,
  }
}

const listWithoutKey = (all: ProviderSource[], ready: ProviderSource[]): ModelListing['without_key'] =>
  all
    .filter((source) => !ready.includes(source))
    .map(({ entry }) => ({ name: entry.name, variable: getKeyVariable(entry)! }))

async function discoverModels(
  kernel: Kernel,
  source: ProviderSource,
  providers: AgentProviders,
  signal: AbortSignal,
  wait_ms = patience_ms,
): Promise<string[]> {
  const { entry, load } = source
  if (!load && !entry.discover) return []
  const access = await openAccess(kernel, source, providers)
  if (load)
    return (await import('./module.js')).listModuleModels(source, {
      resolve: access.resolve,
      home: kernel.inspection.home,
    })
  const model = buildModel(source, '')
  const ask = createTransport(model, access.credential, access, access.reach)
  using limit = startDeadline(wait_ms, signal)
  const response = await ask(`${entry.base_url!.replace(/\/+$/, '')}/models`, {
    headers: createKeyHeaders(model.format),
    signal: limit.signal,
  })
  if (!response.ok) throw new AgentError('VT_LLM_REQUEST', `the server answers ${response.status} to GET /models.`)
  const text = await readLimited(response, mostBytes)
  return parseModelIds(JSON.parse(text))
}

/** Parses ids in the lists of OpenAI and Anthropic (`data`) and Google (`models`, named `models/<id>`). */
function parseModelIds(answer: unknown): string[] {
  const { data, models } = (answer ?? {}) as { data?: { id?: unknown }[]; models?: { name?: unknown }[] }
  const ids = Array.isArray(data)
    ? data.map((one) => one?.id)
    : Array.isArray(models)
      ? models.map(({ name }) => toText(name).replace(/^models\//, ''))
      : []
  return ids.filter((id): id is string => typeof id === 'string' && id !== '' && id.length <= 256)
}
