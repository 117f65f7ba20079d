import { AsyncSeriesBailHook, AsyncSeriesWaterfallHook, HookMap } from 'tapable'
import {
  firstLine,
  formatReason,
  findResultFault,
  renderTexts,
  estimateJsonGrowth,
  estimateJsonSize,
  VtError,
  type Call,
  type Contribution,
  type Result,
  type Timeouts,
} from '../shapes/index.js'
import { runWithTimeout, passValue, withTimeout } from '../system/index.js'
import { createSlotMatcher, type Registry } from '../registry/index.js'
import type { GuardExtent } from '../trust/index.js'
import type { Answer, Answerer, Approval, Compactor, Objection, Policy, Verdict } from '../contract/index.js'

/** The three pipelines of one generation, in the order of a call. */
export interface Pipelines {
  prePolicy: AsyncSeriesWaterfallHook<[Verdict | undefined, Call]>
  execute: HookMap<AsyncSeriesBailHook<[Call], Result | undefined>>
  postCompaction: AsyncSeriesWaterfallHook<[Result, Call]>
  /** The policies one by one, in the order of the pipeline. */
  judges: Judge[]
  /** Returns the answer that a policy gives in place of a person. Contract: never rejects. */
  answer(request: Approval): Promise<Answer | undefined>
}
export interface Judge {
  policy: string
  covers(call: Call): boolean
  judge(call: Call): Verdict | undefined | Promise<Verdict | undefined>
}

/** Calls what a contribution implements. Contract: `handle` never rejects, `judge` and `shrink` may. */
export interface Taps {
  handle(contribution: Contribution, call: Call): Promise<Result | undefined>
  judge(contribution: Contribution, call: Call): ReturnType<Policy>
  /** Returns nothing for a policy without `answer`. */
  answer(contribution: Contribution, request: Approval): Promise<Awaited<ReturnType<Answerer>>>
  shrink(contribution: Contribution, result: Result, call: Call): ReturnType<Compactor>
}

/** Maximum bytes of all notices of a result. */
const MAX_NOTICES_BYTES = 65_536

/** Returns the time limit: that of the manifest, for example if a policy starts programs, else the usual one. */
const toTimeLimit = ({ timeout_secs }: Contribution['manifest'], usual: number): number =>
  timeout_secs === undefined ? usual : timeout_secs * 1000

export function buildPipelines(registry: Registry, taps: Taps, timeouts: Timeouts): Pipelines {
  const prePolicy = new AsyncSeriesWaterfallHook<[Verdict | undefined, Call]>(['verdict', 'call'], 'pre-policy')
  const execute = new HookMap((slot) => {
    const hook = new AsyncSeriesBailHook<[Call], Result | undefined>(['call'], 'execute')
    registry.slots
      .get(slot)
      ?.chain.forEach((contribution, stage) =>
        hook.tapPromise({ name: contribution.id, stage }, (call) => taps.handle(contribution, call)),
      )
    return hook
  })
  const postCompaction = new AsyncSeriesWaterfallHook<[Result, Call]>(['result', 'call'], 'post-compaction')

  const judges = registry.policies.map((policy): Judge => {
    return {
      policy: policy.id,
      covers: createGuardMatcher(policy.manifest),
      judge: (call) => requestVerdict(policy, timeouts.policy, () => taps.judge(policy, call)),
    }
  })
  for (const { policy, covers, judge } of judges) {
    prePolicy.tapAsync(policy, (verdict, call, next) => {
      // A denial is the strictest verdict.
      const ownVerdict = (verdict && 'deny' in verdict) || !covers(call) ? undefined : judge(call)
      passValue(ownVerdict, (own) => next(null, pickStricter(verdict, own)))
    })
  }
  for (const compactor of registry.compactors) {
    const covers = createSlotMatcher(compactor.manifest.slots)
    postCompaction.tapAsync(compactor.id, (result, call, next) =>
      passValue(
        covers(call.slot)
          ? runCompactor(compactor, timeouts.compactor, result, () => taps.shrink(compactor, result, call))
          : result,
        (shown) => next(null, shown),
      ),
    )
  }
  const answerers = registry.policies.map((policy) => ({ policy, covers: createSlotMatcher(policy.manifest.slots) }))
  const answer: Pipelines['answer'] = async (request) => {
    let approval: Answer | undefined
    for (const { policy, covers } of answerers) {
      if (!covers(request.call.slot)) continue
      const answered = await requestAnswer(policy, timeouts.policy, () => taps.answer(policy, request))
      if (answered && 'deny' in answered) return answered
      // A policy of the workspace can deny, but cannot approve.
      if (policy.layer !== 'workspace') approval ??= answered
    }
    return approval
  }
  return { prePolicy, execute, postCompaction, judges, answer }
}

