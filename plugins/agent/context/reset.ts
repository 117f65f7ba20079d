import type { Msg, ResetTrigger } from '../base/index.js'
import type { PaidConversation } from '../ledger/index.js'
import { createMemoryEnvelope, saveMemory, renderMemory } from '../session/index.js'
import { archiveHistory, type Compactable } from './compaction.js'

/**
 * Restarts the conversation: the first prompt, the memory of the session and `texts` replace all messages before the
 * current turn.
 * The messages are archived first; no model is asked.
 */
export async function resetContext(
  thread: PaidConversation,
  context: Compactable,
  trigger: ResetTrigger,
  texts: readonly string[],
): Promise<void> {
  const { state, session_id, events } = thread
  const keep_from = state.earlier
  if (keep_from === 0) return
  const used = (context.size / context.budget.window) * 100
  const history_path = await archiveHistory(thread)
  const prompt = state.messages.find(({ role, origin = 'prompt' }) => role === 'user' && origin === 'prompt')
  // The messages are dropped; the state of the work stays.
  const memory = createMemoryEnvelope(
    { ...state, messages: [], history_path },
    session_id,
    thread.queue.pending,
    thread.providers.clock.now(),
    thread.collectMemory(),
  )
  const remembered = [renderMemory(memory), ...texts]
  const messages = remembered.map((text): Msg => ({ role: 'user', parts: [{ type: 'text', text }], origin: 'harness' }))
  await thread.commit({
    kind: 'compaction',
    keep_from,
    inserted: [...(prompt ? [prompt] : []), ...messages],
    history_path,
    summary: state.summary,
    reset: trigger,
  })
  for (const text of remembered)
    await events.emitItem({ id: thread.newId('it'), type: 'user_message', text, origin: 'harness' })
  await saveMemory(thread, `${session_id}_${state.compactions}.memory.json`)
  await context.segments.begin('reset')
  await events.emit({
    type: 'context.reset',
    trigger,
    plan_preserved: texts.length > 0 && trigger === 'plan_approval',
    previous_context_usage_percent: Math.round(used * 10) / 10,
    tool_budget_reset: false,
  })
}
