import {
  definedOnly,
  type Contribution,
  type ContributionInfo,
  type Diagnostic,
  type Effect,
  type JsonObject,
  type Schema,
  type SlotInfo,
} from '../shapes/index.js'
import { moduleOf } from '../system/index.js'
import { toText, wildcard } from '../text/index.js'
import { targetsOf } from './alias_targets.js'
import { exampleOf } from './examples.js'
import { familiesOf } from './families.js'
import { offeredInput } from './resource_input.js'
import { foldKey, inputShape, type InputShape } from './shape.js'
import { spellingsOf } from './spellings.js'

/** A slot with the contributions that serve it, in the order they are asked. */
export interface Slot {
  readonly info: SlotInfo
  readonly tool: Tool
  readonly primary: Contribution
  readonly chain: readonly Contribution[]
  readonly shape: InputShape
  /** `Example: tool {json}`, quoted by error texts. */
  readonly example: string
  /** Why calls are refused although the slot exists. */
  readonly refusal?: Error
  /** Is it of a vocabulary that was chosen? */
  readonly chosen: boolean
}
/** All actions behind one name. */
export interface Tool {
  readonly name: string
  readonly actions: Map<string, Slot>
  /** Actions and their synonyms, folded. */
  readonly words: Map<string, Slot>
  /** A tool without actions. */
  only?: Slot
  /** The input with property names spelt as the actions agree on; for choosing among them. */
  view(raw: JsonObject): JsonObject
}
/** One generation's contributions, bound. */
export interface Registry {
  /** The vocabularies that are advertised. */
  readonly dialects: readonly string[]
  /** Is each action of the unified vocabulary advertised as a tool of its own? */
  readonly each: boolean
  readonly slots: Map<string, Slot>
  readonly tools: Map<string, Tool>
  /** Tool names that stand for another one. */
  readonly routes: Map<string, string>
  readonly policies: Contribution[]
  readonly compactors: Contribution[]
  readonly surfaces: Map<string, Contribution>
  readonly adapters: Map<string, Contribution>
  readonly providers: Map<string, Contribution>
  /** Policies without consent; `agreed`: an earlier state had it. */
  readonly missing: { id: string; reason: string; agreed?: boolean }[]
  readonly infos: ContributionInfo[]
  readonly diagnostics: Diagnostic[]
}

export const emptyRegistry = (dialects: readonly string[] = ['unified']): Registry => ({
  // `each` is the unified vocabulary, one tool per action.
  dialects: dialects.map((name) => (name === 'each' ? 'unified' : name)),
  each: dialects.includes('each'),
  slots: new Map(),
  tools: new Map(),
  routes: new Map(),
  policies: [],
  compactors: [],
  surfaces: new Map(),
  adapters: new Map(),
  providers: new Map(),
  missing: [],
  infos: [],
  diagnostics: [],
})

/** Who serves a slot, and why calls are refused although it exists. */
export interface Claim {
  primary: Contribution
  chain: Contribution[]
  refusal?: Error
}

/** Adds a slot with the contract of its primary, or of the target of an alias. */
export function addSlot(registry: Registry, id: string, claim: Claim): Slot {
  const [name = '', action] = id.split('/')
  const { primary, chain, refusal } = claim
  const info = contractOf(registry, id, claim)
  const tool = registry.tools.get(name) ?? makeTool(name)
  // Of many slots few are called; what only a call needs is worked out by its first.
  const shape = once(() => inputShape(info.input))
  const example = once(() => exampleOf(info, registry.each))
  const slot: Slot = {
    info,
    tool,
    primary,
    chain,
    get shape() {
      return shape()
    },
    get example() {
      return example()
    },
    chosen: isChosen(primary, registry.dialects),
    ...(refusal && { refusal }),
  }
  registry.tools.set(name, tool)
  registry.slots.set(id, slot)
  if (action === undefined) tool.only = slot
  else addAction(registry, slot, action)
  for (const former of primary.manifest.aliases ?? []) if (!registry.routes.has(former)) registry.routes.set(former, id)
  return slot
}

/** A text about a tool with the plain names of others that it marks. */
export const withoutMarks = (text: string | undefined): string | undefined =>
  text?.replace(/\{slot:(\w+)\/(\w+)\}/g, '$1 $2')