/** Creates a matcher for the calls that a policy covers. */
export function createGuardMatcher({ slots, effects }: GuardExtent): (call: Pick<Call, 'slot' | 'effects'>) => boolean {
  const covers = createSlotMatcher(slots)
  return (call) => covers(call.slot) && (!effects || effects.some((effect) => call.effects.includes(effect)))
}

async function requestAnswer(
  { manifest }: Contribution,
  usual: number,
  ask: () => ReturnType<Taps['answer']>,
): Promise<Answer | undefined> {
  try {
    const value = await withTimeout(ask(), toTimeLimit(manifest, usual), () => new Error('it does not answer'))
    if (typeof value !== 'object' || value === null) return undefined
    if ('deny' in value) return typeof value.deny === 'string' ? value : undefined
    return ['once', 'session', 'always'].includes(value.allow) ? value : undefined
  } catch {
    return undefined
  }
}

/** Asks a policy. A policy that throws, hangs or returns an invalid verdict denies; one whose files changed asks. */
function requestVerdict(
  { id, layer, manifest }: Contribution,
  usual: number,
  judge: () => ReturnType<Taps['judge']>,
): Verdict | undefined | Promise<Verdict | undefined> {
  return runWithTimeout(
    judge,
    toTimeLimit(manifest, usual),
    (verdict: Awaited<ReturnType<Policy>>): Verdict | undefined => {
      if (verdict === undefined) return undefined
      if (typeof verdict === 'object' && verdict !== null) {
        const isObjection =
          'deny' in verdict ? typeof verdict.deny === 'string' : isQuestion(verdict) && typeof verdict.ask === 'string'
        if (layer === 'builtin' && (isObjection || 'sandbox' in verdict)) return verdict
        if (isObjection) return { ...(verdict as Objection), by: `plugin ${id}`, asks: undefined, sandbox: undefined }
      }
      return { deny: `The policy ${id} returned an invalid verdict. Valid verdicts are nothing, { ask } and { deny }.` }
    },
    (error) => {
      // The files of the policy differ from those that the user agreed to.
      if (error instanceof VtError && error.code === 'VT_PLUGIN_LOCK')
        return { ask: `${error.message} ${error.problem.hint}` }
      return { deny: `The policy ${id} failed: ${firstLine(error).replace(/\.$/, '')}.` }
    },
  )
}

/**
 * Runs a compactor. If the compactor throws, hangs, grows the result or changes its outcome, the result stays unchanged
 * and gets a notice.
 */
function runCompactor(
  { id, manifest }: Contribution,
  usual: number,
  before: Result,
  shrink: () => ReturnType<Taps['shrink']>,
): Result | Promise<Result> {
  return runWithTimeout(
    shrink,
    toTimeLimit(manifest, usual),
    (after: Result): Result => {
      const reason = after === before ? undefined : findCompactionFault(before, after)
      return reason ? addIgnoredNotice(before, id, reason) : after
    },
    (error) => addIgnoredNotice(before, id, firstLine(error)),
  )
}

function findCompactionFault(before: Result, after: Result): string | undefined {
  if (typeof after !== 'object' || after === null || after.ok !== before.ok) return 'it changes the outcome'
  if (!after.ok && !before.ok && after.error?.code !== before.error.code) return 'it changes the code of the error'
  const fault = findResultFault(after)
  if (fault !== undefined) return `it returns ${fault}`
  if (estimateJsonSize(after.notices ?? []) > MAX_NOTICES_BYTES) return 'its notices are larger than 64 KiB'
  return estimateJsonGrowth(before, after, 'notices') > 512 ? 'it grows the result' : undefined
}

function addIgnoredNotice(result: Result, id: string, reason: string): Result {
  const notice = { code: 'VT_COMPACT_IGNORED', message: renderTexts('VT_COMPACT_IGNORED', { id, reason })!.message }
  return { ...result, notices: [...(result.notices ?? []), notice] }
}

/**
 * Returns the stricter verdict: deny > ask > none; of two denials the first. Two questions become one with all reasons,
 * and the stricter sandbox applies.
 */
export function pickStricter(a: Verdict | undefined, b: Verdict | undefined): Verdict | undefined {
  if (!a || !b) return a ?? b
  if ('deny' in a || 'deny' in b) return 'deny' in a ? a : b
  const sandbox = [a.sandbox, b.sandbox].includes('strict') ? 'strict' : (a.sandbox ?? b.sandbox)
  // One question has all reasons.
  const joined =
    isQuestion(a) && isQuestion(b)
      ? { ...a, asks: [...new Set([...listReasons(a), ...listReasons(b)])] }
      : isQuestion(a)
        ? a
        : b
  return sandbox === undefined || sandbox === joined.sandbox ? joined : { ...joined, sandbox }
}
export const isQuestion = (verdict: Verdict): verdict is Objection & { ask: string } => 'ask' in verdict
/** Lists the reasons of a question, each with its author. */
export const listReasons = (verdict: Objection & { ask: string }): readonly string[] =>
  verdict.asks ?? [formatReason(verdict.ask, verdict.by)]
