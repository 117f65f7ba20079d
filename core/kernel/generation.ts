import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { serversOf } from '../../plugins/adapter/mcp_client/configured.js'
import {
  dataFolder, Life, moduleOf, nearest, problem, redactText, report, usualWaits, type Contribution, type ContributionInfo, type Diagnostic, type Effect,
  type Mode, type PluginFolder, type Settings, type VtError,
} from '../base/index.js'
import { homeOf, loadSettings, settingsPlaces, type Origin } from '../config/index.js'
import { clean } from '../documents/index.js'
import { classic, joinConstraints, type Constraint } from '../input/index.js'
import { discover, fromError, pluginsOf } from '../manifests/index.js'
import { bind, effectsOf, isListed, slotsOf, toolInfo, type Registry, type Withheld } from '../registry/index.js'
import { findSkills, type Skill, type SkillCache, type SkillPlaces, type Skills, type SkillSettings } from '../skills/index.js'
import { itemForSkill, needsConsent, openSeals, openTrust, type Seals, type Trust } from '../trust/index.js'
import { hiddenBy, type OpenWorkspace } from '../workspace/index.js'
import { premisesOf } from './adapter_context.js'
import { survey } from './consent.js'
import type { Lending } from './context.js'
import { hooksOf, unknownEvents, type HookGroups } from './lifecycle_hooks.js'
import { createLoader, type Loader } from './loader.js'
import type { Adapter, Host, KernelOptions, Premises } from './types.js'
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
  readonly lending: Lending
  readonly skills: Host['skills']
  /** Files and folders that it was made of. */
  readonly watched: readonly string[]
  readonly seals: Seals
  /** The calls that belong to it. */
  readonly life: Life
  /** Lets go of what adapters hold for it. Called once, when its last call has ended. */
  end(): Promise<void>
}

export interface Surroundings {
  options: KernelOptions
  workspace: OpenWorkspace
  report: OnFault
  diagnostics: () => Diagnostic[]
  changed: (uri: string) => void
  /** Asks for the next generation. */
  renew: () => void
  bring: Host['bring']
}

const modes: Mode[] = ['plan', 'ask', 'auto', 'full-auto']

