import { toJson, problem, VtError, type Effect, type JsonObject, type Notice } from '../shapes/index.js'
import { findSimilar, findNearest, toText } from '../text/index.js'
import {
  findExampleWithField,
  foldKey,
  isForAudience,
  isShown,
  canReach,
  listSlots,
  stripDecoration,
  type AliasPart,
  type Reader,
  type Registry,
  type Slot,
  type Tool,
} from '../registry/index.js'
import { compile, restoreNames, type Check } from '../schema/index.js'
import { translateInput } from './alias.js'
import { applyConstraint, type Constraint } from './constraints.js'
import { inferAction, type Inferred } from './infer.js'
import { coerce, applyLimits, renameProperties, unwrapInput } from './normalize.js'

/** The slot of a call, with the unchanged input of its caller. */
export interface CallTarget {
  slot: Slot
  raw: JsonObject
  /** Notices for the caller, on success and failure. */
  notices?: Notice[]
  /** The alias of the call, in whose terms the answer is given. `defaults`: properties that the alias filled in. */
  alias?: { slot: Slot; part: AliasPart; given: JsonObject; defaults: readonly string[] }
  /** The slots on the way that have audiences; the caller has to belong to one of each. */
  restricted?: readonly (readonly Slot[])[]
}

/**
 * Resolves a tool name and action to a slot, an alias to its target. Without a reader nothing is called, so every slot
 * counts. Texts name tools that the reader sees. Throws VT_TOOL_UNKNOWN, VT_ACTION_MISSING, VT_ACTION_UNKNOWN,
 * VT_SLOT_UNBOUND, VT_PLUGIN_UNTRUSTED, VT_AGENT_NONE.
 */
export async function resolve(registry: Registry, name: string, sent: unknown, reader?: Reader): Promise<CallTarget> {
  const wanted = stripDecoration(toText(name))
  const found = findNamed(registry, wanted)
  if (!found) throw createUnknownToolError(registry, wanted, reader)
  const restricted = requireReader('info' in found ? [found] : listSlots(found), reader)
  const only = 'info' in found ? found : found.only
  const isKnown = (key: string) => (only ? only.shape.open || only.shape.names.has(key) : key === 'action')
  const unwrapped = readInput(sent, wanted, isKnown, only)
  if (only?.primary.manifest.forwards && typeof unwrapped['tool'] === 'string') {
    return restrict(await resolveForwarded(registry, only, unwrapped, reader), restricted)
  }
  const isAction = (slot: Slot) => canReach(registry, reader ?? {}, slot)
  const inferred = only
    ? await selectSlot(only, unwrapped, isKnown('action'), isAction)
    : await inferAction(found as Tool, unwrapped, isAction)
  restricted.push(...requireCallable(inferred.slot, reader))
  const target = inferred.slot.primary.manifest.alias ? await followAlias(registry, inferred, reader) : inferred
  return restrict(target, restricted)
}

/** Chooses the slot of a name that has one slot, or an action of its tool. */
async function selectSlot(
  only: Slot,
  input: JsonObject,
  hasActionField: boolean,
  isAction: (slot: Slot) => boolean,
): Promise<Inferred> {
  const { info, tool } = only
  if (hasActionField) return { slot: only, raw: input }
  if (info.action !== undefined) {
    return { slot: only, raw: input['action'] === info.action ? removeAction(input) : input }
  }
  // A tool of another dialect may have the name of one with actions; one action never leads to another.
  if (tool.actions.has(toText(input['action']))) return inferAction(tool, input, isAction)
  return { slot: only, raw: input }
}

/** Translates the input of an alias for its target. Throws VT_SLOT_UNBOUND, VT_AGENT_NONE. */
async function followAlias({ slots }: Registry, { slot, raw }: Inferred, reader?: Reader): Promise<CallTarget> {
  const { alias, input } = slot.primary.manifest
  const own = input !== undefined
  const given = own ? (await normalizeInput(slot, raw)).given : raw
  const { to, input: translated, part, defaults } = translateInput(alias!, given, !own)
  const next = slots.get(to)
  if (!next || next.primary.manifest.alias) {
    const reason = 'an alias must lead to a slot, not to another alias'
    throw problem('VT_SLOT_UNBOUND', { slot: slot.info.slot, ids: to, reason })
  }
  return {
    slot: next,
    raw: translated,
    alias: { slot, part, given, defaults },
    restricted: requireCallable(next, reader),
  }
}

