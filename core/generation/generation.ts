import {
  fromError,
  problem,
  report,
  usualWaits,
  type Contribution,
  type Diagnostic,
  type PluginFolder,
  type RightsLeft,
  type Settings,
  type VtError,
  type Waits,
} from '../shapes/index.js'
import { dataFolder, InFlight, moduleOf } from '../system/index.js'
import { redactText } from '../text/index.js'
import {
  builtinModes,
  homeOf,
  loadSettings,
  permittedMode,
  settingsFor,
  settingsLocations,
  type LoadedSettings,
  type Origin,
  type VerbModes,
} from '../config/index.js'
import { sanitize } from '../documents/index.js'
import { limitedBy } from '../input/index.js'
import { configuredContributions, discoverManifests, pluginsOf } from '../manifests/index.js'
import {
  bind,
  isListed,
  isShown,
  policyNames,
  slotsOf,
  toolInfo,
  type Registry,
  type Withheld,
} from '../registry/index.js'
import { skillFinder, skillLocations, type Skill } from '../skills/index.js'
import {
  copyOf,
  inCopy,
  needsConsent,
  openLockVerifier,
  openTrust,
  type LockVerifier,
  type Trust,
} from '../trust/index.js'
import { createHiddenFilter, type OpenWorkspace } from '../workspace/index.js'
import { adapterContextsOf, rightsOf, type Later } from './adapter_context.js'
import { consentItems } from './consent.js'
import type { ContextServices } from './context_services.js'
import { hooksOf, unknownEvents, type HookGroups } from './lifecycle_hooks.js'
import { createLoader, type Loader } from './loader.js'
import type { Adapter, AdapterContext, Host, KernelOptions, OnFault } from '../contract/index.js'

/** One immutable set of settings, slots and modules; a call belongs to exactly one. */
export interface Generation {
  readonly number: number
  readonly settings: Settings
  readonly hooks: HookGroups
  readonly origins: Origin[]
  readonly registry: Registry
  readonly plugins: readonly PluginFolder[]
  readonly loader: Loader
  readonly services: ContextServices
  readonly skills: Host['skills']
  /** The files and folders that the generation was built from. */
  readonly watched: readonly string[]
  readonly lockVerifier: LockVerifier
  /** What adapters left for later. */
  readonly later: Later[]
  /** The calls that belong to the generation. */
  readonly life: InFlight
  /** Its handlers at work, also those of calls that were aborted. */
  readonly handling: InFlight
  /** Releases what adapters hold for the generation. Called once, when its last call has ended. */
  end(): Promise<void>
}

export interface GenerationSources {
  options: KernelOptions
  workspace: OpenWorkspace
  report: OnFault
  diagnostics: () => Diagnostic[]
  changed: (uri: string) => void
  /** Aborts when nobody waits for a generation any more: what is being started for it is given up. */
  stopping: AbortSignal
  /** What is left of the rights of every call. */
  only: readonly RightsLeft[] | undefined
  /** Requests the next generation. */
  renew: () => void
  bring: Host['bring']
  /** By the generation that a call made now would belong to. */
  resolve: Host['resolve']
}

/** The settings, manifests and locks of a generation, before its contributions are bound. */
interface Preparation {
  readonly sources: GenerationSources
  readonly env: Record<string, string | undefined>
  readonly waits: Waits
  readonly locations: { workspace: string; home: string; user: string }
  readonly trust: Trust
  readonly loaded: LoadedSettings
  readonly found: Found
  /** The surface only inspects the workspace. */
  readonly inspecting: boolean
  /** What adapters leave for later; absent where the surface waits for them. */
  readonly later?: Later[]
  readonly lockVerifier: LockVerifier
  readonly withheld: Map<string, Withheld>
  /** The settings with the limits of policies. */
  readonly settings: Settings
  /** The same settings in the effective mode. */
  readonly effective: Settings
  readonly dataOf: (contribution: Contribution) => string
  readonly log: (level: string, message: string) => void
  /** Present once the contributions are bound. */
  registry?: Registry
}

