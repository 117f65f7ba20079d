import { inert } from '../../../core/text/index.js'
import type { Call, Mode } from '../../../core/index.js'
import {
  listPlaceNames,
  parseRule,
  compileRules,
  type CallFacts,
  type Rule,
  type RuleSettings,
} from '../../lib/rules/index.js'

/** Whether a call would run in a mode with these rules beside those of the settings. */
export type Runs = (mode: Mode, more: readonly Rule[]) => Promise<boolean>

const chats = ['agent', 'chat', 'tui']
const looser: Partial<Record<Mode, Mode>> = { plan: 'auto', ask: 'auto' }
const mostRules = 6

/** The way out for where the reader is. Everything that is named here was tried on this call before: it would run then. */
export async function wayOut(facts: CallFacts, most: Mode, runs: Runs): Promise<string> {
  const { call } = facts
  const isChat = chats.includes(call.caller.surface)
  const mode = most === 'auto' || most === 'full-auto' ? looser[call.mode] : undefined
  const change = mode && (isChat ? `switch to /mode ${mode}` : `run with \`--mode ${mode}\``)
  const byMode = mode && (await runs(mode, [])) ? change : undefined
  const byRules = call.mode === 'plan' ? undefined : await added(facts, (more) => runs(call.mode, more))
  if (byMode ?? byRules) return [byMode, byRules].filter(Boolean).join(', or ')
  if (!change) return answered(call, isChat)
  // What the looser mode would still ask about.
  const both = isChat ? undefined : await added(facts, (more) => runs(mode, more))
  return both ? `${change}, and ${both}` : `${change}, where ${answered(call, isChat)}`
}

const answered = ({ mode }: Call, isChat: boolean): string =>
  mode === 'plan' || isChat
    ? 'the user answers the question'
    : 'the user answers the question, at a terminal or in a client that asks; no rule allows just this call'

/** The fewest and narrowest rules with which it runs, as a sentence; nothing where only a rule would do that allows more than this call. */
async function added(facts: CallFacts, runs: (more: readonly Rule[]) => Promise<boolean>): Promise<string | undefined> {
  let needed = narrow(facts)
  if (needed.length === 0 || needed.length > 4 * mostRules || !(await runs(needed))) return undefined
  for (const rule of needed) {
    const others = needed.filter((one) => one !== rule)
    if (await runs(others)) needed = others
  }
  if (needed.length > mostRules) return undefined
  const names = needed.map(({ text }) => `'${inert(text)}'`)
  const list =
    names.length === 1 ? `the rule ${names[0]}` : `the rules ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  const alone = facts.call.mode === 'full-auto' ? ' (for full-auto alone: to automation.full_auto.allowed_tools)' : ''
  return `the user adds ${list} to policy.allow${alone} in ~/.vtcode/vtcode.config.yaml`
}

/** The rules that speak about this call and nothing else: on the words of its commands, its paths, its host. Where it has none of these, the slot. */
function narrow(facts: CallFacts): Rule[] {
  const { call, slot, workspace } = facts
  const texts = new Set<string>()
  if (call.effects.includes('exec') && facts.hasCommand) {
    for (const argv of facts.lines().flatMap(({ commands }) => commands)) {
      const text = argv.map((word) => word.text).join(' ')
      // A word with a space, or a sign that a pattern takes for more than itself, cannot be said.
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

/** The same call as it would stand in another mode, and the rules there. */
export function inMode(facts: CallFacts, settings: RuleSettings, mode: Mode, more: readonly Rule[]) {
  const call = Object.create(facts.call, { mode: { value: mode } }) as Call
  const rules = compileRules(settings, mode, facts.workspace)
  return { facts: { ...facts, call }, rules: { ...rules, allow: [...rules.allow, ...more] } }
}
