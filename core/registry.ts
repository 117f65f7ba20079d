import { targetsOf } from './alias.js'
import { problem, texts, type Code, type Values } from './errors.js'
import { fold, shapeOf, type Shape } from './input.js'
import { nearest } from './nearest.js'
import type {
  Contribution, ContributionInfo, Diagnostic, Effect, JsonObject, Layer, Schema, Settings, SlotInfo, Stage, State, ToolInfo,
} from './types.js'

/** A slot with the contributions that serve it, in the order they are asked. */
export interface Slot {
  readonly info: SlotInfo
  readonly tool: Tool
  readonly primary: Contribution
  readonly chain: readonly Contribution[]
  readonly shape: Shape
  /** `Example: tool {json}`, quoted by error texts. */
  readonly example: string
  /** Why calls are refused although the slot exists. */
  readonly refusal?: Error
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
  readonly slots: Map<string, Slot>
  readonly tools: Map<string, Tool>
  /** Tool names that stand for another one. */
  readonly routes: Map<string, string>
  readonly policies: Contribution[]
  readonly compactors: Contribution[]
  readonly surfaces: Map<string, Contribution>
  readonly adapters: Map<string, Contribution>
  /** Policies of the workspace nobody agreed to yet. */
  readonly missing: Contribution[]
  readonly infos: ContributionInfo[]
  readonly diagnostics: Diagnostic[]
}

const layers: Layer[] = ['call', 'admin', 'user', 'workspace', 'builtin']
const stages: Stage[] = ['override', 'primary', 'fallback']

export interface Found {
  contributions: Contribution[]
  invalid: ContributionInfo[]
  diagnostics: Diagnostic[]
  /** Ids that may not run code yet. */
  untrusted: ReadonlySet<string>
}

