import { omitUndefined, fail, type Result } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { CallOptions } from '../../../core/contract/index.js'
import { findChanges } from '../../lib/snapshots/index.js'
import {
  toCallIdentity,
  describeFault,
  findEarlierResult,
  isQuiet,
  resolveCall,
  resolveCalls,
  toErrorMessage,
  describeSubject,
  type CallPart,
  type CallTraits,
  type FactOf,
  type CallMeaning,
  type ModelText,
  type Msg,
  type ResultPart,
  type ThreadItem,
} from '../base/index.js'
import type { DeltaStream } from '../events/index.js'
import { callEnd, listCalls, keepImages, resultPart, type Conversation } from '../session/index.js'
import { recoverCall, type CallResult } from '../history/index.js'
import { listReportedChanges } from './changes.js'
import { HumanInput } from './human_input.js'
import { toCallOutcome, reportCall } from './report.js'
import { findDoneEffects, suggestScript } from './scripts.js'
import type { RepetitionTraits, TurnLimits } from './turn_limits.js'

interface PlannedCall extends CallTraits, RepetitionTraits {
  /** The only call of its step. */
  alone: boolean
  call: CallPart
  meaning: CallMeaning
}

/**
 * Makes the calls of a step in batches: quiet calls in parallel, others alone, in the order of the answer. The
 * journal has each call before it can change anything and each result before the next batch. Results are reported in
 * call order, then in one message.
 */
export async function makeCalls(
  thread: Conversation,
  limits: TurnLimits,
  calls: readonly CallPart[],
  signal: AbortSignal,
): Promise<void> {
  const alone = calls.length === 1
  const planned = await Promise.all(calls.map(async (call) => ({ ...(await planCall(thread, call)), alone })))
  const most = thread.settings.harness.max_parallel_tool_calls || 16
  for (const batch of createBatches(planned.filter(({ call }) => !thread.state.ended.has(call.call_id)))) {
    const waiting = [...batch]
    let reported: Promise<void> = Promise.resolve()
    const work = async () => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        const completed = makeCall(thread, limits, one, signal)
        reported = Promise.all([completed, reported]).then(([one]) => reportCompleted(thread, limits, one, signal))
        reported.catch(() => {})
        await completed
      }
    }
    await Promise.all(Array.from({ length: Math.min(most, batch.length) }, work))
    await reported
  }
  const parts = calls.map((call) => resultPart(call, thread.state.ended.get(call.call_id)!))
  await thread.commit({ kind: 'message', message: { role: 'tool', parts } satisfies Msg })
  if (signal.aborted) throw signal.reason
}

async function planCall({ kernel, providers }: Conversation, call: CallPart): Promise<Omit<PlannedCall, 'alone'>> {
  const meaning = await resolveCall(kernel, call)
  const traits = await providers.metadata.describe(call.name, call.input, meaning.prepared)
  return {
    ...traits,
    call,
    meaning,
    identity: toCallIdentity(call, meaning),
    continues: meaning.slot?.continues === true,
  }
}

function createBatches(planned: PlannedCall[]): PlannedCall[][] {
  const found: PlannedCall[][] = []
  let inParallel = false
  for (const one of planned) {
    if (one.parallel_safe && inParallel) found.at(-1)!.push(one)
    else found.push([one])
    inParallel = one.parallel_safe
  }
  return found
}

/** A call that ran or was refused, with its result. */
interface CompletedCall extends PlannedCall, CallResult {
  invocation: ThreadItem & { type: 'tool_invocation' }
  refused: boolean
  human: HumanInput
  duration_ms: number
}

