import {
  problem,
  renderTexts,
  type Contribution,
  type JsonObject,
  type Next,
  type Notice,
  type Settings,
  type SlotInfo,
} from '../shapes/index.js'
import { compileHostPattern, toText } from '../text/index.js'
import { isSpelling } from '../registry/index.js'

type Configured = Settings['policy']['constraints'][string]
/** One entry of `policy.constraints`, or several for the same slot joined to the strictest. */
export interface Constraint extends Configured {
  /** Commands without another executor run in the sandbox, or the user is asked. */
  sandbox_or_ask?: true
}

/** The properties of each limit; if a call has none of them, the first one that the slot has is set. */
const LIMITED_FIELDS = {
  max_results_per_call: ['max_results', 'max_items', 'per_page', 'max_matches'],
  max_items_per_call: ['max_results', 'max_items', 'per_page'],
  max_bytes_per_read: ['max_bytes', 'page_size_bytes'],
  max_response_bytes: ['max_bytes'],
} as const

/** Joins constraints of the settings and of policies by name; the strictest counts. */
function joinConstraints(all: readonly Readonly<Record<string, Constraint>>[]): Record<string, Constraint> {
  const joined = new Map<string, Constraint>()
  for (const [name, constraint] of all.flatMap(Object.entries<Constraint>))
    joined.set(name, joined.has(name) ? joinStrictest(joined.get(name)!, constraint) : constraint)
  return Object.fromEntries(joined)
}

/** Returns all entries of the settings that cover one slot, joined. */
export function findConstraint(settings: Settings, info: SlotInfo): Constraint | undefined {
  const all: Record<string, Constraint> = settings.policy.constraints
  const sandboxed = settings.policy.sandboxed_commands === 'allow' && listExecutors(info).includes('sandbox_or_ask')
  if (!sandboxed && Object.keys(all).length === 0) return undefined
  const named = Object.entries(all).filter(([name]) => isSpelling(name, info))
  const applicable = [
    ...named.map(([, constraint]) => constraint),
    ...(sandboxed ? [{ sandbox_or_ask: true } as const] : []),
  ]
  return applicable.length > 0 ? applicable.reduce(joinStrictest) : undefined
}

/** Lists the executors for commands of a slot. */
const listExecutors = ({ input }: SlotInfo): unknown[] =>
  ((input['properties'] as Record<string, JsonObject> | undefined)?.['sandbox_permissions']?.['enum'] ??
    []) as unknown[]

function joinStrictest(a: Constraint, b: Constraint): Constraint {
  const both: JsonObject = { ...a, ...b }
  for (const key of [
    ...(Object.keys(LIMITED_FIELDS) as (keyof typeof LIMITED_FIELDS)[]),
    'max_calls_per_minute',
  ] as const) {
    if (a[key] !== undefined && b[key] !== undefined) both[key] = Math.min(a[key], b[key])
  }
  for (const key of ['allowed_modes', 'allowed_url_schemes'] as const)
    if (a[key] && b[key]) both[key] = a[key].filter((item) => b[key]!.includes(item))
  if (a.denied_url_hosts && b.denied_url_hosts)
    both['denied_url_hosts'] = [...a.denied_url_hosts, ...b.denied_url_hosts]
  return both as Constraint
}

export interface Constrained {
  input: JsonObject
  /** Numbers of the caller that were lowered. */
  notices: Notice[]
  /** Limits for numbers that the caller did not give: reported only if the answer is cut. */
  silent: Notice[]
}

/** A call in the terms of the slot and of an alias, and a check whether the slot accepts an input. */
export interface AskedCall {
  given: JsonObject
  declared?: JsonObject | undefined
  /** Properties of `given` that the alias filled in, not the caller. */
  defaults?: readonly string[] | undefined
  passes(input: JsonObject): boolean
}

/**
 * Applies limits and defaults of a constraint to an input; a smaller number is never raised. `declared` is the caller's
 * input, with modes in the terms of the alias; `passes` checks the input of a suggested call. Throws VT_POLICY_DENIED
 * for a mode or an address that is not allowed.
 */
export function applyConstraint(
  constraint: Constraint,
  slot: SlotInfo,
  input: JsonObject,
  { given, declared = given, defaults = [], passes }: AskedCall,
): Constrained {
  const result: Constrained = { input: { ...input }, notices: [], silent: [] }
  const isGiven = (name: string) => given[name] !== undefined && !defaults.includes(name)
  capNumbers(constraint, slot, isGiven, result)
  const { default_response_format: format, allowed_modes: modes } = constraint
  if (format && Object.hasOwn(slot.input['properties'] as JsonObject, 'response_format')) {
    result.input['response_format'] ??= format
  }
  if (constraint.sandbox_or_ask) result.input['sandbox_permissions'] ??= 'sandbox_or_ask'
  if (modes) requireAllowedMode(modes, slot, { input: result.input, given, declared, isGiven, passes })
  if (typeof input['url'] === 'string') requireAllowedAddress(constraint, slot, given, input['url'])
  return result
}

/** Sets each limited number to the limit if it is missing or larger. */
function capNumbers(
  constraint: Constraint,
  slot: SlotInfo,
  isGiven: (name: string) => boolean,
  result: Constrained,
): void {
  const properties = slot.input['properties'] as Record<string, JsonObject>
  const knows = (name: string) => Object.hasOwn(properties, name)
  for (const [key, names] of Object.entries(LIMITED_FIELDS) as [keyof typeof LIMITED_FIELDS, readonly string[]][]) {
    const limit = constraint[key]
    if (limit === undefined) continue
    const here = names.filter((name) => knows(name) && typeof result.input[name] === 'number')
    const first = names.find(knows)
    for (const name of here.length > 0 || !first ? here : [first]) {
      // A tool cannot go below its own minimum.
      const maximum = Math.max(limit, Number(properties[name]!['minimum'] ?? 1))
      if (typeof result.input[name] === 'number' && result.input[name] <= maximum) continue
      result.input[name] = maximum
      const notice = {
        code: 'VT_POLICY_CAPPED',
        message: renderTexts('VT_POLICY_CAPPED', { field: name, maximum, slot: slot.slot })!.message,
      }
      ;(isGiven(name) ? result.notices : result.silent).push(notice)
    }
  }
}

