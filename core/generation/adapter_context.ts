import {
  toDiagnostic,
  type Contribution,
  type ContributionInfo,
  type Diagnostic,
  type Effect,
  type Settings,
  type Timeouts,
} from '../shapes/index.js'
import { pickSettings, resolveDataFolder, findModulePath, resolveOptions } from '../system/index.js'
import { findAdapter, listEffects, type Registry } from '../registry/index.js'
import type { AdapterContext, OnFault } from '../contract/index.js'

/** Work that an adapter deferred until it is needed. */
export interface DeferredWork {
  work: () => Promise<void>
  quick: boolean
}
export interface AdapterContextSources {
  settings: Settings
  workspace: string
  home: string
  inspecting: boolean
  /** Collects the deferred work of adapters; absent if they may not defer. */
  later: DeferredWork[] | undefined
  env: Record<string, string | undefined>
  waits: Timeouts
  report: OnFault
  renew: () => void
  found: Found
  /** Returns the registry, once the contributions are bound. */
  registry: () => Registry
  log: (level: string, message: string) => void
}

/** The found contributions of a generation, of which adapters disable some. */
interface Found {
  contributions: Contribution[]
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
}

/** Creates the contexts of the adapters of one generation. */
export function createAdapterContexts(sources: AdapterContextSources): {
  of(adapter: Contribution): AdapterContext
  end(): Promise<void>
} {
  const { settings, workspace, home, inspecting, later, env, waits, report, renew, found, registry, log } = sources
  const endings = new Set<() => void | Promise<void>>()
  let ended = false
  const shared: Omit<AdapterContext, 'settings' | 'log'> = {
    workspace,
    home,
    inspecting,
    ...(later && { deferWork: (work: () => Promise<void>, quick = false) => void later.push({ work, quick }) }),
    env,
    timeouts: waits,
    report,
    excludeContribution: (...of) => deactivate(found, ...of),
    addDiagnostic: ({ file }, error) => found.diagnostics.push({ ...toDiagnostic(error, file), severity: 'warning' }),
    quarantine: (...of) => quarantine(registry(), found.contributions, ...of),
    listEffects: (one) => listOwnEffects(registry(), one),
    dataFolder: (contribution: Contribution) => resolveDataFolder(contribution, home, workspace),
    resolveOptions: (contribution: Contribution) => resolveOptions(settings, contribution),
    onEnd: (run: () => void | Promise<void>) => (ended ? void run() : void endings.add(run)),
    requestReload: () => ended || renew(),
  }
  const made = new Map<Contribution, AdapterContext>()
  const make = (adapter: Contribution): AdapterContext => ({
    ...shared,
    settings: pickSettings(settings, adapter),
    log: (level, message) => log(level, `${adapter.id}: ${message}`),
  })
  return {
    of(adapter) {
      if (!made.has(adapter)) made.set(adapter, make(adapter))
      return made.get(adapter)!
    },
    async end() {
      ended = true
      await Promise.allSettled([...endings].map(async (run) => run()))
      endings.clear()
    },
  }
}

/** Sets the state of every contribution of a quarantined process: the modules of one plugin. */
function quarantine({ infos }: Registry, all: readonly Contribution[], failed: Contribution, reason: string): void {
  const { plugin, layer, manifest } = failed
  const shares =
    plugin === layer || findModulePath(manifest) === undefined
      ? [failed]
      : all.filter((one) => one.plugin === plugin && findModulePath(one.manifest) !== undefined)
  for (const { id } of shares) {
    const info = infos.find((one) => one.id === id)
    if (info) Object.assign(info, { state: 'quarantined', reason })
  }
}

/** Returns whether the code of a contribution is not part of the program: its module, or the adapter of its key. */
export const hasForeignCode = (contribution: Contribution, { adapters }: Pick<Registry, 'adapters'>): boolean =>
  contribution.layer !== 'builtin' &&
  (findModulePath(contribution.manifest) !== undefined || findAdapter(contribution, adapters)?.layer !== 'builtin')

/** Lists the effects of an action and of the slot that it serves; none for a policy or a compactor. */
const listOwnEffects = ({ slots, adapters }: Registry, one: Contribution): Effect[] =>
  one.slot === undefined
    ? []
    : [...new Set([...listEffects(one, adapters), ...(slots.get(one.slot)?.info.effects ?? [])])]

/**
 * Lists the effects of all actions of a plugin together. A loose manifest is a plugin of its own, unless `ofFolder`
 * joins its folder.
 */
export function listRights(
  registry: Registry,
  all: readonly Contribution[],
  { id, plugin, layer, root }: Contribution,
  ofFolder = false,
): Effect[] {
  const own = all.filter(
    (one) =>
      one.slot !== undefined &&
      (plugin !== layer
        ? one.plugin === plugin
        : ofFolder
          ? one.plugin === plugin && one.root === root
          : one.id === id),
  )
  return [...new Set(own.flatMap((one) => listOwnEffects(registry, one)))]
}

function deactivate(found: Found, contribution: Contribution, state: ContributionInfo['state'], error: Error): void {
  const { id, kind, layer, file } = contribution
  found.contributions = found.contributions.filter((other) => other !== contribution)
  found.invalid.push({ id, kind, layer, file, state, reason: error.message })
  const diagnostic = toDiagnostic(error, file)
  // An inactive contribution was disabled by the user, so it is only information; a missing value can be fixed.
  found.diagnostics.push({
    ...diagnostic,
    ...(state === 'inactive' && {
      severity: diagnostic.code === 'VT_MCP_START' ? ('info' as const) : ('warning' as const),
    }),
  })
}
