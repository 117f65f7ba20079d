import { problem, type Call, type Effect, type Mode, type Settings } from '../../../core/shapes/index.js'
import { compileHostPattern, compilePathSpec, toText, compileWildcard } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { isEffect, hasGrant, canAllow, isRuleMatch, type ruleFamilies } from '../../../core/registry/index.js'
import { compileCommandEntry, type CommandEntry } from './command_entry.js'
import { compileCommandPattern } from './command_pattern.js'
import { checkExamples } from './examples.js'
import type { CallFacts } from './facts.js'
import type { Rule, RuleSet } from './rule.js'

/** A rule of the settings: `Tool`, `Tool(spec)`, or `Except(Tool, Tool)` for every other. */
export type RuleEntry = NonNullable<RuleSettings['policy']['deny']>[number]

interface Family {
  spec: 'path' | 'command' | 'host' | 'name'
  coveredEffect?: Effect
  applies(facts: CallFacts): boolean
}

const hasFamily =
  (family: keyof typeof FAMILIES) =>
  ({ slot }: CallFacts): boolean =>
    slot.families.includes(family)
const READ_FAMILY: Family = {
  spec: 'path',
  coveredEffect: 'read',
  applies: (facts) =>
    facts.slot.families.includes('Read') || (facts.hasPath && facts.call.effects.every((effect) => effect === 'read')),
}
const EDIT_FAMILY: Family = {
  spec: 'path',
  coveredEffect: 'write',
  applies: (facts) => facts.call.effects.includes('write'),
}
const FAMILIES: Record<(typeof ruleFamilies)[number], Family> = {
  Read: READ_FAMILY,
  Grep: READ_FAMILY,
  Glob: READ_FAMILY,
  Edit: EDIT_FAMILY,
  Write: EDIT_FAMILY,
  MultiEdit: EDIT_FAMILY,
  NotebookEdit: EDIT_FAMILY,
  Bash: { spec: 'command', coveredEffect: 'exec', applies: (facts) => facts.hasCommand },
  WebFetch: { spec: 'host', coveredEffect: 'net', applies: hasFamily('WebFetch') },
  WebSearch: { spec: 'host', coveredEffect: 'net', applies: hasFamily('WebSearch') },
  Skill: { spec: 'name', applies: hasFamily('Skill') },
  AskUserQuestion: { spec: 'name', applies: hasFamily('AskUserQuestion') },
}

/** Folders to which paths of rules and `~` refer. */
export type RuleBase = Pick<Workspace, 'root' | 'user'>

