import { definedOnly, fail, type Result } from '../../../core/shapes/index.js'
import { shortLine } from '../../../core/text/index.js'
import type { CallOptions } from '../../../core/contract/index.js'
import { changesSince } from '../../lib/snapshots/index.js'
import {
  callIdentity,
  describeFault,
  earlierResult,
  isQuiet,
  meaningOf,
  meaningsIn,
  messageOf,
  subjectOf,
  type CallPart,
  type CallTraits,
  type FactOf,
  type Meaning,
  type ModelText,
  type Msg,
  type ResultPart,
  type ThreadItem,
} from '../base/index.js'
import type { Growth } from '../events/index.js'
import { callEnd, listCalls, keepImages, resultPart, type Conversation } from '../session/index.js'
import { recoverCall, type CallResult } from '../history/index.js'
import { changesOf } from './changes.js'
import { HumanInput } from './human_input.js'
import { outcomeOf, reportCall } from './report.js'
import type { RepetitionTraits, TurnLimits } from './turn_limits.js'

interface Planned extends CallTraits, RepetitionTraits {
  call: CallPart
  meaning: Meaning
}

/**
 * Makes the calls of a step, in batches: quiet ones side by side, everything else alone, in the order of the answer. Each call is
 * in the journal before it can change anything, each result before the next batch, and results are reported in the order of the calls,
 * whichever ended first. Then the message with all results.
 */
export async function makeCalls(
  thread: Conversation,
  limits: TurnLimits,
  calls: readonly CallPart[],
  signal: AbortSignal,
): Promise<void> {
  const planned = await Promise.all(calls.map((call) => plan(thread, call)))
  const most = thread.settings.harness.max_parallel_tool_calls || 16
  for (const batch of batches(planned.filter(({ call }) => !thread.state.ended.has(call.call_id)))) {
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

async function plan({ kernel, providers }: Conversation, call: CallPart): Promise<Planned> {
  const meaning = await meaningOf(kernel, call)
  const traits = await providers.metadata.describe(call.name, call.input, meaning.prepared)
  return {
    ...traits,
    call,
    meaning,
    identity: callIdentity(call, meaning),
    continues: meaning.slot?.continues === true,
  }
}

function batches(planned: Planned[]): Planned[][] {
  const found: Planned[][] = []
  let beside = false
  for (const one of planned) {
    if (one.parallel_safe && beside) found.at(-1)!.push(one)
    else found.push([one])
    beside = one.parallel_safe
  }
  return found
}

/** A call that ran or was refused, with its result. */
interface CompletedCall extends Planned, CallResult {
  invocation: ThreadItem & { type: 'tool_invocation' }
  refused: boolean
  human: HumanInput
  duration_ms: number
}

async function makeCall(
  thread: Conversation,
  limits: TurnLimits,
  planned: Planned,
  signal: AbortSignal,
): Promise<CompletedCall> {
  const { call, effects } = planned
  const { events, providers } = thread
  const { call_id, tool_call_id, name, input } = call
  const invocation: CompletedCall['invocation'] = {
    id: limits.itemOf.get(call_id) ?? thread.newId('it'),
    type: 'tool_invocation',
    tool_name: name,
    arguments: input,
    tool_call_id,
    call_id,
    status: 'in_progress',
    effects,
  }
  limits.items.push(invocation.id)
  // A call that a killed process began is recovered, not simply made again.
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
    events.deltas.heard && effects.includes('exec')
      ? events.deltas.open({ item_id: invocation.id, kind: 'output' })
      : undefined
  const { result, changed } =
    settled ??
    (refused
      ? { result: { ok: false, error: { retryable: false, ...refused } }, changed: [] }
      : await runWithSnapshots(thread, planned, { human, printed }, signal))
  printed?.end()
  if (human.decision === 'cancel') limits.cancelled = true
  return {
    ...planned,
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
  const shown = refused || signal.aborted || !isQuiet(effects) ? answer : await withoutRepeat(thread, completed, answer)
  const changes = [...(result.ok ? changesOf(meaning.slot, result.output) : []), ...changed]
  const kept = await imagesOf(thread, call, result, shown)
  await thread.commit(callEnd(call_id, kept, changes, changeOf(completed)))
  const outcome = outcomeOf(result, signal.aborted, human.decision)
  await reportCall(thread, invocation, { meaning, result, answer, changes, duration_ms, outcome })
}

/** An answer with the images of its result beside it; one that is referred to brings them once. */
async function imagesOf(
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

/** Says whether the change of a call was made, or why it was not. */
function changeOf({
  call,
  meaning,
  effects,
  refused,
  human,
  result,
}: CompletedCall): Pick<FactOf<'call_end'>, 'applied' | 'not_applied'> {
  if (!meaning.slot || (isQuiet(effects) && !meaning.slot.reports_changes)) return {}
  const target = subjectOf(meaning)
  if (result.ok) return { applied: target }
  const { code, hint, details } = result.error
  if (!refused && details?.['not_applied'] !== true && !code.startsWith('VT_POLICY_')) return {}
  return {
    not_applied: {
      tool: call.name,
      target,
      code,
      ...(hint !== '' && { next: shortLine(hint, 300) }),
      ...(human.said_no && { by: 'person' }),
    },
  }
}

/** Whom a call may ask while it runs, and who follows what it prints. */
interface Listening {
  human: HumanInput
  printed: Growth | undefined
}

/** Runs a call; takes snapshots of files where it may change what no tool of ours records. */
async function runWithSnapshots(
  thread: Conversation,
  planned: Planned,
  listening: Listening,
  signal: AbortSignal,
): Promise<CallResult> {
  const { call, effects, meaning } = planned
  if (isQuiet(effects) || meaning.slot?.keeps_history || !thread.settings.checkpoints.enabled)
    return { result: await run(thread, planned, listening, signal), changed: [] }
  const { state, snapshots } = thread
  const watch = await snapshots.before([...new Set([...state.named, ...state.touched])])
  const result = await run(thread, planned, listening, signal)
  return { result, changed: await changesSince(watch, call.call_id, result) }
}
/** Runs a call; a reading one that failed for a passing reason is tried again. */
async function run(thread: Conversation, planned: Planned, listening: Listening, signal: AbortSignal): Promise<Result> {
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
    // What counts is no output, and what a tool says beside its work is none of a command.
    const onProgress: CallOptions['onProgress'] =
      printed && (({ text, done }) => (text !== undefined && done === undefined ? printed.add(text) : undefined))
    const result = await thread
      .perform(name, input, { call_id, prepared, signal, ...human.options, ...definedOnly({ onProgress }) })
      .catch((error: unknown): Result =>
        fail('VT_CALL_FAILED', messageOf(error), { hint: 'Try another way; the session continues.' }),
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

/** A result that is still in the conversation is referred to, not repeated. */
async function withoutRepeat(
  { kernel, state }: Conversation,
  { identity }: Planned,
  answer: ModelText,
): Promise<ModelText> {
  const { text } = answer
  if (answer.is_error || text.length < 200) return answer
  const calls = listCalls(state.messages)
  const meanings = await meaningsIn(kernel, calls)
  const same = calls
    .filter((call) => callIdentity(call, meanings.get(call.call_id)!) === identity)
    .map(({ call_id }) => call_id)
  const earlier = earlierResult(state.messages, new Set(same), text)
  if (!earlier) return answer
  const remarks = text.slice(earlier.length)
  return {
    ...answer,
    text: `Same result as call ${earlier.call_id} above (${Buffer.byteLength(text)} bytes).${remarks}`,
  }
}
