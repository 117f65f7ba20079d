import { isObject, type Schema, type ToolInfo } from '../shapes/index.js'
import { cutText } from '../documents/index.js'
import { flatten } from './flatten.js'
import { portable } from './portable.js'
import { isListed, ownName, slotsOf, splitName, type Registry, type Slot, type Tool } from './registry.js'
import { isShown, type Reader } from './rights.js'

/** One tool with everything that is known of it: all its actions behind one flat schema. */
export function toolInfo(tool: Tool): ToolInfo {
  if (tool.only) return single(tool.name, tool.only)
  const slots = slotsOf(tool).filter(isListed)
  const parts = slots.map(({ info: { action, input } }) => ({
    action: action!,
    properties: propertiesOf(portable(input)),
  }))
  return grouped(
    tool,
    slots,
    slots.map(({ info }) => `${info.action}: ${info.description}`),
    parts,
  )
}

interface ToolListing extends Reader {
  /** Of each tool what most calls need; how the rest is found and called says the last one. */
  lean: boolean
  /** Are there skills besides those that come with the program? */
  skills: boolean
}

/**
 * The tools as a model is shown them, in schemas that every wire carries. It reads the whole list before each of its steps, so of a tool
 * with actions that says what a choice needs: of each action the required properties and the first paragraph, of each property its type,
 * choices and words. Limits are named by the check that finds them broken; the action that looks for tools answers everything about one.
 * What belongs to the reader's face is among them, what is not left to them is not.
 */
export function listTools(registry: Registry, listing: ToolListing): readonly ToolInfo[] {
  const make = listing.lean ? leanList : wholeList
  if (listing.audiences ?? listing.only ?? listing.mode) return make(registry, listing)
  const known = lists.get(registry) ?? new Map<string, ToolInfo[]>()
  lists.set(registry, known)
  const key = `${listing.lean} ${listing.skills} ${listing.splitReads === true}`
  const there = known.get(key) ?? make(registry, listing)
  known.set(key, there)
  return there
}

/** It is asked for again by each client and before each step of a model, and is the same for the whole of a generation. */
const lists = new WeakMap<Registry, Map<string, ToolInfo[]>>()

/** What a list tells of: of each tool the actions with a line of their own. */
function shownTools(registry: Registry, listing: ToolListing): { tool: Tool; slots: Slot[]; told: Slot[] }[] {
  const tells = ({ primary: { manifest } }: Slot) =>
    !manifest.forwards && (manifest.shown === undefined || (manifest.shown === 'with_skills' && listing.skills))
  return [...registry.tools.values()].flatMap((tool) => {
    const slots = slotsOf(tool).filter((slot) => isShown(registry, listing, slot))
    const told = slots.filter(tells)
    return told.length > 0 ? [{ tool, slots, told }] : []
  })
}

function wholeList(registry: Registry, listing: ToolListing, tools = shownTools(registry, listing)): ToolInfo[] {
  return tools.flatMap(({ tool, slots, told }): ToolInfo[] => {
    if (tool.only) return [plain(tool.name, tool.only)]
    const names = registry.each ? told.map((slot) => splitName(registry, slot)) : []
    // A tool whose actions cannot all have a name of their own stays whole.
    if (names.length > 0 && names.every((name) => name !== undefined))
      return told.map((slot, at) => plain(names[at]!, slot))
    const apart = told.filter((slot) => ownName(registry, listing.splitReads, slot))
    const [all, rest] = [slots, told].map((some) => some.filter((slot) => !apart.includes(slot))) as [Slot[], Slot[]]
    const parts = rest.map(({ info: { action, input } }) => ({
      action: action!,
      properties: propertiesOf(brief(input)),
    }))
    const whole = grouped(
      tool,
      all,
      rest.map((slot) => `${named(slot)}: ${described(slot).split('\n', 1)[0]}`),
      parts,
    )
    return [...(rest.length > 0 ? [whole] : []), ...apart.map((slot) => standing(registry, slot))]
  })
}

/** How many bytes the tools of others may take in a lean list before they are found by search, all of them. */
const MOST_OF_OTHERS = 6_000
const MOST_NAMES = 40

/** In front what manifests name as lean and the tools of others where they are few; at the end the way to the rest, by name. A vocabulary without that stays whole. */
function leanList(registry: Registry, listing: ToolListing): ToolInfo[] {
  const tools = shownTools(registry, listing)
  const own = tools
    .filter(({ told }) => told.some(isLean))
    .flatMap(({ tool, slots, told }) => {
      const apart = told.filter((slot) => isLean(slot) && ownName(registry, listing.splitReads, slot))
      const rest = told.filter((slot) => isLean(slot) && !apart.includes(slot))
      return [
        ...(rest.length > 0
          ? [
              leanTool(
                tool,
                slots.filter((slot) => !apart.includes(slot)),
                rest,
              ),
            ]
          : []),
        ...apart.map((slot) => standing(registry, slot)),
      ]
    })
  const forwarder = [...registry.slots.values()].find((slot) => slot.primary.manifest.forwards && isListed(slot))
  if (!forwarder || own.length === 0 || registry.each) return wholeList(registry, listing, tools)
  const foreign = tools.filter(({ told }) => told.every(({ primary }) => primary.layer !== 'builtin'))
  const others = wholeList(registry, listing, foreign).filter(
    ({ name }) => foreign.some(({ tool }) => tool.name === name) && !own.some((one) => one.name === name),
  )
  const few = JSON.stringify(others).length <= MOST_OF_OTHERS
  const shown = [...own, ...(few ? others : [])]
  const rest = tools.filter(({ tool }) => !shown.some(({ name }) => name === tool.name))
  if (rest.length === 0) return shown
  const { name, description, ...info } = plain(forwarder.info.tool, forwarder)
  const lines = rest.slice(0, MOST_NAMES).map(({ tool, told }) => `${tool.name}: ${firstSentence(described(told[0]!))}`)
  const more = rest.length - lines.length
  return [
    ...shown,
    { ...info, name, description: [description, ...lines, ...(more > 0 ? [`${more} more tools`] : [])].join('\n') },
  ]
}