/** The contract of a slot, frozen; its schema and its names are worked out when somebody looks. */
function contractOf(registry: Registry, id: string, { primary, chain }: Claim): SlotInfo {
  const [tool = '', action] = id.split('/')
  const { manifest } = primary
  const targets = targetsOf(manifest.alias ?? {}).flatMap((target) => registry.slots.get(target) ?? [])
  const input = once(() =>
    manifest.alias && !manifest.input && targets[0] ? targets[0].info.input : schemaOf(id, primary, registry),
  )
  const program = programOf(primary, registry.adapters)
  // What a word of a rule means is not for a stranger to say.
  const families = once(() => familiesOf(info, primary.layer === 'builtin' ? (manifest.families ?? []) : []))
  const info: SlotInfo = Object.freeze({
    slot: id,
    tool,
    ...definedOnly({ action, title: manifest.title }),
    description: withoutMarks(manifest.description) ?? targets[0]?.info.description ?? '',
    effects: [
      ...new Set([
        ...chain.flatMap((one) => effectsOf(one, registry.adapters)),
        ...targets.flatMap((target) => target.info.effects),
      ]),
    ],
    ...(manifest.dialect !== undefined && { dialect: [manifest.dialect].flat() }),
    get input() {
      return input()
    },
    ...definedOnly({ output: manifest.output }),
    detailed: manifest.detailed ?? [],
    errors: manifest.errors ?? {},
    ...definedOnly({ example: manifest.example, program, about: manifest.about }),
    chain: chain.map((contribution) => contribution.id),
    // What a whole generation says of the names of a slot is known when all of it is bound.
    get names() {
      return spellingsOf(registry, id).names
    },
    get aliases() {
      return spellingsOf(registry, id).aliases
    },
    ...traitsOf(manifest, chain),
    ...definedOnly({ audience: manifest.audience, modes: manifest.modes }),
    get families() {
      return families()
    },
  } satisfies SlotInfo)
  return info
}

/** Returns the traits of a slot that its manifests declare. */
const traitsOf = (manifest: Contribution['manifest'], chain: readonly Contribution[]): Partial<SlotInfo> => ({
  ...(manifest.reports_changes && { reports_changes: true }),
  ...(chain.length > 0 && chain.every((one) => one.manifest.keeps_history) && { keeps_history: true }),
  ...(manifest.continues && { continues: true }),
  ...(manifest.stays_in_context && { stays_in_context: true }),
})