async function makeCall(
  thread: Conversation,
  limits: TurnLimits,
  planned: PlannedCall,
  signal: AbortSignal,
): Promise<CompletedCall> {
  const { call, effects } = planned
  const { events, providers } = thread
  const { call_id, tool_call_id, name, input } = call
  const invocation: CompletedCall['invocation'] = {
    id: limits.itemByCall.get(call_id) ?? thread.newId('it'),
    type: 'tool_invocation',
    tool_name: name,
    arguments: input,
    tool_call_id,
    call_id,
    status: 'in_progress',
    effects,
  }
  limits.step.items.push(invocation.id)
  // A call that a killed process began is recovered, never just repeated.
  const settled = thread.state.started.has(call_id) ? await recoverCall(thread, call, planned) : undefined
  if (!thread.state.started.has(call_id)) await thread.commit({ kind: 'call_start', call_id, name, input, effects })
  await events.start(invocation)
  const began = providers.clock.now()
  const refused = settled
    ? undefined
    : signal.aborted
      ? describeFault('VT_CALL_ABORTED', 'The run was cancelled before this call began.')
      : (call.fault ?? limits.refuse(planned))
  const human = new HumanInput(thread, call, signal)
  const printed =
    events.deltas.hasSinks && effects.includes('exec')
      ? events.deltas.open({ item_id: invocation.id, kind: 'output' })
      : undefined
  const { result, changed } =
    settled ??
    (refused
      ? { result: { ok: false, error: { retryable: false, ...refused } }, changed: [] }
      : await runWithSnapshots(thread, planned, { human, printed }, signal))
  printed?.end()
  if (human.decision === 'cancel') limits.step.cancelled = true
  return {
    ...planned,
    effects: findDoneEffects(planned, result),
    invocation,
    refused: refused !== undefined,
    human,
    result,
    changed,
    duration_ms: Math.max(0, Math.round(providers.clock.now() - began - human.waited_ms)),
  }
}

async function reportCompleted(
  thread: Conversation,
  limits: TurnLimits,
  completed: CompletedCall,
  signal: AbortSignal,
): Promise<void> {
  const { call, meaning, effects, invocation, refused, human, result, changed, duration_ms } = completed
  const { call_id } = call
  const full = thread.providers.output_map.toModel(result)
  const answer = refused ? full : limits.note(completed, effects, result, full, duration_ms)
  const shown = refused || signal.aborted || !isQuiet(effects) ? answer : await replaceRepeat(thread, completed, answer)
  const changes = [...(result.ok ? listReportedChanges(meaning.slot, result.output) : []), ...changed]
  const hint = suggestScript(thread, { ...completed, succeeded: result.ok && !refused })
  const advised = hint === undefined ? shown : { ...shown, text: `${shown.text}\n${hint}` }
  const kept = await addImages(thread, call, result, advised)
  const done = meaning.slot?.runs_calls && { effects }
  await thread.commit(callEnd(call_id, kept, changes, { ...describeChange(thread, completed), ...done }))
  const outcome = toCallOutcome(result, signal.aborted, human.decision)
  await reportCall(thread, invocation, { meaning, result, answer, changes, duration_ms, outcome })
}

/** Adds the images of a result to an answer; a repeated result refers to the earlier images. */
async function addImages(
  { store }: Conversation,
  { name }: CallPart,
  result: Result,
  shown: ModelText,
): Promise<ModelText & Pick<ResultPart, 'images'>> {
  if (
    !result.ok ||
    !result.content?.some(({ type }) => type === 'image') ||
    shown.text.startsWith('Same result as call ')
  )
    return shown
  const { path } = result.output
  const { images, remarks } = await keepImages(store, result.content, typeof path === 'string' ? path : name)
  return { ...shown, text: shown.text + remarks, ...(images.length > 0 && { images }) }
}

/** Describes the change of a call: applied, or the reason why not. */
function describeChange(
  { kernel }: Conversation,
  { call, meaning, effects, refused, human, result }: CompletedCall,
): Pick<FactOf<'call_end'>, 'applied' | 'not_applied'> {
  // Unreadable arguments name no action; the tool counts as changing if one of its actions does.
  const mayChange = meaning.slot
    ? !isQuiet(effects) || meaning.slot.reports_changes
    : call.fault && kernel.list().some(({ tool, effects: able }) => tool === call.name && !isQuiet(able))
  if (!mayChange) return {}
  const target = call.fault ? findWrittenTarget(call.input) : describeSubject(meaning)
  if (result.ok) return { applied: target }
  const { code, hint, details } = result.error
  if (!refused && details?.['not_applied'] !== true && !code.startsWith('VT_POLICY_')) return {}
  return {
    not_applied: {
      tool: call.name,
      target,
      code,
      ...(hint !== '' && { next: truncateLine(hint, 300) }),
      ...(human.denied && { by: 'person' }),
    },
  }
}

