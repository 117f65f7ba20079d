import { homedir } from 'node:os'
import { dataFolder, InFlight, nearest, problem, redactText, report, usualWaits, type Contribution, type Diagnostic, type Mode, type PluginFolder, type Settings, type VtError, type Waits } from '../base/index.js'
import { builtinModes, homeOf, loadSettings, settingsFor, settingsPlaces, type LoadedSettings, type Origin, type VerbModes } from '../config/index.js'
import { sanitize } from '../documents/index.js'
import { joinConstraints, type Constraint } from '../input/index.js'
import { configuredContributions, discoverManifests, fromError, pluginsOf } from '../manifests/index.js'
import { bind, isListed, policyNames, slotsOf, toolInfo, type Registry, type Withheld } from '../registry/index.js'
import type { Skill } from '../skills/index.js'
import { needsConsent, openLockVerifier, openTrust, type LockVerifier, type Trust } from '../trust/index.js'
import { hiddenBy, type OpenWorkspace } from '../workspace/index.js'
import { premisesOf } from './adapter_context.js'
import { consentItems } from './consent.js'
import type { ContextServices } from './context.js'
import { hooksOf, unknownEvents, type HookGroups } from './lifecycle_hooks.js'
import { createLoader, type Loader } from './loader.js'
import { skillFinder, skillPlaces } from './skill_finder.js'
import type { Adapter, Host, KernelOptions, AdapterContext } from './types.js'
import type { OnFault } from './uncaught.js'

/** One immutable set of settings, slots and modules; a call belongs to exactly one. */
export interface Generation {
  readonly number: number
  readonly settings: Settings
  readonly hooks: HookGroups
  readonly origins: Origin[]
  readonly registry: Registry
  readonly plugins: readonly PluginFolder[]
  readonly loader: Loader
  readonly lending: ContextServices
  readonly skills: Host['skills']
  /** Files and folders that it was made of. */
  readonly watched: readonly string[]
  readonly seals: LockVerifier
  /** The calls that belong to it. */
  readonly life: InFlight
  /** Lets go of what adapters hold for it. Called once, when its last call has ended. */
  end(): Promise<void>
}

export interface GenerationSources {
  options: KernelOptions
  workspace: OpenWorkspace
  report: OnFault
  diagnostics: () => Diagnostic[]
  changed: (uri: string) => void
  /** Asks for the next generation. */
  renew: () => void
  bring: Host['bring']
  /** By the generation that a call made now would belong to. */
  resolve: Host['resolve']
}

const modes: Mode[] = ['plan', 'ask', 'auto', 'full-auto']

/** What settings, manifests and locks say, before anything of it is bound. */
interface Ground {
  readonly surroundings: GenerationSources
  readonly env: Record<string, string | undefined>
  readonly waits: Waits
  readonly places: { workspace: string; home: string; user: string }
  readonly trust: Trust
  readonly loaded: LoadedSettings
  readonly found: Found
  /** The surface only looks at what is there. */
  readonly inspecting: boolean
  readonly seals: LockVerifier
  readonly withheld: Map<string, Withheld>
  /** With the limits that policies bring. */
  readonly settings: Settings
  /** The same in the mode that counts. */
  readonly effective: Settings
  readonly dataOf: (contribution: Contribution) => string
  readonly log: (level: string, message: string) => void
  /** As soon as it is bound. */
  registry?: Registry
}

