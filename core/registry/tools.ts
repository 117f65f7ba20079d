import { isObject, type Schema, type ToolInfo } from '../shapes/index.js'
import { truncateText } from '../documents/index.js'
import { toPortableSchema } from '../schema/index.js'
import { flatten } from './flatten.js'
import {
  isListed,
  findOwnToolName,
  listSlots,
  findActionToolName,
  type Registry,
  type Slot,
  type Tool,
} from './registry.js'
import { isShown, type Reader } from './rights.js'

/** Returns all information about one tool: all its actions in one flat schema. */
export function describeTool(tool: Tool): ToolInfo {
  if (tool.only) return describeSlot(tool.name, tool.only)
  const slots = listSlots(tool).filter(isListed)
  const parts = slots.map(({ info: { action, input } }) => ({
    action: action!,
    properties: readProperties(toPortableSchema(input)),
  }))
  return groupActions(
    tool,
    slots,
    slots.map(({ info }) => `${info.action}: ${info.description}`),
    parts,
  )
}

interface ToolListing extends Reader {
  /** Lists only the parts of each tool that most calls need; the last tool finds and calls the rest. */
  lean: boolean
  /** There are skills besides the bundled ones. */
  skills: boolean
}

/**
 * Lists the tools as a model sees them, in schemas that every wire accepts. A model reads the whole list before each
 * step. A tool with actions therefore shows the required properties and the first paragraph of each action, and the
 * type, choices and description of each property. The check reports limits; the search for tools answers everything
 * about one. The list contains tools of the reader's audience and of its rights only.
 */
export function listTools(registry: Registry, listing: ToolListing): readonly ToolInfo[] {
  const make = listing.lean ? createLeanList : createFullList
  if (listing.audiences ?? listing.only ?? listing.mode) return make(registry, listing)
  const known = cachedLists.get(registry) ?? new Map<string, ToolInfo[]>()
  cachedLists.set(registry, known)
  const key = `${listing.lean} ${listing.skills} ${listing.splitReads === true}`
  const there = known.get(key) ?? make(registry, listing)
  known.set(key, there)
  return there
}

/** Lists by their options: clients and models request the same list many times in one generation. */
const cachedLists = new WeakMap<Registry, Map<string, ToolInfo[]>>()

/** Selects the tools of a list, and of each tool the actions that have a line. */
function selectTools(registry: Registry, listing: ToolListing): { tool: Tool; slots: Slot[]; listed: Slot[] }[] {
  const hasOwnLine = ({ primary: { manifest } }: Slot) =>
    !manifest.forwards && (manifest.shown === undefined || (manifest.shown === 'with_skills' && listing.skills))
  return [...registry.tools.values()].flatMap((tool) => {
    const slots = listSlots(tool).filter((slot) => isShown(registry, listing, slot))
    const listed = slots.filter(hasOwnLine)
    return listed.length > 0 ? [{ tool, slots, listed }] : []
  })
}

function createFullList(registry: Registry, listing: ToolListing, tools = selectTools(registry, listing)): ToolInfo[] {
  return tools.flatMap(({ tool, slots, listed }): ToolInfo[] => {
    if (tool.only) return [describeStandalone(tool.name, tool.only)]
    const names = registry.each ? listed.map((slot) => findActionToolName(registry, slot)) : []
    // A tool stays whole if one of its actions cannot have its own name.
    if (names.length > 0 && names.every((name) => name !== undefined))
      return listed.map((slot, at) => describeStandalone(names[at]!, slot))
    const separate = listed.filter((slot) => findOwnToolName(registry, listing.splitReads, slot))
    const [all, rest] = [slots, listed].map((some) => some.filter((slot) => !separate.includes(slot))) as [
      Slot[],
      Slot[],
    ]
    const parts = rest.map(({ info: { action, input } }) => ({
      action: action!,
      properties: readProperties(toBriefSchema(input)),
    }))
    const whole = groupActions(
      tool,
      all,
      rest.map((slot) => `${formatSignature(slot)}: ${findDescription(slot).split('\n', 1)[0]}`),
      parts,
    )
    return [...(rest.length > 0 ? [whole] : []), ...separate.map((slot) => describeSeparately(registry, slot))]
  })
}

/** Bytes of foreign tools in a lean list; more tools are found by search. */
const MAX_FOREIGN_BYTES = 6_000
const MAX_NAMES = 40

/**
 * Returns the lean tools, and foreign tools if they are few; a search tool names the rest. A dialect without a search
 * tool stays whole.
 */
function createLeanList(registry: Registry, listing: ToolListing): ToolInfo[] {
  const tools = selectTools(registry, listing)
  const own = tools
    .filter(({ listed }) => listed.some(isLean))
    .flatMap(({ tool, slots, listed }) => {
      const separate = listed.filter((slot) => isLean(slot) && findOwnToolName(registry, listing.splitReads, slot))
      const rest = listed.filter((slot) => isLean(slot) && !separate.includes(slot))
      return [
        ...(rest.length > 0
          ? [
              createLeanTool(
                tool,
                slots.filter((slot) => !separate.includes(slot)),
                rest,
              ),
            ]
          : []),
        ...separate.map((slot) => describeSeparately(registry, slot)),
      ]
    })
  const forwarder = [...registry.slots.values()].find((slot) => slot.primary.manifest.forwards && isListed(slot))
  if (!forwarder || own.length === 0 || registry.each) return createFullList(registry, listing, tools)
  const foreign = tools.filter(({ listed }) => listed.every(({ primary }) => primary.layer !== 'builtin'))
  const others = createFullList(registry, listing, foreign).filter(
    ({ name }) => foreign.some(({ tool }) => tool.name === name) && !own.some((one) => one.name === name),
  )
  const few = JSON.stringify(others).length <= MAX_FOREIGN_BYTES
  const shown = [...own, ...(few ? others : [])]
  const rest = tools.filter(({ tool }) => !shown.some(({ name }) => name === tool.name))
  if (rest.length === 0) return shown
  const { name, description, ...info } = describeStandalone(forwarder.info.tool, forwarder)
  const lines = rest.slice(0, MAX_NAMES).map(({ tool, listed }) => {
    return `${tool.name}: ${findFirstSentence(findDescription(listed[0]!))}`
  })
  const more = rest.length - lines.length
  return [
    ...shown,
    { ...info, name, description: [description, ...lines, ...(more > 0 ? [`${more} more tools`] : [])].join('\n') },
  ]
}

