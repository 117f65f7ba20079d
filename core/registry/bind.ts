import {
  definedOnly,
  fromError,
  problem,
  report,
  texts,
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
import { nearest, toText } from '../text/index.js'
import { moduleOf, sha256 } from '../system/index.js'
import { dataKeys } from '../schema/index.js'
import { targetsOf } from './alias_targets.js'
import { adapterOf, addSlot, emptyRegistry, withoutMarks, type Claim, type Registry, type Slot } from './registry.js'

const asked: Layer[] = ['call', 'admin', 'user', 'workspace', 'builtin']
// Names belong to the layers of the user first: a cloned repository never takes one over.
const owned: Layer[] = ['builtin', 'admin', 'call', 'user', 'workspace']
const stages: Stage[] = ['override', 'primary', 'fallback']

export interface BindInput {
  contributions: Contribution[]
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
  /** By id, what may not run and why. */
  withheld: ReadonlyMap<string, Withheld>
}
/** Nobody has agreed to it as it stands. */
export interface Withheld {
  state: 'untrusted' | 'unlocked'
  error: VtError
  /** Whether the user agreed to another state of it. */
  agreed?: boolean
}

const stageOf = ({ stage }: Contribution): Stage => stage ?? 'primary'

/** What is known while a registry is made. */
interface Binding {
  readonly registry: Registry
  readonly settings: Settings
  /** What of it may run. */
  readonly usable: readonly Contribution[]
  /** What is not simply active, and why. */
  readonly states: Map<Contribution, [State, string?]>
  /** Who wants to serve each slot. */
  readonly claims: Map<string, Contribution[]>
  /** Names by how they look. */
  readonly looks: Map<string, string>
}

/** Binds slots, policies and compactors; all contributions are in `infos`. Throws VT_CONFIG_INVALID. */
export function bind(found: BindInput, settings: Settings, dialects?: readonly string[]): Registry {
  requireDialects(found.contributions, dialects)
  const registry = emptyRegistry(dialects)
  const states: Binding['states'] = new Map()
  registry.diagnostics.push(...found.diagnostics)
  const usable = found.contributions.filter(
    (contribution) => !isWithheld(registry, states, contribution, found.withheld),
  )
  const binding: Binding = { registry, settings, usable, states, claims: new Map(), looks: new Map() }
  bindNamed(binding)
  bindOrdered(binding)
  bindSlots(binding)
  bindWithheld(registry, found)
  for (const { info, primary } of registry.slots.values())
    if (primary.layer !== 'builtin') tellNames(binding, info.slot, primary)
  registry.infos.push(
    ...found.invalid,
    ...found.contributions.map((contribution) => infoOf(contribution, states.get(contribution) ?? ['active'])),
  )
  return registry
}

function say(
  { registry }: Pick<Binding, 'registry'>,
  code: Code,
  values: Values,
  files: Contribution[],
  severity: Diagnostic['severity'] = 'warning',
): void {
  registry.diagnostics.push(
    report(
      code,
      values,
      files.map(({ file }) => file),
      severity,
    ),
  )
}

/** Sets a contribution aside, with the reason as state and as diagnostic. */
function aside(
  binding: Binding,
  contribution: Contribution,
  state: State,
  code: Code,
  values: Values,
  others: Contribution[] = [],
): void {
  binding.states.set(contribution, [state, texts(code, values)!.message])
  say(binding, code, values, [...others, contribution], state === 'invalid' ? 'error' : 'warning')
}

/** Notes what may not run, with its reason; a policy that may not is missed. */
function isWithheld(
  registry: Registry,
  states: Binding['states'],
  contribution: Contribution,
  withheld: BindInput['withheld'],
): boolean {
  const why = withheld.get(contribution.id)
  if (!why) return false
  states.set(contribution, [why.state, why.error.message])
  registry.diagnostics.push({ ...fromError(why.error, contribution.file), severity: 'warning' })
  if (contribution.kind === 'policy')
    registry.missing.push({ id: contribution.id, reason: saidOf(why), agreed: why.agreed === true })
  return true
}

const saidOf = ({ agreed, error: { message, problem } }: Withheld): string =>
  agreed ? `${message} ${problem.hint}` : message

/** Binds surfaces, adapters and providers: the first of a name counts; those of a workspace come last. */
function bindNamed(binding: Binding): void {
  const { registry, usable } = binding
  for (const [kind, nameOf, map] of [
    ['surface', ({ manifest }: Contribution) => manifest.verb, registry.surfaces],
    ['adapter', ({ manifest }: Contribution) => manifest.key, registry.adapters],
    ['provider', ({ manifest, name }: Contribution) => manifest.provider?.name ?? name, registry.providers],
  ] as const) {
    for (const contribution of usable
      .filter((one) => one.kind === kind)
      .sort((a, b) => owned.indexOf(a.layer) - owned.indexOf(b.layer))) {
      const name = toText(nameOf(contribution))
      const winner = map.get(name)
      if (winner)
        aside(
          binding,
          contribution,
          'shadowed',
          'VT_SLOT_COLLISION',
          { slot: name, winner: winner.id, loser: contribution.id },
          [winner],
        )
      else map.set(name, contribution)
    }
  }
}

/** Policies and compactors, each kind in its order. */
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
    if (contribution.slot === undefined || !serves(binding, contribution)) continue
    claims.set(contribution.slot, [...(claims.get(contribution.slot) ?? []), contribution])
  }
  // Aliases come last: their contract is that of the slots they stand for.
  const isAlias = ([, [first]]: [string, Contribution[]]) => Number(first!.manifest.alias !== undefined)
  for (const [id, claimants] of [...claims].sort((a, b) => isAlias(a) - isAlias(b))) {
    const claim = chainOf(binding, id, claimants)
    if (claim) admit(binding, id, claim)
  }
  for (const { actions } of registry.tools.values()) {
    const all = [...actions.values()]
    // Our own actions agree; a test holds that.
    if (all.some(({ primary }) => primary.layer !== 'builtin')) compare(binding, all)
  }
}