/** Adds slots whose audience the caller has to belong to. */
const restrict = (target: CallTarget, restricted: readonly (readonly Slot[])[]): CallTarget =>
  restricted.length === 0 ? target : { ...target, restricted: [...restricted, ...(target.restricted ?? [])] }

/** Returns the slots if all of them have audiences. Throws VT_AGENT_NONE where the reader belongs to none. */
function requireReader(slots: readonly Slot[], reader: Reader | undefined): (readonly Slot[])[] {
  if (reader) requireAudience(slots, reader)
  return slots.every(({ info }) => info.audience !== undefined) ? [slots] : []
}

/** Checks one slot in the same way. Throws where the slot itself rejects calls. */
function requireCallable(slot: Slot, reader: Reader | undefined): (readonly Slot[])[] {
  const restricted = requireReader([slot], reader)
  if (slot.refusal) throw slot.refusal
  return restricted
}

function createUnknownToolError({ slots, tools, routes }: Registry, wanted: string, reader: Reader = {}): VtError {
  const isVisible = (slot: Slot | undefined) => slot !== undefined && isShown({ slots }, reader, slot)
  const names = [...tools.values()].flatMap((tool) => (listSlots(tool).some(isVisible) ? [tool.name] : [])).sort()
  const others = [...routes].flatMap(([name, slot]) =>
    slots.has(slot) && canReach({ slots }, reader, slots.get(slot)!) ? [name] : [],
  )
  return problem('VT_TOOL_UNKNOWN', {
    tool: JSON.stringify(wanted.slice(0, 80)),
    known: findSimilar(wanted, [...names, ...others], 3).join(', '),
  })
}

/** Throws VT_AGENT_NONE where all of these slots are for other audiences. */
export function requireAudience(slots: readonly Slot[], { audiences }: Reader): void {
  const [first] = slots
  if (first && slots.every(({ info }) => !isForAudience(info, audiences)))
    throw problem('VT_AGENT_NONE', { slot: slots.length === 1 ? first.info.slot : first.info.tool })
}

/** Returns the call that a forwarding tool makes; without `input` its other fields are the input. */
function resolveForwarded(
  registry: Registry,
  from: Slot,
  { tool, input, ...fields }: JsonObject,
  reader: Reader | undefined,
): Promise<CallTarget> {
  const found = findNamed(registry, stripDecoration(toText(tool)))
  if (found === from || found === from.tool)
    throw new VtError({
      code: 'VT_TOOL_UNKNOWN',
      message: `${from.info.slot} cannot call itself.`,
      hint: 'Name another tool.',
      retryable: false,
    })
  return resolve(registry, toText(tool), input ?? fields, reader)
}

/** Returns the slot or the tool of a name, in any spelling or decoration. */
function findNamed({ slots, tools, routes }: Registry, name: string): Slot | Tool | undefined {
  const find = (text: string) => slots.get(text) ?? tools.get(text) ?? slots.get(routes.get(text) ?? '')
  return find(name) ?? find(name.toLowerCase().replace(/[- ]/g, '_'))
}

/** Returns a name that led to no slot, for a record: without decoration, at most 80 characters. */
export const toRecordedName = (name: unknown): string => stripDecoration(toText(name)).slice(0, 80)

/** Returns all effects that a call by this name can have. */
export function listEffectsByName(registry: Registry, name: unknown): Effect[] {
  const found = findNamed(registry, stripDecoration(toText(name)))
  const slots = !found ? [] : 'info' in found ? [found] : listSlots(found)
  return [...new Set(slots.flatMap(({ info }) => info.effects))]
}

const removeAction = ({ action: _, ...input }: JsonObject): JsonObject => input

/** Returns the input as plain data, without the wrappers of function-calling wires. */
function readInput(sent: unknown, tool: string, known: (key: string) => boolean, slot: Slot | undefined): JsonObject {
  try {
    return toJson(unwrapInput(sent, tool, known)) as JsonObject
  } catch (error) {
    if (error instanceof VtError && !slot && error.problem.hint === '')
      throw new VtError({ ...error.problem, hint: 'Give an object with an "action" and its fields.' })
    throw addExample(error, slot)
  }
}

