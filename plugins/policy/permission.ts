import { formatReason } from '../../core/shapes/index.js'
import {
  VtError,
  type Call,
  type Context,
  type Effect,
  type Next,
  type Policy,
  type Verdict,
} from '../../core/index.js'
import {
  collectFacts,
  findHiddenReason,
  findRule,
  judgeCommands,
  listPlaceNames,
  createHomeRules,
  compileRules,
  type CallFacts,
  type Rule,
  type RuleSet,
} from '../lib/rules/index.js'
import { findApprovals, findReceiver } from './permission/approvals.js'
import { describeCall } from './permission/describe_call.js'
import { describeChange } from './permission/describe_change.js'
import { explainCommands } from './permission/explain.js'
import { findAlternative } from './permission/alternatives.js'
import { findRightsViolation } from './permission/rights.js'
import { canRulesAllow, getModeVerdict, type ModeVerdict } from './permission/modes.js'
import { canRunSandboxed, createSandboxOffer } from './permission/sandboxed.js'
import { judgeWrites } from './permission/judge_writes.js'
import { switchMode, suggestWay, type RunCheck } from './permission/suggest_way.js'
import { createVerdict, refuseSecret } from './permission/verdict.js'

/** Judges a call by its rights, the rules, the mode and its commands, before a question is asked. */
const checkPermission: Policy = (call, context) => {
  const settingRules = compileRules(context.settings, call.mode, context.workspace)
  const homeRules = createHomeRules(context.workspace)
  const rules = homeRules.length === 0 ? settingRules : { ...settingRules, deny: [...homeRules, ...settingRules.deny] }
  if (!isPlain(call, context, rules)) return judgeCall(call, context, rules)
  return call.only && findRightsViolation(collectFacts(call, context), call.only, rules) !== undefined
    ? judgeCall(call, context, rules)
    : undefined
}
export default checkPermission
export { judgePluginChange as judgeChange } from './permission/judge_change.js'

/** Checks whether no rule matters and the mode allows it. */
const isPlain = ({ effects, mode }: Call, { explain }: Context, { deny, ask }: RuleSet): boolean =>
  !explain &&
  deny.length === 0 &&
  ask.length === 0 &&
  effects.every((effect) => effect !== 'exec' && getModeVerdict(mode, effect) === 'run')

async function judgeCall(call: Call, context: Context, rules: RuleSet): Promise<Verdict | undefined> {
  const facts = collectFacts(call, context)
  if (context.explain && facts.hasCommand) context.explain(await explainCommands(facts, rules))
  const beyond = call.only && findRightsViolation(facts, call.only, rules)
  const reason = beyond === undefined ? undefined : await beyond
  if (reason !== undefined) return createVerdict(call, { kind: 'deny', reason, way: WIDEN_WAY })
  const denied = await findRule(facts, rules.deny)
  if (denied?.path && denied.path === context.workspace.isSecret) return refuseSecret(facts, context)
  if (denied) return applyRule(facts, 'deny', denied, rules, context)
  const byMode = await findWorstObjection(facts, rules)
  const approvals = byMode?.verdict === 'ask' ? findApprovals(facts, context) : undefined
  if (byMode?.verdict === 'deny') return refuse(facts, context, byMode)
  const asked = await findRule(facts, rules.ask)
  if (asked) return applyRule(facts, 'ask', asked, rules, context)
  if (!byMode || (await approvals?.has())) return { sandbox: 'usual' }
  const hides = isHidden(facts, rules)
  if (byMode.effect === 'exec' && !hides && (await canRunSandboxed(facts, context))) return { sandbox: 'strict' }
  const offer = hides ? undefined : await createSandboxOffer(facts, context)
  return {
    ...(await askPerson(facts, context, byMode, offer)),
    ...(approvals?.lasting && { lasting: approvals.lasting }),
  }
}

