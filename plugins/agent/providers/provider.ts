import { basename } from 'node:path'
import { problem, type Contribution, type JsonObject } from '../../../core/shapes/index.js'
import { truncateLine, toText, visibleLine } from '../../../core/text/index.js'
import type { Kernel, Provider } from '../../../core/contract/index.js'
import { expandVariables } from '../../lib/values/index.js'
import { AgentError, toErrorMessage } from '../base/index.js'
import { findAddressFault, findEntryFault, RESERVED_NAMES, type ProviderEntry, type ProviderSource } from './entry.js'
import { buildModel, loadSnapshot, type Model } from './facts.js'

export type Env = Readonly<Record<string, string | undefined>>
/** All providers, the user's own first; `faults` name unusable manifests with the reason. */
export interface ProviderSources {
  all: ProviderSource[]
  faults: string[]
}

/** Lists the providers of settings and manifests. Throws VT_CONFIG_INVALID, VT_CONFIG_ENV with the file and the key. */
export function listProviderSources(kernel: Kernel, env: Env): ProviderSources {
  const declared = (kernel.settings.custom_providers as ProviderEntry[]).map((entry, index) => ({
    entry,
    read: () => createSettingsSource(kernel, env, entry, index),
  }))
  const own = declared
    .filter(({ entry }) => entry.layer !== 'workspace')
    .map(({ entry, read }) => ({ original: entry, source: read() }))
  const all = own.map(({ source }) => source)
  const faults: string[] = []
  const builtins = kernel.inspection.providers().filter(({ contribution }) => contribution.layer === 'builtin')
  const ours = builtins.map(({ name }) => name)
  const trusted = [
    ...own,
    ...builtins
      .map((one) => createBuiltinSource(kernel, env, one))
      .map((source) => ({ original: source.entry, source })),
  ]
  const keys = new Map(
    trusted.flatMap(({ original, source }) =>
      listVariables(original).map((variable) => [variable, getOrigin(source.entry)]),
    ),
  )
  const strange = Object.keys(kernel.settings.providers).find((name) => !ours.includes(name))
  if (strange !== undefined)
    throw problem('VT_CONFIG_INVALID', {
      problem:
        `providers.${strange}: no built-in provider has this name; known: ${ours.join(', ')}. Define ` +
        'others under custom_providers.',
    })
  // Providers of a workspace need the user's consent; a fault in one leaves the user's own usable.
  for (const { read } of declared.filter(({ entry }) => entry.layer === 'workspace')) {
    try {
      const source = read()
      if (ours.includes(source.entry.name)) throw new Error(`the name '${source.entry.name}' is one of ours.`)
      requireOwnKeys(source, keys)
      all.push(source)
    } catch (error) {
      faults.push(toErrorMessage(error))
    }
  }
  // Modules with a component of the agent are no model providers.
  for (const provider of kernel.inspection
    .providers()
    .filter(({ contribution }) => contribution.manifest.component === undefined)) {
    try {
      const source =
        provider.contribution.layer === 'builtin'
          ? createBuiltinSource(kernel, env, provider)
          : createManifestSource(kernel, env, provider)
      const taken = all.find(({ entry }) => entry.name === source.entry.name)
      if (taken) throw new Error(`the name '${source.entry.name}' is taken by ${taken.from.file}.`)
      if (!source.builtin) requireOwnKeys(source, keys)
      all.push(source)
    } catch (error) {
      // A fault in the user's settings fails the start; a faulty plugin is skipped.
      if (provider.contribution.layer === 'builtin') throw error
      faults.push(`${provider.contribution.file}: ${toErrorMessage(error)}`)
    }
  }
  return { all, faults }
}

function createSettingsSource(kernel: Kernel, env: Env, declared: ProviderEntry, index: number): ProviderSource {
  const find = (name: string) => kernel.inspection.origins().find(({ path }) => path === name)
  const origin = find(`custom_providers.${index}`) ?? find('custom_providers')
  // Parses the file to find the line: only for an error.
  const place = () =>
    `${origin ? `${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}: ` : ''}` +
    `custom_providers[${index}] (${declared.name})`
  const foreign = declared.layer === 'workspace'
  const from = {
    ...createSettingsContribution(kernel, `custom_providers:${declared.name}`, declared.name, origin?.file),
    ...(foreign && { layer: 'workspace' as const }),
  }
  // Variables of a workspace are not expanded: the user agreed to the literal text.
  const entry = foreign ? declared : expandEntry(kernel, env, declared, from, place)
  const wrong = RESERVED_NAMES.has(entry.name)
    ? `name '${entry.name}' is reserved; choose another.`
    : findEntryFault(entry)
  if (wrong !== undefined) throw problem('VT_CONFIG_INVALID', { problem: `${place()}: ${wrong}` })
  return { entry, from, options: {}, builtin: false, key: `custom_providers[${index}]` }
}

