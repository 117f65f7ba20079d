import { basename } from 'node:path'
import { problem, type Contribution, type JsonObject } from '../../../core/shapes/index.js'
import { shortLine, toText, visibleLine } from '../../../core/text/index.js'
import type { Kernel, Provider } from '../../../core/contract/index.js'
import { expandVariables } from '../../lib/values/index.js'
import { AgentError, messageOf } from '../base/index.js'
import { addressFault, entryFault, reserved, type ProviderEntry, type ProviderSource } from './entry.js'
import { buildModel, snapshot, type Model } from './facts.js'

export type Env = Readonly<Record<string, string | undefined>>
/** Returns every provider, the user's own first; `faults` name unusable manifests and why. */
export interface ProviderSources {
  all: ProviderSource[]
  faults: string[]
}

/** What settings and manifests say. Throws VT_CONFIG_INVALID, VT_CONFIG_ENV with the file and the key. */
export function providerSources(kernel: Kernel, env: Env): ProviderSources {
  const declared = (kernel.settings.custom_providers as ProviderEntry[]).map((entry, index) => ({
    entry,
    read: () => fromSettings(kernel, env, entry, index),
  }))
  const own = declared
    .filter(({ entry }) => entry.layer !== 'workspace')
    .map(({ entry, read }) => ({ said: entry, source: read() }))
  const all = own.map(({ source }) => source)
  const faults: string[] = []
  const builtins = kernel.inspection.providers().filter(({ contribution }) => contribution.layer === 'builtin')
  const ours = builtins.map(({ name }) => name)
  const trusted = [
    ...own,
    ...builtins.map((one) => builtIn(kernel, env, one)).map((source) => ({ said: source.entry, source })),
  ]
  const keys = new Map(
    trusted.flatMap(({ said, source }) => variablesOf(said).map((variable) => [variable, originOf(source.entry)])),
  )
  const strange = Object.keys(kernel.settings.providers).find((name) => !ours.includes(name))
  if (strange !== undefined)
    throw problem('VT_CONFIG_INVALID', {
      problem: `providers.${strange}: no built-in provider has this name; known: ${ours.join(', ')}. Define others under custom_providers.`,
    })
  // What a workspace says counts once the user agreed to it; a fault in it is no reason for the user's own to stop.
  for (const { read } of declared.filter(({ entry }) => entry.layer === 'workspace')) {
    try {
      const source = read()
      if (ours.includes(source.entry.name)) throw new Error(`the name '${source.entry.name}' is one of ours.`)
      requireOwnKeys(source, keys)
      all.push(source)
    } catch (error) {
      faults.push(messageOf(error))
    }
  }
  // A module that supplies a component of the agent is no model provider.
  for (const provider of kernel.inspection
    .providers()
    .filter(({ contribution }) => contribution.manifest.component === undefined)) {
    try {
      const source =
        provider.contribution.layer === 'builtin' ? builtIn(kernel, env, provider) : fromManifest(kernel, env, provider)
      const taken = all.find(({ entry }) => entry.name === source.entry.name)
      if (taken) throw new Error(`the name '${source.entry.name}' is taken by ${taken.from.file}.`)
      if (!source.builtin) requireOwnKeys(source, keys)
      all.push(source)
    } catch (error) {
      // A fault in the user's own settings ends the start; a faulty plugin is left out and the rest works.
      if (provider.contribution.layer === 'builtin') throw error
      faults.push(`${provider.contribution.file}: ${messageOf(error)}`)
    }
  }
  return { all, faults }
}

