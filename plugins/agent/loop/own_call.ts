import type { JsonObject, Result } from '../../../core/shapes/index.js'
import type { CallOptions } from '../../../core/contract/index.js'
import { findChanges } from '../../lib/snapshots/index.js'
import { isQuiet, resolveCall, type CallPart, type ModelText, type ThreadItem } from '../base/index.js'
import type { Conversation } from '../session/index.js'
import { HumanInput } from './human_input.js'
import { toCallOutcome, reportCall } from './report.js'

interface OwnCall {
  result: Result
  answer: ModelText
  duration_ms: number
}

/**
 * Makes a call of the harness: under the policies and with the usual events, but without a message of the
 * conversation.
 */
export async function makeOwnCall(
  thread: Conversation,
  name: string,
  input: JsonObject,
  signal: AbortSignal,
  approve?: CallOptions['approve'],
): Promise<OwnCall> {
  const { providers, events } = thread
  const call_id = thread.newId('h')
  const call: CallPart = { type: 'tool_call', call_id, tool_call_id: call_id, name, input }
  const meaning = await resolveCall(thread.kernel, call)
  const { effects } = await providers.metadata.describe(name, input, meaning.prepared)
  const invocation: ThreadItem & { type: 'tool_invocation' } = {
    id: thread.newId('it'),
    type: 'tool_invocation',
    tool_name: meaning.slot?.tool ?? name,
    arguments: meaning.input,
    call_id,
    status: 'in_progress',
    effects,
    origin: 'harness',
  }
  await events.start(invocation)
  const human = new HumanInput(thread, call, signal)
  const began = providers.clock.now()
  const watch =
    isQuiet(effects) || meaning.slot?.keeps_history
      ? undefined
      : await thread.snapshots.copyFiles([...new Set([...thread.state.named, ...thread.state.touched])])
  const how = { signal, prepared: meaning.prepared, ...human.options, ...(approve && { approve }) }
  const result = await thread.perform(name, input, how)
  const duration_ms = Math.round(providers.clock.now() - began - human.waited_ms)
  const answer = providers.output_map.toModel(result)
  await reportCall(thread, invocation, {
    meaning,
    result,
    answer,
    changes: watch ? await findChanges(watch, call_id, result) : [],
    duration_ms,
    outcome: toCallOutcome(result, signal.aborted, human.decision),
  })
  signal.throwIfAborted()
  return { result, answer, duration_ms }
}