/** Returns the question to a person, with the receiver of an input and the offer of the sandbox. */
async function askPerson(
  facts: CallFacts,
  context: Context,
  objection: Objection,
  offer: string | undefined,
): Promise<Verdict> {
  const sent = findReceiver(facts, context)
  const more = [
    ...(sent ? [`The input goes to the running command ${sent.shown}.`] : []),
    ...(offer ? [`Instead of answering, you can set ${offer}.`] : []),
  ]
  const asks = more.length > 0 && { asks: [objection.reason, ...more].map((reason) => formatReason(reason)) }
  return { ...(await refuse(facts, context, objection, offer)), ...asks }
}

/** Checks whether the text of a command may hide a match of a rule; then no sandbox replaces the question. */
const isHidden = (facts: CallFacts, rules: RuleSet): boolean =>
  findHiddenReason(facts, rules, { inSandbox: true }) !== undefined

/** The rights of running work cannot grow. */
const WIDEN_WAY = 'the user starts this work again with more rights (--allowed-tools, --disallowed-tools)'

async function applyRule(
  facts: CallFacts,
  kind: 'deny' | 'ask',
  rule: Rule,
  rules: RuleSet,
  { explain, host }: Context,
): Promise<Verdict> {
  explain?.({ rule: rule.text, list: kind })
  // A rule that denies or asks is stronger than any rule that allows.
  const change = describeChange(rule, facts)
  const way = kind === 'deny' ? change : `the user answers the question, or ${change.replace('the user ', '')}`
  const next = await findAllowedAlternative(facts, rules)
  const reason = rule.reason ?? `The rule '${rule.text}' ${kind === 'deny' ? 'denies this' : 'requires approval'}.`
  return createVerdict(facts.call, {
    kind,
    reason,
    way,
    ...(next && { next }),
    ...(rule.reason !== undefined && { by: describeAuthor(rule, kind, host) }),
  })
}

/**
 * Returns a call that gets the same information without a command; `undefined` if a rule is about its path or the
 * path is outside the workspace.
 */
async function findAllowedAlternative(facts: CallFacts, { deny, ask }: RuleSet): Promise<Next | undefined> {
  const next = facts.hasCommand ? findAlternative(facts) : undefined
  const path = next?.input['path']
  if (typeof path !== 'string') return next
  return [...deny, ...ask].some((rule) => rule.path?.(path)) || (await isOutside(facts, path)) ? undefined : next
}

