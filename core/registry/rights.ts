import { problem, type Mode, type RightsLeft, type SlotInfo } from '../shapes/index.js'
import { wildcard } from '../text/index.js'
import { targetsOf } from './alias_targets.js'
import { isEffect, isFamily, opensByFamily } from './families.js'
import { isAdvertised, type Registry, type Slot } from './registry.js'
import { exceptedBy, isOfServer, unknownName } from './rule_names.js'
import { concerns, isOwnName } from './spellings.js'

/** Does a name of a rule speak about a slot? What takes away speaks about it under any of its names; what opens an alias opens calls by that name only. */
export function speaksOf(name: string, slot: SlotInfo, opens: boolean, alias?: string): boolean {
  const whole = wildcard(name)
  // The name of a tool of a server is cut for wires where it is too long; rules know the whole of it.
  const known = isOfServer(slot.slot) ? slot.names : [slot.slot]
  if (whole(slot.tool) || alias === name || known.some((one) => whole(one) || one.startsWith(`${name}__`))) return true
  if (opens) return isOwnName(name, slot)
  return name.includes('*') ? slot.names.some(whole) || slot.aliases.some(whole) : concerns(name, slot)
}

/** Whether these names leave a slot, called by its own name or by that of an alias. Effects leave what has no others. */
export function leaves(names: readonly string[], slot: SlotInfo, alias?: string): boolean {
  return (
    names.some((name) => opens(name, slot, alias)) ||
    (slot.effects.length > 0 && slot.effects.every((effect) => names.includes(effect)))
  )
}

function opens(name: string, slot: SlotInfo, alias: string | undefined): boolean {
  const excepted = exceptedBy(name)
  if (excepted) return !excepted.some((one) => shuts(one, slot))
  if (isEffect(name)) return false
  return isFamily(name) ? opensByFamily(name, slot) : speaksOf(name, slot, true, alias)
}

function shuts(name: string, slot: SlotInfo): boolean {
  if (isEffect(name)) return slot.effects.includes(name)
  return isFamily(name) ? slot.families.includes(name) : speaksOf(name, slot, false)
}

/** A caller, as far as the list of tools depends on it: its audiences and its rights. */
export interface Reader {
  readonly audiences?: readonly string[] | undefined
  readonly only?: readonly RightsLeft[] | undefined
  /** An action that only reads has a name of its own, beside the tool whose other actions change something. */
  readonly splitReads?: boolean | undefined
  /** The mode of their calls. */
  readonly mode?: Mode | undefined
}

/** Whether somebody may hear of a slot at all: it belongs to everybody or to their face, and it is left to them. An alias is left where something that it stands for is. */
export function reaches(
  registry: Pick<Registry, 'slots'>,
  { audiences, only, mode }: Reader,
  { info, primary }: Slot,
): boolean {
  if (!isForAudience(info, audiences) || (mode !== undefined && info.modes?.includes(mode) === false)) return false
  if (!only) return true
  const behind = targetsOf(primary.manifest.alias ?? {}).flatMap((target) => registry.slots.get(target)?.info ?? [])
  const isLeft = (slot: SlotInfo, alias?: string) => only.every(({ tools }) => !tools || leaves(tools, slot, alias))
  return behind.length > 0 ? behind.some((slot) => isLeft(slot, info.slot)) : isLeft(info)
}

/** Whether somebody is shown a slot. */
export const isShown = (registry: Pick<Registry, 'slots'>, reader: Reader, slot: Slot): boolean =>
  isAdvertised(slot) && reaches(registry, reader, slot)

/** Whether a slot is for everybody or for one of these audiences. */
export const isForAudience = ({ audience }: SlotInfo, audiences: readonly string[] = []): boolean =>
  audience === undefined || audiences.includes(audience)

const most = { entries: 10_000, length: 1_024, characters: 524_288 }
const isList = (list: unknown): list is readonly string[] | undefined =>
  list === undefined || (Array.isArray(list) && list.every((entry) => typeof entry === 'string' && entry !== ''))

/** A copy of what a caller leaves of the rights, that nobody can widen afterwards. Throws VT_POLICY_ONLY. */
export function rightsLeft(only: RightsLeft): RightsLeft {
  const wrong = (problemText: string) => problem('VT_POLICY_ONLY', { problem: problemText })
  if (typeof only !== 'object' || only === null || Array.isArray(only))
    throw wrong('`only` is no object of lists `tools` and `writes`.')
  const strange = Object.keys(only).find((key) => key !== 'tools' && key !== 'writes')
  if (strange !== undefined)
    throw wrong(`\`only\` has ${JSON.stringify(strange.slice(0, 80))}; it knows \`tools\` and \`writes\`.`)
  for (const key of ['tools', 'writes'] as const) {
    const list = only[key]
    if (!isList(list)) throw wrong(`\`only.${key}\` is no list of texts.`)
    if (list && list.length > most.entries)
      throw wrong(`\`only.${key}\` has ${list.length} entries; at most ${most.entries} are taken.`)
    const long = list?.find((entry) => entry.length > most.length)
    if (long !== undefined)
      throw wrong(
        `\`only.${key}\` has an entry of ${long.length} characters, '${long.slice(0, 40)}…'; at most ${most.length} are taken.`,
      )
    if (list && list.reduce((sum, { length }) => sum + length, 0) > most.characters)
      throw wrong(`\`only.${key}\` has more than ${most.characters} characters in all.`)
  }
  const { tools, writes } = only
  return Object.freeze({
    ...(tools && { tools: Object.freeze([...tools]) }),
    ...(writes && { writes: Object.freeze([...writes]) }),
  })
}

const checked = new WeakMap<Registry, WeakMap<RightsLeft, RightsLeft>>()

/** The same for one call, whose names have to lead somewhere. A caller that gives the same again is not checked again. Throws VT_POLICY_ONLY. */
export function rightsOfCall(registry: Registry, only: RightsLeft): RightsLeft {
  const known = checked.get(registry)
  const before = known?.get(only)
  if (before && isSame(before.tools, only.tools) && isSame(before.writes, only.writes)) return before
  const left = rightsLeft(only)
  const unknown = unknownName(left.tools ?? [], registry)
  if (unknown)
    throw problem('VT_POLICY_ONLY', {
      problem: `\`only.tools\` names '${unknown.name}', a tool that does not exist${unknown.nearest}.`,
    })
  if (known) known.set(only, left)
  else checked.set(registry, new WeakMap([[only, left]]))
  return left
}

const isSame = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.length === b.length && a.every((entry, index) => entry === b[index])
