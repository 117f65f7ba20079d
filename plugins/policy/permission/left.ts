import { pathPattern } from '../../../core/text/index.js'
import type { RightsLeft, SlotInfo } from '../../../core/index.js'
import { exceptedBy, leaves } from '../../../core/registry/index.js'
import { judgeCommands, listPlaceNames, type CallFacts, type RuleSet } from '../../lib/rules/index.js'

/** Why a call goes beyond what is left of the rights; nothing where it does not. A promise only where it might write: every call comes here. */
export function beyondRights(
  facts: CallFacts,
  only: readonly RightsLeft[],
  rules: RuleSet,
): string | undefined | Promise<string | undefined> {
  const { call, slot } = facts
  for (const left of only)
    if (!isLeft(left, slot, call.caller.alias))
      return `This call may not use ${call.slot}. Left to it: ${shown(left.tools!.map(asWords))}.`
  return call.effects.some((effect) => effect === 'exec' || effect === 'write')
    ? beyondAnyWrites(facts, only, rules)
    : undefined
}

async function beyondAnyWrites(
  facts: CallFacts,
  only: readonly RightsLeft[],
  rules: RuleSet,
): Promise<string | undefined> {
  for (const { writes } of only) {
    const beyond = writes && (await beyondWrites(facts, writes, rules))
    if (beyond !== undefined) return beyond
  }
  return undefined
}

const known = new WeakMap<RightsLeft, WeakMap<SlotInfo, boolean>>()

/** The same rights come with call after call, of a few slots. */
function isLeft(left: RightsLeft, slot: SlotInfo, alias: string | undefined): boolean {
  const { tools } = left
  if (!tools) return true
  if (alias !== undefined) return leaves(tools, slot, alias)
  const of = known.get(left) ?? new WeakMap<SlotInfo, boolean>()
  const before = of.get(slot)
  if (before !== undefined) return before
  const judged = leaves(tools, slot)
  known.set(left, of.set(slot, judged))
  return judged
}

/** What a command writes its text does not say, so that only those run which are known to read. */
async function beyondWrites(facts: CallFacts, writes: readonly string[], rules: RuleSet): Promise<string | undefined> {
  const { call } = facts
  const may = `Only ${shown(writes.map((glob) => `'${glob}'`))} may be written`
  if (call.effects.includes('exec')) {
    const { free, reason } = facts.hasCommand
      ? await judgeCommands(facts, { ...rules, allow: [] })
      : { free: undefined, reason: `${call.slot} runs a program` }
    return free === 'read'
      ? undefined
      : `${may}, so commands run that are known to only read: ${reason || 'this one is not'}.`
  }
  const names = listPlaceNames(call)
  if (names.length === 0) return `${may}, and ${call.slot} does not say what it writes.`
  const { root, user } = facts.workspace
  const patterns = writes.map((glob) => pathPattern(glob, { root, home: user }))
  const outside = names.find((name) => !patterns.some((matches) => matches(name)))
  return outside === undefined ? undefined : `${may}; '${outside}' is not one of them.`
}

/** `Except(a, b)` in a sentence. */
const asWords = (name: string): string =>
  exceptedBy(name)?.reduce((text, one, at) => `${text}${at > 0 ? ', ' : ' '}'${one}'`, 'all but') ?? `'${name}'`

const few = 10
/** A list for a sentence. */
const shown = (entries: readonly string[]): string =>
  entries.length === 0
    ? 'nothing'
    : [
        ...entries.slice(0, few).map((entry) => entry.slice(0, 200)),
        ...(entries.length > few ? [`${entries.length - few} more`] : []),
      ].join(', ')
