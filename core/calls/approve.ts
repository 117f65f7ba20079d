import {
  codes,
  notApplied,
  problem,
  questionText,
  quotedReason,
  type Call,
  type Code,
  type Failure,
  type JsonObject,
} from '../shapes/index.js'
import { inert } from '../text/index.js'
import type { Registry } from '../registry/index.js'
import { waitedFor, type CallRun } from './context.js'
import { isQuestion, reasonsOf, worse, type Judge, type Pipelines } from './pipelines.js'
import type { Approval, Approved, Explanation, Objection, Verdict } from '../contract/index.js'
import { failed } from './refused.js'

/** The failure for a verdict, after the question where the verdict is `ask`; nothing when the call may run. */
export async function judge(
  registry: Registry,
  call: Call,
  run: CallRun,
  judged: Verdict | undefined,
  standIn: Pipelines['answer'],
): Promise<Failure | undefined> {
  const missing = unavailable(registry, call)
  const verdict = worse(judged, lost(registry))
  run.judged = missing ? 'denied' : 'run'
  if (missing || !verdict) return missing
  if ('deny' in verdict) return refusal(run, verdict)
  if (verdict.sandbox) run.sandbox = verdict.sandbox
  if (!isQuestion(verdict)) return undefined
  // What somebody is asked about is what is used afterwards.
  void call.places
  const question = questionText(call, run.slot, reasonsOf(verdict))
  const request = {
    call,
    reasons: [quotedReason(verdict.ask)],
    question,
    ...(verdict.lasting && { covers: verdict.lasting.covers }),
  }
  const stood = await standIn(request)
  if (stood && 'deny' in stood) return refusal(run, { deny: stood.deny })
  const answer = stood ? { decision: 'allow' as const, scope: stood.allow } : await approval(request, run)
  if (answer?.decision !== 'allow') return refusal(run, verdict, answer)
  await verdict.lasting?.keep(answer.scope ?? 'once')
  run.judged = 'allowed'
  return undefined
}

function refusal(run: CallRun, verdict: Objection, answer?: Reply): Failure {
  run.judged = 'deny' in verdict ? 'denied' : 'asked'
  const [code, reason] =
    'deny' in verdict
      ? ([codeOf(verdict.code), verdict.deny] as const)
      : (['VT_POLICY_NEEDS_APPROVAL', verdict.ask] as const)
  // `refused` records that a person said no, so that the same question is not put again.
  const refused = answer?.decision === 'deny'
  const details: JsonObject = { not_applied: true, ...(refused && { refused }), ...verdict.details }
  const way = answer?.followup ? `The user says: ${inert(answer.followup)}` : (answer?.unanswered ?? verdict.hint)
  return failed(code, { reason, way }, { details, ...(verdict.next && { next: verdict.next }) })
}

/** While a policy waits for consent, only calls that read are made. */
function unavailable(registry: Registry, call: Call): Failure | undefined {
  const missing = registry.missing.find(({ agreed }) => !agreed)
  if (!missing || call.effects.every((effect) => effect === 'read')) return undefined
  return {
    ok: false,
    error: notApplied(problem('VT_POLICY_UNAVAILABLE', { id: missing.id, reason: missing.reason }).problem),
  }
}

/** What a policy covered that changed since the user agreed to it nobody knows. */
function lost({ missing }: Registry): Verdict | undefined {
  const changed = missing.find(({ agreed }) => agreed)
  return changed && { ask: changed.reason }
}

const codeOf = (named: string | undefined): Code =>
  named !== undefined && Object.hasOwn(codes, named) ? (named as Code) : 'VT_POLICY_DENIED'

type Reply = Exclude<Approved, boolean | undefined>

async function approval(request: Approval, run: CallRun): Promise<Reply | undefined> {
  const answer: Approved = await waitedFor(run, async () => run.options.approve?.(request)).catch(() => false)
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
export async function explanation(
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
    chain.push({ policy, ...wordOf(verdict), notes: own })
    const after = worse(worst, verdict)
    if (after !== worst && verdict && wordOf(verdict).verdict !== 'none') decided_by = policy
    worst = after
  }
  const missing = unavailable(registry, call)
  const changed = lost(registry)
  if (worse(worst, changed) !== worst)
    [worst, decided_by] = [changed, registry.missing.find(({ agreed }) => agreed)!.id]
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
  const { verdict, reason } = wordOf(worst) as { verdict: 'ask' | 'deny'; reason: string }
  return { ...about, verdict, ...where, decided_by: decided_by!, reason, ...(worst.hint && { hint: worst.hint }) }
}

const wordOf = (verdict: Verdict | undefined): { verdict: 'none' | 'ask' | 'deny'; reason?: string } =>
  verdict && 'deny' in verdict
    ? { verdict: 'deny', reason: verdict.deny }
    : verdict && isQuestion(verdict)
      ? { verdict: 'ask', reason: verdict.ask }
      : { verdict: 'none' }
