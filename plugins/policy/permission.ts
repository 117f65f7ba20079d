import { quotedReason } from '../../core/shapes/index.js'
import { inert } from '../../core/text/index.js'
import {
  VtError,
  type Call,
  type Context,
  type Effect,
  type Next,
  type Policy,
  type Verdict,
} from '../../core/index.js'
import { explainSecret, SECRET_NEXT_STEP } from '../../core/workspace/index.js'
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
import { approvalsFor, receiver } from './permission/approvals.js'
import { explainCommands } from './permission/explain.js'
import { inspection } from './permission/inspections.js'
import { beyondRights } from './permission/left.js'
import { rulesLift, word, type ModeWord } from './permission/modes.js'
import { runsSandboxed, sandboxOffer } from './permission/sandboxed.js'
import { steeredBy } from './permission/steered_by.js'
import { inMode, wayOut, type Runs } from './permission/ways.js'
import { verdict } from './permission/words.js'

/** What is left of the rights, rules, the mode of the session and what is known of commands, all consulted before a question is raised. */
const permission: Policy = (call, context) => {
  const said = compileRules(context.settings, call.mode, context.workspace)
  const ofHome = createHomeRules(context.workspace)
  const rules = ofHome.length === 0 ? said : { ...said, deny: [...ofHome, ...said.deny] }
  if (!isPlain(call, context, rules)) return judged(call, context, rules)
  return call.only && beyondRights(collectFacts(call, context), call.only, rules) !== undefined
    ? judged(call, context, rules)
    : undefined
}
export default permission

/** Whether nothing is said of any call, and this one does no more than its mode does unasked: most calls read. */
const isPlain = ({ effects, mode }: Call, { explain }: Context, { deny, ask }: RuleSet): boolean =>
  !explain &&
  deny.length === 0 &&
  ask.length === 0 &&
  effects.every((effect) => effect !== 'exec' && word(mode, effect) === 'run')

async function judged(call: Call, context: Context, rules: RuleSet): Promise<Verdict | undefined> {
  const facts = collectFacts(call, context)
  if (context.explain && facts.hasCommand) context.explain(await explainCommands(facts, rules))
  const beyond = call.only && beyondRights(facts, call.only, rules)
  const reason = beyond === undefined ? undefined : await beyond
  if (reason !== undefined) return verdict(call, { kind: 'deny', reason, way: widened })
  const denied = await findRule(facts, rules.deny)
  if (denied?.path && denied.path === context.workspace.isSecret) return refuseSecret(facts, context)
  if (denied) return byRule(facts, 'deny', denied, rules, context)
  const byMode = await worstOf(facts, rules)
  const approvals = byMode?.word === 'ask' ? approvalsFor(facts, context) : undefined
  if (byMode?.word === 'deny') return refuse(facts, context, byMode)
  const asked = await findRule(facts, rules.ask)
  if (asked) return byRule(facts, 'ask', asked, rules, context)
  if (!byMode || (await approvals?.has())) return { sandbox: 'usual' }
  const hides = isHidden(facts, rules)
  if (byMode.effect === 'exec' && !hides && (await runsSandboxed(facts, context))) return { sandbox: 'strict' }
  const offer = hides ? undefined : await sandboxOffer(facts, context)
  return {
    ...(await askPerson(facts, context, byMode, offer)),
    ...(approvals?.lasting && { lasting: approvals.lasting }),
  }
}

/** Returns the question to a person, with the command that gets an input and the offer of the sandbox. */
async function askPerson(
  facts: CallFacts,
  context: Context,
  objection: Objection,
  offer: string | undefined,
): Promise<Verdict> {
  const sent = receiver(facts, context)
  const more = [
    ...(sent ? [`It goes to ${sent.shown}, which runs.`] : []),
    ...(offer ? [`Instead of answering, you can set ${offer}.`] : []),
  ]
  const asks = more.length > 0 && { asks: [objection.reason, ...more].map((reason) => quotedReason(reason)) }
  return { ...(await refuse(facts, context, objection, offer)), ...asks }
}

/** Whether a rule may be about what the text of a command hides: then no sandbox takes the place of a question. */
const isHidden = (facts: CallFacts, rules: RuleSet): boolean =>
  findHiddenReason(facts, rules, { inSandbox: true }) !== undefined

/** A call that names a secret of the home, be it by a word of a command. */
function refuseSecret({ call }: CallFacts, { explain, workspace: { isSecret } }: Context): Verdict {
  explain?.({ home: true })
  const named = listPlaceNames(call).find((name) => isSecret!(name))
  return {
    deny: explainSecret(named),
    hint: `Do not repeat the call. ${SECRET_NEXT_STEP}`,
    details: { not_applied: true },
  }
}

/** Nobody widens the rights of work that is under way. */
const widened = 'the user begins this work again and leaves it more (--allowed-tools, --disallowed-tools)'

async function byRule(
  facts: CallFacts,
  kind: 'deny' | 'ask',
  rule: Rule,
  rules: RuleSet,
  { explain, host }: Context,
): Promise<Verdict> {
  explain?.({ rule: rule.text, list: kind })
  // A rule that denies or asks is stronger than any that allows.
  const change = `the user changes the rule '${inert(rule.text)}'`
  const way = kind === 'deny' ? change : `the user answers the question, or ${change.replace('the user ', '')}`
  const next = await insteadOf(facts, rules)
  const reason = rule.reason ?? `The rule '${rule.text}' ${kind === 'deny' ? 'denies' : 'asks before'} this.`
  return verdict(facts.call, {
    kind,
    reason,
    way,
    ...(next && { next }),
    ...(rule.reason !== undefined && { by: authorOf(rule, kind, host) }),
  })
}