/** Discovers, checks and binds everything anew, with the manifests of the skills that were loaded. Throws VT_CONFIG_* and, where a policy of the user cannot be loaded, VT_RELOAD_REFUSED. */
export async function buildGeneration({ options, workspace, report, diagnostics, changed, renew, bring }: Surroundings, number: number, loadedSkills: readonly Skill[]): Promise<Generation> {
  const env = options.env ?? process.env
  const waits = { ...usualWaits, ...options.waits }
  const home = homeOf(options)
  const trust = openTrust({ home, workspace: workspace.root, env })
  const places = { workspace: workspace.root, home, user: options.home ?? env['HOME'] ?? homedir() }
  const { config, mode, default_mode } = options
  const said = { ...(config !== undefined && { config }), ...(mode !== undefined && { mode }), ...(default_mode !== undefined && { default_mode }) }
  if (env['VTCODE_TRUST']) trust.accept(await survey({ ...places, ...said, env, trust }))
  const loaded = await loadSettings({ ...places, ...said, env, wait: waits.settings, trusted: (id, digest) => trust.isTrusted({ id, digest }) })
  const found = await discover({ ...places, env, loaded, skills: loadedSkills })
  found.contributions.push(...serversOf(loaded, workspace.root))
  // Not for a workspace to say: it could so keep servers from a verb that needs them.
  const looking = found.contributions.some(({ layer, manifest: { verb, looks } }) => looks && verb === options.surface && layer !== 'workspace')
  const seals = openSeals({ ...places, whole: looking })
  const withheld = new Map<string, Withheld>()
  const trusted = trust.trusted(found.contributions.filter(needsConsent))
  for (const contribution of found.contributions) {
    const { id } = contribution
    const unlocked = seals.objection(contribution)
    if (unlocked) withheld.set(id, { state: 'unlocked', error: unlocked })
    else if (needsConsent(contribution) && !trusted.has(contribution)) withheld.set(id, { state: 'untrusted', error: problem('VT_PLUGIN_UNTRUSTED', { id }) })
  }

  // A policy of the user's own that is broken would silently be missing; a plugin's absence is only reported.
  const broken = found.invalid.find(({ kind, layer, state }) => kind === 'policy' && layer !== 'workspace' && state === 'invalid')
  if (broken) throw problem('VT_RELOAD_REFUSED', { reason: `the policy ${broken.id} in ${broken.file} cannot be loaded: ${broken.reason ?? 'invalid'}` })

  const settings = limitedBy(loaded.settings, found.contributions.filter(({ id }) => !withheld.has(id)))
  const effective = { ...settings, policy: { ...settings.policy, mode: permitted(settings, mode) } }
  const remarks = [...loaded.diagnostics, ...(trust.fault ? [fromError(trust.fault, home)] : []), ...unacknowledged(settings, effective)]
  const seconds = (settings['plugins'] as { import_timeout_secs?: number } | undefined)?.import_timeout_secs ?? 10
  const verify = async (contribution: Contribution) => {
    const answerable = contribution.bringer ?? contribution
    if (needsConsent(answerable) && !trust.trusted([answerable]).has(answerable)) throw problem('VT_PLUGIN_UNTRUSTED', { id: contribution.id })
    seals.verify(answerable)
  }
  const hooks = await hooksOf(settings, found.contributions, { withheld, verify, dataOf: (one) => dataFolder(one, home, workspace.root) })
  const log: NonNullable<typeof options.log> = (level, message) => options.log?.(level, redactText(message))
  const refuse: Premises['refuse'] = (...of) => setAside(found, ...of)
  const remark: Premises['remark'] = ({ file }, error) => found.diagnostics.push({ ...fromError(error, file), severity: 'warning' })
  const quarantine: Premises['quarantine'] = (...of) => quarantined(registry, found.contributions, ...of)
  const rights: Premises['rightsOf'] = (one) => rightsOf(registry, found.contributions, one)
  const premises = premisesOf({ settings, workspace: workspace.root, home, looking, env, waits, report, renew, log, refuse, remark, quarantine, rightsOf: rights })
  const adapters = new Map<string, Contribution>()
  const loader = createLoader({ adapters, premises: premises.of, isolates: isolating(settings), limit: seconds * 1000, verify, report })
  try {
    await expand(found, withheld, loader, premises.of, verify)
  } catch (error) {
    await premises.end()
    throw error
  }
  const registry = bind({ ...found, diagnostics: [...remarks, ...found.diagnostics], withheld }, effective, options.dialects)
  requireDialects(found.contributions, options.dialects)
  for (const { name, error, judges } of seals.gone()) {
    registry.diagnostics.push(fromError(error, home))
    if (judges) registry.missing.push({ id: name, reason: error.message })
  }
  registry.diagnostics.push(...unknownTools(settings, registry), ...unknownEvents(hooks))
  for (const [key, adapter] of registry.adapters) adapters.set(key, adapter)
  const skills = skillFinder({ ...places, plugins: pluginsOf(found), loaded, trust, seals })
  const host: Host = {
    home,
    waits,
    slots: () => [...registry.slots.values()].filter(isListed).map(({ info }) => info),
    describe: (name) => {
      const tool = registry.tools.get(name)
      return tool && slotsOf(tool).some(isListed) ? toolInfo(tool) : undefined
    },
    contributions: () => registry.infos,
    diagnostics,
    skills,
    bring,
  }
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
    life: new Life(),
    lending: { settings: { ...settings, hooks }, workspace, seen: hidden ? workspace.seen(hidden) : workspace, host, log, changed, dataOf: (contribution) => dataFolder(contribution, home, workspace.root) },
    end: premises.end,
  }
}

/** Where skills lie, as far as they are looked after. */
const skillPlaces = ({ workspace, home, user }: { workspace: string; home: string; user: string }): string[] =>
  [home, ...[workspace, user].flatMap((folder) => [join(folder, '.agents'), join(folder, '.claude')]), join(workspace, '.vtcode')].map((folder) => join(folder, 'skills'))

/** A vocabulary that no tool belongs to is a slip of the pen. Throws VT_CONFIG_INVALID. */
function requireDialects(contributions: readonly Contribution[], chosen: readonly string[] = []): void {
  const known = new Set(['unified', 'each', ...contributions.flatMap(({ manifest }) => manifest.dialect ?? [])])
  const strange = chosen.find((name) => !known.has(name))
  if (strange === undefined) return
  const meant = nearest(strange, known)
  const text = `There is no dialect '${strange}'${meant ? `, meant: ${meant}` : ''}; known: ${[...known].sort().join(', ')}.`
  throw problem('VT_CONFIG_INVALID', { problem: text }, { hint: 'Choose one or several of these, separated by commas.' })
}

/** Shown of whatever shared the process that is left alone: the modules of one plugin. */
function quarantined({ infos }: Registry, all: readonly Contribution[], failed: Contribution, reason: string): void {
  const { plugin, layer, manifest } = failed
  const shares = plugin === layer || moduleOf(manifest) === undefined ? [failed] : all.filter((one) => one.plugin === plugin && moduleOf(one.manifest) !== undefined)
  for (const { id } of shares) {
    const info = infos.find((one) => one.id === id)
    if (info) Object.assign(info, { state: 'quarantined', reason })
  }
}

