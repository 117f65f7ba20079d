import { problem, type Mode, type RightsScope, type SlotInfo } from '../shapes/index.js'
import { compileWildcard } from '../text/index.js'
import { listAliasTargets } from './alias_targets.js'
import { isEffect, isFamily, isOpenedWithFamily } from './families.js'
import { isAdvertised, type Registry, type Slot } from './registry.js'
import { parseExcept, isOfOtherServer, findUnknownName } from './rule_names.js'
import { isSpelling, isOwnName } from './spellings.js'

/**
 * Returns whether a name in a rule covers a slot. A denying rule covers all names of the slot; a rule that permits an
 * alias covers calls by that name only.
 */
export function isRuleMatch(name: string, slot: SlotInfo, opens: boolean, alias?: string): boolean {
  if (opens && isOfOtherServer(name, slot)) return false
  const whole = compileWildcard(name)
  // The name of a server's tool is shortened where it is too long; rules use the full name.
  const known = slot.group === undefined ? [slot.slot] : slot.names
  if (whole(slot.tool) || alias === name || slot.group === name || known.some(whole)) return true
  if (opens) return isOwnName(name, slot)
  return name.includes('*') ? slot.names.some(whole) || slot.aliases.some(whole) : isSpelling(name, slot)
}

/**
 * Returns whether these names permit a slot, called by its own name or by that of an alias. Effects permit a slot that
 * has no others.
 */
export function hasGrant(names: readonly string[], slot: SlotInfo, alias?: string): boolean {
  return (
    names.some((name) => isGranting(name, slot, alias)) ||
    (slot.effects.length > 0 && slot.effects.every((effect) => names.includes(effect)))
  )
}

function isGranting(name: string, slot: SlotInfo, alias: string | undefined): boolean {
  const excepted = parseExcept(name)
  if (excepted) return !excepted.some((one) => isExcluding(one, slot))
  if (isEffect(name)) return false
  return isFamily(name) ? isOpenedWithFamily(name, slot) : isRuleMatch(name, slot, true, alias)
}

function isExcluding(name: string, slot: SlotInfo): boolean {
  if (isEffect(name)) return slot.effects.includes(name)
  return isFamily(name) ? slot.families.includes(name) : isRuleMatch(name, slot, false)
}

/** A caller, with its audiences and rights, which decide the list of tools. */
export interface Reader {
  readonly audiences?: readonly string[] | undefined
  readonly only?: readonly RightsScope[] | undefined
  /** A reading action is a tool of its own if other actions of its tool change something. */
  readonly splitReads?: boolean | undefined
  /** The mode of its calls. */
  readonly mode?: Mode | undefined
}

/**
 * Returns whether a caller may use a slot: its audience and its rights include it. For an alias, one permitted target
 * is enough.
 */
export function canReach(
  registry: Pick<Registry, 'slots'>,
  { audiences, only, mode }: Reader,
  { info, primary }: Slot,
): boolean {
  if (!isForAudience(info, audiences) || (mode !== undefined && info.modes?.includes(mode) === false)) return false
  if (!only) return true
  const targets = listAliasTargets(primary.manifest.alias ?? {}).flatMap(
    (target) => registry.slots.get(target)?.info ?? [],
  )
  const isGranted = (slot: SlotInfo, alias?: string) =>
    only.every(({ tools }) => !tools || hasGrant(tools, slot, alias))
  return targets.length > 0 ? targets.some((slot) => isGranted(slot, info.slot)) : isGranted(info)
}

/** Returns whether a caller sees a slot. */
export const isShown = (registry: Pick<Registry, 'slots'>, reader: Reader, slot: Slot): boolean =>
  isAdvertised(slot) && canReach(registry, reader, slot)

/** Returns whether a slot has no audience or one of these. */
export const isForAudience = ({ audience }: SlotInfo, audiences: readonly string[] = []): boolean =>
  audience === undefined || audiences.includes(audience)

const LIMITS = { entries: 10_000, length: 1_024, characters: 524_288 }
const isList = (list: unknown): list is readonly string[] | undefined =>
  list === undefined || (Array.isArray(list) && list.every((entry) => typeof entry === 'string' && entry !== ''))

/** Returns a frozen copy of the rights that a caller passes on. Throws VT_POLICY_ONLY. */
export function validateRights(only: RightsScope): RightsScope {
  const wrong = (problemText: string) => problem('VT_POLICY_ONLY', { problem: problemText })
  if (typeof only !== 'object' || only === null || Array.isArray(only))
    throw wrong('`only` is not an object with the lists `tools` and `writes`.')
  const strange = Object.keys(only).find((key) => key !== 'tools' && key !== 'writes')
  if (strange !== undefined)
    throw wrong(`\`only\` has the unknown key ${JSON.stringify(strange.slice(0, 80))}. Use \`tools\` and \`writes\`.`)
  for (const key of ['tools', 'writes'] as const) {
    const list = only[key]
    if (!isList(list)) throw wrong(`\`only.${key}\` is not a list of texts.`)
    if (list && list.length > LIMITS.entries)
      throw wrong(`\`only.${key}\` has ${list.length} entries; at most ${LIMITS.entries} are allowed.`)
    const long = list?.find((entry) => entry.length > LIMITS.length)
    if (long !== undefined)
      throw wrong(
        `\`only.${key}\` has an entry of ${long.length} characters, '${long.slice(0, 40)}…'; ` +
          `at most ${LIMITS.length} are allowed.`,
      )
    if (list && list.reduce((sum, { length }) => sum + length, 0) > LIMITS.characters)
      throw wrong(`\`only.${key}\` has more than ${LIMITS.characters} characters in all.`)
  }
  const { tools, writes } = only
  return Object.freeze({
    ...(tools && { tools: Object.freeze([...tools]) }),
    ...(writes && { writes: Object.freeze([...writes]) }),
  })
}

const checkedRights = new WeakMap<Registry, WeakMap<RightsScope, RightsScope>>()

/**
 * Validates the rights of one call; all their names have to exist. The result is cached for an unchanged object. Throws
 * VT_POLICY_ONLY.
 */
export function validateCallRights(registry: Registry, only: RightsScope): RightsScope {
  const known = checkedRights.get(registry)
  const before = known?.get(only)
  if (before && isSame(before.tools, only.tools) && isSame(before.writes, only.writes)) return before
  const left = validateRights(only)
  const unknown = findUnknownName(left.tools ?? [], registry)
  if (unknown)
    throw problem('VT_POLICY_ONLY', {
      problem: `\`only.tools\` names '${unknown.name}', a tool that does not exist${unknown.nearest}.`,
    })
  if (known) known.set(only, left)
  else checkedRights.set(registry, new WeakMap([[only, left]]))
  return left
}

const isSame = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.length === b.length && a.every((entry, index) => entry === b[index])
