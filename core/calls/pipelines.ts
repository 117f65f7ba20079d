import { AsyncSeriesBailHook, AsyncSeriesWaterfallHook, HookMap } from 'tapable'
import {
  firstLine,
  quotedReason,
  resultFault,
  texts,
  jsonGrowth,
  jsonSize,
  VtError,
  type Call,
  type Contribution,
  type Result,
  type Waits,
} from '../shapes/index.js'
import { outcomeWithin, whenKnown, withTimeout } from '../system/index.js'
import { slotsCovered, type Registry } from '../registry/index.js'
import type { Answer, Answerer, Approval, Compactor, Objection, Policy, Verdict } from '../contract/index.js'

/** The three pipelines of one generation, in the order a call meets them. */
export interface Pipelines {
  prePolicy: AsyncSeriesWaterfallHook<[Verdict | undefined, Call]>
  execute: HookMap<AsyncSeriesBailHook<[Call], Result | undefined>>
  postCompaction: AsyncSeriesWaterfallHook<[Result, Call]>
  /** The policies one by one, as the pipeline asks them. */
  judges: Judge[]
  /** The answers that policies give instead of a person. Contract: never rejects. */
  answer(request: Approval): Promise<Answer | undefined>
}
export interface Judge {
  policy: string
  covers(call: Call): boolean
  judge(call: Call): Verdict | undefined | Promise<Verdict | undefined>
}

/** How a tap calls the function behind its contribution. Contract: `handle` never rejects, `judge` and `shrink` may. */
export interface Taps {
  handle(contribution: Contribution, call: Call): Promise<Result | undefined>
  judge(contribution: Contribution, call: Call): ReturnType<Policy>
  /** Returns nothing for a policy without `answer`. */
  answer(contribution: Contribution, request: Approval): Promise<Awaited<ReturnType<Answerer>>>
  shrink(contribution: Contribution, result: Result, call: Call): ReturnType<Compactor>
}

/** The largest size of all notices of a result. */
const NOTICES = 65_536

/** A policy or compactor that starts programs declares its time limit in its manifest. */
const limitOf = ({ timeout_secs }: Contribution['manifest'], usual: number): number =>
  timeout_secs === undefined ? usual : timeout_secs * 1000

export function buildPipelines(registry: Registry, taps: Taps, waits: Waits): Pipelines {
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
    const covers = slotsCovered(policy.manifest.slots)
    const { effects } = policy.manifest
    return {
      policy: policy.id,
      covers: (call) => covers(call.slot) && (!effects || effects.some((effect) => call.effects.includes(effect))),
      judge: (call) => verdictOf(policy, waits.policy, () => taps.judge(policy, call)),
    }
  })
  for (const { policy, covers, judge } of judges) {
    prePolicy.tapAsync(policy, (verdict, call, next) => {
      // No verdict is stricter than a denial.
      const own = (verdict && 'deny' in verdict) || !covers(call) ? undefined : judge(call)
      whenKnown(own, (own) => next(null, worse(verdict, own)))
    })
  }
  for (const compactor of registry.compactors) {
    const covers = slotsCovered(compactor.manifest.slots)
    postCompaction.tapAsync(compactor.id, (result, call, next) =>
      whenKnown(
        covers(call.slot)
          ? shrunk(compactor, waits.compactor, result, () => taps.shrink(compactor, result, call))
          : result,
        (shown) => next(null, shown),
      ),
    )
  }
  const answering = registry.policies.map((policy) => ({ policy, covers: slotsCovered(policy.manifest.slots) }))
  const answer: Pipelines['answer'] = async (request) => {
    let yes: Answer | undefined
    for (const { policy, covers } of answering) {
      if (!covers(request.call.slot)) continue
      const answered = await answerOf(policy, waits.policy, () => taps.answer(policy, request))
      if (answered && 'deny' in answered) return answered
      if (policy.layer !== 'workspace') yes ??= answered
    }
    return yes
  }
  return { prePolicy, execute, postCompaction, judges, answer }
}