/** A plugin is one process, so that it has the rights of all its actions together; a loose manifest stands for itself. */
function rightsOf({ slots }: Registry, all: readonly Contribution[], { id, plugin, layer }: Contribution): Effect[] {
  const own = all.filter((one) => (plugin === layer ? one.id === id : one.plugin === plugin) && one.slot !== undefined)
  return [...new Set(own.flatMap((one) => [...effectsOf(one), ...(slots.get(one.slot!)?.info.effects ?? [])]))]
}

/** Modules that are not ours run in a process of their own; surfaces, adapters and providers never do, others where the user's settings say so. */
function isolating(settings: Settings): (contribution: Contribution) => boolean {
  const { isolate = 'auto', settings: own = {} } = (settings['plugins'] ?? {}) as { isolate?: string; settings?: Record<string, { isolate?: string }> }
  return ({ id, plugin, layer, kind, isolate: said }) => {
    if (layer === 'builtin' || kind === 'surface' || kind === 'adapter' || kind === 'provider' || isolate === 'inline') return false
    return isolate === 'process' || (own[id]?.isolate ?? own[plugin]?.isolate ?? said) !== 'inline'
  }
}

type Found = Awaited<ReturnType<typeof discover>>

/** Puts the slots that servers and the like bring beside what manifests say. */
async function expand(found: Found, withheld: Map<string, Withheld>, { load }: Loader, premises: (adapter: Contribution) => Premises, verify: (contribution: Contribution) => Promise<void>): Promise<void> {
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
    found.contributions.push(...brought.map((one) => ({ ...one, manifest: clean(one.manifest) })))
  }
}

function setAside(found: Found, contribution: Contribution, state: ContributionInfo['state'], error: Error): void {
  const { id, kind, layer, file } = contribution
  found.contributions = found.contributions.filter((other) => other !== contribution)
  found.invalid.push({ id, kind, layer, file, state, reason: error.message })
  const diagnostic = fromError(error, file)
  // What the user switched off is nothing to mend; a value that is not set is.
  found.diagnostics.push({ ...diagnostic, ...(state === 'inactive' && { severity: diagnostic.code === 'VT_MCP_START' ? ('info' as const) : ('warning' as const) }) })
}

interface Finder extends Omit<SkillPlaces, 'cwd' | 'settings' | 'said' | 'trusted'> {
  loaded: { settings: Settings; readonly origins: Origin[] }
  trust: Pick<Trust, 'isTrusted'>
  seals: Seals
}

/** Looks for the skills when somebody asks; a start that needs none finds none. */
function skillFinder({ loaded, trust, seals, ...places }: Finder): Host['skills'] {
  const cache: SkillCache = new Map()
  let found: Skills | undefined
  const said = (index: number) => loaded.origins.find(({ path }) => path === `skills.roots.${index}`)
  const trusted = (folder: string) => {
    try {
      return trust.isTrusted(itemForSkill(folder, places.workspace))
    } catch {
      return false
    }
  }
  return ({ fresh = false } = {}) => {
    if (!fresh && found) return found
    const plugins = places.plugins.map((plugin) => ({ ...plugin, ...faultOf(plugin, seals) }))
    return (found = findSkills({ ...places, plugins, cwd: process.cwd(), settings: loaded.settings['skills'] as SkillSettings, said, trusted }, cache))
  }
}

/** Skills of a plugin that is no longer what was agreed to are not used either; one without skills is not read for that. */
function faultOf({ root, skills }: SkillPlaces['plugins'][number], seals: Seals): { fault?: Diagnostic } {
  const error = skills || existsSync(join(root, 'skills')) ? seals.fault(root) : undefined
  return error ? { fault: fromError(error, root) } : {}
}

/** Names of tools in limits and rules that nobody serves: a slip there leaves open what was meant to be shut. */
function unknownTools({ policy }: Settings, { tools, slots, routes }: Registry): Diagnostic[] {
  const rules = [policy['deny'], policy['ask'], policy['allow']].flat() as (string | { rule: string })[]
  const texts = rules.map((entry) => (typeof entry === 'string' ? entry : entry.rule))
  const named = texts.flatMap((text) => /^Except\((.*)\)$/.exec(text)?.[1]?.split(/,\s*/) ?? text).filter((name) => /^[a-z][a-z0-9_]*(\/[a-z0-9_]+)?$/.test(name))
  const known = [...tools.keys(), ...slots.keys(), ...routes.keys(), ...Object.keys(classic), ...effects]
  return [...Object.keys(policy['constraints'] as object), ...named.filter((name) => !name.startsWith('mcp__'))]
    .filter((name) => !known.includes(name))
    .map((name) => {
      const like = nearest(name, known)
      return report('VT_POLICY_UNKNOWN_TOOL', { name, nearest: like ? `; nearest: ${like}` : '' }, [], 'warning')
    })
}
const effects: readonly string[] = ['read', 'write', 'exec', 'net', 'ask'] satisfies Effect[]

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