/** Adds a valid example to an error about wrong input. */
export function addExample(error: unknown, slot: Slot | undefined): unknown {
  if (
    !(error instanceof VtError) ||
    !slot ||
    !error.code.startsWith('VT_INPUT_') ||
    error.problem.hint.includes('Example:')
  )
    return error
  return new VtError({ ...error.problem, hint: `${error.problem.hint} ${slot.example}`.trim() })
}

/** The normalised input of a call. */
export interface NormalizedInput {
  given: JsonObject
  input: JsonObject
  notices: Notice[]
  /** Notices that are reported only if the answer is cut. */
  silent: Notice[]
}
export interface NormalizeOptions {
  /** Returns the example for an error about wrong input. */
  example?: () => string
  constraint?: Constraint | undefined
  /** The alias of the call. */
  alias?: CallTarget['alias']
  /** Returns whether texts may name a slot. */
  isReachable?: (slot: Slot) => boolean
}

/**
 * Converts the caller's input to the names and types of the slot's schema. `given` has the values of the caller,
 * `input` also caps, constraints and defaults. Throws VT_INPUT_*, VT_POLICY_DENIED.
 */
export async function normalizeInput(
  slot: Slot,
  raw: JsonObject,
  { example = () => slot.example, constraint, alias, isReachable }: NormalizeOptions = {},
): Promise<NormalizedInput> {
  const { given: renamed, unknown } = renameProperties(restoreNames(raw, slot.info.input), slot.shape)
  if (unknown.length) throw createUnknownFieldError(slot, unknown[0]!, example(), isReachable)
  const given = coerce(renamed, slot.shape)
  const capped = applyLimits(given, slot.shape)
  const check = checks.get(slot) ?? (await compileCheck(slot))
  const asked = {
    given,
    declared: alias?.given,
    defaults: alias?.defaults,
    passes: (one: JsonObject) => check(one).length === 0,
  }
  const { input, notices, silent } = constraint
    ? applyConstraint(constraint, slot.info, capped.input, asked)
    : { input: capped.input, notices: [], silent: [] }
  const issues = check(input)
  if (issues.length === 0) return { given, input, notices: [...capped.notices, ...notices], silent }
  const message = issues
    .map((issue) => issue.problem)
    .join(' ')
    .slice(0, 300)
  const issue = issues[0]!
  const hint = issue.code === 'VT_INPUT_MISSING' ? findExampleWithField(slot, issue.field, example()) : example()
  throw new VtError({ code: issue.code, message, hint, retryable: false, details: { issues } })
}

const checks = new WeakMap<Slot, Check>()

/** Compiles the slot's schema, on its first call. */
async function compileCheck(slot: Slot): Promise<Check> {
  const check = await compile(slot.info.input, slot.info.slot)
  checks.set(slot, check)
  return check
}

/** Creates the error for an unknown property: it belongs to another action, or is misspelt. */
function createUnknownFieldError(
  slot: Slot,
  field: string,
  example: string,
  isReachable: NormalizeOptions['isReachable'] = () => true,
): Error {
  // A slot may have its own hint for unknown fields.
  const hint = slot.info.errors['VT_INPUT_UNKNOWN']?.hint
  const advice = { example, way: hint ? `${hint} ` : '' }
  const owner = [...slot.tool.actions.values()].find(
    (other) => other !== slot && isReachable(other) && other.shape.names.has(foldKey(field)),
  )
  if (owner) {
    const way = `Or call {slot:${owner.info.slot}}. ${advice.way}`
    return problem('VT_INPUT_NOT_ALLOWED', { field, owner: owner.info.slot, slot: slot.info.slot, ...advice, way })
  }
  const { properties } = slot.shape
  const names = Object.keys(properties).filter((name) => properties[name]!['x-listed'] !== false)
  const first = field.split('_')[0]!
  const like =
    findNearest(field, names) ?? (first.length > 3 ? names.find((one) => one.split('_')[0] === first) : undefined)
  return problem('VT_INPUT_UNKNOWN', {
    field,
    nearest: like ? ` (did you mean ${like}?)` : '',
    valid: names.join(', '),
    ...advice,
  })
}