/** A call to the name of a tool nobody agreed to yet says so, rather than that it is unknown. */
function bindWithheld(registry: Registry, { contributions, withheld }: BindInput): void {
  for (const primary of contributions) {
    const why = withheld.get(primary.id)
    if (!why || primary.slot === undefined || stageOf(primary) !== 'primary' || registry.slots.has(primary.slot))
      continue
    addSlot(registry, primary.slot, { primary, chain: [], refusal: why.error })
  }
}

/** A tool comes before what went by its name, and a former name belongs to who had it first: neither unsaid. */
function tellNames(binding: Binding, id: string, primary: Contribution): void {
  const { tools, slots, routes } = binding.registry
  const first = (name: string) => tools.get(name)?.actions.values().next().value ?? tools.get(name)?.only
  const routed = (name: string) => slots.get(routes.get(name) ?? '')
  const former = routed(id)
  if (former && former.primary !== primary)
    say(binding, 'VT_SLOT_COLLISION', { slot: id, winner: primary.id, loser: former.primary.id }, [
      primary,
      former.primary,
    ])
  for (const name of primary.manifest.aliases ?? []) {
    const winner = (first(name) ?? routed(name))?.primary
    if (winner && winner !== primary)
      say(binding, 'VT_SLOT_COLLISION', { slot: name, winner: winner.id, loser: primary.id }, [winner, primary])
  }
}

