import { toJson, problem, VtError, type Effect, type JsonObject, type Notice } from '../shapes/index.js'
import { likest, nearest, toText } from '../text/index.js'
import {
  exampleWith,
  foldKey,
  isForAudience,
  isShown,
  reaches,
  slotsOf,
  toolName,
  type AliasPart,
  type Reader,
  type Registry,
  type Slot,
  type Tool,
} from '../registry/index.js'
import { compile, type Check } from '../schema/index.js'
import { translate } from './alias.js'
import { constrain, type Constraint } from './constraints.js'
import { infer, type Inferred } from './infer.js'
import { coerce, limit, rename, unwrapInput } from './normalize.js'

/** The slot a call means, with the input as its caller wrote it. */
export interface CallTarget {
  slot: Slot
  raw: JsonObject
  /** What its caller is told whatever comes of it. */
  notices?: Notice[]
  /** The alias of the call: its answer is put in the words of the alias. */
  alias?: { slot: Slot; part: AliasPart; given: JsonObject }
  /** The slots on the way to it that are for audiences: the caller has to belong to one of each. */
  restricted?: readonly (readonly Slot[])[]
}

/**
 * Tool name and action → slot; an alias → its target. Without a reader nothing is called, so that every slot counts; texts name what the reader
 * is shown. Throws VT_TOOL_UNKNOWN, VT_ACTION_MISSING, VT_ACTION_UNKNOWN, VT_SLOT_UNBOUND, VT_PLUGIN_UNTRUSTED, VT_AGENT_NONE.
 */
export async function resolve(registry: Registry, name: string, sent: unknown, reader?: Reader): Promise<CallTarget> {
  const wanted = toolName(toText(name))
  const found = named(registry, wanted)
  if (!found) throw unknownTool(registry, wanted, reader)
  const restricted = requireReader('info' in found ? [found] : slotsOf(found), reader)
  const only = 'info' in found ? found : found.only
  const isKnown = (key: string) => (only ? only.shape.open || only.shape.names.has(key) : key === 'action')
  const unwrapped = read(sent, wanted, isKnown, only)
  if (only?.primary.manifest.forwards && typeof unwrapped['tool'] === 'string') {
    return restrict(await forwarded(registry, only, unwrapped, reader), restricted)
  }
  const isAction = (slot: Slot) => reaches(registry, reader ?? {}, slot)
  const inferred = only
    ? await chooseAction(only, unwrapped, isKnown('action'), isAction)
    : await infer(found as Tool, unwrapped, isAction)
  restricted.push(...requireCallable(inferred.slot, reader))
  const target = inferred.slot.primary.manifest.alias ? await followAlias(registry, inferred, reader) : inferred
  return restrict(target, restricted)
}

/** Chooses the slot of a name that has one slot, or an action of the tool that it belongs to. */
async function chooseAction(
  only: Slot,
  input: JsonObject,
  hasActionField: boolean,
  isAction: (slot: Slot) => boolean,
): Promise<Inferred> {
  const { info, tool } = only
  if (hasActionField) return { slot: only, raw: input }
  if (info.action !== undefined) {
    return { slot: only, raw: input['action'] === info.action ? withoutAction(input) : input }
  }
  // A tool of another vocabulary may have the name of one that has actions; one action never leads to another.
  if (tool.actions.has(toText(input['action']))) return infer(tool, input, isAction)
  return { slot: only, raw: input }
}

/** Translates the input of an alias for the slot that the alias stands for. Throws VT_SLOT_UNBOUND, VT_AGENT_NONE. */
async function followAlias({ slots }: Registry, { slot, raw }: Inferred, reader?: Reader): Promise<CallTarget> {
  const { alias, input } = slot.primary.manifest
  const own = input !== undefined
  const given = own ? (await spell(slot, raw)).given : raw
  const { to, input: translated, part } = translate(alias!, given, !own)
  const next = slots.get(to)
  if (!next || next.primary.manifest.alias) {
    const reason = 'an alias stands for a slot, never for another alias'
    throw problem('VT_SLOT_UNBOUND', { slot: slot.info.slot, ids: to, reason })
  }
  return { slot: next, raw: translated, alias: { slot, part, given }, restricted: requireCallable(next, reader) }
}