/** Discovers, checks and binds everything anew, with the manifests of the skills that were loaded. Throws VT_CONFIG_* and, where a policy of the user cannot be loaded, VT_RELOAD_REFUSED. */
export async function buildGeneration(surroundings: GenerationSources, number: number, loadedSkills: readonly Skill[]): Promise<Generation> {
  const ground = await prepare(surroundings, loadedSkills)
  const { places, trust, loaded, found, seals, withheld, settings, effective, dataOf, log } = ground
  const verify = (contribution: Contribution) => verified(ground, contribution)
  const hooks = await hooksOf(settings, found.contributions, { withheld, verify, dataOf })
  const premises = premisesFor(ground)
  const adapters = new Map<string, Contribution>()
  const { import_timeout_secs: seconds = 10 } = (settings['plugins'] ?? {}) as { import_timeout_secs?: number }
  const loader = createLoader({ adapters, premises: premises.of, isolates: isolating(settings), limit: seconds * 1000, verify, report: surroundings.report })
  let registry: Registry
  try {
    await expand(found, withheld, loader, premises.of, verify)
    registry = bound(ground, hooks)
  } catch (error) {
    await premises.end()
    throw error
  }
  for (const [key, adapter] of registry.adapters) adapters.set(key, adapter)
  const skills = skillFinder({ ...places, plugins: pluginsOf(found), loaded, trust, seals })
  const { workspace, changed } = surroundings
  const hidden = hiddenBy(settings, workspace.root)
  return {
    number,
    settings: effective,
    hooks,
    get origins() {
      return loaded.origins
    },
    registry,
    plugins: found.plugins,
    watched: [...found.looked, ...settingsPlaces(places), ...skillPlaces(places)],
    seals,
    loader,
    skills,
    life: new InFlight(),
    lending: { settings: { ...settings, hooks }, workspace, seen: hidden ? workspace.seen(hidden) : workspace, host: hostOf(ground, registry, skills), log, changed, dataOf },
    end: premises.end,
  }
}

/** Reads settings, manifests and locks, and what the user agreed to. Throws VT_CONFIG_*, VT_RELOAD_REFUSED. */
async function prepare(surroundings: GenerationSources, loadedSkills: readonly Skill[]): Promise<Ground> {
  const { options, workspace } = surroundings
  const env = options.env ?? process.env
  const waits = { ...usualWaits, ...options.waits }
  const home = homeOf(options)
  const places = { workspace: workspace.root, home, user: options.home ?? env['HOME'] ?? homedir() }
  const trust = openTrust({ home, workspace: workspace.root, env })
  const { config, mode, default_mode } = options
  const chosen = { ...(config !== undefined && { config }), ...(mode !== undefined && { mode }), ...(default_mode !== undefined && { default_mode }) }
  if (env['VTCODE_TRUST']) trust.accept(await consentItems({ ...places, ...chosen, env, trust }))
  const load = (modes: VerbModes) => loadSettings({ ...places, ...modes, ...chosen, env, wait: waits.settings, trusted: (id, digest) => trust.isTrusted({ id, digest }) })
  const before = await load(builtinModes(options.verb))
  const found = await discoverManifests({ ...places, env, loaded: before, skills: loadedSkills })
  found.contributions.push(...configuredContributions(found.contributions.filter(({ kind }) => kind === 'adapter'), before, workspace.root))
  // Not for a workspace to say: it could so keep servers from a verb that needs them.
  const inspecting = found.contributions.some(({ layer, manifest: { verb, inspects } }) => inspects && verb === options.surface && layer !== 'workspace')
  const seals = openLockVerifier({ ...places, whole: inspecting })
  const withheld = withheldOf(found, trust, seals)
  const surface = found.contributions.find(({ id, kind, manifest }) => kind === 'surface' && manifest.verb === options.verb && !withheld.has(id))
  const loaded = surface && surface.layer !== 'builtin' && mode === undefined ? await settingsFor(surface, load) : before
  requirePolicies(found)
  const settings = limitedBy(loaded.settings, found.contributions.filter(({ id }) => !withheld.has(id)))
  const effective = { ...settings, policy: { ...settings.policy, mode: permitted(settings, mode) } }
  const dataOf = (contribution: Contribution) => dataFolder(contribution, home, workspace.root)
  const log: Ground['log'] = (level, message) => options.log?.(level as 'info', redactText(message))
  return { surroundings, env, waits, places, trust, loaded, found, inspecting, seals, withheld, settings, effective, dataOf, log }
}