function createManifestSource(
  kernel: Kernel,
  env: Env,
  { name, contribution, options, load }: Provider,
): ProviderSource {
  if (RESERVED_NAMES.has(name)) throw new Error(`name '${name}' is reserved; choose another.`)
  const declared = contribution.manifest.provider as ProviderEntry | undefined
  const made = { from: contribution, options, builtin: false, key: 'provider' }
  if (!declared) return { entry: { name, api_format: 'module' }, ...made, load }
  const entry =
    contribution.layer === 'workspace' ? declared : expandEntry(kernel, env, declared, contribution, () => name)
  const wrong = findEntryFault(entry)
  if (wrong !== undefined) throw new Error(wrong)
  return { entry, ...made }
}

/**
 * Throws for an entry that would send the user's key to another origin: manifests and workspaces do not speak for the
 * user.
 */
function requireOwnKeys({ entry, from, load }: ProviderSource, keys: ReadonlyMap<string, string>): void {
  // The manifest still has the variables that are expanded in the entry.
  for (const variable of listVariables(
    { ...entry, ...(from.manifest.provider as object | undefined) },
    load !== undefined,
  )) {
    const owner = keys.get(variable)
    if (owner !== undefined && owner !== getOrigin(entry))
      throw new Error(
        `${entry.name}: ${variable} holds the key for ${owner}, which is not sent to ` + `${getOrigin(entry)}.`,
      )
  }
}

/** Lists the variables that the user's own and the built-in providers read. */
export function listProviderVariables(kernel: Kernel): string[] {
  const own = (kernel.settings.custom_providers as ProviderEntry[]).filter(({ layer }) => layer !== 'workspace')
  const builtins = kernel.inspection
    .providers()
    .flatMap(({ contribution: { layer, manifest } }) =>
      layer === 'builtin' ? [manifest.provider as unknown as ProviderEntry] : [],
    )
  return [...own, ...builtins].flatMap((entry) => [...listVariables(entry), `${toVariableName(entry.name)}_BASE_URL`])
}