/** Adds slots on the way to a target of which the caller has to be an audience. */
const restrict = (target: CallTarget, restricted: readonly (readonly Slot[])[]): CallTarget =>
  restricted.length === 0 ? target : { ...target, restricted: [...restricted, ...(target.restricted ?? [])] }

/** Returns the slots if all of them are for audiences. Throws VT_AGENT_NONE where the reader belongs to none. */
function requireReader(slots: readonly Slot[], reader: Reader | undefined): (readonly Slot[])[] {
  if (reader) requireAudience(slots, reader)
  return slots.every(({ info }) => info.audience !== undefined) ? [slots] : []
}

/** Does the same for one slot, and throws where the slot itself forbids a call. */
function requireCallable(slot: Slot, reader: Reader | undefined): (readonly Slot[])[] {
  const restricted = requireReader([slot], reader)
  if (slot.refusal) throw slot.refusal
  return restricted
}

function unknownTool({ slots, tools, routes }: Registry, wanted: string, reader: Reader = {}): VtError {
  const shown = (slot: Slot | undefined) => slot !== undefined && isShown({ slots }, reader, slot)
  const names = [...tools.values()].flatMap((tool) => (slotsOf(tool).some(shown) ? [tool.name] : [])).sort()
  const others = [...routes].flatMap(([name, slot]) =>
    slots.has(slot) && reaches({ slots }, reader, slots.get(slot)!) ? [name] : [],
  )
  return problem('VT_TOOL_UNKNOWN', {
    tool: JSON.stringify(wanted.slice(0, 80)),
    known: likest(wanted, [...names, ...others], 3).join(', '),
  })
}

/** Throws VT_AGENT_NONE where all of these slots are for other audiences. */
export function requireAudience(slots: readonly Slot[], { audiences }: Reader): void {
  const [first] = slots
  if (first && slots.every(({ info }) => !isForAudience(info, audiences)))
    throw problem('VT_AGENT_NONE', { slot: slots.length === 1 ? first.info.slot : first.info.tool })
}

/** Returns the call that a forwarding tool stands for; other fields are its input where none is given. */
function forwarded(
  registry: Registry,
  from: Slot,
  { tool, input, ...beside }: JsonObject,
  reader: Reader | undefined,
): Promise<CallTarget> {
  const found = named(registry, toolName(toText(tool)))
  if (found === from || found === from.tool)
    throw new VtError({
      code: 'VT_TOOL_UNKNOWN',
      message: `${from.info.slot} cannot call itself.`,
      hint: 'Name another tool.',
      retryable: false,
    })
  return resolve(registry, toText(tool), input ?? beside, reader)
}

/** The slot or the tool of a name, however the name is decorated or spelt. */
function named({ slots, tools, routes }: Registry, name: string): Slot | Tool | undefined {
  const known = (text: string) => slots.get(text) ?? tools.get(text) ?? slots.get(routes.get(text) ?? '')
  return known(name) ?? known(name.toLowerCase().replace(/[- ]/g, '_'))
}

/** A name that led to no slot, for a record: without its decoration, at most 80 characters. */
export const recordedName = (name: unknown): string => toolName(toText(name)).slice(0, 80)

/** Returns all effects that a call by this name can have. */
export function effectsOfName(registry: Registry, name: unknown): Effect[] {
  const found = named(registry, toolName(toText(name)))
  const slots = !found ? [] : 'info' in found ? [found] : slotsOf(found)
  return [...new Set(slots.flatMap(({ info }) => info.effects))]
}

const withoutAction = ({ action: _, ...input }: JsonObject): JsonObject => input