/** Parses one rule; `undefined` if it has neither the form `Tool` nor `Tool(spec)`. */
export function parseRule(
  entry: RuleEntry,
  verdict: 'deny' | 'ask' | 'allow',
  { root, user: home }: RuleBase,
): Rule | undefined {
  const { rule: whole, reason } = typeof entry === 'string' ? { rule: entry, reason: undefined } : entry
  const [, name, spec] = /^([^\s()]+)(?:\((.*)\))?$/s.exec(whole.trim()) ?? []
  const text = whole.replace(/\(# ([^\n]*).*/s, '($1)')
  if (!name) return undefined
  // A glob in the name would allow unknown tools. Only the tools of one named MCP server may be allowed that way.
  if (verdict === 'allow' && !canAllow(name)) return undefined
  if (name === 'Except') return spec === undefined || verdict === 'allow' ? undefined : parseExcept(text, reason, spec)
  const family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name as keyof typeof FAMILIES] : undefined
  const rule = {
    text,
    ...(reason !== undefined && { reason }),
    ...(family?.coveredEffect && { coveredEffect: family.coveredEffect }),
  }
  const applies = family?.applies ?? createNameMatcher(name, verdict === 'allow')
  if (isEffect(name)) return { ...rule, coveredEffect: name, applies }
  if (spec === undefined || spec === '*') return { ...rule, applies }
  if (family?.spec === 'path')
    return {
      ...rule,
      applies,
      path: compilePathSpec(spec, { root, home }),
      pattern: spec.replace(/^~(?=\/)/, home).replace(/^\/\//, '/'),
      ...findBase(spec, home),
    }
  if (family?.spec === 'command') return { ...rule, applies, command: compileCommandPattern(spec) }
  if (family?.spec === 'host')
    return spec.startsWith('domain:') ? { ...rule, applies, host: compileHostPattern(spec.slice(7)) } : undefined
  if (family?.spec === 'name') return { ...rule, applies, input: createPropertyMatcher('name', spec) }
  const [parameter, value] = splitOnce(spec, ':')
  return value === undefined || verdict === 'allow'
    ? undefined
    : { ...rule, applies, input: createPropertyMatcher(parameter, value) }
}

/** Returns the path above all matches of a pattern. */
function findBase(spec: string, home: string): Pick<Rule, 'base'> {
  if (!/^(~\/|\/\/)/.test(spec)) return {}
  const names = (spec.startsWith('~') ? home + spec.slice(1) : spec.slice(1)).split('/')
  const open = names.findIndex((name) => /[*?[\\]/.test(name))
  return { base: names.slice(0, open < 0 ? names.length : open).join('/') || '/' }
}

/** Parses `Except(a, b)`: every tool that none of the names covers. */
function parseExcept(text: string, reason: string | undefined, spec: string): Rule | undefined {
  const names = spec.split(',').map((name) => name.trim())
  if (!names.every((name) => /^[^\s()]+$/.test(name))) return undefined
  return {
    text,
    ...(reason !== undefined && { reason }),
    applies: ({ slot, call }) => !hasGrant(names, slot, call.caller.alias),
  }
}

/**
 * A rule that takes rights away covers the slot under each of its names. A rule that allows an alias covers calls by
 * that name only, because the alias may be a part of the slot.
 */
function createNameMatcher(name: string, opens: boolean): (facts: CallFacts) => boolean {
  if (isEffect(name)) return (facts) => facts.call.effects.includes(name)
  return ({ call, slot }) => isRuleMatch(name, slot, opens, call.caller.alias)
}

function createPropertyMatcher(name: string, pattern: string): (call: Call) => boolean {
  const matches = compileWildcard(pattern)
  return (call) =>
    ['string', 'number', 'boolean'].includes(typeof call.input[name]) && matches(toText(call.input[name]))
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** Settings that hold rules. */
export interface RuleSettings {
  policy: Partial<Pick<Settings['policy'], 'deny' | 'ask' | 'allow' | 'commands'>>
  automation?: Settings['automation']
}

/** Returns the built-in rule that denies calls which name the user's own files in the home of this program. */
export const createHomeRules = ({ isSecret }: Workspace): Rule[] =>
  isSecret
    ? [
        {
          text: '(the home of this program)',
          coveredEffect: 'read',
          applies: () => true,
          path: isSecret,
          anyWord: true,
        },
      ]
    : []

const compiledRules = new WeakMap<object, RuleSet>()

/** Returns the rules of the settings, compiled once a generation. Full-auto has its own list of allow rules. */
export function compileRules(settings: RuleSettings, mode: Mode, place: RuleBase): RuleSet {
  const { policy, automation } = settings
  const known = compiledRules.get(policy)
  const base = known ?? {
    deny: [...parseRules(policy.deny, 'deny', place), ...compileCommandRules(policy.commands, 'deny')],
    ask: [...parseRules(policy.ask, 'ask', place), ...compileCommandRules(policy.commands, 'ask')],
    allow: [...parseRules(policy.allow, 'allow', place), ...compileCommandRules(policy.commands, 'allow')],
  }
  if (!known) compiledRules.set(policy, base)
  const list = automation?.full_auto?.allowed_tools
  return mode === 'full-auto' && list ? { ...base, allow: [...base.allow, ...parseRules(list, 'allow', place)] } : base
}

/** Compiles the entries of `policy.commands` with this verdict. */
function compileCommandRules(entries: CommandEntry[] | undefined, verdict: 'deny' | 'ask' | 'allow'): Rule[] {
  return (entries ?? [])
    .filter((entry) => entry.verdict === verdict)
    .map((entry) => {
      const { id, reason } = entry
      const rule: Rule = {
        text: `commands.${id}`,
        ...(reason !== undefined && { reason }),
        coveredEffect: 'exec',
        applies: (facts) => facts.hasCommand,
        command: compileCommandEntry(entry),
      }
      checkExamples(rule, verdict, entry)
      return rule
    })
}

// An invalid deny or ask rule must not be lost: the policy fails, and every call with it. A lost allow rule only asks.
function parseRules(entries: RuleEntry[] | undefined, verdict: 'deny' | 'ask' | 'allow', place: RuleBase): Rule[] {
  return (entries ?? []).flatMap((entry) => {
    const rule = parseRule(entry, verdict, place)
    if (rule && typeof entry !== 'string') checkExamples(rule, verdict, entry)
    if (rule || verdict === 'allow') return rule ?? []
    throw problem('VT_CONFIG_INVALID', {
      problem: `The rule ${JSON.stringify(entry)} of policy.${verdict} is invalid. Write it as Tool or Tool(spec).`,
    })
  })
}