/** Lets a tool know a slot by its action, by other words for it, and by `tool_action`. */
function addAction({ routes }: Registry, slot: Slot, action: string): void {
  const { tool, info, primary } = slot
  tool.actions.set(action, slot)
  for (const word of primary.manifest.infer?.synonyms ?? [])
    if (!tool.words.has(foldKey(word))) tool.words.set(foldKey(word), slot)
  tool.words.set(foldKey(action), slot)
  if (!routes.has(`${info.tool}_${action}`)) routes.set(`${info.tool}_${action}`, info.slot)
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** Who turns the data of a manifest without a module into a function. */
export function adapterOf(
  { manifest }: Contribution,
  adapters: ReadonlyMap<string, Contribution>,
): Contribution | undefined {
  if (moduleOf(manifest) !== undefined || manifest.alias) return undefined
  for (const [key, adapter] of adapters) if (Object.hasOwn(manifest, key)) return adapter
  return undefined
}

/** A member of a value from a manifest, never one that all objects have. */
const own = <T>(value: unknown, name: string | number): T | undefined =>
  Object.hasOwn(Object(value) as object, name) ? (value as Record<string | number, T>)[name] : undefined

const worst: readonly Effect[] = ['read', 'write', 'exec', 'net']

/** The effects of a contribution: its own, and those that its adapter declares. */
export function effectsOf(contribution: Contribution, adapters: ReadonlyMap<string, Contribution>): Effect[] {
  const { manifest } = contribution
  const adapter = adapterOf(contribution, adapters)?.manifest
  if (!adapter) return [...(manifest.effects ?? (offeredInput(manifest) ? (['read'] as const) : []))]
  const said = [...(manifest.effects ?? []), ...(adapter.effects ?? [])]
  const more = Object.entries(adapter.effects_by ?? {}).flatMap(
    ([member, by]) => own<Effect[]>(by, toText(own(manifest[adapter.key!], member))) ?? [],
  )
  return (manifest.effects ?? adapter.effects) ? [...new Set([...said, ...more])] : [...worst]
}

/** The program that its adapter would start. */
function programOf(contribution: Contribution, adapters: ReadonlyMap<string, Contribution>): string | undefined {
  const { key, program } = adapterOf(contribution, adapters)?.manifest ?? {}
  const name = program === undefined ? undefined : own<unknown>(contribution.manifest[key!], program)
  return typeof name === 'string' ? name : undefined
}

/** Returns which slots these patterns cover: `*` stands for any characters, nothing for all. */
export function slotsCovered(patterns: string[] | undefined): (slot: string) => boolean {
  if (!patterns) return () => true
  const matchers = patterns.map((pattern) => wildcard(pattern))
  return (slot) => matchers.some((matches) => matches(slot))
}

/** The slot's own input with the properties that policies and compactors add to it. */
function schemaOf(id: string, { manifest }: Contribution, { policies, compactors }: Registry): Schema {
  const adding = [...policies, ...compactors].filter(
    ({ manifest }) => manifest.input && slotsCovered(manifest.slots)(id),
  )
  const added = adding.map((contribution) => contribution.manifest.input!['properties'])
  const input = manifest.input ?? offeredInput(manifest) ?? {}
  return {
    ...input,
    type: 'object',
    properties: Object.assign({}, ...added, input['properties']),
    ...(!('unevaluatedProperties' in input) && { additionalProperties: input['additionalProperties'] ?? false }),
  }
}

function makeTool(name: string): Tool {
  let names: Map<string, string> | undefined
  const tool: Tool = {
    name,
    actions: new Map(),
    words: new Map(),
    view(raw) {
      names ??= agreed(tool)
      // `command.0` is a part of `command`.
      const nameOf = (key: string) =>
        names!.get(foldKey(key)) ?? names!.get(foldKey(key.replace(/\.\d{1,4}$/, ''))) ?? key
      return Object.fromEntries(Object.entries(raw).map(([key, value]) => [nameOf(key), value]))
    },
  }
  return tool
}

/** Spellings that mean one property in every action that knows them. */
function agreed(tool: Tool): Map<string, string> {
  const names = new Map<string, string>()
  const disputed = new Set<string>()
  for (const { shape } of tool.actions.values()) {
    for (const [spelling, name] of shape.names) {
      if (names.has(spelling) && names.get(spelling) !== name) disputed.add(spelling)
      names.set(spelling, name)
    }
  }
  for (const spelling of disputed) names.delete(spelling)
  return names
}

/**
 * A tool that nobody agreed to yet is known by its refusal only: what it says of itself reaches no model. One of another vocabulary can
 * be called and is not shown: a model is given one word for a thing.
 */
export const isAdvertised = ({ refusal, primary, chosen }: Slot): boolean =>
  primary.kind === 'action' && refusal?.name !== 'VT_PLUGIN_UNTRUSTED' && chosen
/** The same for everybody: what belongs to a face is listed by that face. */
export const isListed = (slot: Slot): boolean => isAdvertised(slot) && slot.info.audience === undefined

/** What says no dialect is in all of them; of our own tools it is the unified one. */
function isChosen({ manifest: { dialect }, layer }: Contribution, dialects: readonly string[]): boolean {
  const own = dialect === undefined ? (layer === 'builtin' ? ['unified'] : undefined) : [dialect].flat()
  return own === undefined || own.some((name) => dialects.includes(name))
}
/** The name of an action as a tool of its own; nothing where it is taken or unfit for wires. */
export function splitName({ tools, routes }: Registry, { info: { slot, tool, action } }: Slot): string | undefined {
  const name = `${tool}_${action}`
  return routes.get(name) === slot && !tools.has(name) && name.length <= 64 ? name : undefined
}

const onlyReads = ({ info: { effects } }: Slot): boolean =>
  effects.length > 0 && effects.every((effect) => effect === 'read')

/** Returns the name under which an action is a tool of its own: each, or with `splitReads` one that reads in a tool that writes. */
export function ownName(registry: Registry, splitReads: boolean | undefined, slot: Slot): string | undefined {
  if (slot.info.action === undefined) return undefined
  const stands =
    registry.each ||
    (splitReads && onlyReads(slot) && slotsOf(slot.tool).some(({ info }) => info.effects.includes('write')))
  return stands ? splitName(registry, slot) : undefined
}

/** The example of a slot as such a reader calls it. */
export const exampleFor = (registry: Registry, splitReads: boolean | undefined, slot: Slot): string =>
  ownName(registry, splitReads, slot) ? exampleOf(slot.info, true) : slot.example

export const slotsOf = (tool: Tool): Slot[] => (tool.only ? [tool.only] : [...tool.actions.values()])