function fromSettings(kernel: Kernel, env: Env, declared: ProviderEntry, index: number): ProviderSource {
  const find = (name: string) => kernel.inspection.origins().find(({ path }) => path === name)
  const origin = find(`custom_providers.${index}`) ?? find('custom_providers')
  // To find the line, the file is parsed: only done for an error.
  const place = () =>
    `${origin ? `${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}: ` : ''}custom_providers[${index}] (${declared.name})`
  const foreign = declared.layer === 'workspace'
  const from = {
    ...sayer(kernel, `custom_providers:${declared.name}`, declared.name, origin?.file),
    ...(foreign && { layer: 'workspace' as const }),
  }
  // What a workspace writes is what its reader agreed to: no variable is put into it.
  const entry = foreign ? declared : expanded(kernel, env, declared, from, place)
  const wrong = reserved.has(entry.name) ? `name '${entry.name}' is reserved; choose another.` : entryFault(entry)
  if (wrong !== undefined) throw problem('VT_CONFIG_INVALID', { problem: `${place()}: ${wrong}` })
  return { entry, from, options: {}, builtin: false, key: `custom_providers[${index}]` }
}

function fromManifest(kernel: Kernel, env: Env, { name, contribution, options, load }: Provider): ProviderSource {
  if (reserved.has(name)) throw new Error(`name '${name}' is reserved; choose another.`)
  const declared = contribution.manifest.provider as ProviderEntry | undefined
  const made = { from: contribution, options, builtin: false, key: 'provider' }
  if (!declared) return { entry: { name, api_format: 'module' }, ...made, load }
  const entry =
    contribution.layer === 'workspace' ? declared : expanded(kernel, env, declared, contribution, () => name)
  const wrong = entryFault(entry)
  if (wrong !== undefined) throw new Error(wrong)
  return { entry, ...made }
}

/** What a manifest or a workspace says is no word of the user about their keys: one that is for another origin is not sent to its own. */
function requireOwnKeys({ entry, from, load }: ProviderSource, keys: ReadonlyMap<string, string>): void {
  // What a manifest declares names its variables; in the entry they are replaced by what they hold.
  for (const variable of variablesOf(
    { ...entry, ...(from.manifest.provider as object | undefined) },
    load !== undefined,
  )) {
    const owner = keys.get(variable)
    if (owner !== undefined && owner !== originOf(entry))
      throw new Error(`${entry.name}: ${variable} holds the key for ${owner}, which is not sent to ${originOf(entry)}.`)
  }
}

/** The variables of the environment that the user's own providers and the built-in ones read. */
export function providerVariables(kernel: Kernel): string[] {
  const own = (kernel.settings.custom_providers as ProviderEntry[]).filter(({ layer }) => layer !== 'workspace')
  const builtins = kernel.inspection
    .providers()
    .flatMap(({ contribution: { layer, manifest } }) =>
      layer === 'builtin' ? [manifest.provider as unknown as ProviderEntry] : [],
    )
  return [...own, ...builtins].flatMap((entry) => [...variablesOf(entry), `${variableName(entry.name)}_BASE_URL`])
}

