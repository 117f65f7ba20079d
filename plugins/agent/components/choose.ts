import type { Kernel, Provider } from '../../../core/contract/index.js'
import { AgentError, toErrorMessage, type AgentProviders, type Component, type GivenComponents } from '../base/index.js'
import { builtinComponents, hasDeferredApproval, type ComponentContext } from './builtin.js'
import { contextTable, type RunContext } from './run_context.js'

/** The name of a component, and the origin of the choice. */
export interface ChosenComponent {
  name: string
  by: string
}
export type Choices = Readonly<Record<Component, ChosenComponent>>
export const componentNames = Object.keys(builtinComponents) as Component[]

// The required methods of each component; `fetch` is a function itself.
const REQUIRED_METHODS: Record<Component, readonly string[]> = {
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

const createConfigError = (problem: string, hint?: string) =>
  new AgentError('VT_CONFIG_INVALID', problem, hint === undefined ? {} : { hint })
const formatNames = (names: readonly string[]): string => [...names].sort().join(', ')

/**
 * Resolves the name of every component: from the caller, else `agent.providers` of the user's settings, else the run
 * context. Throws VT_CONFIG_INVALID for an unknown name.
 */
export function resolveChoices(kernel: Kernel, runContext: RunContext, chosen: GivenComponents = {}): Choices {
  const settings = kernel.settings.agent.providers
  for (const [whose, names] of [
    ['', chosen],
    ['agent.providers.', settings],
  ] as const) {
    const unknownName = Object.keys(names).find((name) => !componentNames.includes(name as Component))
    if (unknownName !== undefined)
      throw createConfigError(
        `${whose}${unknownName}: unknown component '${unknownName}'; known: ${formatNames(componentNames)}.`,
      )
  }
  const choices = componentNames.map((component): [Component, ChosenComponent] => {
    const choice = chosen[component]
    if (choice !== undefined)
      return [
        component,
        {
          name: typeof choice === 'string' ? requireKnown(kernel, component, choice, 'The caller') : '(given)',
          by: 'caller',
        },
      ]
    const configured = settings[component]
    if (configured === undefined && runContext === 'exec' && component === 'approval' && hasDeferredApproval(kernel))
      return [component, { name: 'file', by: 'agent.harness.async_approval' }]
    if (configured === undefined)
      return [component, { name: contextTable[runContext][component], by: `context ${runContext}` }]
    const by = describeOrigin(kernel, component)
    return [component, { name: requireKnown(kernel, component, configured, by), by }]
  })
  return Object.freeze(Object.fromEntries(choices)) as Choices
}

/** Describes the line of the settings that chooses a component. */
function describeOrigin(kernel: Kernel, component: Component): string {
  const path = `agent.providers.${component}`
  const origin = kernel.inspection.origins().find((one) => one.path === path)
  return `${path}${origin ? ` in ${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}` : ''}`
}

function requireKnown(kernel: Kernel, component: Component, name: string, by: string): string {
  const names = [
    ...Object.keys(builtinComponents[component]),
    ...listRegistered(kernel, component).map((provider) => provider.name),
  ]
  if (names.includes(name)) return name
  throw createConfigError(
    `${by}: unknown ${component} '${name}'; known: ${formatNames(names)}.`,
    `Use one of these names, or remove agent.providers.${component}.`,
  )
}

/** Lists the providers of modules for a component. Modules of a workspace are ignored. */
const listRegistered = (kernel: Kernel, component: Component): Provider[] =>
  kernel.inspection
    .providers()
    .filter(({ contribution: { manifest, layer } }) => manifest.component === component && layer !== 'workspace')

/**
 * Creates the components of a run context, frozen. Throws VT_PROVIDER_MODULE, and VT_CONFIG_INVALID for an unknown
 * name or component and for `approve_all` without a strict sandbox.
 */
export async function chooseComponents(
  context: ComponentContext,
  runContext: RunContext = 'exec',
  chosen: GivenComponents = {},
): Promise<AgentProviders> {
  const choices = resolveChoices(context.kernel, runContext, chosen)
  await checkApproveAll(choices, context.kernel)
  const entries = await Promise.all(
    componentNames.map(async (component) => {
      const choice = chosen[component]
      if (choice !== undefined && typeof choice !== 'string') return [component, choice] as const
      const make = (kernel: Kernel) =>
        makeComponent({ ...context, kernel }, component, choices[component].name, contextTable[runContext][component])
      const entry = await make(context.kernel)
      FACTORIES.set(entry, make)
      return [component, entry] as const
    }),
  )
  return Object.freeze({ ...(Object.fromEntries(entries) as unknown as Omit<AgentProviders, 'env'>), env: context.env })
}

/** The factory of each component that the caller did not provide. */
const FACTORIES = new WeakMap<object, (kernel: Kernel) => Promise<object>>()

/** Components that handle calls. */
const KERNEL_COMPONENTS = componentNames.filter((component) =>
  REQUIRED_METHODS[component].some((method) => method === 'run' || method === 'describe'),
)

/**
 * Returns components for a copy of the files: components that handle calls are created again for its kernel. Throws
 * VT_AGENT_NO_WORKTREE for a component of the caller.
 */
export async function rebindComponents(providers: AgentProviders, kernel: Kernel): Promise<AgentProviders> {
  const moved = await Promise.all(
    KERNEL_COMPONENTS.map(async (component) => {
      const make = FACTORIES.get(providers[component])
      const message =
        `The component '${component}' comes from the caller ` + 'and works on the files of the conversation only.'
      if (!make)
        throw new AgentError('VT_AGENT_NO_WORKTREE', message, {
          hint: 'Use write_paths instead, or do the work yourself.',
        })
      return [component, await make(kernel)] as const
    }),
  )
  return Object.freeze({ ...providers, ...Object.fromEntries(moved) })
}

/** Throws if `approve_all` is chosen without a strict sandbox that works on this machine. */
async function checkApproveAll({ approval, sandbox: confinement }: Choices, { workspace }: Kernel): Promise<void> {
  if (approval.name !== 'approve_all') return
  if (confinement.name !== 'strict') {
    const needs = `approves every call and needs the sandbox strict; it is ${confinement.name} (${confinement.by}).`
    throw createConfigError(
      `The approval approve_all (${approval.by}) ${needs}`,
      'Set agent.providers.sandbox: strict, or choose another approval.',
    )
  }
  const { findSandbox } = await import('../../lib/sandbox/index.js')
  const found = await findSandbox(workspace)
  if ('missing' in found)
    throw createConfigError(
      `The approval approve_all (${approval.by}) needs a sandbox, and ${found.missing}.`,
      'Install bubblewrap; `vtcode doctor` checks whether it works.',
    )
}

async function makeComponent(
  host: ComponentContext,
  component: Component,
  name: string,
  fallback: string,
): Promise<object> {
  const own = builtinComponents[component]
  if (Object.hasOwn(own, name)) return Object.freeze(own[name]!(host))
  const provider = listRegistered(host.kernel, component).find((one) => one.name === name)!
  const fault = (why: string) =>
    new AgentError(
      'VT_PROVIDER_MODULE',
      `The module of the ${component} '${name}' (${provider.contribution.file}) ${why}`,
    )
  const main = await provider
    .load()
    .catch((error: unknown) => Promise.reject(fault(`cannot be loaded: ${toErrorMessage(error)}`)))
  // A component may wrap the default component.
  const context = { name, home: host.kernel.inspection.home, inner: Object.freeze(own[fallback]!(host)) }
  const entry = await Promise.resolve()
    .then(() => main(provider.options, context))
    .catch((error: unknown) => Promise.reject(fault(`fails: ${toErrorMessage(error)}`)))
  const required = REQUIRED_METHODS[component]
  if (!isComponentEntry(component, entry))
    throw fault(`returns no ${component}${required.length > 0 ? `, which needs ${required.join(' and ')}` : ''}.`)
  return entry
}

function isComponentEntry(component: Component, entry: unknown): entry is object {
  if (component === 'fetch') return typeof entry === 'function'
  return (
    typeof entry === 'object' &&
    entry !== null &&
    REQUIRED_METHODS[component].every((method) => typeof (entry as Record<string, unknown>)[method] === 'function')
  )
}