/** Can this manifest serve a slot at all? */
function serves(binding: Binding, contribution: Contribution): boolean {
  const { id, manifest, slot } = contribution
  const repeated = ['description', 'input', 'output', 'aliases', 'infer'].filter((field) => field in manifest)
  if (stageOf(contribution) !== 'primary' && repeated.length > 0)
    aside(binding, contribution, 'invalid', 'VT_SLOT_CONTRACT', { id, fields: repeated.join(', '), slot })
  else if (
    contribution.kind === 'action' &&
    moduleOf(manifest) === undefined &&
    !manifest.alias &&
    !manifest.forwards &&
    !adapterOf(contribution, binding.registry.adapters)
  ) {
    aside(binding, contribution, 'inactive', 'VT_PLUGIN_REQUIRES', {
      id,
      needs: `an adapter for '${dataKeys(manifest).join("', '")}'`,
    })
  } else if (stageOf(contribution) === 'primary' && !manifest.alias && !manifest.description) {
    aside(binding, contribution, 'invalid', 'VT_MANIFEST_INVALID', {
      problem: `${id} declares the slot ${slot} without a description.`,
    })
  }
  return !binding.states.has(contribution)
}

/** Returns the chain of a slot, or nothing where the slot does not exist. */
function chainOf(binding: Binding, id: string, claimants: Contribution[]): Claim | undefined {
  const { registry, claims } = binding
  const [primary, ...losers] = claimants
    .filter((c) => stageOf(c) === 'primary')
    .sort((a, b) => owned.indexOf(a.layer) - owned.indexOf(b.layer))
  for (const loser of losers) {
    aside(binding, loser, 'shadowed', 'VT_SLOT_COLLISION', { slot: id, winner: primary!.id, loser: loser.id }, [
      primary!,
    ])
    const name = qualified(loser, id)
    // Both load: the one that came second is called by the name of its plugin too. What a model loads brings no such names.
    if (!loser.skill && !loser.manifest.alias && !registry.slots.has(name) && !claims.has(name))
      addSlot(registry, name, { primary: loser, chain: [loser] })
  }
  if (!primary) {
    const like = nearest(
      id,
      [...claims.keys()].filter((other) => other !== id),
    )
    for (const claimant of claimants) {
      aside(binding, claimant, 'inactive', 'VT_SLOT_UNKNOWN', {
        id: claimant.id,
        stage: claimant.stage,
        slot: id,
        nearest: like ? `; nearest: ${like}` : '',
      })
    }
    return undefined
  }
  const rank = (c: Contribution) => stages.indexOf(stageOf(c)) * 10 + asked.indexOf(c.layer)
  const chain = claimants.filter((c) => !losers.includes(c)).sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))
  const bound = binding.settings.use[id]
  return bound === undefined
    ? unboundChain(binding, id, primary, chain)
    : boundChain(binding, id, primary, chain, bound)
}

/** The chain of a slot that `use` in the settings does not bind. */
function unboundChain(binding: Binding, id: string, primary: Contribution, chain: Contribution[]): Claim {
  // A skill is loaded by a model, which shall not replace a tool by that.
  const own = chain.filter((c) => !c.skill || c.stage !== 'override')
  for (const c of chain)
    if (!own.includes(c))
      binding.states.set(c, [
        'standby',
        `an override of a skill counts where \`use\` of the settings binds ${id} to it`,
      ])
  const [first, ...later] = own.filter((c) => c.stage === 'override')
  if (first && later.length === 0) say(binding, 'VT_SLOT_OVERRIDDEN', { slot: id, id: first.id }, [first], 'info')
  for (const other of later)
    say(binding, 'VT_SLOT_COLLISION', { slot: id, winner: first!.id, loser: other.id }, [first!, other])
  return { primary, chain: own }
}

