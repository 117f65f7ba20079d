import {
  omitUndefined,
  type Contribution,
  type ContributionInfo,
  type Diagnostic,
  type Effect,
  type JsonObject,
  type Schema,
  type SlotInfo,
} from '../shapes/index.js'
import { findModulePath } from '../system/index.js'
import { toText, compileWildcard } from '../text/index.js'
import { buildResourceInput } from '../schema/index.js'
import type { MissingGuard } from '../trust/index.js'
import { listAliasTargets } from './alias_targets.js'
import { formatExample } from './examples.js'
import { listFamilies } from './families.js'
import { foldKey, createInputShape, type InputShape } from './shape.js'
import { findSpellings } from './spellings.js'

/** A slot with the contributions that serve it, in calling order. */
export interface Slot {
  readonly info: SlotInfo
  readonly tool: Tool
  readonly primary: Contribution
  readonly chain: readonly Contribution[]
  readonly shape: InputShape
  /** `Example: tool {json}`, for error texts. */
  readonly example: string
  /** Reason why calls are rejected although the slot exists. */
  refusal?: Error
  /** The slot belongs to a chosen dialect. */
  readonly chosen: boolean
}
/** All actions of one tool. */
export interface Tool {
  readonly name: string
  readonly actions: Map<string, Slot>
  /** Actions and their synonyms, folded. */
  readonly words: Map<string, Slot>
  /** The slot of a tool without actions. */
  only?: Slot
  /** Returns the input with the property names that the actions agree on, for choosing an action. */
  view(raw: JsonObject): JsonObject
}
/** The bound contributions of one generation. */
export interface Registry {
  /** The dialects that are advertised. */
  readonly dialects: readonly string[]
  /** Each action of the unified dialect is advertised as a tool of its own. */
  readonly each: boolean
  readonly slots: Map<string, Slot>
  readonly tools: Map<string, Tool>
  /** Former names and other tool names, with the slot they lead to. */
  readonly routes: Map<string, string>
  readonly policies: Contribution[]
  readonly compactors: Contribution[]
  readonly surfaces: Map<string, Contribution>
  readonly adapters: Map<string, Contribution>
  readonly providers: Map<string, Contribution>
  readonly engines: Map<string, Contribution>
  readonly missing: MissingGuard[]
  readonly infos: ContributionInfo[]
  readonly diagnostics: Diagnostic[]
}

export const createRegistry = (dialects: readonly string[] = ['unified']): Registry => ({
  // `each` is the unified dialect, with one tool per action.
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
  engines: new Map(),
  missing: [],
  infos: [],
  diagnostics: [],
})

/** The contributions that serve a slot, and the reason why calls are rejected. */
export interface Claim {
  primary: Contribution
  chain: Contribution[]
  refusal?: Error
}

