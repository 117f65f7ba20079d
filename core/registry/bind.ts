import {
  omitUndefined,
  toDiagnostic,
  problem,
  createDiagnostic,
  renderTexts,
  type Code,
  type Contribution,
  type ContributionInfo,
  type Diagnostic,
  type Layer,
  type Schema,
  type Settings,
  type Stage,
  type State,
  type Values,
  type VtError,
} from '../shapes/index.js'
import { findNearest, toText } from '../text/index.js'
import { findModulePath, sha256 } from '../system/index.js'
import { listAdapterKeys } from '../schema/index.js'
import { findAliasFault } from './alias_targets.js'
import { toMissingGuard, type GuardExtent } from '../trust/index.js'
import { findAdapter, addSlot, createRegistry, removeMarks, type Claim, type Registry, type Slot } from './registry.js'

const CHAIN_ORDER: Layer[] = ['call', 'admin', 'user', 'workspace', 'builtin']
// Names belong to the layers of the user first: a cloned repository never takes one over.
const NAME_PRECEDENCE: Layer[] = ['builtin', 'admin', 'call', 'user', 'workspace']
const STAGE_ORDER: Stage[] = ['override', 'primary', 'fallback']

export interface BindInput {
  contributions: Contribution[]
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
  /** Contributions that may not run, by id, with the reason. */
  withheld: ReadonlyMap<string, Withheld>
}
/** A contribution without the user's consent to its present files. */
export interface Withheld {
  state: 'untrusted' | 'unlocked'
  error: VtError
  /** The user agreed to an earlier state of its files. */
  agreed?: boolean
  /** The calls that it covered then; absent if unknown. */
  covers?: readonly GuardExtent[]
}

const getStage = ({ stage }: Contribution): Stage => stage ?? 'primary'

/** State while a registry is built. */
interface Binding {
  readonly registry: Registry
  readonly settings: Settings
  /** The contributions that may run. */
  readonly usable: readonly Contribution[]
  /** The contributions that are not active, with the reason. */
  readonly states: Map<Contribution, [State, string?]>
  /** The contributions that claim each slot. */
  readonly claims: Map<string, Contribution[]>
  /** Names by their lookalike key. */
  readonly lookalikes: Map<string, string>
}

/** Binds slots, policies and compactors; all contributions are in `infos`. */
export function bind(found: BindInput, settings: Settings, dialects?: readonly string[]): Registry {
  const registry = createRegistry(dialects)
  const states: Binding['states'] = new Map()
  registry.diagnostics.push(...found.diagnostics)
  const usable = found.contributions.filter(
    (contribution) => !withholdContribution(registry, states, contribution, found.withheld),
  )
  const binding: Binding = { registry, settings, usable, states, claims: new Map(), lookalikes: new Map() }
  bindNamed(binding)
  bindOrdered(binding)
  bindSlots(binding)
  bindWithheld(registry, found)
  for (const { info, primary } of registry.slots.values())
    if (primary.layer !== 'builtin') reportNameCollisions(binding, info.slot, primary)
  registry.infos.push(
    ...found.invalid,
    ...found.contributions.map((contribution) => toInfo(contribution, states.get(contribution) ?? ['active'])),
  )
  return registry
}

function addDiagnostic(
  { registry }: Pick<Binding, 'registry'>,
  code: Code,
  values: Values,
  files: Contribution[],
  severity: Diagnostic['severity'] = 'warning',
): void {
  registry.diagnostics.push(
    createDiagnostic(
      code,
      values,
      files.map(({ file }) => file),
      severity,
    ),
  )
}

/** Deactivates a contribution, with the reason as its state and as a diagnostic. */
function deactivate(
  binding: Binding,
  contribution: Contribution,
  state: State,
  code: Code,
  values: Values,
  others: Contribution[] = [],
): void {
  binding.states.set(contribution, [state, renderTexts(code, values)!.message])
  addDiagnostic(binding, code, values, [...others, contribution], state === 'invalid' ? 'error' : 'warning')
}

/** Records a contribution that may not run, with the reason; a policy also as missing. */
function withholdContribution(
  registry: Registry,
  states: Binding['states'],
  contribution: Contribution,
  withheld: BindInput['withheld'],
): boolean {
  const why = withheld.get(contribution.id)
  if (!why) return false
  states.set(contribution, [why.state, why.error.message])
  registry.diagnostics.push({ ...toDiagnostic(why.error, contribution.file), severity: 'warning' })
  if (contribution.kind === 'policy')
    registry.missing.push(
      why.agreed
        ? toMissingGuard(contribution.id, why.error, why.covers)
        : { id: contribution.id, reason: why.error.message },
    )
  return true
}

