import { problem, type Call, type Effect, type Mode, type Settings } from '../../../core/shapes/index.js'
import { hostPattern, pathPattern, toText, wildcard } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { isEffect, leaves, mayAllow, speaksOf, type ruleFamilies } from '../../../core/registry/index.js'
import { commandEntry, type CommandEntry } from './command_entry.js'
import { commandPattern } from './command_pattern.js'
import { tryExamples } from './examples.js'
import type { CallFacts } from './facts.js'
import type { Rule, RuleSet } from './rule.js'

/** A rule as settings write it: `Tool`, `Tool(spec)`, or `Except(Tool, Tool)` for every other. */
export type RuleEntry = NonNullable<RuleSettings['policy']['deny']>[number]

interface Family {
  spec: 'path' | 'command' | 'host' | 'name'
  lifts?: Effect
  applies(facts: CallFacts): boolean
}

const isOf =
  (family: keyof typeof families) =>
  ({ slot }: CallFacts): boolean =>
    slot.families.includes(family)
const reads: Family = {
  spec: 'path',
  lifts: 'read',
  applies: (facts) =>
    facts.slot.families.includes('Read') || (facts.hasPath && facts.call.effects.every((effect) => effect === 'read')),
}
const edits: Family = { spec: 'path', lifts: 'write', applies: (facts) => facts.call.effects.includes('write') }
const families: Record<(typeof ruleFamilies)[number], Family> = {
  Read: reads,
  Grep: reads,
  Glob: reads,
  Edit: edits,
  Write: edits,
  MultiEdit: edits,
  NotebookEdit: edits,
  Bash: { spec: 'command', lifts: 'exec', applies: (facts) => facts.hasCommand },
  WebFetch: { spec: 'host', lifts: 'net', applies: isOf('WebFetch') },
  WebSearch: { spec: 'host', lifts: 'net', applies: isOf('WebSearch') },
  Skill: { spec: 'name', applies: isOf('Skill') },
  AskUserQuestion: { spec: 'name', applies: isOf('AskUserQuestion') },
}

/** Where the paths of rules begin, and what `~` stands for. */
export type RulePlace = Pick<Workspace, 'root' | 'user'>

/** Reads one rule; `undefined` when it is not of the form `Tool` or `Tool(spec)`. */
export function parseRule(
  entry: RuleEntry,
  verdict: 'deny' | 'ask' | 'allow',
  { root, user: home }: RulePlace,
): Rule | undefined {
  const { rule: text, reason } = typeof entry === 'string' ? { rule: entry, reason: undefined } : entry
  const [, name, spec] = /^([^\s()]+)(?:\((.*)\))?$/s.exec(text.trim()) ?? []
  if (!name) return undefined
  // A glob in the name would allow what nobody has thought of; only the tools of one named MCP server may be allowed that way.
  if (verdict === 'allow' && !mayAllow(name)) return undefined
  if (name === 'Except') return spec === undefined || verdict === 'allow' ? undefined : allBut(text, reason, spec)
  const family = Object.hasOwn(families, name) ? families[name as keyof typeof families] : undefined
  const rule = { text, ...(reason !== undefined && { reason }), ...(family?.lifts && { lifts: family.lifts }) }
  const applies = family?.applies ?? byName(name, verdict === 'allow')
  if (isEffect(name)) return { ...rule, lifts: name, applies }
  if (spec === undefined || spec === '*') return { ...rule, applies }
  if (family?.spec === 'path') return { ...rule, applies, path: pathPattern(spec, { root, home }) }
  if (family?.spec === 'command') return { ...rule, applies, command: commandPattern(spec) }
  if (family?.spec === 'host')
    return spec.startsWith('domain:') ? { ...rule, applies, host: hostPattern(spec.slice(7)) } : undefined
  if (family?.spec === 'name') return { ...rule, applies, input: property('name', spec) }
  const [parameter, value] = splitOnce(spec, ':')
  return value === undefined || verdict === 'allow'
    ? undefined
    : { ...rule, applies, input: property(parameter, value) }
}

