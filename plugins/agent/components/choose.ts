import type { Kernel, Provider } from '../../../core/contract/index.js'
import { AgentError, messageOf, type AgentProviders, type Component, type GivenComponents } from '../base/index.js'
import { builtinComponents, defers, type ComponentContext } from './builtin.js'
import { contextTable, type RunContext } from './contexts.js'

/** The name of a component, and who chose it. */
export interface ChosenComponent {
  name: string
  by: string
}
export type Choices = Readonly<Record<Component, ChosenComponent>>
export const componentNames = Object.keys(builtinComponents) as Component[]

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

const wrong = (problem: string, hint?: string) =>
  new AgentError('VT_CONFIG_INVALID', problem, hint === undefined ? {} : { hint })
const list = (names: readonly string[]): string => [...names].sort().join(', ')

/** Names for every component: the caller's, those of `agent.providers` in the user's settings, those of the context. Throws VT_CONFIG_INVALID for what does not exist. */
export function componentChoices(kernel: Kernel, runContext: RunContext, chosen: GivenComponents = {}): Choices {
  const settings = kernel.settings.agent.providers
  for (const [whose, names] of [
    ['', chosen],
    ['agent.providers.', settings],
  ] as const) {
    const strange = Object.keys(names).find((name) => !componentNames.includes(name as Component))
    if (strange !== undefined)
      throw wrong(`${whose}${strange}: unknown component '${strange}'; known: ${list(componentNames)}.`)
  }
  const choices = componentNames.map((component): [Component, ChosenComponent] => {
    const choice = chosen[component]
    if (choice !== undefined)
      return [
        component,
        { name: typeof choice === 'string' ? known(kernel, component, choice, 'The caller') : '(given)', by: 'caller' },
      ]
    const configured = settings[component]
    if (configured === undefined && runContext === 'exec' && component === 'approval' && defers(kernel))
      return [component, { name: 'file', by: 'agent.harness.async_approval' }]
    if (configured === undefined)
      return [component, { name: contextTable[runContext][component], by: `context ${runContext}` }]
    const by = configuredIn(kernel, component)
    return [component, { name: known(kernel, component, configured, by), by }]
  })
  return Object.freeze(Object.fromEntries(choices)) as Choices
}

/** The place in the settings that says it. */
function configuredIn(kernel: Kernel, component: Component): string {
  const path = `agent.providers.${component}`
  const origin = kernel.inspection.origins().find((one) => one.path === path)
  return `${path}${origin ? ` in ${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}` : ''}`
}

function known(kernel: Kernel, component: Component, name: string, by: string): string {
  const names = [
    ...Object.keys(builtinComponents[component]),
    ...registered(kernel, component).map((provider) => provider.name),
  ]
  if (names.includes(name)) return name
  throw wrong(
    `${by}: unknown ${component} '${name}'; known: ${list(names)}.`,
    `Name one of these, or leave agent.providers.${component} out.`,
  )
}

/** What modules bring for a component. A workspace brings none: whoever names one in their settings means their own. */
const registered = (kernel: Kernel, component: Component): Provider[] =>
  kernel.inspection
    .providers()
    .filter(({ contribution: { manifest, layer } }) => manifest.component === component && layer !== 'workspace')

/**
 * The components of a context: chosen once, frozen. Throws VT_CONFIG_INVALID for a name or a component that does not exist and for a record that
 * would agree to everything outside a sandbox, VT_PROVIDER_MODULE.
 */
export async function chooseComponents(
  context: ComponentContext,
  runContext: RunContext = 'exec',
  chosen: GivenComponents = {},
): Promise<AgentProviders> {
  const choices = componentChoices(context.kernel, runContext, chosen)
  await checkAgreement(choices, context.kernel)
  const entries = await Promise.all(
    componentNames.map(async (component) => {
      const choice = chosen[component]
      if (choice !== undefined && typeof choice !== 'string') return [component, choice] as const
      const make = (kernel: Kernel) =>
        makeComponent({ ...context, kernel }, component, choices[component].name, contextTable[runContext][component])
      const entry = await make(context.kernel)
      makers.set(entry, make)
      return [component, entry] as const
    }),
  )
  return Object.freeze({ ...(Object.fromEntries(entries) as unknown as Omit<AgentProviders, 'env'>), env: context.env })
}

/** How each component was made that nobody gave. */
const makers = new WeakMap<object, (kernel: Kernel) => Promise<object>>()

/** Components through which calls go, by what they do. */
const ofKernel = componentNames.filter((component) =>
  methods[component].some((method) => method === 'run' || method === 'describe'),
)

/** The same components for work on a copy of the files: those through which calls go are made for its kernel. Throws VT_AGENT_NO_WORKTREE for one that a caller gave. */
export async function componentsFor(providers: AgentProviders, kernel: Kernel): Promise<AgentProviders> {
  const moved = await Promise.all(
    ofKernel.map(async (component) => {
      const make = makers.get(providers[component])
      const message = `The component '${component}' was given by the caller and works on the files of the conversation only.`
      if (!make)
        throw new AgentError('VT_AGENT_NO_WORKTREE', message, {
          hint: 'Name write_paths instead, or do the work yourself.',
        })
      return [component, await make(kernel)] as const
    }),
  )
  return Object.freeze({ ...providers, ...Object.fromEntries(moved) })
}

/** Nobody looks at what is agreed to unseen: there must be a sandbox, and it must hold. */
async function checkAgreement({ approval, sandbox: confinement }: Choices, { workspace }: Kernel): Promise<void> {
  if (approval.name !== 'approve_all') return
  if (confinement.name !== 'strict') {
    const needs = `agrees to everything and needs the sandbox strict; it is ${confinement.name} (${confinement.by}).`
    throw wrong(
      `The approval approve_all (${approval.by}) ${needs}`,
      'Set agent.providers.sandbox: strict, or choose another approval.',
    )
  }
  const { findSandbox } = await import('../../lib/sandbox/index.js')
  const found = await findSandbox(workspace)
  if ('missing' in found)
    throw wrong(
      `The approval approve_all (${approval.by}) needs a sandbox, and ${found.missing}.`,
      'Install bubblewrap; `vtcode doctor` says whether it holds.',
    )
}

async function makeComponent(
  host: ComponentContext,
  component: Component,
  name: string,
  otherwise: string,
): Promise<object> {
  const own = builtinComponents[component]
  if (Object.hasOwn(own, name)) return Object.freeze(own[name]!(host))
  const provider = registered(host.kernel, component).find((one) => one.name === name)!
  const fault = (why: string) =>
    new AgentError(
      'VT_PROVIDER_MODULE',
      `The module of the ${component} '${name}' (${provider.contribution.file}) ${why}`,
    )
  const main = await provider
    .load()
    .catch((error: unknown) => Promise.reject(fault(`cannot be loaded: ${messageOf(error)}`)))
  // It may stand on what would be there without it.
  const context = { name, home: host.kernel.inspection.home, inner: Object.freeze(own[otherwise]!(host)) }
  const entry = await Promise.resolve()
    .then(() => main(provider.options, context))
    .catch((error: unknown) => Promise.reject(fault(`fails: ${messageOf(error)}`)))
  if (!fits(component, entry))
    throw fault(
      `makes no ${component}${methods[component].length > 0 ? `, which has ${methods[component].join(' and ')}` : ''}.`,
    )
  return entry
}

function fits(component: Component, entry: unknown): entry is object {
  if (component === 'fetch') return typeof entry === 'function'
  return (
    typeof entry === 'object' &&
    entry !== null &&
    methods[component].every((method) => typeof (entry as Record<string, unknown>)[method] === 'function')
  )
}