/** Discovers, checks and binds all contributions anew, with the manifests of loaded skills. Throws VT_CONFIG_* and, where a policy of the user cannot be loaded, VT_RELOAD_REFUSED. */
export async function buildGeneration(
  sources: GenerationSources,
  number: number,
  loadedSkills: readonly Skill[],
): Promise<Generation> {
  const prepared = await prepare(sources, loadedSkills)
  const { locations, trust, loaded, found, lockVerifier, withheld, settings, effective, dataOf, log } = prepared
  const verify = (contribution: Contribution) => verified(prepared, contribution)
  const hooks = await hooksOf(settings, found.contributions, { withheld, verify, dataOf, lockVerifier })
  const adapterContexts = adapterContextsFor(prepared)
  const adapters = new Map<string, Contribution>()
  const loader = createLoader({
    adapters,
    contextFor: adapterContexts.of,
    isolates: isolating(settings),
    limit: settings.plugins.import_timeout_secs * 1000,
    verify,
    report: sources.report,
  })
  let registry: Registry
  const giveUp = () => void adapterContexts.end()
  if (sources.stopping.aborted) giveUp()
  else sources.stopping.addEventListener('abort', giveUp, { once: true })
  try {
    await expand(found, withheld, loader, adapterContexts.of, verify)
    registry = bound(prepared, hooks)
  } catch (error) {
    await adapterContexts.end()
    throw error
  } finally {
    sources.stopping.removeEventListener('abort', giveUp)
  }
  for (const [key, adapter] of registry.adapters) adapters.set(key, adapter)
  const skills = skillFinder({ ...locations, plugins: pluginsOf(found), loaded, trust, lockVerifier })
  const { workspace, changed } = sources
  const isHidden = createHiddenFilter(settings, workspace)
  const filtered = isHidden ? workspace.createFilteredView(isHidden) : workspace
  return {
    number,
    settings: effective,
    hooks,
    get origins() {
      return loaded.origins
    },
    registry,
    plugins: found.plugins,
    watched: [...found.looked, ...settingsLocations(locations), ...skillLocations(locations)],
    lockVerifier,
    loader,
    skills,
    later: prepared.later ?? [],
    life: new InFlight(),
    handling: new InFlight(),
    services: {
      workspace,
      filtered,
      log,
      changed,
      dataOf,
      settings: {
        ...settings,
        hooks: hooks as Settings['hooks'],
      },
      host: hostOf(prepared, registry, skills),
      rightsOf: (one) => rightsOf(registry, found.contributions, one, true),
    },
    end: adapterContexts.end,
  }
}

/** Reads settings, manifests, locks and the user's consents. Throws VT_CONFIG_*, VT_RELOAD_REFUSED. */
async function prepare(sources: GenerationSources, loadedSkills: readonly Skill[]): Promise<Preparation> {
  const { options, workspace } = sources
  const { env = process.env } = options
  const waits = { ...usualWaits, ...options.waits }
  const home = homeOf(options)
  const locations = { workspace: workspace.root, home, user: workspace.user }
  const trust = openTrust({ home, workspace: workspace.root, env })
  const { config, mode, default_mode } = options
  const chosen = {
    ...(config !== undefined && { config }),
    ...(mode !== undefined && { mode }),
    ...(default_mode !== undefined && { default_mode }),
  }
  if (env['VTCODE_TRUST']) trust.accept(await consentItems({ ...locations, ...chosen, env, trust }))
  const load = (modes: VerbModes) =>
    loadSettings({
      ...locations,
      ...modes,
      ...chosen,
      env,
      wait: waits.settings,
      trusted: (id, digest) => trust.isTrusted({ id, digest }),
    })
  const before = await load(builtinModes(options.verb))
  const found = await discoverManifests({ ...locations, env, loaded: before, skills: loadedSkills })
  found.contributions.push(
    ...configuredContributions(
      found.contributions.filter(({ kind }) => kind === 'adapter'),
      before,
      workspace.root,
    ),
  )
  // A workspace may not set this: it could keep servers from a verb that needs them.
  const says = (key: 'inspects' | 'starts_later') =>
    found.contributions.some(
      ({ layer, manifest }) => manifest[key] && manifest.verb === options.surface && layer !== 'workspace',
    )
  const inspecting = says('inspects')
  const lockVerifier = openLockVerifier({ ...locations, whole: inspecting })
  const withheld = withheldOf(found, trust, lockVerifier)
  const surface = found.contributions.find(
    ({ id, kind, manifest }) => kind === 'surface' && manifest.verb === options.verb && !withheld.has(id),
  )
  const loaded =
    surface && surface.layer !== 'builtin' && mode === undefined ? await settingsFor(surface, load) : before
  requirePolicies(found)
  const settings = limitedBy(
    loaded.settings,
    found.contributions.filter(({ id }) => !withheld.has(id)),
  )
  const effective = { ...settings, policy: { ...settings.policy, mode: permittedMode(settings, mode) } }
  const dataOf = (contribution: Contribution) => dataFolder(contribution, home, workspace.root)
  const log: Preparation['log'] = (level, message) => options.log?.(level as 'info', redactText(message))
  return {
    sources,
    env,
    waits,
    locations,
    trust,
    loaded,
    found,
    inspecting,
    ...(says('starts_later') && { later: [] }),
    lockVerifier,
    withheld,
    settings,
    effective,
    dataOf,
    log,
  }
}