/** What tells the same without a command; nothing where a rule keeps that, too, or where it lies outside of the workspace. */
async function insteadOf(facts: CallFacts, { deny, ask }: RuleSet): Promise<Next | undefined> {
  const next = facts.hasCommand ? inspection(facts) : undefined
  const path = next?.input['path']
  if (typeof path !== 'string') return next
  return [...deny, ...ask].some((rule) => rule.path?.(path)) || (await leadsOut(facts, path)) ? undefined : next
}

/** Whether a path ends outside of the workspace, also where a link on the way does. */
async function leadsOut({ workspace }: CallFacts, path: string): Promise<boolean> {
  try {
    await (await workspace.open(path)).close()
    return false
  } catch (error) {
    return !(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND'
  }
}

/** Whose words the reason of a rule is. */
function authorOf({ text, reason }: Rule, kind: 'deny' | 'ask', host: Context['host']): string {
  const said = (value: unknown): boolean =>
    JSON.stringify(value) !== undefined &&
    (value as { rule?: unknown }).rule === text &&
    (value as { reason?: unknown }).reason === reason
  const layers = host
    .origins()
    .filter(({ path, value }) => path.startsWith(`policy.${kind}`) && [value].flat().some(said))
    .map(({ layer }) => layer)
  return layers.length > 0 && !layers.includes('workspace') ? 'your policy' : "the workspace's policy"
}

interface Objection {
  word: ModeWord
  effect: Effect
  reason: string
  /** What would let it pass, where no rule on its slot does. */
  way?: string
}

async function worstOf(facts: CallFacts, rules: RuleSet): Promise<Objection | undefined> {
  let worst: Objection | undefined
  for (const effect of facts.call.effects) {
    const objection = await object(facts, effect, rules)
    if (objection && worst?.word !== 'deny') worst = objection.word === 'deny' || !worst ? objection : worst
  }
  return worst
}

/** What stands against one effect of the call, `undefined` when nothing does. */
async function object(facts: CallFacts, effect: Effect, rules: RuleSet): Promise<Objection | undefined> {
  const { call } = facts
  const verdict = word(call.mode, effect)
  if (verdict === 'run') return undefined
  const isAllowed = rulesLift(call.mode) && allowed(facts, effect, rules.allow)
  if (isAllowed || call.mode === 'full-auto') {
    const hidden = effect === 'exec' ? findHiddenReason(facts, rules) : undefined
    const kind = call.mode === 'full-auto' ? 'deny' : verdict
    if (hidden !== undefined)
      return {
        word: kind,
        effect,
        reason: `What the command does cannot be determined from its text: ${hidden}.`,
        way: plainly[kind],
      }
    if (isAllowed) return undefined
  }
  if (effect === 'write' && call.mode === 'plan' && onlyPlans(facts)) return undefined
  const commands =
    effect === 'exec' && facts.hasCommand
      ? await judgeCommands(facts, rulesLift(call.mode) ? rules : { ...rules, allow: [] })
      : undefined
  if (commands?.free) return undefined
  return {
    word: verdict,
    effect,
    reason: reasons[verdict](call, effect) + (commands?.reason ? `: ${commands.reason}.` : '.'),
  }
}

/** An allow rule without a spec answers for its effect, one with paths only when the rules together cover every path, as given and as resolved. */
function allowed(facts: CallFacts, effect: Effect, allow: readonly Rule[]): boolean {
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

function onlyPlans({ call }: CallFacts): boolean {
  const names = listPlaceNames(call)
  return names.length > 0 && names.every((name) => name.startsWith('.vtcode/plans/'))
}

const does: Record<Effect, string> = {
  read: 'reads',
  write: 'changes files',
  exec: 'runs a program',
  net: 'uses the network',
  ask: 'asks the user',
}
const reasons: Record<ModeWord, (call: Call, effect: Effect) => string> = {
  run: () => '',
  ask: ({ slot: id, caller: { alias: slot = id }, mode }, effect) =>
    mode === 'full-auto'
      ? `${slot} is not on the list of what full-auto may do`
      : `${slot} ${does[effect]}, which mode ${mode} does not do unasked`,
  deny: ({ slot: id, caller: { alias: slot = id } }, effect) =>
    `${slot} ${does[effect]}; plan mode only reads${effect === 'write' ? ' and writes below .vtcode/plans/' : ''}`,
}

/** A rule on the slot would not do. */
const plainly: Record<ModeWord, string> = {
  run: '',
  ask: 'the user answers the question, or the command names every program in plain words',
  deny: 'name every program of the command in plain words',
}

async function refuse(
  facts: CallFacts,
  context: Context,
  { word: kind, effect, reason, way }: Objection,
  offer?: string,
): Promise<Verdict> {
  const { settings, workspace } = context
  const next =
    effect === 'exec' ? await insteadOf(facts, compileRules(settings, facts.call.mode, workspace)) : undefined
  const { verdicts, unclear } = await steeredBy(facts)
  // Another policy asks about what decides what other programs run, in every mode.
  const isAsked = verdicts.length > 0 || unclear !== undefined
  const runs: Runs = async (mode, more) => {
    if (isAsked) return false
    const other = inMode(facts, settings, mode, more)
    return (
      (await findRule(other.facts, other.rules.ask)) === undefined &&
      (await worstOf(other.facts, other.rules)) === undefined
    )
  }
  const out = way ?? (await wayOut(facts, settings.policy.max_mode, runs))
  return verdict(facts.call, { kind: kind === 'deny' ? 'deny' : 'ask', reason, way: out, offer, ...(next && { next }) })
}