/** Checks whether a path ends outside the workspace, also by a link. */
async function isOutside({ workspace }: CallFacts, path: string): Promise<boolean> {
  try {
    await (await workspace.open(path)).close()
    return false
  } catch (error) {
    return !(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND'
  }
}

/** Returns the author of the reason of a rule. */
function describeAuthor({ text, reason }: Rule, kind: 'deny' | 'ask', host: Context['host']): string {
  const isSource = (value: unknown): boolean =>
    JSON.stringify(value) !== undefined &&
    (value as { rule?: unknown }).rule === text &&
    (value as { reason?: unknown }).reason === reason
  const layers = host
    .origins()
    .filter(({ path, value }) => path.startsWith(`policy.${kind}`) && [value].flat().some(isSource))
    .map(({ layer }) => layer)
  return layers.length > 0 && !layers.includes('workspace') ? 'your policy' : "the workspace's policy"
}

interface Objection {
  verdict: ModeVerdict
  effect: Effect
  reason: string
  /** Way to allow the call, if no rule on its slot does. */
  way?: string
}

async function findWorstObjection(facts: CallFacts, rules: RuleSet): Promise<Objection | undefined> {
  let worst: Objection | undefined
  for (const effect of facts.call.effects) {
    const objection = await findObjection(facts, effect, rules)
    if (objection && worst?.verdict !== 'deny') worst = objection.verdict === 'deny' || !worst ? objection : worst
  }
  return worst
}

/** Returns the objection to one effect of the call. */
async function findObjection(facts: CallFacts, effect: Effect, rules: RuleSet): Promise<Objection | undefined> {
  const { call } = facts
  const verdict = getModeVerdict(call.mode, effect)
  if (verdict === 'run') return undefined
  const isAllowed = canRulesAllow(call.mode) && hasAllowRule(facts, effect, rules.allow)
  if (isAllowed || call.mode === 'full-auto') {
    const hidden = effect === 'exec' ? findHiddenReason(facts, rules) : undefined
    const kind = call.mode === 'full-auto' ? 'deny' : verdict
    if (hidden !== undefined)
      return {
        verdict: kind,
        effect,
        reason: `The effect of the command cannot be determined from its text: ${hidden}.`,
        way: PLAIN_WAYS[kind],
      }
    if (isAllowed) return undefined
  }
  if (effect === 'write' && call.mode === 'plan' && isPlanOnly(facts)) return undefined
  const commands =
    effect === 'exec' && facts.hasCommand
      ? await judgeCommands(facts, canRulesAllow(call.mode) ? rules : { ...rules, allow: [] })
      : undefined
  if (commands?.free) return undefined
  return {
    verdict,
    effect,
    reason: `${REASONS[verdict](facts, effect)}${commands?.reason ? ` (${commands.reason})` : ''}.`,
  }
}

/**
 * Checks whether allow rules cover an effect. A rule without a spec covers all of it; rules with paths must together
 * cover every path, as given and as resolved.
 */
function hasAllowRule(facts: CallFacts, effect: Effect, allow: readonly Rule[]): boolean {
  const speaking = allow.filter(
    (rule) => rule.applies(facts) && (rule.coveredEffect === undefined || rule.coveredEffect === effect),
  )
  if (speaking.some((rule) => !rule.path && !rule.command && !rule.host && !rule.input)) return true
  if (speaking.some((rule) => rule.host?.(facts.host() ?? '') || rule.input?.(facts.call))) return true
  const paths = speaking.flatMap((rule) => rule.path ?? [])
  if (paths.length === 0) return false
  const names = listPlaceNames(facts.call)
  return names.length > 0 && names.every((name) => paths.some((matches) => matches(name)))
}

function isPlanOnly({ call }: CallFacts): boolean {
  const names = listPlaceNames(call)
  return names.length > 0 && names.every((name) => name.startsWith('.vtcode/plans/'))
}

const REASONS: Record<ModeVerdict, (facts: CallFacts, effect: Effect) => string> = {
  run: () => '',
  ask: (facts, effect) =>
    facts.call.mode === 'full-auto'
      ? `Full-auto may not ${describeCall(facts, effect)}: automation.full_auto.allowed_tools does not list it`
      : `Mode ${facts.call.mode} needs approval to ${describeCall(facts, effect)}`,
  deny: (facts, effect) => {
    const except = effect === 'write' ? ' and writes below .vtcode/plans/' : ''
    return `Cannot ${describeCall(facts, effect)}: plan mode only reads${except}`
  },
}

/** Ways for a command that no rule on its slot can allow. */
const PLAIN_WAYS: Record<ModeVerdict, string> = {
  run: '',
  ask: 'the user answers the question, or the command names every program in plain words',
  deny: 'name every program of the command in plain words',
}

async function refuse(
  facts: CallFacts,
  context: Context,
  { verdict: kind, effect, reason, way }: Objection,
  offer?: string,
): Promise<Verdict> {
  const { settings, workspace } = context
  const next =
    effect === 'exec'
      ? await findAllowedAlternative(facts, compileRules(settings, facts.call.mode, workspace))
      : undefined
  const { verdicts, unclear, findOperand } = await judgeWrites(facts)
  // Another policy asks about these, in every mode.
  const isAsked = verdicts.length > 0 || (unclear ?? findOperand?.()) !== undefined
  const runs: RunCheck = async (mode, more) => {
    if (isAsked) return false
    const other = switchMode(facts, settings, mode, more)
    return (
      (await findRule(other.facts, other.rules.ask)) === undefined &&
      (await findWorstObjection(other.facts, other.rules)) === undefined
    )
  }
  const out = way ?? (await suggestWay(facts, settings.policy.max_mode, runs))
  return createVerdict(facts.call, {
    kind: kind === 'deny' ? 'deny' : 'ask',
    reason,
    way: out,
    offer,
    ...(next && { next }),
  })
}
