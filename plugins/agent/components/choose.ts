import { homeOf } from '../../../core/config/index.js'
import type { Kernel, Provider } from '../../../core/kernel/index.js'
import { AgentError, messageOf, type AgentProviders, type Component, type Given } from '../base/index.js'
import { defers, named, type Means } from './builtin.js'
import { table, type Place } from './contexts.js'

/** One entry of the dictionary, and whose word it is. */
export interface Chosen {
  name: string
  by: string
}
export type Choices = Readonly<Record<Component, Chosen>>
export const components = Object.keys(named) as Component[]

// What an entry of each component must have; `fetch` is a function itself.
const methods: Record<Component, readonly string[]> = {
  approval: [],
  sandbox: ['choose'],
  execute: ['run'],
  metadata: ['describe'],
  session: ['open'],
  output_map: ['toModel'],
  logging: ['open'],
  cache: ['get', 'put'],
  retry: ['next'],
  clock: ['now', 'sleep'],
  random: ['next'],
  fetch: [],
  notify: ['show'],
}

const wrong = (problem: string, hint?: string) => new AgentError('VT_CONFIG_INVALID', problem, hint === undefined ? {} : { hint })
const list = (names: readonly string[]): string => [...names].sort().join(', ')

/** Names for every component: the caller's, those of `agent.providers` in the user's settings, those of the place. Throws VT_CONFIG_INVALID for what does not exist. */
export function choicesOf(kernel: Kernel, place: Place, given: Given = {}): Choices {
  const settings = (kernel.settings['agent'] as { providers: Partial<Record<Component, string>> }).providers
  for (const [whose, said] of [['', given], ['agent.providers.', settings]] as const) {
    const strange = Object.keys(said).find((name) => !components.includes(name as Component))
    if (strange !== undefined) throw wrong(`${whose}${strange}: there is no component '${strange}'; known: ${list(components)}.`)
  }
  const choices = components.map((component): [Component, Chosen] => {
    const asked = given[component]
    if (asked !== undefined) return [component, { name: typeof asked === 'string' ? known(kernel, component, asked, 'The caller') : '(given)', by: 'caller' }]
    const said = settings[component]
    if (said === undefined && place === 'exec' && component === 'approval' && defers(kernel)) return [component, { name: 'file', by: 'agent.harness.async_approval' }]
    if (said === undefined) return [component, { name: table[place][component], by: `context ${place}` }]
    const by = said_by(kernel, component)
    return [component, { name: known(kernel, component, said, by), by }]
  })
  return Object.freeze(Object.fromEntries(choices)) as Choices
}

/** The place in the settings that says it. */
function said_by(kernel: Kernel, component: Component): string {
  const path = `agent.providers.${component}`
  const origin = kernel.origins().find((one) => one.path === path)
  return `${path}${origin ? ` in ${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}` : ''}`
}

function known(kernel: Kernel, component: Component, name: string, by: string): string {
  const names = [...Object.keys(named[component]), ...registered(kernel, component).map((provider) => provider.name)]
  if (names.includes(name)) return name
  throw wrong(`${by}: there is no ${component} '${name}'; known: ${list(names)}.`, `Name one of these, or leave agent.providers.${component} out.`)
}

/** What modules bring for a component. A workspace brings none: whoever names one in their settings means their own. */
const registered = (kernel: Kernel, component: Component): Provider[] =>
  kernel.providers().filter(({ contribution: { manifest, layer } }) => manifest.component === component && layer !== 'workspace')

/**
 * The record for a place: chosen once, frozen. Throws VT_CONFIG_INVALID for a name or a component that does not exist and for a record that
 * would agree to everything outside a sandbox, VT_PROVIDER_MODULE.
 */
export async function dictionary(means: Means, place: Place = 'exec', given: Given = {}): Promise<AgentProviders> {
  const choices = choicesOf(means.kernel, place, given)
  await checkAgreement(choices)
  const entries = await Promise.all(
    components.map(async (component) => {
      const asked = given[component]
      return [component, asked !== undefined && typeof asked !== 'string' ? asked : await made(means, component, choices[component].name, table[place][component])] as const
    }),
  )
  return Object.freeze({ ...(Object.fromEntries(entries) as unknown as Omit<AgentProviders, 'env'>), env: means.env })
}

/** Nobody looks at what is agreed to unseen: there must be a sandbox, and it must hold. */
async function checkAgreement({ approval, sandbox: confinement }: Choices): Promise<void> {
  if (approval.name !== 'approve_all') return
  if (confinement.name !== 'strict') {
    const needs = `agrees to everything and needs the sandbox strict; it is ${confinement.name} (${confinement.by}).`
    throw wrong(`The approval approve_all (${approval.by}) ${needs}`, 'Set agent.providers.sandbox: strict, or choose another approval.')
  }
  const { sandbox } = await import('../../lib/process/index.js')
  const found = await sandbox()
  if ('missing' in found) throw wrong(`The approval approve_all (${approval.by}) needs a sandbox, and ${found.missing}.`, 'Install bubblewrap; `vtcode doctor` says whether it holds.')
}

async function made(means: Means, component: Component, name: string, otherwise: string): Promise<unknown> {
  const own = named[component]
  if (Object.hasOwn(own, name)) return Object.freeze(own[name]!(means))
  const provider = registered(means.kernel, component).find((one) => one.name === name)!
  const fault = (why: string) => new AgentError('VT_PROVIDER_MODULE', `The module of the ${component} '${name}' (${provider.contribution.file}) ${why}`)
  const main = await provider.load().catch((error: unknown) => Promise.reject(fault(`cannot be loaded: ${messageOf(error)}`)))
  // It may stand on what would be there without it.
  const context = { name, home: homeOf({ env: means.env }), inner: Object.freeze(own[otherwise]!(means)) }
  const entry = await Promise.resolve()
    .then(() => main(provider.options, context))
    .catch((error: unknown) => Promise.reject(fault(`fails: ${messageOf(error)}`)))
  if (!fits(component, entry)) throw fault(`makes no ${component}${methods[component].length > 0 ? `, which has ${methods[component].join(' and ')}` : ''}.`)
  return entry
}

function fits(component: Component, entry: unknown): boolean {
  if (component === 'fetch') return typeof entry === 'function'
  return typeof entry === 'object' && entry !== null && methods[component].every((method) => typeof (entry as Record<string, unknown>)[method] === 'function')
}