/** Binds surfaces, adapters, providers and job engines. The first of a name counts; those of a workspace come last. */
function bindNamed(binding: Binding): void {
  const { registry, usable } = binding
  for (const [kind, readName, map] of [
    ['surface', ({ manifest }: Contribution) => manifest.verb, registry.surfaces],
    ['adapter', ({ manifest }: Contribution) => manifest.key, registry.adapters],
    ['provider', ({ manifest, name }: Contribution) => manifest.provider?.name ?? name, registry.providers],
    ['job_engine', ({ name }: Contribution) => name, registry.engines],
  ] as const) {
    for (const contribution of usable
      .filter((one) => one.kind === kind)
      .sort((a, b) => NAME_PRECEDENCE.indexOf(a.layer) - NAME_PRECEDENCE.indexOf(b.layer))) {
      const name = toText(readName(contribution))
      const winner = map.get(name)
      if (winner)
        deactivate(binding, contribution, 'shadowed', ...describeCollision(name, winner, contribution), [winner])
      else map.set(name, contribution)
    }
  }
}

/** Binds policies and compactors, each kind in its order. */
function bindOrdered({ registry, usable }: Binding): void {
  for (const [kind, list] of [
    ['policy', registry.policies],
    ['compactor', registry.compactors],
  ] as const) {
    const own = usable.filter((contribution) => contribution.kind === kind)
    list.push(...own.sort((a, b) => (a.manifest.order ?? 0) - (b.manifest.order ?? 0) || (a.id < b.id ? -1 : 1)))
  }
}

function bindSlots(binding: Binding): void {
  const { registry, usable, claims } = binding
  for (const contribution of usable) {
    if (contribution.slot === undefined || !canServe(binding, contribution)) continue
    claims.set(contribution.slot, [...(claims.get(contribution.slot) ?? []), contribution])
  }
  // Aliases come last: their contract is that of the slots they lead to.
  const isAlias = ([, all]: [string, Contribution[]]) => Number(all.some(({ manifest }) => manifest.alias))
  for (const [id, claimants] of [...claims].sort((a, b) => isAlias(a) - isAlias(b))) {
    const claim = buildChain(binding, id, claimants)
    if (claim) admitSlot(binding, id, claim)
  }
  for (const { actions } of registry.tools.values()) {
    const all = [...actions.values()]
    // Built-in actions agree; a test checks that.
    if (all.some(({ primary }) => primary.layer !== 'builtin')) reportPropertyConflicts(binding, all)
  }
}

/** Adds withheld tools, so that a call gets the reason instead of an unknown name. */
function bindWithheld(registry: Registry, { contributions, withheld }: BindInput): void {
  for (const primary of contributions) {
    const why = withheld.get(primary.id)
    if (!why || primary.slot === undefined || getStage(primary) !== 'primary' || registry.slots.has(primary.slot))
      continue
    addSlot(registry, primary.slot, { primary, chain: [], refusal: why.error })
  }
}

/**
 * Reports names that two contributions claim. A tool precedes aliases of that name, and a former name belongs to its
 * first owner.
 */
function reportNameCollisions(binding: Binding, id: string, primary: Contribution): void {
  const { tools, slots, routes } = binding.registry
  const first = (name: string) => tools.get(name)?.actions.values().next().value ?? tools.get(name)?.only
  const findRouted = (name: string) => slots.get(routes.get(name) ?? '')
  const former = findRouted(id)
  if (former && former.primary !== primary)
    addDiagnostic(binding, ...describeCollision(id, primary, former.primary), [primary, former.primary])
  for (const name of primary.manifest.aliases ?? []) {
    const winner = (first(name) ?? findRouted(name))?.primary
    if (winner && winner !== primary)
      addDiagnostic(binding, ...describeCollision(name, winner, primary), [winner, primary])
  }
}

/** Describes two claims of one name. A slot is `bindable`: `use` in the settings can choose the loser. */
function describeCollision(
  slot: string,
  winner: Contribution,
  loser: Contribution,
  bindable = false,
): [code: Code, values: Values] {
  const use = `Set \`use: { "${slot}": "${loser.id}" }\` in the settings to choose the other, or rename one of them.`
  const fix = bindable && winner.layer !== 'builtin' ? use : 'Rename one of them.'
  return ['VT_SLOT_COLLISION', { slot, winner: winner.id, loser: loser.id, fix }]
}

