import { compilePathPattern } from '../../../core/text/index.js'
import type { RightsScope, SlotInfo } from '../../../core/index.js'
import { parseExcept, hasGrant } from '../../../core/registry/index.js'
import { judgeCommands, listPlaceNames, type CallFacts, type RuleSet } from '../../lib/rules/index.js'

/**
 * Returns a reason if a call exceeds its rights. A promise only for a possible write, because every call passes here.
 */
export function findRightsViolation(
  facts: CallFacts,
  only: readonly RightsScope[],
  rules: RuleSet,
): string | undefined | Promise<string | undefined> {
  const { call, slot } = facts
  for (const left of only)
    if (!isGranted(left, slot, call.caller.alias))
      return `This call may not use ${call.slot}. Its rights: ${formatList(left.tools!.map(formatName))}.`
  return call.effects.some((effect) => effect === 'exec' || effect === 'write')
    ? findWriteViolation(facts, only, rules)
    : undefined
}

async function findWriteViolation(
  facts: CallFacts,
  only: readonly RightsScope[],
  rules: RuleSet,
): Promise<string | undefined> {
  for (const { writes } of only) {
    const beyond = writes && (await judgeWriteGlobs(facts, writes, rules))
    if (beyond !== undefined) return beyond
  }
  return undefined
}

const grantedSlots = new WeakMap<RightsScope, WeakMap<SlotInfo, boolean>>()

/** Cached: many calls of few slots have equal rights. */
function isGranted(left: RightsScope, slot: SlotInfo, alias: string | undefined): boolean {
  const { tools } = left
  if (!tools) return true
  if (alias !== undefined) return hasGrant(tools, slot, alias)
  const of = grantedSlots.get(left) ?? new WeakMap<SlotInfo, boolean>()
  const before = of.get(slot)
  if (before !== undefined) return before
  const judged = hasGrant(tools, slot)
  grantedSlots.set(left, of.set(slot, judged))
  return judged
}

/**
 * Checks a call against globs of writable paths. The text of a command does not show its writes, so only commands
 * that are known to read may run.
 */
async function judgeWriteGlobs(
  facts: CallFacts,
  writes: readonly string[],
  rules: RuleSet,
): Promise<string | undefined> {
  const { call } = facts
  const may = `Only ${formatList(writes.map((glob) => `'${glob}'`))} may be written`
  if (call.effects.includes('exec')) {
    const { free, reason } = facts.hasCommand
      ? await judgeCommands(facts, { ...rules, allow: [] })
      : { free: undefined, reason: `${call.slot} runs a program` }
    return free === 'read'
      ? undefined
      : `${may}, so only commands that are known to only read may run: ${reason || 'this one is not'}.`
  }
  const names = listPlaceNames(call)
  if (names.length === 0) return `${may}, and ${call.slot} does not declare its targets.`
  const { root, user } = facts.workspace
  const patterns = writes.map((glob) => compilePathPattern(glob, { root, home: user }))
  const outside = names.find((name) => !patterns.some((matches) => matches(name)))
  return outside === undefined ? undefined : `${may}; '${outside}' is not one of them.`
}

/** Formats `Except(a, b)` for a sentence. */
const formatName = (name: string): string =>
  parseExcept(name)?.reduce((text, one, at) => `${text}${at > 0 ? ', ' : ' '}'${one}'`, 'all but') ?? `'${name}'`

const MAX_LISTED = 10
/** Formats a list for a sentence. */
const formatList = (entries: readonly string[]): string =>
  entries.length === 0
    ? 'nothing'
    : [
        ...entries.slice(0, MAX_LISTED).map((entry) => entry.slice(0, 200)),
        ...(entries.length > MAX_LISTED ? [`${entries.length - MAX_LISTED} more`] : []),
      ].join(', ')
