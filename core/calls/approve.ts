import {
  codes,
  markNotApplied,
  problem,
  renderQuestion,
  formatReason,
  type Call,
  type Code,
  type Failure,
  type JsonObject,
} from '../shapes/index.js'
import { escapeTemplates } from '../text/index.js'
import type { Registry } from '../registry/index.js'
import { measureWait, type CallRun } from './context.js'
import { createGuardMatcher, isQuestion, listReasons, pickStricter, type Judge, type Pipelines } from './pipelines.js'
import type { Approval, ApprovalAnswer, Explanation, Objection, Verdict } from '../contract/index.js'
import { createFailure } from './failures.js'

/** Enforces a verdict, after the approval for `ask`. Returns the failure, or nothing when the call may run. */
export async function enforceVerdict(
  registry: Registry,
  call: Call,
  run: CallRun,
  judged: Verdict | undefined,
  askPolicies: Pipelines['answer'],
): Promise<Failure | undefined> {
  const missing = checkMissingPolicies(registry, call)
  const verdict = pickStricter(judged, findChangedGuard(registry, call)?.verdict)
  run.judged = missing ? 'denied' : 'run'
  if (missing || !verdict) return missing
  if ('deny' in verdict) return createRefusal(run, verdict)
  if (verdict.sandbox) run.sandbox = verdict.sandbox
  if (!isQuestion(verdict)) return undefined
  // Resolves the paths before the question, so that the call uses the same targets afterwards.
  void call.places
  const question = renderQuestion(call, run.slot, listReasons(verdict))
  const request = {
    call,
    reasons: [formatReason(verdict.ask)],
    question,
    ...(verdict.lasting && { covers: verdict.lasting.covers }),
  }
  const policyAnswer = await askPolicies(request)
  if (policyAnswer && 'deny' in policyAnswer) return createRefusal(run, { deny: policyAnswer.deny })
  const answer = policyAnswer
    ? { decision: 'allow' as const, scope: policyAnswer.allow }
    : await requestApproval(request, run)
  if (answer?.decision !== 'allow') return createRefusal(run, verdict, answer)
  await verdict.lasting?.keep(answer.scope ?? 'once')
  run.judged = 'allowed'
  return undefined
}

function createRefusal(run: CallRun, verdict: Objection, answer?: Reply): Failure {
  run.judged = 'deny' in verdict ? 'denied' : 'asked'
  const [code, reason] =
    'deny' in verdict
      ? ([toCode(verdict.code), verdict.deny] as const)
      : (['VT_POLICY_NEEDS_APPROVAL', verdict.ask] as const)
  // `refused` records the denial by a person, so that the same question is not asked again.
  const refused = answer?.decision === 'deny'
  const details: JsonObject = { not_applied: true, ...(refused && { refused }), ...verdict.details }
  const way = answer?.followup
    ? `The user says: ${escapeTemplates(answer.followup)}`
    : (answer?.unanswered ?? verdict.hint)
  // A reason of several lines would print lines that look like ours.
  return createFailure(
    code,
    { reason: reason.replace(/\s*[\r\n]\s*/g, ' '), way },
    { details, ...(verdict.next && { next: verdict.next }) },
  )
}

/** Rejects calls that change something while a policy waits for consent. */
function checkMissingPolicies(registry: Registry, call: Call): Failure | undefined {
  const missing = registry.missing.find(({ agreed }) => !agreed)
  if (!missing || call.effects.every((effect) => effect === 'read')) return undefined
  return {
    ok: false,
    error: markNotApplied(problem('VT_POLICY_UNAVAILABLE', { id: missing.id, reason: missing.reason }).problem),
  }
}

/** Returns the question for a guard that changed since the user agreed to it, because its rules are unknown. */
function findChangedGuard({ missing }: Registry, call: Call): { id: string; verdict: Verdict } | undefined {
  const changed = missing.find(
    ({ agreed, covers }) => agreed && (!covers || covers.some((one) => createGuardMatcher(one)(call))),
  )
  return changed && { id: changed.id, verdict: { ask: changed.reason } }
}

const toCode = (named: string | undefined): Code =>
  named !== undefined && Object.hasOwn(codes, named) ? (named as Code) : 'VT_POLICY_DENIED'

type Reply = Exclude<ApprovalAnswer, boolean | undefined>

async function requestApproval(request: Approval, run: CallRun): Promise<Reply | undefined> {
  const answer: ApprovalAnswer = await measureWait(run, async () => run.options.approve?.(request)).catch(() => false)
  if (run.cancel.aborted || answer === undefined) return undefined
  if (typeof answer !== 'object' || answer === null) return { decision: answer === true ? 'allow' : 'deny' }
  const { decision, scope, followup, unanswered } = answer
  return {
    decision: decision === 'allow' || decision === 'deny' ? decision : 'cancel',
    scope: scope === 'session' || scope === 'always' ? scope : 'once',
    ...(followup !== undefined && { followup }),
    ...(unanswered !== undefined && { unanswered }),
  }
}

/** Asks every policy in turn, also after a denial, so that the explanation contains each verdict. */
export async function explainVerdicts(
  registry: Registry,
  judges: readonly Judge[],
  call: Call,
  notes: NonNullable<CallRun['notes']>,
): Promise<Explanation> {
  const chain: Explanation['chain'] = []
  let worst: Verdict | undefined
  let decided_by: string | undefined
  for (const { policy, covers, judge } of judges) {
    if (!covers(call)) continue
    const verdict = await judge(call)
    const own = notes.filter((one) => one.policy === policy).map(({ note }) => note)
    chain.push({ policy, ...describeVerdict(verdict), notes: own })
    const after = pickStricter(worst, verdict)
    if (after !== worst && verdict && describeVerdict(verdict).verdict !== 'none') decided_by = policy
    worst = after
  }
  const missing = checkMissingPolicies(registry, call)
  const changed = findChangedGuard(registry, call)
  if (changed && pickStricter(worst, changed.verdict) !== worst) [worst, decided_by] = [changed.verdict, changed.id]
  const { slot, input, effects, mode, caller } = call
  const about = {
    call: { slot, input, effects, ...(caller.alias !== undefined && { alias: caller.alias }) },
    mode,
    chain,
  }
  if (missing)
    return {
      ...about,
      verdict: 'deny',
      decided_by: registry.missing.find(({ agreed }) => !agreed)!.id,
      reason: missing.error.message,
      hint: missing.error.hint,
    }
  const where = worst?.sandbox && { sandbox: worst.sandbox }
  if (!worst || !('deny' in worst || isQuestion(worst))) return { ...about, verdict: 'run', ...where }
  const { verdict, reason } = describeVerdict(worst) as { verdict: 'ask' | 'deny'; reason: string }
  return { ...about, verdict, ...where, decided_by: decided_by!, reason, ...(worst.hint && { hint: worst.hint }) }
}

const describeVerdict = (verdict: Verdict | undefined): { verdict: 'none' | 'ask' | 'deny'; reason?: string } =>
  verdict && 'deny' in verdict
    ? { verdict: 'deny', reason: verdict.deny }
    : verdict && isQuestion(verdict)
      ? { verdict: 'ask', reason: verdict.ask }
      : { verdict: 'none' }