/** The contributions that may not run, by id: their files differ from the lock, or the user has not agreed to them. */
function withheldOf({ contributions }: Found, trust: Trust, lockVerifier: LockVerifier): Map<string, Withheld> {
  const withheld = new Map<string, Withheld>()
  const trusted = trust.trusted(contributions.filter(needsConsent))
  for (const contribution of contributions) {
    const { id } = contribution
    const unlocked = lockVerifier.objection(contribution)
    if (unlocked)
      withheld.set(id, {
        state: 'unlocked',
        error: unlocked,
        agreed: lockVerifier.entryOf(contribution.root) !== undefined,
      })
    else if (needsConsent(contribution) && !trusted.has(contribution))
      withheld.set(id, { state: 'untrusted', error: problem('VT_PLUGIN_UNTRUSTED', { id }) })
  }
  return withheld
}

/** A broken policy of the user's own would silently be missing; the absence of a plugin is only reported. Throws VT_RELOAD_REFUSED. */
function requirePolicies({ invalid }: Found): void {
  const broken = invalid.find(
    ({ kind, layer, state }) => kind === 'policy' && layer !== 'workspace' && state === 'invalid',
  )
  if (broken)
    throw problem('VT_RELOAD_REFUSED', {
      reason: `the policy ${broken.id} in ${broken.file} cannot be loaded: ${broken.reason ?? 'invalid'}`,
    })
}

/**
 * Checks that a contribution's present files are those that the user agreed to, and answers with it where its code is loaded from: what was
 * agreed to lies in a copy, what needs no consent lies where it is. Throws VT_PLUGIN_UNTRUSTED, VT_PLUGIN_LOCK, VT_FILE_STALE.
 */
async function verified(
  { trust, lockVerifier, locations: { home } }: Preparation,
  contribution: Contribution,
): Promise<Contribution> {
  const answerable = contribution.bringer ?? contribution
  const item = needsConsent(answerable) ? trust.trusted([answerable]).get(answerable) : undefined
  if (needsConsent(answerable) && !item) throw problem('VT_PLUGIN_UNTRUSTED', { id: contribution.id })
  const locked = lockVerifier.verify(answerable)
  const agreed = item?.agreed ?? locked
  if (!agreed || moduleOf(contribution.manifest) === undefined) return contribution
  const copy = copyOf(home, agreed)
  return {
    ...contribution,
    root: inCopy(copy, agreed, contribution.root),
    file: inCopy(copy, agreed, contribution.file),
  }
}

/** The contexts of adapters. Adapters change the found and bound contributions, so they read the registry at the time of use. */
function adapterContextsFor(prepared: Preparation): ReturnType<typeof adapterContextsOf> {
  const { sources, env, waits, locations, found, settings, inspecting, later, log } = prepared
  const { report, renew } = sources
  return adapterContextsOf({
    ...locations,
    settings,
    inspecting,
    later,
    env,
    waits,
    report,
    renew,
    log,
    found,
    registry: () => prepared.registry!,
  })
}

