import type { Effect, JsonObject, Result } from '../../../core/base/index.js'
import { describeFault, earlierResult, identityOf, isQuiet, messageOf, type CallPart, type Item, type Msg, type Nature, type Told } from '../base/index.js'
import { callEnd, recording, resultPart, settle, type Came, type Conversation } from '../session/index.js'
import { changesOf } from './changes.js'
import { People } from './human_input.js'
import { outcomeOf, report } from './report.js'
import type { Tally } from './turn_limits.js'

interface Planned extends Nature {
  call: CallPart
}

/**
 * Makes the calls of a step, in batches: quiet ones side by side, everything else alone, in the order of the answer. Each call is
 * in the journal before it can change anything, each result before the next batch, and what came of them is told in their order,
 * whichever ended first. Then the message with all results.
 */
export async function makeCalls(thread: Conversation, tally: Tally, calls: readonly CallPart[], signal: AbortSignal): Promise<void> {
  const planned = calls.map((call): Planned => ({ call, ...thread.providers.metadata.describe(call.name, call.input) }))
  const most = thread.settings.harness.max_parallel_tool_calls || 16
  for (const batch of batches(planned.filter(({ call }) => !thread.state.ended.has(call.call_id)))) {
    const waiting = [...batch]
    let told: Promise<void> = Promise.resolve()
    const work = async () => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        const made = makeCall(thread, tally, one, signal)
        told = Promise.all([made, told]).then(([one]) => tell(thread, tally, one, signal))
        told.catch(() => {})
        await made
      }
    }
    await Promise.all(Array.from({ length: Math.min(most, batch.length) }, work))
    await told
  }
  const parts = calls.map((call) => resultPart(call, thread.state.ended.get(call.call_id)!))
  await thread.commit({ kind: 'message', message: { role: 'tool', parts } satisfies Msg })
  if (signal.aborted) throw signal.reason
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

/** A call that was made, or refused. */
interface Made extends Planned, Came {
  invocation: Item & { type: 'tool_invocation' }
  refused: boolean
  people: People
  duration_ms: number
}

async function makeCall(thread: Conversation, tally: Tally, { call, effects, ...rest }: Planned, signal: AbortSignal): Promise<Made> {
  const { events, providers } = thread
  const { call_id, tool_call_id, name, input } = call
  const invocation: Made['invocation'] = {
    id: thread.newId('it'),
    type: 'tool_invocation',
    tool_name: name,
    arguments: input,
    tool_call_id,
    call_id,
    status: 'in_progress',
    effects,
  }
  tally.items.push(invocation.id)
  // What a killed process began is settled, not simply made again.
  const settled = thread.state.started.has(call_id) ? await settle(thread, call, effects) : undefined
  if (!thread.state.started.has(call_id)) await thread.commit({ kind: 'call_start', call_id, name, input, effects }, !isQuiet(effects))
  await events.start(invocation)
  const began = providers.clock.now()
  const refused = settled ? undefined : signal.aborted ? describeFault('VT_CALL_ABORTED', 'The run was cancelled before this call began.') : (call.fault ?? tally.refuse(call))
  const people = new People(thread, call, signal)
  const { result, changed } = settled ?? (refused ? { result: { ok: false, error: { retryable: false, ...refused } }, changed: [] } : await watched(thread, call, effects, people, signal))
  if (people.said === 'cancel') tally.cancelled = true
  return { call, effects, ...rest, invocation, refused: refused !== undefined, people, result, changed, duration_ms: providers.clock.now() - began }
}

async function tell(thread: Conversation, tally: Tally, { call, effects, invocation, refused, people, result, changed, duration_ms }: Made, signal: AbortSignal): Promise<void> {
  const { call_id, name, input } = call
  const said = thread.providers.output_map.toModel(result)
  const answer = refused ? said : tally.note(call, effects, result, said, duration_ms - people.waited_ms)
  const told = refused || signal.aborted || !isQuiet(effects) ? answer : folded(thread, call, answer)
  const changes = [...(result.ok ? changesOf(name, input as JsonObject, result.output) : []), ...changed]
  await thread.commit(callEnd(call_id, told, changes), !isQuiet(effects))
  const outcome = outcomeOf(result, signal.aborted, people.said)
  await report(thread, invocation, { result, answer, changes, duration_ms, outcome })
}

/** Runs a call, with an eye on files where it may change what no tool of ours records. */
async function watched(thread: Conversation, call: CallPart, effects: readonly Effect[], people: People, signal: AbortSignal): Promise<Came> {
  if (isQuiet(effects) || recording.has(call.name) || !thread.settings.checkpoints.enabled) return { result: await run(thread, call, effects, people, signal), changed: [] }
  const { state, watch } = thread
  const after = await watch.before([...new Set([...state.named, ...state.touched])])
  const result = await run(thread, call, effects, people, signal)
  // A change that cannot be kept for later is a change all the same; the call is not to blame.
  return { result, changed: await after(call.call_id).catch(() => []) }
}

/** Runs a call; a reading one that failed for a passing reason is tried again. */
async function run(thread: Conversation, call: CallPart, effects: readonly Effect[], people: People, signal: AbortSignal): Promise<Result> {
  const { cache, execute, sandbox } = thread.providers
  const key = isQuiet(effects) ? identityOf(call.name, call.input) : undefined
  const known = key === undefined ? undefined : cache.get(key)
  if (known) return known
  const where = sandbox.choose(call.name, call.input)
  for (let retries = 0; ; retries++) {
    const result = await execute.run(call.name, call.input, {
      signal,
      session: thread.session_id,
      surface: thread.surface,
      ...(where !== 'workspace' && { sandbox: where }),
      ...people.options,
    }).catch((error: unknown): Result => ({ ok: false, error: { code: 'VT_CALL_FAILED', message: messageOf(error), hint: '', retryable: false } }))
    const again = !result.ok && result.error.retryable && isQuiet(effects) && retries < thread.settings.harness.max_tool_retries && !signal.aborted
    if (!again) {
      if (key !== undefined && result.ok) cache.put(key, result)
      return result
    }
    await thread.harness('tool_retry_attempted', { message: result.error.message, attempt: retries + 1, error_category: result.error.code })
  }
}

/** A result that the model still has before it is named, not shown again. */
function folded(thread: Conversation, call: CallPart, answer: Told): Told {
  const { text } = answer
  if (answer.is_error || text.length < 200) return answer
  const earlier = earlierResult(thread.state.messages, identityOf(call.name, call.input), text)
  if (!earlier) return answer
  const remarks = text.slice(earlier.length)
  return { ...answer, text: `Same result as call ${earlier.call_id} above (${Buffer.byteLength(text)} bytes).${remarks}` }
}