/** What may not run, by id: it is no longer what was locked, or nobody has agreed to it. */
function withheldOf({ contributions }: Found, trust: Trust, seals: LockVerifier): Map<string, Withheld> {
  const withheld = new Map<string, Withheld>()
  const trusted = trust.trusted(contributions.filter(needsConsent))
  for (const contribution of contributions) {
    const { id } = contribution
    const unlocked = seals.objection(contribution)
    if (unlocked) withheld.set(id, { state: 'unlocked', error: unlocked })
    else if (needsConsent(contribution) && !trusted.has(contribution)) withheld.set(id, { state: 'untrusted', error: problem('VT_PLUGIN_UNTRUSTED', { id }) })
  }
  return withheld
}

/** A policy of the user's own that is broken would silently be missing; a plugin's absence is only reported. Throws VT_RELOAD_REFUSED. */
function requirePolicies({ invalid }: Found): void {
  const broken = invalid.find(({ kind, layer, state }) => kind === 'policy' && layer !== 'workspace' && state === 'invalid')
  if (broken) throw problem('VT_RELOAD_REFUSED', { reason: `the policy ${broken.id} in ${broken.file} cannot be loaded: ${broken.reason ?? 'invalid'}` })
}

/** Is what is to run what was agreed to, as it stands now? Throws VT_PLUGIN_UNTRUSTED, VT_PLUGIN_LOCK. */
async function verified({ trust, seals }: Ground, contribution: Contribution): Promise<void> {
  const answerable = contribution.bringer ?? contribution
  if (needsConsent(answerable) && !trust.trusted([answerable]).has(answerable)) throw problem('VT_PLUGIN_UNTRUSTED', { id: contribution.id })
  seals.verify(answerable)
}

/** What adapters stand on: they change what was found and bound, so they see it as it is when they ask. */
function premisesFor(ground: Ground): ReturnType<typeof premisesOf> {
  const { surroundings, env, waits, places, found, settings, inspecting, log } = ground
  const { report, renew } = surroundings
  return premisesOf({ ...places, settings, inspecting, env, waits, report, renew, log, found, registry: () => ground.registry! })
}

/** Binds what was found, with every remark on it. Throws VT_CONFIG_INVALID. */
function bound(ground: Ground, hooks: HookGroups): Registry {
  const { surroundings, places: { home }, trust, loaded, found, seals, withheld, settings, effective } = ground
  const { dialects } = surroundings.options
  const remarks = [...loaded.diagnostics, ...(trust.fault ? [fromError(trust.fault, home)] : []), ...unacknowledged(settings, effective)]
  const registry = bind({ ...found, diagnostics: [...remarks, ...found.diagnostics], withheld }, effective, dialects)
  requireDialects(found.contributions, dialects)
  for (const { name, error, judges } of seals.gone()) {
    registry.diagnostics.push(fromError(error, home))
    if (judges) registry.missing.push({ id: name, reason: error.message })
  }
  registry.diagnostics.push(...policyNames(settings, registry), ...unknownEvents(hooks))
  return (ground.registry = registry)
}

/** What plugins may ask of the program they run in. */
function hostOf({ surroundings, waits, places: { home } }: Ground, registry: Registry, skills: Host['skills']): Host {
  const { diagnostics, bring, resolve } = surroundings
  return {
    home,
    waits,
    slots: () => [...registry.slots.values()].filter(isListed).map(({ info }) => info),
    resolve,
    describe: (name) => {
      const tool = registry.tools.get(name)
      return tool && slotsOf(tool).some(isListed) ? toolInfo(tool) : undefined
    },
    contributions: () => registry.infos,
    diagnostics,
    skills,
    bring,
  }
}