/** Returns the path or the command in arguments that are no JSON; '' if they have none. */
function findWrittenTarget(input: CallPart['input']): string {
  const [, quoted] = /"(?:path|command)"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(String(input)) ?? []
  try {
    return quoted === undefined ? '' : truncateLine(JSON.parse(quoted) as string, 200)
  } catch {
    return ''
  }
}

/** The person that a call may ask, and the receiver of its output. */
interface CallListeners {
  human: HumanInput
  printed: DeltaStream | undefined
}

/** Runs a call; takes snapshots of files that it may change without a record of its own. */
async function runWithSnapshots(
  thread: Conversation,
  planned: PlannedCall,
  listening: CallListeners,
  signal: AbortSignal,
): Promise<CallResult> {
  const { call, effects, meaning } = planned
  if (isQuiet(effects) || meaning.slot?.keeps_history || !thread.settings.checkpoints.enabled)
    return { result: await run(thread, planned, listening, signal), changed: [] }
  const { state, snapshots } = thread
  const watch = await snapshots.copyFiles([...new Set([...state.named, ...state.touched])])
  const result = await run(thread, planned, listening, signal)
  return { result, changed: await findChanges(watch, call.call_id, result) }
}
/** Runs a call; repeats a reading call after a retryable failure. */
async function run(
  thread: Conversation,
  planned: PlannedCall,
  listening: CallListeners,
  signal: AbortSignal,
): Promise<Result> {
  const { human, printed } = listening
  const {
    call: { call_id, name, input },
    effects,
    identity,
    meaning: { prepared },
  } = planned
  const { cache } = thread.providers
  const key = isQuiet(effects) ? identity : undefined
  const known = key === undefined ? undefined : cache.get(key)
  if (known) return known
  for (let retries = 0; ; retries++) {
    // Counts and notes of a tool are not the output of its command.
    const onProgress: CallOptions['onProgress'] =
      printed && (({ text, done }) => (text !== undefined && done === undefined ? printed.add(text) : undefined))
    const result = await thread
      .perform(name, input, { call_id, prepared, signal, ...human.options, ...omitUndefined({ onProgress }) })
      .catch((error: unknown): Result =>
        fail('VT_CALL_FAILED', toErrorMessage(error), { hint: 'Try another way; the session continues.' }),
      )
    const mayRetry = isQuiet(effects) && retries < thread.settings.harness.max_tool_retries && !signal.aborted
    if (result.ok || !result.error.retryable || !mayRetry) {
      if (key !== undefined && result.ok) cache.put(key, result)
      return result
    }
    await thread.harness('tool_retry_attempted', {
      message: result.error.message,
      attempt: retries + 1,
      error_category: result.error.code,
    })
  }
}

/** Replaces a result that the conversation still has by a reference to it. */
async function replaceRepeat(
  { kernel, state }: Conversation,
  { identity }: PlannedCall,
  answer: ModelText,
): Promise<ModelText> {
  const { text } = answer
  if (answer.is_error || text.length < 200) return answer
  const calls = listCalls(state.messages)
  const meanings = await resolveCalls(kernel, calls)
  const same = calls
    .filter((call) => toCallIdentity(call, meanings.get(call.call_id)!) === identity)
    .map(({ call_id }) => call_id)
  const earlier = findEarlierResult(state.messages, new Set(same), text)
  if (!earlier) return answer
  const remarks = text.slice(earlier.length)
  return {
    ...answer,
    text: `Same result as call ${earlier.call_id} above (${Buffer.byteLength(text)} bytes).${remarks}`,
  }
}