/** `Except(a, b)`: whatever none of these names speaks about. Two such rules leave what both leave, so that each can only narrow. */
function allBut(text: string, reason: string | undefined, spec: string): Rule | undefined {
  const names = spec.split(',').map((name) => name.trim())
  if (!names.every((name) => /^[^\s()]+$/.test(name))) return undefined
  return {
    text,
    ...(reason !== undefined && { reason }),
    applies: ({ slot, call }) => !leaves(names, slot, call.caller.alias),
  }
}

/** What takes away speaks about the slot under any of its names. What opens an alias opens calls by that name only: the alias may stand for a part of the slot. */
function byName(name: string, opens: boolean): (facts: CallFacts) => boolean {
  if (isEffect(name)) return (facts) => facts.call.effects.includes(name)
  return ({ call, slot }) => speaksOf(name, slot, opens, call.caller.alias)
}

function property(name: string, pattern: string): (call: Call) => boolean {
  const matches = wildcard(pattern)
  return (call) =>
    ['string', 'number', 'boolean'].includes(typeof call.input[name]) && matches(toText(call.input[name]))
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** The settings in which rules are written. */
export interface RuleSettings {
  policy: Partial<Pick<Settings['policy'], 'deny' | 'ask' | 'allow' | 'commands'>>
  automation?: Settings['automation']
}

/** What no settings need say and no rule allows: a call that names what in the home of this program is the user's alone. */
export const rulesOfHome = ({ isSecret }: Workspace): Rule[] =>
  isSecret
    ? [{ text: '(the home of this program)', lifts: 'read', applies: () => true, path: isSecret, anyWord: true }]
    : []

const compiled = new WeakMap<object, RuleSet>()

/** The rules of the settings, parsed once a generation. What full-auto may do is a list of allow rules of its own. */
export function rulesOfSettings(settings: RuleSettings, mode: Mode, place: RulePlace): RuleSet {
  const { policy, automation } = settings
  const known = compiled.get(policy)
  const base = known ?? {
    deny: [...parse(policy.deny, 'deny', place), ...programs(policy.commands, 'deny')],
    ask: [...parse(policy.ask, 'ask', place), ...programs(policy.commands, 'ask')],
    allow: [...parse(policy.allow, 'allow', place), ...programs(policy.commands, 'allow')],
  }
  if (!known) compiled.set(policy, base)
  const list = automation?.full_auto?.allowed_tools
  return mode === 'full-auto' && list ? { ...base, allow: [...base.allow, ...parse(list, 'allow', place)] } : base
}

/** The entries of `policy.commands` that say `verdict`, as rules. */
function programs(entries: CommandEntry[] | undefined, verdict: 'deny' | 'ask' | 'allow'): Rule[] {
  return (entries ?? [])
    .filter((entry) => entry.verdict === verdict)
    .map((entry) => {
      const { id, reason } = entry
      const rule: Rule = {
        text: `commands.${id}`,
        ...(reason !== undefined && { reason }),
        lifts: 'exec',
        applies: (facts) => facts.hasCommand,
        command: commandEntry(entry),
      }
      tryExamples(rule, verdict, entry)
      return rule
    })
}

// A deny or ask rule that cannot be read must not be lost: the policy fails, and with it every call. A lost allow only asks.
function parse(entries: RuleEntry[] | undefined, verdict: 'deny' | 'ask' | 'allow', place: RulePlace): Rule[] {
  return (entries ?? []).flatMap((entry) => {
    const rule = parseRule(entry, verdict, place)
    if (rule && typeof entry !== 'string') tryExamples(rule, verdict, entry)
    if (rule || verdict === 'allow') return rule ?? []
    throw problem('VT_CONFIG_INVALID', {
      problem: `The rule ${JSON.stringify(entry)} of policy.${verdict} is not of the form Tool or Tool(spec).`,
    })
  })
}