const isLean = ({ primary: { manifest } }: Slot): boolean => manifest.lean !== undefined

/** Shortens a tool. All actions are named and any property is accepted, so the schema forbids nothing. */
function createLeanTool(tool: Tool, slots: readonly Slot[], listed: readonly Slot[]): ToolInfo {
  const shortest = ({ info: { input }, primary: { manifest } }: Slot): Properties => {
    const properties = readProperties(toBriefSchema(input))
    return Object.fromEntries(
      manifest.lean!.flatMap((name) =>
        properties[name] ? [[name, keepFirstChoice(properties[name], !tool.only)]] : [],
      ),
    )
  }
  const open = (info: ToolInfo): ToolInfo => ({ ...info, input: { ...info.input, additionalProperties: true } })
  if (tool.only) {
    const { input, ...info } = describeStandalone(tool.name, tool.only)
    return open({
      ...info,
      description: findFirstSentence(info.description),
      input: {
        type: 'object',
        ...(input['required'] !== undefined && { required: input['required'] }),
        properties: shortest(tool.only),
      },
    })
  }
  const parts = listed.map((slot) => ({ action: slot.info.action!, properties: shortest(slot) }))
  const lines = listed.map(
    (slot) => `${formatSignature(slot, slot.primary.manifest.lean)}: ${findFirstSentence(findDescription(slot))}`,
  )
  return open(groupActions(tool, slots, lines, parts, false))
}

const findFirstSentence = (text: string): string => /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text

/** Keeps the first of several forms of a value; the others are still accepted. `silent` removes the description. */
function keepFirstChoice({ anyOf, items, description, ...schema }: Schema, silent: boolean): Schema {
  const within = isObject(items) ? { items: keepFirstChoice(items, silent) } : {}
  return {
    ...(Array.isArray(anyOf) && (anyOf[0] as Schema)),
    ...schema,
    ...within,
    ...(description !== undefined && !silent && { description }),
  }
}

/** Returns the description with its marks of other tools, which the caller renders for its reader. */
const findDescription = ({ info, primary: { manifest } }: Slot): string => manifest.description ?? info.description

function describeSlot(name: string, slot: Slot): ToolInfo {
  const { info } = slot
  return {
    name,
    description: findDescription(slot),
    input: info.input,
    ...(info.output && { output: info.output }),
    effects: [...info.effects],
    actions: [],
  }
}

/** Describes one slot as a tool. A foreign schema keeps its limits; the check reports those of built-in tools. */
function describeStandalone(name: string, slot: Slot): ToolInfo {
  const { info, primary } = slot
  const isOurs = primary.layer === 'builtin'
  return {
    ...describeSlot(name, slot),
    ...(!isOurs && { description: truncateText(findDescription(slot)) }),
    input: isOurs ? toBriefSchema(info.input) : toPortableSchema(info.input),
  }
}

/** Describes an action as a tool of its own, as briefly as in its tool. */
function describeSeparately(registry: Registry, slot: Slot): ToolInfo {
  const { description, ...info } = describeStandalone(findActionToolName(registry, slot)!, slot)
  return { ...info, description: description.split('\n', 1)[0]! }
}

type Properties = Readonly<Record<string, Schema>>

const readProperties = (schema: Schema): Properties => (schema['properties'] ?? {}) as Properties

function groupActions(
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

/** Formats an action with its required properties, and optional ones in brackets. */
function formatSignature({ info: { action, input } }: Slot, properties: readonly string[] = []): string {
  const required = (input['required'] ?? []) as string[]
  const others = properties.filter((name) => !required.includes(name)).join(', ')
  const names = [required.join(', '), others && `[${others}]`].filter(Boolean).join(' ')
  return `${action}${names && `(${names})`}`
}

/** Most choices of an enum in a list. */
const MAX_ENUM_CHOICES = 16
const LIMIT_KEYS = new Set([
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

/** Converts a built-in schema for a list: types, choices and descriptions. */
const toBriefSchema = (input: Schema): Schema => removeLimits(toPortableSchema(input))

function removeLimits(schema: Schema): Schema {
  const kept = Object.entries(schema).filter(
    ([key, value]) =>
      !(LIMIT_KEYS.has(key) && !(key === 'additionalProperties' && isObject(value))) &&
      !(key === 'enum' && (value as unknown[]).length > MAX_ENUM_CHOICES),
  )
  return Object.fromEntries(
    kept.map(([key, value]): [string, unknown] => {
      if (key === 'properties')
        return [
          key,
          Object.fromEntries(Object.entries(value as Properties).map(([name, one]) => [name, removeLimits(one)])),
        ]
      if (key === 'anyOf') return [key, (value as Schema[]).map(removeLimits)]
      return [key, (key === 'items' || key === 'additionalProperties') && isObject(value) ? removeLimits(value) : value]
    }),
  )
}