/** Returns whether a manifest can serve a slot, and deactivates those that cannot. */
function canServe(binding: Binding, contribution: Contribution): boolean {
  const { id, manifest, slot } = contribution
  const repeated = ['description', 'input', 'output', 'aliases', 'infer'].filter((field) => field in manifest)
  if (getStage(contribution) !== 'primary' && repeated.length > 0)
    deactivate(binding, contribution, 'invalid', 'VT_SLOT_CONTRACT', { id, fields: repeated.join(', '), slot })
  else if (
    contribution.kind === 'action' &&
    findModulePath(manifest) === undefined &&
    !manifest.alias &&
    !manifest.forwards &&
    !findAdapter(contribution, binding.registry.adapters)
  ) {
    deactivate(binding, contribution, 'inactive', 'VT_PLUGIN_REQUIRES', {
      id,
      needs: `an adapter for '${listAdapterKeys(manifest).join("', '")}'`,
    })
  } else if (getStage(contribution) === 'primary' && !manifest.alias && !manifest.description) {
    deactivate(binding, contribution, 'invalid', 'VT_MANIFEST_INVALID', {
      problem: `${id} declares the slot ${slot} without a description.`,
    })
  }
  return !binding.states.has(contribution)
}

/** Returns the chain of a slot, or nothing where the slot does not exist. */
function buildChain(binding: Binding, id: string, claimants: Contribution[]): Claim | undefined {
  const { registry, claims } = binding
  const chosen = [binding.settings.use[id]].flat()
  const primaries = claimants
    .filter((c) => getStage(c) === 'primary')
    .sort((a, b) => NAME_PRECEDENCE.indexOf(a.layer) - NAME_PRECEDENCE.indexOf(b.layer))
  // `use` chooses between plugins; it replaces no contract of the program.
  const primary = primaries.find((c) => c.layer === 'builtin' || chosen.includes(c.id)) ?? primaries[0]
  const losers = primaries.filter((c) => c !== primary)
  for (const loser of losers) {
    if (chosen.includes(primary!.id)) binding.states.set(loser, ['standby', `use binds ${id}`])
    else deactivate(binding, loser, 'shadowed', ...describeCollision(id, primary!, loser, true), [primary!])
    const name = qualifyName(loser, id)
    // The second one is also called by a name with its plugin. A skill, which a model can load, gets no such name.
    if (!loser.skill && !loser.manifest.alias && !registry.slots.has(name) && !claims.has(name))
      addSlot(registry, name, { primary: loser, chain: [loser] })
  }
  if (!primary) {
    const like = findNearest(
      id,
      [...claims.keys()].filter((other) => other !== id),
    )
    for (const claimant of claimants) {
      deactivate(binding, claimant, 'inactive', 'VT_SLOT_UNKNOWN', {
        id: claimant.id,
        role: `a handler (stage ${claimant.stage})`,
        slot: id,
        nearest: like ? `; nearest: ${like}` : '',
      })
    }
    return undefined
  }
  const rank = (c: Contribution) => STAGE_ORDER.indexOf(getStage(c)) * 10 + CHAIN_ORDER.indexOf(c.layer)
  const chain = claimants.filter((c) => !losers.includes(c)).sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))
  const bound = binding.settings.use[id]
  return bound === undefined
    ? buildDefaultChain(binding, id, primary, chain)
    : buildBoundChain(binding, id, primary, chain, bound)
}

/** Builds the chain of a slot that `use` in the settings does not bind. */
function buildDefaultChain(binding: Binding, id: string, primary: Contribution, chain: Contribution[]): Claim {
  // A model loads skills, and must not replace a tool that way.
  const own = chain.filter((c) => !c.skill || c.stage !== 'override')
  for (const c of chain)
    if (!own.includes(c))
      binding.states.set(c, [
        'standby',
        `an override of a skill is used only if \`use\` in the settings binds ${id} to it`,
      ])
  const [first, ...later] = own.filter((c) => c.stage === 'override')
  if (first && later.length === 0)
    addDiagnostic(binding, 'VT_SLOT_OVERRIDDEN', { slot: id, id: first.id }, [first], 'info')
  for (const other of later) addDiagnostic(binding, ...describeCollision(id, first!, other, true), [first!, other])
  return { primary, chain: own }
}

