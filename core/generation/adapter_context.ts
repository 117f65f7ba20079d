import {
  fromError,
  type Contribution,
  type ContributionInfo,
  type Diagnostic,
  type Effect,
  type Settings,
  type Waits,
} from '../shapes/index.js'
import { blocksOf, dataFolder, moduleOf, optionsOf } from '../system/index.js'
import { effectsOf, type Registry } from '../registry/index.js'
import type { AdapterContext, OnFault } from '../contract/index.js'

/** What an adapter left to be done when it is needed. */
export interface Later {
  work: () => Promise<void>
  quick: boolean
}
export interface AdapterContextSources {
  settings: Settings
  workspace: string
  home: string
  inspecting: boolean
  /** Where what adapters leave for later is kept; absent where they leave nothing. */
  later: Later[] | undefined
  env: Record<string, string | undefined>
  waits: Waits
  report: OnFault
  renew: () => void
  found: Found
  /** The state of the contribution, once it is bound. */
  registry: () => Registry
  log: (level: string, message: string) => void
}

/** The found contributions of a generation, of which adapters disable some. */
interface Found {
  contributions: Contribution[]
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
}

/** The contexts of the adapters of one generation, and the end of the generation. */
export function adapterContextsOf(sources: AdapterContextSources): {
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
    ...(later && { later: (work: () => Promise<void>, quick = false) => void later.push({ work, quick }) }),
    env,
    waits,
    report,
    refuse: (...of) => setAside(found, ...of),
    remark: ({ file }, error) => found.diagnostics.push({ ...fromError(error, file), severity: 'warning' }),
    quarantine: (...of) => quarantined(registry(), found.contributions, ...of),
    rightsOf: (one) => rightsOf(registry(), found.contributions, one),
    dataOf: (contribution: Contribution) => dataFolder(contribution, home, workspace),
    optionsOf: (contribution: Contribution) => optionsOf(settings, contribution),
    onEnd: (run: () => void | Promise<void>) => (ended ? void run() : void endings.add(run)),
    renew: () => ended || renew(),
  }
  const made = new Map<Contribution, AdapterContext>()
  const make = (adapter: Contribution): AdapterContext => ({
    ...shared,
    settings: blocksOf(settings, adapter),
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
function quarantined({ infos }: Registry, all: readonly Contribution[], failed: Contribution, reason: string): void {
  const { plugin, layer, manifest } = failed
  const shares =
    plugin === layer || moduleOf(manifest) === undefined
      ? [failed]
      : all.filter((one) => one.plugin === plugin && moduleOf(one.manifest) !== undefined)
  for (const { id } of shares) {
    const info = infos.find((one) => one.id === id)
    if (info) Object.assign(info, { state: 'quarantined', reason })
  }
}

/** A plugin is one process, so it has the rights of all its actions together; a loose manifest is a plugin of its own, unless its folder is meant. */
export function rightsOf(
  { slots, adapters }: Registry,
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
  return [
    ...new Set(own.flatMap((one) => [...effectsOf(one, adapters), ...(slots.get(one.slot!)?.info.effects ?? [])])),
  ]
}

function setAside(found: Found, contribution: Contribution, state: ContributionInfo['state'], error: Error): void {
  const { id, kind, layer, file } = contribution
  found.contributions = found.contributions.filter((other) => other !== contribution)
  found.invalid.push({ id, kind, layer, file, state, reason: error.message })
  const diagnostic = fromError(error, file)
  // The user switched the contribution off, so there is nothing to fix; a missing value can be fixed.
  found.diagnostics.push({
    ...diagnostic,
    ...(state === 'inactive' && {
      severity: diagnostic.code === 'VT_MCP_START' ? ('info' as const) : ('warning' as const),
    }),
  })
}
