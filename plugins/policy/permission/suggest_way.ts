import { escapeTemplates } from '../../../core/text/index.js'
import type { Call, Mode } from '../../../core/index.js'
import {
  listPlaceNames,
  parseRule,
  compileRules,
  type CallFacts,
  type Rule,
  type RuleSettings,
} from '../../lib/rules/index.js'

/** Checks whether a call would run in a mode with further allow rules. */
export type RunCheck = (mode: Mode, more: readonly Rule[]) => Promise<boolean>

const CHAT_SURFACES = ['acp', 'agent', 'chat', 'tui']
const LOOSER_MODES: Partial<Record<Mode, Mode>> = { plan: 'auto', ask: 'auto' }
const MAX_RULES = 6

/** Returns a way to allow the call that fits the reader. Each suggested mode and rule was tried on this call. */
export async function suggestWay(facts: CallFacts, most: Mode, runs: RunCheck): Promise<string> {
  const { call } = facts
  const isChat = CHAT_SURFACES.includes(call.caller.surface)
  const mode = most === 'auto' || most === 'full-auto' ? LOOSER_MODES[call.mode] : undefined
  const change = mode && (isChat ? `switch to /mode ${mode}` : `run with \`--mode ${mode}\``)
  const byMode = mode && (await runs(mode, [])) ? change : undefined
  const byRules = call.mode === 'plan' ? undefined : await suggestRules(facts, (more) => runs(call.mode, more))
  if (byMode ?? byRules) return [byMode, byRules].filter(Boolean).join(', or ')
  if (!change) return describeAnswer(call, isChat)
  // The looser mode may still ask.
  const both = isChat ? undefined : await suggestRules(facts, (more) => runs(mode, more))
  return both ? `${change}, and ${both}` : `${change}, where ${describeAnswer(call, isChat)}`
}

const describeAnswer = ({ mode }: Call, isChat: boolean): string =>
  mode === 'plan' || isChat
    ? 'the user answers the question'
    : 'the user answers the question, at a terminal or in a client that asks; no rule allows just this call'

/**
 * Returns the fewest and narrowest rules that allow the call, as a sentence; `undefined` if only broader rules would.
 */
async function suggestRules(
  facts: CallFacts,
  runs: (more: readonly Rule[]) => Promise<boolean>,
): Promise<string | undefined> {
  let needed = createNarrowRules(facts)
  if (needed.length === 0 || needed.length > 4 * MAX_RULES || !(await runs(needed))) return undefined
  for (const rule of needed) {
    const others = needed.filter((one) => one !== rule)
    if (await runs(others)) needed = others
  }
  if (needed.length > MAX_RULES) return undefined
  const names = needed.map(({ text }) => `'${escapeTemplates(text)}'`)
  const list =
    names.length === 1 ? `the rule ${names[0]}` : `the rules ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  const alone = facts.call.mode === 'full-auto' ? ' (for full-auto alone: to automation.full_auto.allowed_tools)' : ''
  return `the user adds ${list} to policy.allow${alone} in ~/.vtcode/vtcode.config.yaml`
}

/**
 * Creates rules for this call only: for the words of its commands, its paths, its host; without these, for the slot.
 */
function createNarrowRules(facts: CallFacts): Rule[] {
  const { call, slot, workspace } = facts
  const texts = new Set<string>()
  if (call.effects.includes('exec') && facts.hasCommand) {
    for (const argv of facts.lines().flatMap(({ commands }) => commands)) {
      const text = argv.map((word) => word.text).join(' ')
      // A rule cannot express a word with a space or a sign of a pattern.
      if (
        argv.every(({ kind, text: word }) => kind === 'static' && /^[\w./:@=+,%-]+$/.test(word)) &&
        text.length <= 120
      )
        texts.add(`Bash(${text})`)
    }
  }
  if (call.effects.includes('write'))
    for (const name of listPlaceNames(call))
      if (/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(name)) texts.add(`Edit(/${name.replace(/[*?[\]\\]/g, '\\$&')})`)
  const host = facts.host()
  if (slot.families.includes('WebFetch') && host !== undefined) texts.add(`WebFetch(domain:${host})`)
  const rules = [...texts].flatMap((text) => parseRule(text, 'allow', workspace) ?? [])
  if (rules.length > 0 || facts.hasCommand || slot.families.includes('WebFetch')) return rules
  return [parseRule(call.slot, 'allow', workspace) ?? []].flat()
}

/** Returns the facts of the call in another mode, with the rules of that mode. */
export function switchMode(facts: CallFacts, settings: RuleSettings, mode: Mode, more: readonly Rule[]) {
  const call = Object.create(facts.call, { mode: { value: mode } }) as Call
  const rules = compileRules(settings, mode, facts.workspace)
  return { facts: { ...facts, call }, rules: { ...rules, allow: [...rules.allow, ...more] } }
}