/** The variables that an entry names, that of its key among them. */
function variablesOf(entry: ProviderEntry, loaded = false): string[] {
  const said = [...JSON.stringify(entry).matchAll(/"env":"(\w+)"|\$\{?(\w+)/g)].flatMap(
    ([, reference, variable]) => reference ?? variable ?? [],
  )
  const key = entry.auth || loaded ? undefined : keyVariable(entry)
  return key === undefined ? said : [...said, key]
}

const originOf = ({ base_url, package: name = '' }: ProviderEntry): string =>
  base_url !== undefined && URL.canParse(base_url) ? new URL(base_url).origin : name

/** One of ours, as the settings and, for its address, the environment have it. */
function builtIn(kernel: Kernel, env: Env, { name, contribution, options }: Provider): ProviderSource {
  const declared = contribution.manifest.provider as unknown as ProviderEntry
  const changes = (kernel.settings.providers as Record<string, Partial<ProviderEntry>>)[name]
  const variable = `${variableName(name)}_BASE_URL`
  const elsewhere = env[variable]
  const base_url = elsewhere || changes?.base_url || declared.base_url!
  const wrong = addressFault(base_url)
  if (wrong) throw problem('VT_CONFIG_INVALID', { problem: `${elsewhere ? variable : `providers.${name}`}: ${wrong}` })
  return {
    entry: { ...declared, ...changes, base_url },
    from: contribution,
    options,
    builtin: true,
    key: `providers.${name}`,
  }
}

/** The settings as somebody who says things. */
function sayer(kernel: Kernel, id: string, name: string, file: string | undefined): Contribution {
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

function expanded(
  kernel: Kernel,
  env: Env,
  entry: ProviderEntry,
  contribution: Contribution,
  place: () => string,
): ProviderEntry {
  const adapterContext = { settings: kernel.settings, env, workspace: kernel.workspace, optionsOf: () => ({}) }
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

const variableName = (name: string): string => name.toUpperCase().replace(/-/g, '_')
/** The variable that holds the key of an entry; `undefined` for one that needs none. */
export const keyVariable = ({ name, api_key_env }: ProviderEntry): string | undefined =>
  api_key_env === 'none' ? undefined : (api_key_env ?? `${variableName(name)}_API_KEY`)

/** Whether a provider can be asked as things stand: what needs a key from the environment has it. */
export function isReady({ entry, builtin }: ProviderSource, env: Env): boolean {
  const variable = keyVariable(entry)
  if (variable === undefined || env[variable]) return true
  return entry.auth !== undefined || (!builtin && entry.api_key_env === undefined)
}

/**
 * The model that `id` names: `<provider>/<model>`, `<provider>` for its first one, or a model that a provider at hand is known to have. Without an id
 * it is that of the only provider at hand. Throws VT_LLM_NO_MODEL, which lists what could be said.
 */
export function findModel(kernel: Kernel, env: Env, id: string | undefined): Model {
  try {
    return modelOf(kernel, env, id)
  } catch (error) {
    const left = error instanceof AgentError && error.code === 'VT_LLM_NO_MODEL' ? uncountedModels(kernel, env) : []
    if (left.length === 0) throw error
    throw new AgentError('VT_LLM_NO_MODEL', [messageOf(error), ...left].join('\n'), (error as AgentError).extra)
  }
}

/** What the workspace names and nobody has agreed to, and what of it cannot be used: each a sentence with what to do. */
export function uncountedModels(kernel: Kernel, env: Env): string[] {
  const waits = (path: string, what: (value: unknown) => string) =>
    (kernel.inspection.origins().find((origin) => origin.path === path)?.overridden ?? [])
      .filter(({ layer, reason }) => layer === 'workspace' && reason !== undefined)
      .map(({ file, value, reason = '' }) => {
        const why = reason.includes('agree')
          ? 'it is not trusted: `vtcode trust`'
          : 'your own settings have that name, which counts'
        return `${visibleLine(basename(file))} names ${shortLine(what(value), 200)}; ${why}.`
      })
  const names = (value: unknown) =>
    (Array.isArray(value) ? value : []).map(({ name }: ProviderEntry) => name).join(', ')
  const unread = kernel
    .diagnostics()
    .filter(({ code }) => code === 'VT_CONFIG_UNTRUSTED')
    .map(({ files: [file = ''] }) => visibleLine(basename(file)))
  const code = unread.map((file) => `${file} may name providers; it is not trusted: \`vtcode trust\`.`)
  return [
    ...waits('custom_providers', (value) => `provider ${names(value)}`),
    ...waits('agent.model', (value) => `model ${toText(value)}`),
    ...code,
    ...providerSources(kernel, env).faults,
  ]
}

function modelOf(kernel: Kernel, env: Env, id: string | undefined): Model {
  const { all } = providerSources(kernel, env)
  const ready = askable(all, env)
  if (!id) return onlyModel(ready)
  const [provider = '', ...rest] = id.split('/')
  const source = all.find(({ entry }) => entry.name === provider)
  // A model's own name may hold a slash, as those of OpenRouter do.
  const having = (sources: ProviderSource[]) => (source ? [] : sources.filter((one) => knownModels(one).includes(id)))
  const owners = having(ready).length > 0 ? having(ready) : having(all)
  if (owners.length === 1) return buildModel(owners[0]!, id)
  if (owners.length > 1)
    throw new AgentError('VT_LLM_NO_MODEL', `Several providers have '${id}'.`, {
      hint: `Say which: ${owners.map(({ entry }) => `--model ${entry.name}/${id}`).join(', ')}`,
    })
  if (!source)
    throw new AgentError(
      'VT_LLM_NO_MODEL',
      `Unknown provider '${provider}' (model '${id}').`,
      ready.length > 0 ? { hint: choices(ready) } : {},
    )
  const name = rest.join('/') || firstModels(source)[0]
  if (!name)
    throw new AgentError('VT_LLM_NO_MODEL', `The provider '${provider}' names no model: say ${provider}/<model>.`)
  return buildModel(source, name)
}

/** What is asked where nobody has chosen: the first model of the only provider that can be asked. */
function onlyModel(ready: ProviderSource[]): Model {
  const [source] = ready
  if (!source)
    throw new AgentError(
      'VT_LLM_NO_MODEL',
      'No model is chosen, no provider is configured, and no key of a known one is in the environment.',
    )
  const [name] = firstModels(source)
  if (ready.length > 1 || !name)
    throw new AgentError(
      'VT_LLM_NO_MODEL',
      `No model is chosen. Providers that can be asked: ${ready.map(({ entry }) => entry.name).join(', ')}.`,
      { hint: choices(ready) },
    )
  return buildModel(source, name)
}

/** What to say, and where to keep it. */
function choices(ready: ProviderSource[]): string {
  const flags = ready.map((source) => `--model ${source.entry.name}/${firstModels(source)[0] ?? '<model>'}`)
  const alone = ready.find((source) => firstModels(source).length > 0)
  const short = alone ? ` A provider alone stands for its first model: --model ${alone.entry.name}.` : ''
  return `Choose one: ${flags.join(', ')}.${short} To keep it: agent.model in ~/.vtcode/vtcode.config.yaml; providers of your own go under custom_providers there.`
}

/** Returns the providers that can be asked; whether servers of this machine run is unknown. */
const askable = (all: ProviderSource[], env: Env): ProviderSource[] =>
  all.filter((source) => isReady(source, env) && (!source.builtin || keyVariable(source.entry) !== undefined))

/** What an entry names as its model, else those that we would take, else what it lists. */
export function firstModels(source: ProviderSource): string[] {
  const ours = source.builtin ? snapshot().first[source.entry.name] : undefined
  return source.entry.model === undefined ? (ours ?? knownModels(source)) : [source.entry.model]
}

export const mostOfOne = 3
/** The models to choose from where nobody has chosen one: a few of each provider that can be asked, by their ids. */
export const modelChoices = (kernel: Kernel, env: Env): Model[] =>
  askable(providerSources(kernel, env).all, env).flatMap((source) =>
    firstModels(source)
      .slice(0, mostOfOne)
      .map((name) => buildModel(source, name)),
  )

/** An entry of a workspace as the question about it shows it. */
export function providerShown(entry: ProviderEntry): string {
  const variables = variablesOf(entry)
  const models = knownModels({ entry, builtin: false })
  const key = entry.auth?.command
    ? 'a command finds the key'
    : variables.length > 0
      ? `the key is in ${variables.join(', ')}`
      : 'without a key'
  return `Provider ${entry.name}: your prompts and code would be sent to ${originOf(entry) || '(no address)'}; ${key}; models: ${models.join(', ') || 'none named'}.`
}

/** The models that are known without asking anybody. */
export function knownModels({
  entry: { name, model, models = [], profiles = {} },
  builtin,
}: Pick<ProviderSource, 'entry' | 'builtin'>): string[] {
  const known = builtin
    ? Object.keys(snapshot().models).flatMap((id) => (id.startsWith(`${name}/`) ? [id.slice(name.length + 1)] : []))
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