/** Builds the chain that `use` in the settings binds. */
function buildBoundChain(
  binding: Binding,
  id: string,
  primary: Contribution,
  chain: Contribution[],
  bound: NonNullable<Settings['use'][string]>,
): Claim | undefined {
  const names =
    bound === false
      ? []
      : bound === 'builtin'
        ? chain.filter((c) => c.plugin === 'builtin').map((c) => c.id)
        : [bound].flat()
  // A bare name that several contributions have selects none of them.
  const matches = names.map((name) => chain.filter((c) => c.id === name || c.name === name))
  const several = matches.filter((found) => found.length > 1).flat()
  const serving = matches.map((found) => (found.length === 1 ? found[0] : undefined))
  for (const c of chain) if (!serving.includes(c)) binding.states.set(c, ['standby', `use binds ${id}`])
  if (bound === false) return undefined
  const absent = names.filter((_, i) => !serving[i])
  if (absent.length === 0) return { primary, chain: serving as Contribution[] }
  // The binding may have been a restriction, so nothing replaces a plugin that cannot run.
  const values = {
    slot: id,
    ids: absent.join(', '),
    reason:
      several.length > 0 ? `name one of ${several.map((c) => c.id).join(', ')}` : 'missing, not trusted or broken',
  }
  addDiagnostic(binding, 'VT_SLOT_UNBOUND', values, [primary], 'error')
  return { primary, chain: [], refusal: problem('VT_SLOT_UNBOUND', values) }
}

function admitSlot(binding: Binding, id: string, claim: Claim): void {
  const { registry, lookalikes, claims } = binding
  const { primary } = claim
  const names = [id, id.split('/')[0]!]
  const twin = names
    .map((name) => lookalikes.get(toLookalikeKey(name)))
    .find((known) => known !== undefined && !names.includes(known))
  if (twin !== undefined) return deactivate(binding, primary, 'invalid', 'VT_SLOT_TWIN', { slot: id, twin })
  const fault = primary.manifest.alias && findAliasFault(primary, registry.slots, claims)
  if (fault) return deactivate(binding, primary, ...fault)
  addSlot(registry, id, claim)
  for (const name of names) lookalikes.set(toLookalikeKey(name), name)
}

/** Reports properties that have another type in another action: a model sees one flat schema per tool. */
function reportPropertyConflicts(binding: Binding, slots: Iterable<Slot>): void {
  const declared = new Map<string, { type: string; slot: string }>()
  for (const { info, primary } of slots) {
    for (const [property, schema] of Object.entries(info.input['properties'] as Record<string, Schema>)) {
      const type = formatType(schema)
      const earlier = declared.get(property)
      if (!earlier) declared.set(property, { type, slot: info.slot })
      else if (earlier.type !== type)
        addDiagnostic(binding, 'VT_SLOT_PROPERTY_CONFLICT', { id: primary.id, property, other: earlier.slot }, [
          primary,
        ])
    }
  }
}

function toInfo(
  { id, kind, layer, file, slot, stage, manifest }: Contribution,
  [state, reason]: [State, string?],
): ContributionInfo {
  return {
    id,
    kind,
    layer,
    file,
    state,
    ...(slot !== undefined && { slot, stage: stage ?? 'primary' }),
    ...omitUndefined({ verb: manifest.verb, key: manifest.key }),
    ...(manifest.description !== undefined && { description: removeMarks(manifest.description)! }),
    ...omitUndefined({ errors: manifest.errors, language_server: manifest.language_server, reason }),
  }
}

/** Returns `<plugin>__<tool>`, at most 64 characters long. */
function qualifyName({ id, plugin }: Contribution, slot: string): string {
  const [tool = '', action] = slot.split('/')
  const name = `${plugin.replace(/^[^a-z]/, 'p').replace(/[^a-z0-9]+/g, '_')}__${tool}`
  const short = name.length > 64 ? `${name.slice(0, 55)}_${sha256(id).slice(0, 8)}` : name
  return action === undefined ? short : `${short}/${action}`
}

const toLookalikeKey = (id: string): string => id.normalize('NFKC').toLowerCase().replace(/[-_]/g, '')
const formatType = (schema: Schema): string => JSON.stringify([schema['type'] ?? null].flat().sort())