/** Adds a slot with the contract of its primary, or of the target of an alias. */
export function addSlot(registry: Registry, id: string, claim: Claim): Slot {
  const [name = '', action] = id.split('/')
  const { primary, chain, refusal } = claim
  const info = createSlotInfo(registry, id, claim)
  const tool = registry.tools.get(name) ?? createTool(name)
  // Few slots are called: computed on the first call.
  const shape = memoize(() => createInputShape(info.input))
  const example = memoize(() => formatExample(info, registry.each))
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

/** Replaces marks of tools in a text by their plain names. */
export const removeMarks = (text: string | undefined): string | undefined =>
  text?.replace(/\{slot:(\w+)\/(\w+)\}/g, '$1 $2')

/** Creates the frozen contract of a slot; its schema and names are computed on first access. */
function createSlotInfo(registry: Registry, id: string, { primary, chain }: Claim): SlotInfo {
  const [tool = '', action] = id.split('/')
  const { manifest } = primary
  const targets = listAliasTargets(manifest.alias ?? {}).flatMap((target) => registry.slots.get(target) ?? [])
  const input = memoize(() =>
    manifest.alias && !manifest.input && targets[0] ? targets[0].info.input : buildInputSchema(id, primary, registry),
  )
  const program = findStartedProgram(primary, registry.adapters)
  // Only built-in manifests define the meaning of a family in rules.
  const families = memoize(() => listFamilies(info, primary.layer === 'builtin' ? (manifest.families ?? []) : []))
  const info: SlotInfo = Object.freeze({
    slot: id,
    tool,
    ...omitUndefined({ action, title: manifest.title }),
    description: removeMarks(manifest.description) ?? targets[0]?.info.description ?? '',
    effects: [
      ...new Set([
        ...chain.flatMap((one) => listEffects(one, registry.adapters)),
        ...targets.flatMap((target) => target.info.effects),
      ]),
    ],
    ...(manifest.dialect !== undefined && { dialect: [manifest.dialect].flat() }),
    get input() {
      return input()
    },
    ...omitUndefined({ output: manifest.output }),
    detailed: manifest.detailed ?? [],
    errors: manifest.errors ?? {},
    ...omitUndefined({ example: manifest.example, program, about: manifest.about }),
    chain: chain.map((contribution) => contribution.id),
    // Names are complete only after the whole generation is bound.
    get names() {
      return findSpellings(registry, id).names
    },
    get aliases() {
      return findSpellings(registry, id).aliases
    },
    ...readTraits(manifest, chain),
    ...omitUndefined({ audience: manifest.audience, modes: manifest.modes }),
    ...omitUndefined({ group: primary.group }),
    get families() {
      return families()
    },
  } satisfies SlotInfo)
  return info
}

/** Returns the declared traits of a slot. */
const readTraits = (manifest: Contribution['manifest'], chain: readonly Contribution[]): Partial<SlotInfo> => ({
  ...(manifest.reports_changes && { reports_changes: true }),
  ...(chain.length > 0 && chain.every((one) => one.manifest.keeps_history) && { keeps_history: true }),
  ...(manifest.runs_calls && { runs_calls: true }),
  ...(manifest.continues && { continues: true }),
  ...(manifest.stays_in_context && { stays_in_context: true }),
})

/** Registers a slot with its tool by its action, its synonyms, and as `tool_action`. */
function addAction({ routes }: Registry, slot: Slot, action: string): void {
  const { tool, info, primary } = slot
  tool.actions.set(action, slot)
  for (const word of primary.manifest.infer?.synonyms ?? [])
    if (!tool.words.has(foldKey(word))) tool.words.set(foldKey(word), slot)
  tool.words.set(foldKey(action), slot)
  if (!routes.has(`${info.tool}_${action}`)) routes.set(`${info.tool}_${action}`, info.slot)
}

function memoize<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** Returns the adapter that turns the data of a manifest without a module into a function. */
export function findAdapter(
  { manifest }: Contribution,
  adapters: ReadonlyMap<string, Contribution>,
): Contribution | undefined {
  if (findModulePath(manifest) !== undefined || manifest.alias) return undefined
  for (const [key, adapter] of adapters) if (Object.hasOwn(manifest, key)) return adapter
  return undefined
}

/** Returns an own member of a value from a manifest, never an inherited one. */
const readOwn = <T>(value: unknown, name: string | number): T | undefined =>
  Object.hasOwn(Object(value) as object, name) ? (value as Record<string | number, T>)[name] : undefined

const WORST_EFFECTS: readonly Effect[] = ['read', 'write', 'exec', 'net']

/** Lists the effects of a contribution: its own, and those that its adapter declares. */
export function listEffects(contribution: Contribution, adapters: ReadonlyMap<string, Contribution>): Effect[] {
  const { manifest } = contribution
  const adapter = findAdapter(contribution, adapters)?.manifest
  if (!adapter) return [...(manifest.effects ?? (buildResourceInput(manifest) ? (['read'] as const) : []))]
  const declared = [...(manifest.effects ?? []), ...(adapter.effects ?? [])]
  const more = Object.entries(adapter.effects_by ?? {}).flatMap(
    ([member, by]) => readOwn<Effect[]>(by, toText(readOwn(manifest[adapter.key!], member))) ?? [],
  )
  return (manifest.effects ?? adapter.effects) ? [...new Set([...declared, ...more])] : [...WORST_EFFECTS]
}

/** Returns the program that the adapter would start. */
function findStartedProgram(
  contribution: Contribution,
  adapters: ReadonlyMap<string, Contribution>,
): string | undefined {
  const { key, program } = findAdapter(contribution, adapters)?.manifest ?? {}
  const name = program === undefined ? undefined : readOwn<unknown>(contribution.manifest[key!], program)
  return typeof name === 'string' ? name : undefined
}

/** Creates a matcher for slots. `*` in a pattern is any text; without patterns every slot matches. */
export function createSlotMatcher(patterns: string[] | undefined): (slot: string) => boolean {
  if (!patterns) return () => true
  const matchers = patterns.map((pattern) => compileWildcard(pattern))
  return (slot) => matchers.some((matches) => matches(slot))
}

/** Returns the input of a slot with the properties that policies and compactors add. */
function buildInputSchema(id: string, { manifest }: Contribution, { policies, compactors }: Registry): Schema {
  const adding = [...policies, ...compactors].filter(
    ({ manifest }) => manifest.input && createSlotMatcher(manifest.slots)(id),
  )
  const added = adding.map((contribution) => contribution.manifest.input!['properties'])
  const input = manifest.input ?? buildResourceInput(manifest) ?? {}
  return {
    ...input,
    type: 'object',
    properties: Object.assign({}, ...added, input['properties']),
    ...(!('unevaluatedProperties' in input) && { additionalProperties: input['additionalProperties'] ?? false }),
  }
}

function createTool(name: string): Tool {
  let names: Map<string, string> | undefined
  const tool: Tool = {
    name,
    actions: new Map(),
    words: new Map(),
    view(raw) {
      names ??= listAgreedNames(tool)
      // `command.0` is a part of `command`.
      const findName = (key: string) =>
        names!.get(foldKey(key)) ?? names!.get(foldKey(key.replace(/\.\d{1,4}$/, ''))) ?? key
      return Object.fromEntries(Object.entries(raw).map(([key, value]) => [findName(key), value]))
    },
  }
  return tool
}

/** Returns the spellings that mean one property in every action that knows them. */
function listAgreedNames(tool: Tool): Map<string, string> {
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
 * Returns whether models may see a slot. A tool without consent or with an invalid manifest shows only its refusal,
 * because its texts must not reach a model. A tool of another dialect can be called and is not shown, so that a model
 * sees one name per tool.
 */
export const isAdvertised = ({ refusal, primary, chosen }: Slot): boolean =>
  primary.kind === 'action' && !UNLISTED.includes(refusal?.name ?? '') && chosen
const UNLISTED = ['VT_PLUGIN_UNTRUSTED', 'VT_MANIFEST_INVALID']

/** Returns whether every client lists a slot. A slot with an audience is listed by its surface only. */
export const isListed = (slot: Slot): boolean => isAdvertised(slot) && slot.info.audience === undefined

/**
 * Returns whether a contribution belongs to a chosen dialect. Without a declaration, a built-in tool is unified and a
 * foreign one belongs to all.
 */
function isChosen({ manifest: { dialect }, layer }: Contribution, dialects: readonly string[]): boolean {
  const own = dialect === undefined ? (layer === 'builtin' ? ['unified'] : undefined) : [dialect].flat()
  return own === undefined || own.some((name) => dialects.includes(name))
}
/** Returns the name of an action as a tool of its own; nothing where it is used already or too long. */
export function findActionToolName(
  { tools, routes }: Registry,
  { info: { slot, tool, action } }: Slot,
): string | undefined {
  const name = `${tool}_${action}`
  return routes.get(name) === slot && !tools.has(name) && name.length <= 64 ? name : undefined
}

const isReadOnly = ({ info: { effects } }: Slot): boolean =>
  effects.length > 0 && effects.every((effect) => effect === 'read')

/**
 * Returns the name under which an action is a tool of its own: with `each`, or with `splitReads` for a reading action
 * of a tool that writes.
 */
export function findOwnToolName(registry: Registry, splitReads: boolean | undefined, slot: Slot): string | undefined {
  if (slot.info.action === undefined) return undefined
  const stands =
    registry.each ||
    (splitReads && isReadOnly(slot) && listSlots(slot.tool).some(({ info }) => info.effects.includes('write')))
  return stands ? findActionToolName(registry, slot) : undefined
}

/** Returns the example of a slot in the form that this reader calls. */
export const findExample = (registry: Registry, splitReads: boolean | undefined, slot: Slot): string =>
  findOwnToolName(registry, splitReads, slot) ? formatExample(slot.info, true) : slot.example

export const listSlots = (tool: Tool): Slot[] => (tool.only ? [tool.only] : [...tool.actions.values()])