const isLean = ({ primary: { manifest } }: Slot): boolean => manifest.lean !== undefined

/** It leaves properties out, never permission: all actions are named, and any property may be given. */
function leanTool(tool: Tool, slots: readonly Slot[], told: readonly Slot[]): ToolInfo {
  const shortest = ({ info: { input }, primary: { manifest } }: Slot): Named => {
    const properties = propertiesOf(brief(input))
    return Object.fromEntries(
      manifest.lean!.flatMap((name) => (properties[name] ? [[name, firstChoice(properties[name], !tool.only)]] : [])),
    )
  }
  const open = (info: ToolInfo): ToolInfo => ({ ...info, input: { ...info.input, additionalProperties: true } })
  if (tool.only) {
    const { input, ...info } = plain(tool.name, tool.only)
    return open({
      ...info,
      description: firstSentence(info.description),
      input: {
        type: 'object',
        ...(input['required'] !== undefined && { required: input['required'] }),
        properties: shortest(tool.only),
      },
    })
  }
  const parts = told.map((slot) => ({ action: slot.info.action!, properties: shortest(slot) }))
  const lines = told.map((slot) => `${named(slot, slot.primary.manifest.lean)}: ${firstSentence(described(slot))}`)
  return open(grouped(tool, slots, lines, parts, false))
}

const firstSentence = (text: string): string => /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text

/** A value may have several forms; the first is the one to learn, the others are taken all the same. What it is for the line of its action says. */
function firstChoice({ anyOf, items, description, ...schema }: Schema, silent: boolean): Schema {
  const within = isObject(items) ? { items: firstChoice(items, silent) } : {}
  return {
    ...(Array.isArray(anyOf) && (anyOf[0] as Schema)),
    ...schema,
    ...within,
    ...(description !== undefined && !silent && { description }),
  }
}

/** With the marks of other tools in it: whoever shows it knows which of them the reader has. */
const described = ({ info, primary: { manifest } }: Slot): string => manifest.description ?? info.description

function single(name: string, slot: Slot): ToolInfo {
  const { info } = slot
  return {
    name,
    description: described(slot),
    input: info.input,
    ...(info.output && { output: info.output }),
    effects: [...info.effects],
    actions: [],
  }
}

/** A tool of others with what its author says of limits; ours say them when they are broken. */
function plain(name: string, slot: Slot): ToolInfo {
  const { info, primary } = slot
  const isOurs = primary.layer === 'builtin'
  return {
    ...single(name, slot),
    ...(!isOurs && { description: cutText(described(slot)) }),
    input: isOurs ? brief(info.input) : portable(info.input),
  }
}

/** An action under a name of its own beside its tool, as briefly as there. */
function standing(registry: Registry, slot: Slot): ToolInfo {
  const { description, ...info } = plain(splitName(registry, slot)!, slot)
  return { ...info, description: description.split('\n', 1)[0]! }
}

type Named = Readonly<Record<string, Schema>>

const propertiesOf = (schema: Schema): Named => (schema['properties'] ?? {}) as Named

function grouped(
  { name }: Tool,
  slots: readonly Slot[],
  lines: readonly string[],
  parts: Parameters<typeof flatten>[0],
  tagged = true,
): ToolInfo {
  const actions = slots.map(({ info }) => info.action!)
  const effects = [...new Set(slots.flatMap(({ info }) => info.effects))]
  const input = { type: 'object', properties: { action: { type: 'string', enum: actions }, ...flatten(parts, tagged) } }
  return { name, description: lines.join('\n'), input, effects, actions }
}

/** An action with the properties that it needs, and in brackets those that it may have, where they are said. */
function named({ info: { action, input } }: Slot, properties: readonly string[] = []): string {
  const required = (input['required'] ?? []) as string[]
  const others = properties.filter((name) => !required.includes(name)).join(', ')
  const names = [required.join(', '), others && `[${others}]`].filter(Boolean).join(' ')
  return `${action}${names && `(${names})`}`
}

/** A list shows an enum of at most so many choices. */
const LONG = 16
const limits = new Set([
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'default',
  'additionalProperties',
])

/** A schema of ours as a list shows it: types, choices and words. */
const brief = (input: Schema): Schema => withoutLimits(portable(input))

function withoutLimits(schema: Schema): Schema {
  const kept = Object.entries(schema).filter(
    ([key, value]) =>
      !(limits.has(key) && !(key === 'additionalProperties' && isObject(value))) &&
      !(key === 'enum' && (value as unknown[]).length > LONG),
  )
  return Object.fromEntries(
    kept.map(([key, value]): [string, unknown] => {
      if (key === 'properties')
        return [
          key,
          Object.fromEntries(Object.entries(value as Named).map(([name, one]) => [name, withoutLimits(one)])),
        ]
      if (key === 'anyOf') return [key, (value as Schema[]).map(withoutLimits)]
      return [
        key,
        (key === 'items' || key === 'additionalProperties') && isObject(value) ? withoutLimits(value) : value,
      ]
    }),
  )
}