/** The chain as `use` in the settings binds it. */
function boundChain(
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
  // A bare name that several have names none of them.
  const matches = names.map((name) => chain.filter((c) => c.id === name || c.name === name))
  const several = matches.filter((found) => found.length > 1).flat()
  const serving = matches.map((found) => (found.length === 1 ? found[0] : undefined))
  for (const c of chain) if (!serving.includes(c)) binding.states.set(c, ['standby', `use binds ${id}`])
  if (bound === false) return undefined
  const absent = names.filter((_, i) => !serving[i])
  if (absent.length === 0) return { primary, chain: serving as Contribution[] }
  // The binding may have been a restriction: nobody steps in for a plugin that cannot run.
  const values = {
    slot: id,
    ids: absent.join(', '),
    reason:
      several.length > 0 ? `say which: ${several.map((c) => c.id).join(', ')}` : 'not there, not trusted or broken',
  }
  say(binding, 'VT_SLOT_UNBOUND', values, [primary], 'error')
  return { primary, chain: [], refusal: problem('VT_SLOT_UNBOUND', values) }
}

function admit(binding: Binding, id: string, claim: Claim): void {
  const { registry, looks } = binding
  const { primary } = claim
  const names = [id, id.split('/')[0]!]
  const twin = names.map((name) => looks.get(look(name))).find((known) => known !== undefined && !names.includes(known))
  if (twin !== undefined) return aside(binding, primary, 'invalid', 'VT_SLOT_TWIN', { slot: id, twin })
  const dead = primary.manifest.alias && targetsOf(primary.manifest.alias).find((target) => !registry.slots.has(target))
  if (dead)
    return aside(binding, primary, 'inactive', 'VT_SLOT_UNKNOWN', {
      id: primary.id,
      stage: 'alias',
      slot: dead,
      nearest: '',
    })
  addSlot(registry, id, claim)
  for (const name of names) looks.set(look(name), name)
}

/** One tool is one flat schema for a model: a property means the same type in all its actions. */
function compare(binding: Binding, slots: Iterable<Slot>): void {
  const declared = new Map<string, { type: string; slot: string }>()
  for (const { info, primary } of slots) {
    for (const [property, schema] of Object.entries(info.input['properties'] as Record<string, Schema>)) {
      const type = typeText(schema)
      const earlier = declared.get(property)
      if (!earlier) declared.set(property, { type, slot: info.slot })
      else if (earlier.type !== type)
        say(binding, 'VT_SLOT_PROPERTY_CONFLICT', { id: primary.id, property, other: earlier.slot }, [primary])
    }
  }
}

function infoOf(
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
    ...definedOnly({ verb: manifest.verb, key: manifest.key }),
    ...(manifest.description !== undefined && { description: withoutMarks(manifest.description)! }),
    ...definedOnly({ errors: manifest.errors, reason }),
  }
}

/** `<plugin>__<tool>`, at most 64 characters long. */
function qualified({ id, plugin }: Contribution, slot: string): string {
  const [tool = '', action] = slot.split('/')
  const name = `${plugin.replace(/^[^a-z]/, 'p').replace(/[^a-z0-9]+/g, '_')}__${tool}`
  const short = name.length > 64 ? `${name.slice(0, 55)}_${sha256(id).slice(0, 8)}` : name
  return action === undefined ? short : `${short}/${action}`
}

const look = (id: string): string => id.normalize('NFKC').toLowerCase().replace(/[-_]/g, '')
const typeText = (schema: Schema): string => JSON.stringify([schema['type'] ?? null].flat().sort())

/** Refuses an unknown dialect. Throws VT_CONFIG_INVALID. */
function requireDialects(contributions: readonly Contribution[], chosen: readonly string[] = []): void {
  const known = new Set(['unified', 'each', ...contributions.flatMap(({ manifest }) => manifest.dialect ?? [])])
  const strange = chosen.find((name) => !known.has(name))
  if (strange === undefined) return
  const like = nearest(strange, known)
  const text = `Unknown dialect '${strange}'${like ? ` (did you mean ${like}?)` : ''}; known: ${[...known].sort().join(', ')}.`
  throw problem(
    'VT_CONFIG_INVALID',
    { problem: text },
    { hint: 'Choose one or several of these, separated by commas.' },
  )
}