/** Binds what was found: who serves which slot, who judges, who shrinks. Nothing that was found is missing from `infos`. */
export function bind(found: Found, settings: Settings): Registry {
  const diagnostics = [...found.diagnostics]
  const states = new Map<Contribution, [State, string?]>()
  const say = (code: Code, severity: Diagnostic['severity'], values: Values, files: string[]) => {
    const { message, hint } = texts(code, values)!
    diagnostics.push({ code, severity, message, hint, files })
  }
  const usable = found.contributions.filter((contribution) => {
    if (!found.untrusted.has(contribution.id)) return true
    states.set(contribution, ['untrusted', texts('VT_PLUGIN_UNTRUSTED', { id: contribution.id })!.message])
    say('VT_PLUGIN_UNTRUSTED', 'warning', { id: contribution.id }, [contribution.file])
    return false
  })
  const of = (kind: Contribution['kind']) => usable.filter((contribution) => contribution.kind === kind)
  const ordered = (kind: 'policy' | 'compactor') =>
    of(kind).sort((a, b) => (a.manifest.order ?? 0) - (b.manifest.order ?? 0) || (a.id < b.id ? -1 : 1))

  const registry: Registry = {
    slots: new Map(),
    tools: new Map(),
    routes: new Map(),
    policies: ordered('policy'),
    compactors: ordered('compactor'),
    surfaces: new Map(),
    adapters: new Map(),
    missing: found.contributions.filter(({ kind, id }) => kind === 'policy' && found.untrusted.has(id)),
    infos: [],
    diagnostics,
  }
  for (const [kind, key, map] of [['surface', 'verb', registry.surfaces], ['adapter', 'key', registry.adapters]] as const) {
    for (const contribution of of(kind)) {
      const name = String(contribution.manifest[key])
      const winner = map.get(name)
      if (winner) {
        states.set(contribution, ['shadowed', `${name} is taken by ${winner.id}`])
        say('VT_SLOT_COLLISION', 'warning', { slot: name, winner: winner.id, loser: contribution.id }, [winner.file, contribution.file])
      } else map.set(name, contribution)
    }
  }

  const claims = new Map<string, Contribution[]>()
  for (const contribution of of('action')) claims.set(contribution.slot!, [...(claims.get(contribution.slot!) ?? []), contribution])
  const extra = [...registry.policies, ...registry.compactors].filter(({ manifest }) => manifest.input)
  // Aliases come last: their contract is that of the slots they stand for.
  const isAlias = ([, [first]]: [string, Contribution[]]) => Number(first!.manifest.alias !== undefined)
  for (const [id, claimants] of [...claims].sort((a, b) => isAlias(a) - isAlias(b))) {
    const chain = chainOf(id, claimants)
    if (chain) addSlot(id, chain)
  }
  for (const contribution of found.contributions) {
    // Calls to the name of a tool nobody agreed to yet say so, rather than that it is unknown.
    if (contribution.kind === 'action' && (contribution.stage ?? 'primary') === 'primary' && found.untrusted.has(contribution.id) && !registry.slots.has(contribution.slot!)) {
      addSlot(contribution.slot!, { primary: contribution, chain: [], refusal: problem('VT_PLUGIN_UNTRUSTED', { id: contribution.id }) })
    }
  }

  /** The order in which the claimants of a slot are asked, or nothing where the slot does not exist. */
  function chainOf(id: string, claimants: Contribution[]): { primary: Contribution; chain: Contribution[]; refusal?: Error } | undefined {
    const rank = (c: Contribution) => stages.indexOf(c.stage ?? 'primary') * 10 + layers.indexOf(c.layer)
    // Names belong to the layers of the user first: a cloned repository never takes one over.
    const primaries = claimants.filter((c) => (c.stage ?? 'primary') === 'primary').sort((a, b) => own(a) - own(b))
    const [primary, ...losers] = primaries
    for (const loser of losers) {
      states.set(loser, ['shadowed', `${id} is taken by ${primary!.id}`])
      say('VT_SLOT_COLLISION', 'warning', { slot: id, winner: primary!.id, loser: loser.id }, [primary!.file, loser.file])
    }
    if (!primary) {
      for (const claimant of claimants) {
        const like = nearest(id, claims.keys())
        const values = { id: claimant.id, stage: claimant.stage, slot: id, nearest: like && like !== id ? `; nearest: ${like}` : '' }
        states.set(claimant, ['inactive', texts('VT_SLOT_UNKNOWN', values)!.message])
        say('VT_SLOT_UNKNOWN', 'warning', values, [claimant.file])
      }
      return undefined
    }
    const chain = claimants.filter((c) => !losers.includes(c)).sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))
    const overrides = chain.filter((c) => c.stage === 'override')
    const bound = settings.use[id]
    if (bound === undefined) {
      if (overrides.length === 1) say('VT_SLOT_OVERRIDDEN', 'info', { slot: id, id: overrides[0]!.id }, [overrides[0]!.file])
      for (const later of overrides.slice(1)) {
        say('VT_SLOT_COLLISION', 'warning', { slot: id, winner: overrides[0]!.id, loser: later.id }, [overrides[0]!.file, later.file])
      }
      return { primary, chain }
    }
    const wanted = bound === false ? [] : bound === 'builtin' ? chain.filter((c) => c.plugin === 'builtin').map((c) => c.id) : [bound].flat()
    const serving = wanted.map((name) => chain.find((c) => c.id === name || c.name === name))
    for (const c of chain) if (!serving.includes(c)) states.set(c, ['standby', `use binds ${id}`])
    if (bound === false) return undefined
    const absent = wanted.filter((_, i) => !serving[i])
    if (absent.length === 0) return { primary, chain: serving as Contribution[] }
    // The binding may have been a restriction: nobody steps in for a plugin that cannot run.
    const values = { slot: id, ids: absent.join(', '), reason: 'it is not there, not trusted or broken' }
    say('VT_SLOT_UNBOUND', 'error', values, [])
    return { primary, chain: [], refusal: problem('VT_SLOT_UNBOUND', values) }
  }

  function addSlot(id: string, { primary, chain, refusal }: { primary: Contribution; chain: Contribution[]; refusal?: Error }) {
    const [name = '', action] = id.split('/')
    const twin = [...registry.slots.keys()].find((other) => other !== id && look(other) === look(id))
    if (twin) {
      states.set(primary, ['invalid', `looks like ${twin}`])
      return say('VT_SLOT_TWIN', 'error', { slot: id, twin }, [primary.file])
    }
    const { manifest } = primary
    const targets = targetsOf(manifest.alias ?? {}).flatMap((target) => registry.slots.get(target) ?? [])
    const input = manifest.alias && !manifest.input && targets[0] ? targets[0].info.input : schemaOf(id, primary, extra)
    const effects = [...new Set([...chain.flatMap(effectsOf), ...targets.flatMap((target) => target.info.effects)])]
    const info: SlotInfo = Object.freeze({
      slot: id,
      tool: name,
      ...(action !== undefined && { action }),
      ...(manifest.title !== undefined && { title: manifest.title }),
      description: manifest.description ?? targets[0]?.info.description ?? '',
      effects,
      ...(manifest.dialect !== undefined && { dialect: [manifest.dialect].flat() }),
      input,
      ...(manifest.output !== undefined && { output: manifest.output }),
      detailed: manifest.detailed ?? [],
      errors: manifest.errors ?? {},
      ...(manifest.example !== undefined && { example: manifest.example }),
      chain: chain.map((c) => c.id),
    })
    const tool = registry.tools.get(name) ?? makeTool(name)
    for (const other of tool.actions.values()) {
      for (const [property, schema] of Object.entries(shapeOf(input).properties)) {
        const theirs = other.shape.properties[property]
        if (theirs && typeText(theirs) !== typeText(schema)) {
          say('VT_SLOT_PROPERTY_CONFLICT', 'warning', { id: primary.id, property, other: other.info.slot }, [primary.file])
        }
      }
    }
    const slot: Slot = { info, tool, primary, chain, shape: shapeOf(input), example: exampleOf(info), ...(refusal && { refusal }) }
    registry.tools.set(name, tool)
    registry.slots.set(id, slot)
    if (action === undefined) tool.only = slot
    else {
      tool.actions.set(action, slot)
      for (const word of manifest.infer?.synonyms ?? []) if (!tool.words.has(fold(word))) tool.words.set(fold(word), slot)
      tool.words.set(fold(action), slot)
    }
    for (const former of manifest.aliases ?? []) if (!registry.routes.has(former)) registry.routes.set(former, id)
  }

  registry.infos.push(...found.invalid)
  for (const contribution of found.contributions) {
    const [state, reason] = states.get(contribution) ?? ['active']
    const { id, kind, layer, file, slot, stage, manifest } = contribution
    const verb = manifest.verb
    registry.infos.push({
      id, kind, layer, file, state,
      ...(slot !== undefined && { slot, stage: stage ?? 'primary' }),
      ...(verb !== undefined && { verb }),
      ...(manifest.description !== undefined && { description: manifest.description }),
      ...(reason !== undefined && { reason }),
    })
  }
  return registry
}