/** The input as plain data, without the wrappers of function-calling wires. */
function read(sent: unknown, tool: string, known: (key: string) => boolean, slot: Slot | undefined): JsonObject {
  try {
    return toJson(unwrapInput(sent, tool, known)) as JsonObject
  } catch (error) {
    if (error instanceof VtError && !slot && error.problem.hint === '')
      throw new VtError({ ...error.problem, hint: 'Give an object with an "action" and its fields.' })
    throw withExample(error, slot)
  }
}

/** Wrong input gets an example that would pass. */
export function withExample(error: unknown, slot: Slot | undefined): unknown {
  if (
    !(error instanceof VtError) ||
    !slot ||
    !error.code.startsWith('VT_INPUT_') ||
    error.problem.hint.includes('Example:')
  )
    return error
  return new VtError({ ...error.problem, hint: `${error.problem.hint} ${slot.example}`.trim() })
}

/** What spelling made of an input. */
export interface Spelt {
  given: JsonObject
  input: JsonObject
  notices: Notice[]
  /** Notices that are worth a word only where the answer is cut. */
  silent: Notice[]
}
export interface Spelling {
  /** What a wrong input is told. */
  example?: () => string
  constraint?: Constraint | undefined
  /** The input as an alias was given it. */
  said?: JsonObject | undefined
  /** Whether texts may name a slot. */
  reached?: (slot: Slot) => boolean
}

/** The caller's input in the words and types of the slot's schema: `given` as said, `input` with caps, constraints and defaults. Throws VT_INPUT_*, VT_POLICY_DENIED. */
export async function spell(
  slot: Slot,
  raw: JsonObject,
  { example = () => slot.example, constraint, said, reached }: Spelling = {},
): Promise<Spelt> {
  const { given: renamed, unknown } = rename(raw, slot.shape)
  if (unknown.length) throw strange(slot, unknown[0]!, example(), reached)
  const given = coerce(renamed, slot.shape)
  const capped = limit(given, slot.shape)
  const check = checks.get(slot) ?? (await prepare(slot))
  const asked = { given, declared: said, passes: (one: JsonObject) => check(one).length === 0 }
  const { input, notices, silent } = constraint
    ? constrain(constraint, slot.info, capped.input, asked)
    : { input: capped.input, notices: [], silent: [] }
  const issues = check(input)
  if (issues.length === 0) return { given, input, notices: [...capped.notices, ...notices], silent }
  const message = issues
    .map((issue) => issue.problem)
    .join(' ')
    .slice(0, 300)
  const issue = issues[0]!
  const hint = issue.code === 'VT_INPUT_MISSING' ? exampleWith(slot, issue.field, example()) : example()
  throw new VtError({ code: issue.code, message, hint, retryable: false, details: { issues } })
}

const checks = new WeakMap<Slot, Check>()

/** Compiles the slot's schema, on its first call. */
async function prepare(slot: Slot): Promise<Check> {
  const check = await compile(slot.info.input, slot.info.slot)
  checks.set(slot, check)
  return check
}

/** A property nobody knows here: one of a sister action, or a slip of the pen. */
function strange(slot: Slot, field: string, example: string, reached: Spelling['reached'] = () => true): Error {
  // A slot may have more to say about fields that it does not know.
  const hint = slot.info.errors['VT_INPUT_UNKNOWN']?.hint
  const advice = { example, way: hint ? `${hint} ` : '' }
  const owner = [...slot.tool.actions.values()].find(
    (other) => other !== slot && reached(other) && other.shape.names.has(foldKey(field)),
  )
  if (owner) return problem('VT_INPUT_NOT_ALLOWED', { field, owner: owner.info.slot, slot: slot.info.slot, ...advice })
  const names = Object.keys(slot.shape.properties)
  const first = field.split('_')[0]!
  const like =
    nearest(field, names) ?? (first.length > 3 ? names.find((one) => one.split('_')[0] === first) : undefined)
  return problem('VT_INPUT_UNKNOWN', {
    field,
    nearest: like ? ` (did you mean ${like}?)` : '',
    valid: names.join(', '),
    ...advice,
  })
}