async function answerOf(
  { manifest }: Contribution,
  usual: number,
  ask: () => ReturnType<Taps['answer']>,
): Promise<Answer | undefined> {
  try {
    const value = await withTimeout(ask(), limitOf(manifest, usual), () => new Error('it does not answer'))
    if (typeof value !== 'object' || value === null) return undefined
    if ('deny' in value) return typeof value.deny === 'string' ? value : undefined
    return ['once', 'session', 'always'].includes(value.allow) ? value : undefined
  } catch {
    return undefined
  }
}

/** A policy that throws, hangs or returns no verdict denies. */
function verdictOf(
  { id, layer, manifest }: Contribution,
  usual: number,
  judge: () => ReturnType<Taps['judge']>,
): Verdict | undefined | Promise<Verdict | undefined> {
  return outcomeWithin(
    judge,
    limitOf(manifest, usual),
    (verdict: Awaited<ReturnType<Policy>>): Verdict | undefined => {
      if (verdict === undefined) return undefined
      if (typeof verdict === 'object' && verdict !== null) {
        const isObjection =
          'deny' in verdict ? typeof verdict.deny === 'string' : isQuestion(verdict) && typeof verdict.ask === 'string'
        if (layer === 'builtin' && (isObjection || 'sandbox' in verdict)) return verdict
        if (isObjection) return { ...(verdict as Objection), by: `plugin ${id}`, asks: undefined, sandbox: undefined }
      }
      return { deny: `The policy ${id} answers neither nothing nor { ask } nor { deny }.` }
    },
    (error) => {
      // Its files are other ones than the user agreed to.
      if (error instanceof VtError && error.code === 'VT_PLUGIN_LOCK')
        return { ask: `${error.message} ${error.problem.hint}` }
      return { deny: `The policy ${id} failed: ${firstLine(error)}.` }
    },
  )
}

/** A compactor that throws, hangs, grows the result or changes its outcome is skipped and named in a notice. */
function shrunk(
  { id, manifest }: Contribution,
  usual: number,
  before: Result,
  shrink: () => ReturnType<Taps['shrink']>,
): Result | Promise<Result> {
  return outcomeWithin(
    shrink,
    limitOf(manifest, usual),
    (after: Result): Result => {
      const reason = after === before ? undefined : objection(before, after)
      return reason ? noticed(before, id, reason) : after
    },
    (error) => noticed(before, id, firstLine(error)),
  )
}

function objection(before: Result, after: Result): string | undefined {
  if (typeof after !== 'object' || after === null || after.ok !== before.ok) return 'it changes the outcome'
  if (!after.ok && !before.ok && after.error?.code !== before.error.code) return 'it changes the code of the error'
  const fault = resultFault(after)
  if (fault !== undefined) return `it makes ${fault} of it`
  if (jsonSize(after.notices ?? []) > NOTICES) return 'it grows the notices'
  return jsonGrowth(before, after, 'notices') > 512 ? 'it grows the result' : undefined
}

function noticed(result: Result, id: string, reason: string): Result {
  const notice = { code: 'VT_COMPACT_IGNORED', message: texts('VT_COMPACT_IGNORED', { id, reason })!.message }
  return { ...result, notices: [...(result.notices ?? []), notice] }
}

/** deny > ask > none; of two equal ones the first is kept. */
export function worse(a: Verdict | undefined, b: Verdict | undefined): Verdict | undefined {
  if (!a || !b) return a ?? b
  if ('deny' in a || 'deny' in b) return 'deny' in a ? a : b
  const sandbox = [a.sandbox, b.sandbox].includes('strict') ? 'strict' : (a.sandbox ?? b.sandbox)
  // One question is put, with every reason that there is.
  const joined =
    isQuestion(a) && isQuestion(b)
      ? { ...a, asks: [...new Set([...reasonsOf(a), ...reasonsOf(b)])] }
      : isQuestion(a)
        ? a
        : b
  return sandbox === undefined || sandbox === joined.sandbox ? joined : { ...joined, sandbox }
}
export const isQuestion = (verdict: Verdict): verdict is Objection & { ask: string } => 'ask' in verdict
/** The reasons of a question, each with its author. */
export const reasonsOf = (verdict: Objection & { ask: string }): readonly string[] =>
  verdict.asks ?? [quotedReason(verdict.ask, verdict.by)]