const own = (c: Contribution): number => ['builtin', 'admin', 'call', 'user', 'workspace'].indexOf(c.layer)
const look = (id: string): string => id.normalize('NFKC').toLowerCase().replace(/[-_]/g, '')
const typeText = (schema: Schema): string => JSON.stringify([schema['type'] ?? null].flat().sort())

/** What a call to this contribution can do at worst. */
export const effectsOf = ({ manifest }: Contribution): Effect[] => [
  ...(manifest.effects ?? []),
  ...(manifest.run ? (['exec'] as const) : []),
  ...(manifest['http'] ? (['net'] as const) : []),
]

/** Which slots a policy or compactor with these `slots` covers: `*` stands for any characters, nothing for all. */
export function covering(patterns: string[] | undefined): (slot: string) => boolean {
  if (!patterns) return () => true
  const escaped = patterns.map((pattern) => pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*'))
  const regex = new RegExp(`^(?:${escaped.join('|')})$`)
  return (slot) => regex.test(slot)
}

/** The slot's own input with the properties that policies and compactors add to it. */
function schemaOf(id: string, { manifest }: Contribution, extra: Contribution[]): Schema {
  const added = extra.filter((c) => covering(c.manifest.slots)(id)).map((c) => c.manifest.input!['properties'])
  const input = manifest.input ?? {}
  return {
    ...input,
    type: 'object',
    properties: Object.assign({}, ...added, input['properties']),
    additionalProperties: input['additionalProperties'] ?? false,
  }
}

function exampleOf({ tool, action, example, input }: SlotInfo): string {
  const properties = (input['properties'] ?? {}) as Record<string, Schema>
  const required = (input['required'] ?? []) as string[]
  const made = example ?? Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {})]))
  return `Example: ${tool} ${JSON.stringify({ ...(action !== undefined && { action }), ...made })}`
}

function sample(schema: Schema): unknown {
  const [first] = (schema['enum'] as unknown[] | undefined) ?? []
  if (first !== undefined) return first
  const type = [schema['type']].flat()[0]
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? 1
  if (type === 'boolean') return true
  if (type === 'array') return [sample((schema['items'] as Schema) ?? {})]
  return schema['format'] === 'workspace-path' ? '.' : 'text'
}

function makeTool(name: string): Tool {
  let names: Map<string, string> | undefined
  const tool: Tool = {
    name,
    actions: new Map(),
    words: new Map(),
    view(raw) {
      names ??= agreed(tool)
      return Object.fromEntries(Object.entries(raw).map(([key, value]) => [names!.get(fold(key)) ?? key, value]))
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

/** One tool as a model sees it: the flat union of its actions' properties, each described once. */
export function toolInfo(tool: Tool): ToolInfo {
  const slots = tool.only ? [tool.only] : [...tool.actions.values()]
  const effects = [...new Set(slots.flatMap((slot) => slot.info.effects))]
  if (tool.only) {
    const { info } = tool.only
    return { name: tool.name, description: info.description, input: info.input, effects, actions: [] }
  }
  const properties: JsonObject = { action: { type: 'string', enum: [...tool.actions.keys()] } }
  for (const slot of slots) {
    for (const [name, schema] of Object.entries(slot.shape.properties)) {
      if (!(name in properties)) properties[name] = Object.fromEntries(Object.entries(schema).filter(([key]) => !key.startsWith('x-') && key !== 'default'))
    }
  }
  const description = slots.map(({ info }) => `${info.action}: ${info.description}`).join('\n')
  return { name: tool.name, description, input: { type: 'object', properties, additionalProperties: false }, effects, actions: [...tool.actions.keys()] }
}