/** Lists the variables of an entry, including its key. */
function listVariables(entry: ProviderEntry, loaded = false): string[] {
  const referenced = [...JSON.stringify(entry).matchAll(/"env":"(\w+)"|\$\{?(\w+)/g)].flatMap(
    ([, reference, variable]) => reference ?? variable ?? [],
  )
  const key = entry.auth || loaded ? undefined : getKeyVariable(entry)
  return key === undefined ? referenced : [...referenced, key]
}

const getOrigin = ({ base_url, package: name = '' }: ProviderEntry): string =>
  base_url !== undefined && URL.canParse(base_url) ? new URL(base_url).origin : name

/** Creates a built-in provider with the changes of the settings and the address of the environment. */
function createBuiltinSource(kernel: Kernel, env: Env, { name, contribution, options }: Provider): ProviderSource {
  const declared = contribution.manifest.provider as unknown as ProviderEntry
  const changes = (kernel.settings.providers as Record<string, Partial<ProviderEntry>>)[name]
  const variable = `${toVariableName(name)}_BASE_URL`
  const elsewhere = env[variable]
  const base_url = elsewhere || changes?.base_url || declared.base_url!
  const wrong = findAddressFault(base_url)
  if (wrong) throw problem('VT_CONFIG_INVALID', { problem: `${elsewhere ? variable : `providers.${name}`}: ${wrong}` })
  return {
    entry: { ...declared, ...changes, base_url },
    from: contribution,
    options,
    builtin: true,
    key: `providers.${name}`,
  }
}

/** Creates the contribution that represents the user's settings. */
function createSettingsContribution(kernel: Kernel, id: string, name: string, file: string | undefined): Contribution {
  return {
    id,
    name,
    plugin: 'user',
    kind: 'provider',
    layer: 'user',
    file: file ?? kernel.inspection.home,
    root: kernel.workspace,
    manifest: {},
  }
}

function expandEntry(
  kernel: Kernel,
  env: Env,
  entry: ProviderEntry,
  contribution: Contribution,
  place: () => string,
): ProviderEntry {
  const adapterContext = { settings: kernel.settings, env, workspace: kernel.workspace, resolveOptions: () => ({}) }
  const text = (value: string, field: string) =>
    expandVariables(value, {
      adapterContext,
      contribution,
      get field() {
        return `${place()}: ${field}`
      },
    })
  const headers = Object.entries(entry.headers ?? {}).map(([name, value]) => [
    name,
    typeof value === 'string' ? text(value, `headers.${name}`) : value,
  ])
  return {
    ...entry,
    ...(entry.base_url !== undefined && { base_url: text(entry.base_url, 'base_url') }),
    ...(entry.headers && { headers: Object.fromEntries(headers) as JsonObject }),
  }
}

const toVariableName = (name: string): string => name.toUpperCase().replace(/-/g, '_')
/** Returns the variable of the key of an entry; `undefined` if it needs none. */
export const getKeyVariable = ({ name, api_key_env }: ProviderEntry): string | undefined =>
  api_key_env === 'none' ? undefined : (api_key_env ?? `${toVariableName(name)}_API_KEY`)

/** Returns whether a provider has the key that it needs. */
export function hasKey({ entry, builtin }: ProviderSource, env: Env): boolean {
  const variable = getKeyVariable(entry)
  if (variable === undefined || env[variable]) return true
  return entry.auth !== undefined || (!builtin && entry.api_key_env === undefined)
}

/**
 * Finds a model: `<provider>/<model>`, `<provider>` for its first one, or a model id that one provider is known to
 * have. Without an id, the first model of the only ready provider. Throws VT_LLM_NO_MODEL, which lists the choices.
 */
export function findModel(kernel: Kernel, env: Env, id: string | undefined): Model {
  try {
    return resolveModel(kernel, env, id)
  } catch (error) {
    const left = error instanceof AgentError && error.code === 'VT_LLM_NO_MODEL' ? listIgnoredModels(kernel, env) : []
    if (left.length === 0) throw error
    throw new AgentError('VT_LLM_NO_MODEL', [toErrorMessage(error), ...left].join('\n'), (error as AgentError).extra)
  }
}

/** Lists the workspace's models and providers that lack consent or cannot be used, each as a sentence with advice. */
export function listIgnoredModels(kernel: Kernel, env: Env): string[] {
  const listOverridden = (path: string, what: (value: unknown) => string) =>
    (kernel.inspection.origins().find((origin) => origin.path === path)?.overridden ?? [])
      .filter(({ layer, reason }) => layer === 'workspace' && reason !== undefined)
      .map(({ file, value, reason = '' }) => {
        const why = reason.includes('consent')
          ? 'it is not trusted: `vtcode trust`'
          : 'your own settings have that name, which counts'
        return `${visibleLine(basename(file))} names ${truncateLine(what(value), 200)}; ${why}.`
      })
  const names = (value: unknown) =>
    (Array.isArray(value) ? value : []).map(({ name }: ProviderEntry) => name).join(', ')
  const unread = kernel
    .diagnostics()
    .filter(({ code }) => code === 'VT_CONFIG_UNTRUSTED')
    .map(({ files: [file = ''] }) => visibleLine(basename(file)))
  const code = unread.map((file) => `${file} may name providers; it is not trusted: \`vtcode trust\`.`)
  return [
    ...listOverridden('custom_providers', (value) => `provider ${names(value)}`),
    ...listOverridden('agent.model', (value) => `model ${toText(value)}`),
    ...code,
    ...listProviderSources(kernel, env).faults,
  ]
}

function resolveModel(kernel: Kernel, env: Env, id: string | undefined): Model {
  const { all } = listProviderSources(kernel, env)
  const ready = listAskable(all, env)
  if (!id) return chooseOnlyModel(ready)
  const [provider = '', ...rest] = id.split('/')
  const source = all.find(({ entry }) => entry.name === provider)
  // Model names may contain slashes, as at OpenRouter.
  const findOwners = (sources: ProviderSource[]) =>
    source ? [] : sources.filter((one) => listKnownModels(one).includes(id))
  const owners = findOwners(ready).length > 0 ? findOwners(ready) : findOwners(all)
  if (owners.length === 1) return buildModel(owners[0]!, id)
  if (owners.length > 1)
    throw new AgentError('VT_LLM_NO_MODEL', `Several providers have '${id}'.`, {
      hint: `Choose one: ${owners.map(({ entry }) => `--model ${entry.name}/${id}`).join(', ')}`,
    })
  if (!source)
    throw new AgentError(
      'VT_LLM_NO_MODEL',
      `Unknown provider '${provider}' (model '${id}').`,
      ready.length > 0 ? { hint: formatChoices(ready) } : {},
    )
  const name = rest.join('/') || rankModels(source)[0]
  if (!name)
    throw new AgentError('VT_LLM_NO_MODEL', `The provider '${provider}' names no model: use ${provider}/<model>.`)
  return buildModel(source, name)
}

/** Returns the default: the first model of the only ready provider. */
function chooseOnlyModel(ready: ProviderSource[]): Model {
  const [source] = ready
  if (!source)
    throw new AgentError(
      'VT_LLM_NO_MODEL',
      'No model is chosen, no provider is configured, and no key of a known one is in the environment.',
    )
  const [name] = rankModels(source)
  if (ready.length > 1 || !name)
    throw new AgentError(
      'VT_LLM_NO_MODEL',
      `No model is chosen. Providers that can be asked: ${ready.map(({ entry }) => entry.name).join(', ')}.`,
      { hint: formatChoices(ready) },
    )
  return buildModel(source, name)
}

/** Formats the choices and the place of the setting. */
function formatChoices(ready: ProviderSource[]): string {
  const flags = ready.map((source) => `--model ${source.entry.name}/${rankModels(source)[0] ?? '<model>'}`)
  const alone = ready.find((source) => rankModels(source).length > 0)
  const short = alone ? ` A provider alone stands for its first model: --model ${alone.entry.name}.` : ''
  return (
    `Choose one: ${flags.join(', ')}.${short} To keep it: agent.model in ` +
    '~/.vtcode/vtcode.config.yaml; providers of your own go under custom_providers there.'
  )
}

/** Returns the providers that can be asked; whether servers of this machine run is unknown. */
const listAskable = (all: ProviderSource[], env: Env): ProviderSource[] =>
  all.filter((source) => hasKey(source, env) && (!source.builtin || getKeyVariable(source.entry) !== undefined))

/** Lists the models of an entry in order of preference: its own, the snapshot's, the listed ones. */
export function rankModels(source: ProviderSource): string[] {
  const ours = source.builtin ? loadSnapshot().first[source.entry.name] : undefined
  return source.entry.model === undefined ? (ours ?? listKnownModels(source)) : [source.entry.model]
}

export const MAX_MODELS_PER_PROVIDER = 3
/** Lists a few models of each ready provider as choices. */
export const listModelChoices = (kernel: Kernel, env: Env): Model[] =>
  listAskable(listProviderSources(kernel, env).all, env).flatMap((source) =>
    rankModels(source)
      .slice(0, MAX_MODELS_PER_PROVIDER)
      .map((name) => buildModel(source, name)),
  )

/** Describes an entry of a workspace for the consent question. */
export function describeProvider(entry: ProviderEntry): string {
  const variables = listVariables(entry)
  const models = listKnownModels({ entry, builtin: false })
  const key = entry.auth?.command
    ? 'a command finds the key'
    : variables.length > 0
      ? `the key is in ${variables.join(', ')}`
      : 'without a key'
  return (
    `Provider ${entry.name}: your prompts and code would be sent to ` +
    `${getOrigin(entry) || '(no address)'}; ${key}; models: ${models.join(', ') || 'none named'}.`
  )
}

/** Lists the models that are known without a request. */
export function listKnownModels({
  entry: { name, model, models = [], profiles = {} },
  builtin,
}: Pick<ProviderSource, 'entry' | 'builtin'>): string[] {
  const known = builtin
    ? Object.keys(loadSnapshot().models).flatMap((id) => (id.startsWith(`${name}/`) ? [id.slice(name.length + 1)] : []))
    : []
  return [
    ...new Set([
      ...(model ? [model] : []),
      ...(Array.isArray(models) ? models : Object.keys(models)),
      ...Object.keys(profiles),
      ...known,
    ]),
  ]
}
