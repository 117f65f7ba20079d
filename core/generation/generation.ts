import {
  omitUndefined,
  toDiagnostic,
  problem,
  createDiagnostic,
  DEFAULT_TIMEOUTS,
  type Contribution,
  type Diagnostic,
  type Kind,
  type PluginFolder,
  type RightsScope,
  type Settings,
  type VtError,
  type Timeouts,
} from '../shapes/index.js'
import { resolveDataFolder, InFlight, findModulePath } from '../system/index.js'
import { redactText } from '../text/index.js'
import {
  readBuiltinModes,
  resolveHome,
  loadSettings,
  resolveMode,
  loadVerbSettings,
  listSettingsLocations,
  type LoadedSettings,
  type Origin,
  type VerbModes,
} from '../config/index.js'
import { sanitize } from '../documents/index.js'
import { applyPolicyLimits } from '../input/index.js'
import { findConfiguredContributions, discoverManifests, listPlugins } from '../manifests/index.js'
import {
  bind,
  isListed,
  isShown,
  checkPolicyNames,
  listSlots,
  describeTool,
  type Registry,
  type Withheld,
} from '../registry/index.js'
import { createSkillFinder, listSkillFolders, type Skill } from '../skills/index.js'
import {
  copyConsentedFiles,
  toCopyPath,
  needsConsent,
  openLockVerifier,
  openTrust,
  toMissingGuard,
  type LockVerifier,
  type Trust,
} from '../trust/index.js'
import { createHiddenFilter, type OpenWorkspace } from '../workspace/index.js'
import { createAdapterContexts, hasForeignCode, listRights, type DeferredWork } from './adapter_context.js'
import { listConsentItems } from './consent.js'
import type { ContextServices } from './context_services.js'
import { requireDialects } from './dialects.js'
import { collectHooks, findUnknownEvents, type HookGroups } from './lifecycle_hooks.js'
import { createLoader, type Loader } from './loader.js'
import { findLostGuards, findWithheld } from './lost_guards.js'
import { recordOwnPrograms } from './own_programs.js'
import { refuseInvalidSlots } from './refused_slots.js'
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
  /** Deferred work of adapters. */
  readonly later: DeferredWork[]
  /** The calls of the generation. */
  readonly calls: InFlight
  /** The running handlers, including those of aborted calls. */
  readonly handlers: InFlight
  /** Releases the resources of adapters. Called once, when the last call has ended. */
  end(): Promise<void>
}

export interface GenerationSources {
  options: KernelOptions
  workspace: OpenWorkspace
  report: OnFault
  diagnostics: () => Diagnostic[]
  changed: (uri: string) => void
  /** Aborts when the kernel closes or its start is cancelled: anything being started is stopped. */
  stopping: AbortSignal
  /** The rights that limit every call. */
  only: readonly RightsScope[] | undefined
  /** Requests the next generation. */
  renew: () => void
  activateSkill: Host['activateSkill']
  /** Resolves a call with the present generation. */
  resolve: Host['resolve']
}

/** The settings, manifests and locks of a generation, before its contributions are bound. */
interface Preparation {
  readonly sources: GenerationSources
  readonly env: Record<string, string | undefined>
  readonly waits: Timeouts
  readonly locations: { workspace: string; home: string; user: string }
  readonly trust: Trust
  readonly loaded: LoadedSettings
  readonly found: Found
  /** The surface only inspects the workspace. */
  readonly inspecting: boolean
  /** Deferred work of adapters; absent if the surface waits for it. */
  readonly later?: DeferredWork[]
  readonly lockVerifier: LockVerifier
  readonly withheld: Map<string, Withheld>
  /** The settings with the limits of policies. */
  readonly settings: Settings
  /** `settings` in the effective mode. */
  readonly effective: Settings
  readonly findDataFolder: (contribution: Contribution) => string
  readonly log: (level: string, message: string) => void
  /** Present once the contributions are bound. */
  registry?: Registry
}

/**
 * Discovers, checks and binds all contributions, with the manifests of loaded skills. Throws VT_CONFIG_* and, where a
 * policy of the user cannot be loaded, VT_RELOAD_REFUSED.
 */