/** A vocabulary that no tool belongs to is a slip of the pen. Throws VT_CONFIG_INVALID. */
function requireDialects(contributions: readonly Contribution[], chosen: readonly string[] = []): void {
  const known = new Set(['unified', 'each', ...contributions.flatMap(({ manifest }) => manifest.dialect ?? [])])
  const strange = chosen.find((name) => !known.has(name))
  if (strange === undefined) return
  const meant = nearest(strange, known)
  const text = `There is no dialect '${strange}'${meant ? `, meant: ${meant}` : ''}; known: ${[...known].sort().join(', ')}.`
  throw problem('VT_CONFIG_INVALID', { problem: text }, { hint: 'Choose one or several of these, separated by commas.' })
}

/** Modules that are not ours run in a process of their own; surfaces, adapters and providers never do, others where the user's settings say so. */
function isolating(settings: Settings): (contribution: Contribution) => boolean {
  const { isolate = 'auto', settings: own = {} } = (settings['plugins'] ?? {}) as { isolate?: string; settings?: Record<string, { isolate?: string }> }
  return ({ id, plugin, layer, kind, isolate: said }) => {
    if (layer === 'builtin' || kind === 'surface' || kind === 'adapter' || kind === 'provider' || isolate === 'inline') return false
    return isolate === 'process' || (own[id]?.isolate ?? own[plugin]?.isolate ?? said) !== 'inline'
  }
}

type Found = Awaited<ReturnType<typeof discoverManifests>>

/** Puts the slots that servers and the like bring beside what manifests say. */
async function expand(found: Found, withheld: Map<string, Withheld>, { load }: Loader, premises: (adapter: Contribution) => AdapterContext, verify: (contribution: Contribution) => Promise<void>): Promise<void> {
  const usable = found.contributions.filter(({ id }) => !withheld.has(id))
  for (const adapter of usable.filter(({ kind, manifest }) => kind === 'adapter' && manifest.expands)) {
    const bringing: Contribution[] = []
    for (const one of usable.filter(({ kind, slot, manifest }) => kind === 'action' && slot === undefined && adapter.manifest.key! in manifest)) {
      // What is started to be listed runs now.
      await verify(one).then(() => bringing.push(one), (error: VtError) => withheld.set(one.id, { state: 'unlocked', error }))
    }
    if (bringing.length === 0) continue
    const { expand } = (await load(adapter)) as Adapter
    const brought = (await expand?.(bringing, premises(adapter))) ?? []
    found.contributions.push(...brought.map((one) => ({ ...one, manifest: sanitize(one.manifest) })))
  }
}

/** The settings with the limits that policies bring beside their rules: of two the stricter counts. */
function limitedBy(settings: Settings, contributions: readonly Contribution[]): Settings {
  type Limits = Record<string, Constraint>
  const brought = contributions.map(({ manifest }) => (manifest['rules'] as { constraints?: Limits } | undefined)?.constraints).filter((limits) => limits !== undefined)
  if (brought.length === 0) return settings
  const constraints = joinConstraints([...brought, settings.policy['constraints'] as Limits])
  return { ...settings, policy: { ...settings.policy, constraints } }
}

const unacknowledged = ({ policy: said }: Settings, { policy: { mode, max_mode } }: Settings): Diagnostic[] =>
  said.mode === 'full-auto' && max_mode === 'full-auto' && mode === 'auto' ? [report('VT_POLICY_FULL_AUTO', {}, [], 'warning')] : []

/** The mode never exceeds `policy.max_mode`, and full-auto is what somebody asked for now, or has said yes to in settings of their own. */
function permitted({ policy: { mode, max_mode }, automation }: Settings, asked: Mode | undefined): Mode {
  const { enabled } = (automation as { full_auto: { enabled: boolean } }).full_auto
  const acknowledged = mode !== 'full-auto' || asked === 'full-auto' || enabled ? mode : 'auto'
  return modes[Math.min(modes.indexOf(acknowledged), modes.indexOf(max_mode))]!
}
