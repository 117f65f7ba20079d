import { isObject, type JsonObject, type Next, type Result, type Schema, type ToolInfo } from '../base/index.js'
import { flatten } from './flatten.js'
import { isListed, slotsOf, splitName, type Registry, type Slot, type Tool } from './registry.js'
import { isShown, type Reader } from './rights.js'

/** One tool with everything that is known of it: all its actions behind one flat schema. An agent asks before each call. */
export function toolInfo(tool: Tool): ToolInfo {
  const there = infos.get(tool) ?? makeInfo(tool)
  infos.set(tool, there)
  return there
}

const infos = new WeakMap<Tool, ToolInfo>()

function makeInfo(tool: Tool): ToolInfo {
  if (tool.only) return single(tool.name, tool.only)
  const slots = slotsOf(tool).filter(isListed)
  const description = slots.map(({ info }) => `${info.action}: ${info.description}`).join('\n')
  return grouped(tool, slots, description)
}

/**
 * The tools as a model is shown them. It reads the whole list before each of its steps, so of a tool with actions that says what a
 * choice needs: of each action the required properties and the first paragraph, of each property its type, choices and words. Limits
 * are named by the check that finds them broken; the action that looks for tools answers everything about one, if it is asked for full detail.
 * What belongs to the reader's face is among them, what is not left to them is not.
 */
export function listTools(registry: Registry, reader: Reader = {}): readonly ToolInfo[] {
  if (reader.lent ?? reader.only) return makeList(registry, reader)
  const there = lists.get(registry) ?? makeList(registry, reader)
  lists.set(registry, there)
  return there
}

/** It is asked for again by each client and before each step of a model, and is the same for the whole of a generation. */
const lists = new WeakMap<Registry, ToolInfo[]>()

function makeList(registry: Registry, reader: Reader): ToolInfo[] {
  return [...registry.tools.values()].flatMap((tool): ToolInfo[] => {
    const slots = slotsOf(tool).filter((slot) => isShown(registry, reader, slot))
    if (slots.length === 0) return []
    if (tool.only) return [plain(single(tool.name, tool.only))]
    const names = registry.each ? slots.map((slot) => splitName(registry, slot)) : []
    // A tool whose actions cannot all have a name of their own stays whole.
    if (names.length > 0 && names.every((name) => name !== undefined)) return slots.map((slot, at) => plain(single(names[at]!, slot)))
    return [grouped(tool, slots, slots.map(line).join('\n'), brief)]
  })
}

/** The follow-up calls of an answer by the names that the list shows. */
export function renamed(registry: Registry, result: Result): Result {
  if (!result.ok) {
    const next = result.error.next && byListedName(registry, result.error.next)
    return next ? { ...result, error: { ...result.error, next } } : result
  }
  const next = isCall(result.output['next']) && byListedName(registry, result.output['next'])
  return next ? { ...result, output: { ...result.output, next } } : result
}

const isCall = (value: unknown): value is Next => isObject(value) && typeof value['tool'] === 'string' && isObject(value['input'])

function byListedName(registry: Registry, { tool, input: { action, ...input } }: Next): Next | undefined {
  const slot = registry.slots.get(`${tool}/${String(action)}`)
  const name = slot && splitName(registry, slot)
  return name === undefined ? undefined : { tool: name, input }
}

function single(name: string, { info }: Slot): ToolInfo {
  return { name, description: info.description, input: info.input, ...(info.output && { output: info.output }), effects: [...info.effects], actions: [] }
}

type Named = Readonly<Record<string, Schema>>

function grouped({ name }: Tool, slots: readonly Slot[], description: string, tell: (parts: Named) => Named = (parts) => parts): ToolInfo {
  const input = flatten(
    slots.map(({ info: { action, input }, shape }) => {
      const defs = input['$defs'] as Named | undefined
      return { action: action!, properties: tell(shape.properties), defs: defs && tell(defs) }
    }),
  )
  const effects = [...new Set(slots.flatMap(({ info }) => info.effects))]
  return { name, description, input, effects, actions: slots.map(({ info }) => info.action!) }
}

function line({ info: { action, description, input } }: Slot): string {
  const required = (input['required'] ?? []) as string[]
  return `${action}${required.length > 0 ? `(${required.join(', ')})` : ''}: ${description.split('\n', 1)[0]}`
}

const LONG = 16
const limits = new Set(['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'minimum', 'maximum', 'minProperties', 'maxProperties', 'default'])
/** Members that hold schemas by name, and those that hold no schemas at all. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const data = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

/** Our own annotations and formats are for the kernel; a client's schema compiler may refuse what it does not know. The catalogue takes `x-values` off. */
const isPublic: Wanted = (key, value) => (!key.startsWith('x-') || key === 'x-values') && !(key === 'format' && /^(?:workspace-|command$)/.test(String(value)))
const isTelling: Wanted = (key, value) => isPublic(key, value) && !limits.has(key) && !(key === 'enum' && (value as unknown[]).length > LONG)

const plain = (tool: ToolInfo): ToolInfo => ({ ...tool, input: pick(tool.input, isPublic) as Schema })
/** Before actions are laid together, so that there is less to compare. */
const brief = (parts: Named): Named => pickNamed(Object.fromEntries(Object.entries(parts).filter(([, part]) => part['deprecated'] !== true)), isTelling) as Named

type Wanted = (key: string, value: unknown) => boolean

/** A schema with the keywords that are wanted. */
function pick(schema: unknown, wanted: Wanted): unknown {
  if (Array.isArray(schema)) return schema.map((one) => pick(one, wanted))
  if (!isObject(schema)) return schema
  const picked: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (wanted(key, value)) picked[key] = data.has(key) ? value : named.has(key) && isObject(value) ? pickNamed(value, wanted) : pick(value, wanted)
  }
  return picked
}

const pickNamed = (parts: JsonObject, wanted: Wanted): JsonObject => Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, pick(part, wanted)]))