/** Binds the found contributions and collects all diagnostics. Throws VT_CONFIG_INVALID. */
function bound(prepared: Preparation, hooks: HookGroups): Registry {
  const {
    sources,
    locations: { home },
    trust,
    loaded,
    found,
    lockVerifier,
    withheld,
    settings,
    effective,
  } = prepared
  const { dialects } = sources.options
  const remarks = [
    ...loaded.diagnostics,
    ...(trust.fault ? [fromError(trust.fault, home)] : []),
    ...unacknowledged(settings, effective),
  ]
  const registry = bind({ ...found, diagnostics: [...remarks, ...found.diagnostics], withheld }, effective, dialects)
  for (const { name, error, judges } of lockVerifier.gone()) {
    registry.diagnostics.push(fromError(error, home))
    if (judges) registry.missing.push({ id: name, reason: `${error.message} ${error.problem.hint}`, agreed: true })
  }
  registry.diagnostics.push(...policyNames(settings, registry, sources.options.only), ...unknownEvents(hooks))
  return (prepared.registry = registry)
}

/** The host interface for plugins. */
function hostOf(
  { sources, env, waits, loaded, locations: { home } }: Preparation,
  registry: Registry,
  skills: Host['skills'],
): Host {
  const { diagnostics, bring, resolve } = sources
  return {
    home,
    env,
    waits,
    resolve,
    diagnostics,
    skills,
    bring,
    origins: () => loaded.origins,
    slots: (only = sources.only) =>
      [...registry.slots.values()].filter((slot) => isShown(registry, { only }, slot)).map(({ info }) => info),
    describe: (name) => {
      const tool = registry.tools.get(name)
      return tool && slotsOf(tool).some(isListed) ? toolInfo(tool) : undefined
    },
    contributions: () => registry.infos,
  }
}

/** Foreign modules run in a process of their own; surfaces, adapters and providers never do, other modules where the user's settings say so. */
function isolating({ plugins: { isolate, settings: own } }: Settings): (contribution: Contribution) => boolean {
  return ({ id, plugin, layer, kind, isolate: declared }) => {
    if (layer === 'builtin' || kind === 'surface' || kind === 'adapter' || kind === 'provider' || isolate === 'inline')
      return false
    return isolate === 'process' || (own[id]?.isolate ?? own[plugin]?.isolate ?? declared) !== 'inline'
  }
}

type Found = Awaited<ReturnType<typeof discoverManifests>>

/** How long the description of what an adapter found may be: it is told whole to whoever looks for it, and its beginning is in lists. */
const MOST_FOREIGN = 4_096

/** Adds the tools that expanding adapters, such as the MCP client, find on their servers. */
async function expand(
  found: Found,
  withheld: Map<string, Withheld>,
  { load }: Loader,
  contextFor: (adapter: Contribution) => AdapterContext,
  verify: (contribution: Contribution) => Promise<unknown>,
): Promise<void> {
  const usable = found.contributions.filter(({ id }) => !withheld.has(id))
  for (const adapter of usable.filter(({ kind, manifest }) => kind === 'adapter' && manifest.expands)) {
    const bringing: Contribution[] = []
    for (const one of usable.filter(
      ({ kind, slot, manifest }) => kind === 'action' && slot === undefined && adapter.manifest.key! in manifest,
    )) {
      // A server starts in order to list its tools, so its contribution is verified now.
      await verify(one).then(
        () => bringing.push(one),
        (error: VtError) => withheld.set(one.id, { state: 'unlocked', error }),
      )
    }
    if (bringing.length === 0) continue
    const { expand } = (await load(adapter)) as Adapter
    const expanded = (await expand?.(bringing, contextFor(adapter))) ?? []
    found.contributions.push(...expanded.map((one) => ({ ...one, manifest: sanitize(one.manifest, MOST_FOREIGN) })))
  }
}

const unacknowledged = ({ policy: declared }: Settings, { policy: { mode, max_mode } }: Settings): Diagnostic[] =>
  declared.mode === 'full-auto' && max_mode === 'full-auto' && mode === 'auto'
    ? [report('VT_POLICY_FULL_AUTO', {}, [], 'warning')]
    : []