export async function buildGeneration(
  sources: GenerationSources,
  number: number,
  loadedSkills: readonly Skill[],
): Promise<Generation> {
  const prepared = await prepare(sources, loadedSkills)
  const { locations, trust, loaded, found, lockVerifier, withheld, settings, effective, findDataFolder, log } = prepared
  const verify = (contribution: Contribution) => verifyContribution(prepared, contribution)
  const hooks = await collectHooks(settings, found.contributions, { withheld, verify, findDataFolder, lockVerifier })
  const adapterContexts = createContexts(prepared)
  const adapters = new Map<string, Contribution>()
  const loader = createLoader({
    adapters,
    contextFor: adapterContexts.of,
    isolates: createIsolationFilter(settings),
    limit: settings.plugins.import_timeout_secs * 1000,
    verify,
    report: sources.report,
  })
  let registry: Registry
  const giveUp = () => void adapterContexts.end()
  if (sources.stopping.aborted) giveUp()
  else sources.stopping.addEventListener('abort', giveUp, { once: true })
  try {
    await expandContributions(found, withheld, loader, adapterContexts.of, verify)
    registry = bindContributions(prepared, hooks)
  } catch (error) {
    await adapterContexts.end()
    throw error
  } finally {
    sources.stopping.removeEventListener('abort', giveUp)
  }
  for (const [key, adapter] of registry.adapters) adapters.set(key, adapter)
  await refuseInvalidSlots(registry, loader, { workspace: locations.workspace, path: prepared.env['PATH'] })
  const skills = createSkillFinder({ ...locations, plugins: listPlugins(found), loaded, trust, lockVerifier })
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
    watched: [...found.searchedPaths, ...listSettingsLocations(locations), ...listSkillFolders(locations)],
    lockVerifier,
    loader,
    skills,
    later: prepared.later ?? [],
    calls: new InFlight(),
    handlers: new InFlight(),
    services: {
      workspace,
      filtered,
      log,
      changed,
      findDataFolder,
      settings: { ...settings, hooks: hooks as Settings['hooks'] },
      host: createHost(prepared, registry, skills),
      hasForeignCode: (one) => hasForeignCode(one, registry),
      listRights: (one) => listRights(registry, found.contributions, one, true),
    },
    end: adapterContexts.end,
  }
}

/** Reads settings, manifests, locks and the user's consents. Throws VT_CONFIG_*, VT_RELOAD_REFUSED. */
async function prepare(sources: GenerationSources, loadedSkills: readonly Skill[]): Promise<Preparation> {
  const { options, workspace } = sources
  const { env = process.env } = options
  const waits = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const home = resolveHome(options)
  const locations = { workspace: workspace.root, home, user: workspace.user }
  const trust = openTrust({ home, workspace: workspace.root, env })
  const { config, mode, default_mode } = options
  const chosen = omitUndefined({ config, mode, default_mode })
  if (env['VTCODE_TRUST']) trust.accept(await listConsentItems({ ...locations, ...chosen, env, trust }))
  const load = (modes: VerbModes) =>
    loadSettings({
      ...locations,
      ...modes,
      ...chosen,
      env,
      timeoutMs: waits.settings,
      isTrusted: (id, digest) => trust.isTrusted({ id, digest }),
    })
  const before = await load(readBuiltinModes(options.verb))
  const found = await discoverManifests({ ...locations, env, loaded: before, skills: loadedSkills })
  found.contributions.push(
    ...findConfiguredContributions(
      found.contributions.filter(({ kind }) => kind === 'adapter'),
      before,
      workspace.root,
    ),
  )
  // A workspace may not declare this, because it could withhold servers from a verb that needs them.
  const isDeclared = (key: 'inspects' | 'starts_later') =>
    found.contributions.some(
      ({ layer, manifest }) => manifest[key] && manifest.verb === options.surface && layer !== 'workspace',
    )
  const inspecting = isDeclared('inspects')
  const lockVerifier = openLockVerifier({ ...locations, whole: inspecting })
  const withheld = findWithheld(found, trust, lockVerifier)
  const surface = found.contributions.find(
    ({ id, kind, manifest }) => kind === 'surface' && manifest.verb === options.verb && !withheld.has(id),
  )
  const loaded =
    surface && surface.layer !== 'builtin' && mode === undefined ? await loadVerbSettings(surface, load) : before
  requirePolicies(found)
  recordOwnPrograms({ locations, env, config, loaded, found })
  const settings = applyPolicyLimits(
    loaded.settings,
    found.contributions.filter(({ id }) => !withheld.has(id)),
  )
  const effective = { ...settings, policy: { ...settings.policy, mode: resolveMode(settings, mode) } }
  const findDataFolder = (contribution: Contribution) => resolveDataFolder(contribution, home, workspace.root)
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
    ...(isDeclared('starts_later') && { later: [] }),
    lockVerifier,
    withheld,
    settings,
    effective,
    findDataFolder,
    log,
  }
}

/**
 * Throws VT_RELOAD_REFUSED for a broken policy of the user, which would be missing silently. A missing plugin is only
 * reported.
 */
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
 * Checks that the present files of a contribution are those that the user agreed to, and returns it with the location
 * of its code: a copy of the agreed files, or its own folder if it needs no consent. Throws VT_PLUGIN_UNTRUSTED,
 * VT_PLUGIN_LOCK, VT_FILE_STALE.
 */
async function verifyContribution(
  { trust, lockVerifier, locations: { home } }: Preparation,
  contribution: Contribution,
): Promise<Contribution> {
  const answerable = contribution.provider ?? contribution
  const item = needsConsent(answerable) ? trust.listTrusted([answerable]).get(answerable) : undefined
  if (needsConsent(answerable) && !item) throw problem('VT_PLUGIN_UNTRUSTED', { id: contribution.id })
  const locked = lockVerifier.verify(answerable)
  const agreed = item?.agreed ?? locked
  if (!agreed || findModulePath(contribution.manifest) === undefined) return contribution
  const copy = copyConsentedFiles(home, agreed)
  return {
    ...contribution,
    root: toCopyPath(copy, agreed, contribution.root),
    file: toCopyPath(copy, agreed, contribution.file),
  }
}

