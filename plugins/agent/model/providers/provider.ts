import { problem, type Contribution, type JsonObject } from '../../../../core/base/index.js'
import { homeOf } from '../../../../core/config/index.js'
import type { Kernel, Provider } from '../../../../core/kernel/index.js'
import { expandVariables } from '../../../lib/values/index.js'
import { AgentError, messageOf } from '../../base/index.js'
import { addressFault, entryFault, reserved, type ProviderEntry, type ProviderSource } from './entry.js'
import { buildModel, snapshot, type Model } from './facts.js'

export type Env = Readonly<Record<string, string | undefined>>
/** Every provider that can be named, the user's own first; `faults` say which manifests cannot be used, and why. */
export interface ProviderSources {
  all: ProviderSource[]
  faults: string[]
}

/** What settings and manifests say. Throws VT_CONFIG_INVALID, VT_CONFIG_ENV with the file and the key. */
export function providerSources(kernel: Kernel, env: Env): ProviderSources {
  const custom = ((kernel.settings['custom_providers'] ?? []) as ProviderEntry[]).map((entry, index) => fromSettings(kernel, env, entry, index))
  const all = [...custom]
  const faults: string[] = []
  const ours = kernel.providers().filter(({ contribution }) => contribution.layer === 'builtin').map(({ name }) => name)
  const keys = new Map([...custom, ...kernel.providers().filter(({ contribution }) => contribution.layer === 'builtin').map((one) => builtIn(kernel, env, one))].map(({ entry }) => [keyVariable(entry), originOf(entry)]))
  const strange = Object.keys(kernel.settings['providers'] as object).find((name) => !ours.includes(name))
  if (strange !== undefined) throw problem('VT_CONFIG_INVALID', { problem: `providers.${strange}: there is no built-in provider of this name; known: ${ours.join(', ')}. Others stand under custom_providers.` })
  // A module that supplies a component of the agent is no model provider.
  for (const provider of kernel.providers().filter(({ contribution }) => contribution.manifest.component === undefined)) {
    try {
      const source = provider.contribution.layer === 'builtin' ? builtIn(kernel, env, provider) : fromManifest(kernel, env, provider)
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
  const origin = kernel.origins().find(({ path }) => path === `custom_providers.${index}`) ?? kernel.origins().find(({ path }) => path === 'custom_providers')
  // To find the line, the file is parsed: only done for an error.
  const place = () => `${origin ? `${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}: ` : ''}custom_providers[${index}] (${declared.name})`
  const from = sayer(kernel, `custom_providers:${declared.name}`, declared.name, origin?.file)
  const entry = expanded(kernel, env, declared, from, place)
  const wrong = reserved.has(entry.name) ? `name '${entry.name}' is reserved; choose another.` : entryFault(entry)
  if (wrong !== undefined) throw problem('VT_CONFIG_INVALID', { problem: `${place()}: ${wrong}` })
  return { entry, from, options: {}, builtin: false }
}

function fromManifest(kernel: Kernel, env: Env, { name, contribution, options, load }: Provider): ProviderSource {
  if (reserved.has(name)) throw new Error(`name '${name}' is reserved; choose another.`)
  const declared = contribution.manifest.provider as ProviderEntry | undefined
  if (!declared) return { entry: { name, api_format: 'module' }, from: contribution, options, builtin: false, load }
  const entry = contribution.layer === 'workspace' ? declared : expanded(kernel, env, declared, contribution, () => name)
  const wrong = entryFault(entry)
  if (wrong !== undefined) throw new Error(wrong)
  return { entry, from: contribution, options, builtin: false }
}

/** What a manifest says is no word of the user about their keys: one that is for another origin is not sent to its own. */
function requireOwnKeys({ entry, from, load }: ProviderSource, keys: ReadonlyMap<string | undefined, string>): void {
  const said = JSON.stringify(from.manifest.provider ?? {}).matchAll(/"env":"(\w+)"|\$\{?(\w+)/g)
  const named = [...said].flatMap(([, reference, variable]) => reference ?? variable ?? [])
  for (const variable of [...named, entry.auth || load ? undefined : keyVariable(entry)]) {
    const owner = variable === undefined ? undefined : keys.get(variable)
    if (owner !== undefined && owner !== originOf(entry)) throw new Error(`${variable} holds the key for ${owner}, which is not sent to ${originOf(entry)}.`)
  }
}

const originOf = ({ base_url, package: name = '' }: ProviderEntry): string => (base_url !== undefined && URL.canParse(base_url) ? new URL(base_url).origin : name)

/** One of ours, as the settings and, for its address, the environment have it. */
function builtIn(kernel: Kernel, env: Env, { name, contribution, options }: Provider): ProviderSource {
  const declared = contribution.manifest.provider as unknown as ProviderEntry
  const changes = (kernel.settings['providers'] as Record<string, Partial<ProviderEntry>>)[name]
  const variable = `${variableName(name)}_BASE_URL`
  const elsewhere = env[variable]
  const base_url = elsewhere || changes?.base_url || declared.base_url!
  const wrong = addressFault(base_url)
  if (wrong) throw problem('VT_CONFIG_INVALID', { problem: `${elsewhere ? variable : `providers.${name}`}: ${wrong}` })
  return { entry: { ...declared, ...changes, base_url }, from: contribution, options, builtin: true }
}

/** The settings as somebody who says things. */
export function sayer(kernel: Kernel, id: string, name: string, file: string | undefined): Contribution {
  return { id, name, plugin: 'user', kind: 'provider', layer: 'user', file: file ?? homeOf({}), root: kernel.workspace, manifest: {} }
}

function expanded(kernel: Kernel, env: Env, entry: ProviderEntry, contribution: Contribution, place: () => string): ProviderEntry {
  const adapterContext = { settings: kernel.settings, env, workspace: kernel.workspace, optionsOf: () => ({}) }
  const text = (value: string, field: string) => expandVariables(value, { adapterContext, contribution, get field() { return `${place()}: ${field}` } })
  const headers = Object.entries(entry.headers ?? {}).map(([name, value]) => [name, typeof value === 'string' ? text(value, `headers.${name}`) : value])
  return { ...entry, ...(entry.base_url !== undefined && { base_url: text(entry.base_url, 'base_url') }), ...(entry.headers && { headers: Object.fromEntries(headers) as JsonObject }) }
}

const variableName = (name: string): string => name.toUpperCase().replace(/-/g, '_')
/** The variable that holds the key of an entry; `undefined` for one that needs none. */
export const keyVariable = ({ name, api_key_env }: ProviderEntry): string | undefined => (api_key_env === 'none' ? undefined : (api_key_env ?? `${variableName(name)}_API_KEY`))

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
  const { all } = providerSources(kernel, env)
  const ready = all.filter((source) => isReady(source, env) && (!source.builtin || keyVariable(source.entry) !== undefined))
  if (!id) return onlyModel(ready)
  const [provider = '', ...rest] = id.split('/')
  const source = all.find(({ entry }) => entry.name === provider)
  // A model's own name may hold a slash, as those of OpenRouter do.
  const owners = source ? [] : ready.filter((one) => knownModels(one).includes(id))
  if (owners.length === 1) return buildModel(owners[0]!, id)
  if (owners.length > 1) throw new AgentError('VT_LLM_NO_MODEL', `Several providers have '${id}'.`, { hint: `Say which: ${owners.map(({ entry }) => `--model ${entry.name}/${id}`).join(', ')}` })
  if (!source) throw new AgentError('VT_LLM_NO_MODEL', `There is no provider '${provider}' (model '${id}').`, ready.length > 0 ? { hint: choices(ready) } : {})
  const name = rest.join('/') || firstModel(source)
  if (!name) throw new AgentError('VT_LLM_NO_MODEL', `The provider '${provider}' names no model: say ${provider}/<model>.`)
  return buildModel(source, name)
}

/** What is asked where nobody has chosen: the first model of the only provider that can be asked. */
function onlyModel(ready: ProviderSource[]): Model {
  const [source] = ready
  if (!source) throw new AgentError('VT_LLM_NO_MODEL', 'No model is chosen, no provider is configured, and no key of a known one is in the environment.')
  const name = firstModel(source)
  if (ready.length > 1 || !name) throw new AgentError('VT_LLM_NO_MODEL', `No model is chosen. Providers that can be asked: ${ready.map(({ entry }) => entry.name).join(', ')}.`, { hint: choices(ready) })
  return buildModel(source, name)
}

/** What to say, and where to keep it. */
function choices(ready: ProviderSource[]): string {
  const flags = ready.map((source) => `--model ${source.entry.name}/${firstModel(source) ?? '<model>'}`)
  return `Choose one: ${flags.join(', ')}. To keep it: agent.model in ~/.vtcode/vtcode.config.yaml; providers of your own stand there under custom_providers.`
}

/** What an entry names as its model, else the one that we would take, else the first that it lists. */
const firstModel = (source: ProviderSource): string | undefined =>
  source.entry.model ?? (source.builtin ? snapshot().first[source.entry.name] : undefined) ?? knownModels(source)[0]

/** The models that are known without asking anybody. */
export function knownModels({ entry: { name, model, models = [], profiles = {} }, builtin }: ProviderSource): string[] {
  const known = builtin ? Object.keys(snapshot().models).flatMap((id) => (id.startsWith(`${name}/`) ? [id.slice(name.length + 1)] : [])) : []
  return [...new Set([...(model ? [model] : []), ...(Array.isArray(models) ? models : Object.keys(models)), ...Object.keys(profiles), ...known])]
}