/** The modes of policy files for each value of `tty`. */
const ttyModes = new Map<unknown, readonly string[]>([
  [true, ['pty']],
  [false, ['terminal', 'streaming']],
])

interface ModeCall extends Pick<AskedCall, 'given' | 'passes'> {
  input: JsonObject
  declared: JsonObject
  isGiven(name: string): boolean
}

/** Rejects a given mode that is not allowed, and replaces a default by the first allowed mode. */
function requireAllowedMode(allowed: readonly string[], info: SlotInfo, call: ModeCall): void {
  const { input, given, declared, isGiven } = call
  const properties = info.input['properties'] as JsonObject
  const refuse = (mode: unknown) => createModeRefusal(mode, allowed, info, call)
  if (declared !== given && typeof declared['mode'] === 'string' && !allowed.includes(declared['mode']))
    throw refuse(declared['mode'])
  if (Object.hasOwn(properties, 'mode')) {
    if (allowed.includes(toText(input['mode']))) return
    if (isGiven('mode') || allowed.length === 0) throw refuse(input['mode'])
    input['mode'] = allowed[0]
  } else if (Object.hasOwn(properties, 'tty')) {
    const fits = (tty: boolean) => isTtyAllowed(allowed, tty)
    const tty = input['tty'] === true
    if (fits(tty)) return
    if (isGiven('tty') || !fits(!tty)) throw refuse(ttyModes.get(tty)![0])
    input['tty'] = !tty
  }
}

function createModeRefusal(mode: unknown, allowed: readonly string[], info: SlotInfo, call: ModeCall): Error {
  const { input, given, declared, passes } = call
  const properties = info.input['properties'] as JsonObject
  const other = findAllowedChange(allowed, properties, (change) => passes({ ...input, ...change }))
  const saysMode = Object.hasOwn(properties, 'mode') || declared !== given
  const otherWay = other ? `Use tty: ${toText(other['tty'])}.` : NO_ALTERNATIVE
  const way = saysMode && allowed.length > 0 ? `Use mode: ${allowed.join(' or ')}.` : otherWay
  const message = `The policy allows the modes ${allowed.join(', ') || '(none)'} here, not '${toText(mode)}'.`
  return createDenial(message, way, other && createNextCall(info, given, other))
}

const isTtyAllowed = (allowed: readonly string[], tty: boolean): boolean =>
  ttyModes.get(tty)!.some((mode) => allowed.includes(mode))

/** Returns the change to the first allowed mode that the slot accepts for this call. */
function findAllowedChange(
  allowed: readonly string[],
  properties: JsonObject,
  passes: (change: JsonObject) => boolean,
): JsonObject | undefined {
  const changes = Object.hasOwn(properties, 'mode')
    ? allowed.map((mode) => ({ mode }))
    : Object.hasOwn(properties, 'tty')
      ? [false, true].filter((tty) => isTtyAllowed(allowed, tty)).map((tty) => ({ tty }))
      : []
  return changes.find(passes)
}

/** Creates the call with one change. */
const createNextCall = ({ tool, action }: SlotInfo, given: JsonObject, change: JsonObject): Next => ({
  tool,
  input: { ...(action !== undefined && { action }), ...given, ...change },
})

function requireAllowedAddress(
  { allowed_url_schemes: schemes, denied_url_hosts: hosts = [] }: Constraint,
  info: SlotInfo,
  given: JsonObject,
  text: string,
): void {
  if (!URL.canParse(text)) return
  const { protocol, hostname } = new URL(text)
  const scheme = protocol.slice(0, -1)
  const isDenied = hosts.some((host) => compileHostPattern(host)(hostname))
  if (schemes && !schemes.includes(scheme)) {
    // Most addresses of http exist with https too.
    const secure =
      scheme === 'http' && schemes.includes('https') && !isDenied
        ? createNextCall(info, given, { url: text.replace(/^\s*http:/i, 'https:') })
        : undefined
    throw createDenial(
      `The policy allows addresses of ${schemes.join(', ') || '(none)'} here, not of '${scheme}'.`,
      schemes.length > 0 ? `Give an address of ${schemes.join(' or ')}.` : NO_ALTERNATIVE,
      secure,
    )
  }
  if (isDenied) throw createDenial(`The policy denies the host '${hostname}' here.`, NO_ALTERNATIVE)
}

/** The user set the limit, so only the user can change it. */
const NO_ALTERNATIVE = 'Use another way, or ask the user to change tool-policy.json.'
const createDenial = (reason: string, way: string, next?: Next) =>
  problem('VT_POLICY_DENIED', { reason, way }, { details: { not_applied: true }, ...(next && { next }) })

/** Adds the limits of policies to the settings; the stricter of two counts. */
export function applyPolicyLimits(settings: Settings, contributions: readonly Contribution[]): Settings {
  type Limits = Record<string, Constraint>
  const stated = contributions
    .map(({ manifest }) => (manifest['rules'] as { constraints?: Limits } | undefined)?.constraints)
    .filter((limits) => limits !== undefined)
  if (stated.length === 0) return settings
  const constraints = joinConstraints([...stated, settings.policy.constraints])
  return { ...settings, policy: { ...settings.policy, constraints } }
}