/**
 * Creates the contexts of adapters. Adapters change found and bound contributions, so they read the registry at the
 * time of use.
 */
function createContexts(prepared: Preparation): ReturnType<typeof createAdapterContexts> {
  const { sources, env, waits, locations, found, settings, inspecting, later, log } = prepared
  const { report, renew } = sources
  return createAdapterContexts({
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
function bindContributions(prepared: Preparation, hooks: HookGroups): Registry {
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
  requireDialects(found.contributions, dialects)
  const remarks = [
    ...loaded.diagnostics,
    ...(trust.fault ? [toDiagnostic(trust.fault, home)] : []),
    ...checkFullAuto(settings, effective),
  ]
  const registry = bind({ ...found, diagnostics: [...remarks, ...found.diagnostics], withheld }, effective, dialects)
  for (const { name, error, judges } of lockVerifier.missing()) {
    registry.diagnostics.push(toDiagnostic(error, home))
    if (judges) registry.missing.push(toMissingGuard(name, error))
  }
  for (const { id, error, covers } of findLostGuards({ found, loaded, trust, workspace: sources.workspace.root })) {
    registry.diagnostics.push({ ...toDiagnostic(error, home), severity: 'warning' })
    registry.missing.push(toMissingGuard(id, error, covers))
  }
  registry.diagnostics.push(...checkPolicyNames(settings, registry, sources.options.only), ...findUnknownEvents(hooks))
  return (prepared.registry = registry)
}

/** Creates the host interface for plugins. */
function createHost(
  { sources, env, waits, loaded, locations: { home } }: Preparation,
  registry: Registry,
  skills: Host['skills'],
): Host {
  const { diagnostics, activateSkill, resolve } = sources
  return {
    home,
    env,
    timeouts: waits,
    resolve,
    diagnostics,
    skills,
    activateSkill,
    origins: () => loaded.origins,
    slots: (only = sources.only) =>
      [...registry.slots.values()].filter((slot) => isShown(registry, { only }, slot)).map(({ info }) => info),
    describe: (name) => {
      const tool = registry.tools.get(name)
      return tool && listSlots(tool).some(isListed) ? describeTool(tool) : undefined
    },
    contributions: () => registry.infos,
  }
}

const IN_PROCESS_KINDS: readonly Kind[] = ['surface', 'adapter', 'provider', 'job_engine']
/**
 * Creates the check whether a module runs in its own process. Foreign modules do, unless the user's settings say
 * otherwise; surfaces, adapters, providers and job engines never do.
 */
function createIsolationFilter({
  plugins: { isolate, settings: own },
}: Settings): (contribution: Contribution) => boolean {
  return ({ id, plugin, layer, kind, isolate: declared }) => {
    if (layer === 'builtin' || IN_PROCESS_KINDS.includes(kind) || isolate === 'inline') return false
    return isolate === 'process' || (own[id]?.isolate ?? own[plugin]?.isolate ?? declared) !== 'inline'
  }
}

type Found = Awaited<ReturnType<typeof discoverManifests>>

/**
 * Most characters of the description of a contribution that an adapter found. A search returns it in full; lists show
 * its beginning.
 */
const MAX_FOREIGN_DESCRIPTION = 4_096

/** Adds the tools that expanding adapters, such as the MCP client, find on their servers. */
async function expandContributions(
  found: Found,
  withheld: Map<string, Withheld>,
  { load }: Loader,
  contextFor: (adapter: Contribution) => AdapterContext,
  verify: (contribution: Contribution) => Promise<unknown>,
): Promise<void> {
  const usable = found.contributions.filter(({ id }) => !withheld.has(id))
  for (const adapter of usable.filter(({ kind, manifest }) => kind === 'adapter' && manifest.expands)) {
    const expandable: Contribution[] = []
    for (const one of usable.filter(
      ({ kind, slot, manifest }) => kind === 'action' && slot === undefined && adapter.manifest.key! in manifest,
    )) {
      // A server starts in order to list its tools, so its contribution is verified now.
      await verify(one).then(
        () => expandable.push(one),
        (error: VtError) => withheld.set(one.id, { state: 'unlocked', error }),
      )
    }
    if (expandable.length === 0) continue
    const { expand } = (await load(adapter)) as Adapter
    const expanded = (await expand?.(expandable, contextFor(adapter))) ?? []
    found.contributions.push(
      ...expanded.map((one) => ({ ...one, manifest: sanitize(one.manifest, MAX_FOREIGN_DESCRIPTION) })),
    )
  }
}

const checkFullAuto = ({ policy: declared }: Settings, { policy: { mode, max_mode } }: Settings): Diagnostic[] =>
  declared.mode === 'full-auto' && max_mode === 'full-auto' && mode === 'auto'
    ? [createDiagnostic('VT_POLICY_FULL_AUTO', {}, [], 'warning')]
    : []
