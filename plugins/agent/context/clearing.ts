import { redactText } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import { resolveCalls, type AgentSettings, type CallPart, type ResultPart } from '../base/index.js'
import { describeInput } from '../events/index.js'
import { estimateMessages, estimateTokens } from '../model/index.js'
import { listCalls, type Conversation, type ConversationState } from '../session/index.js'

type ClearingSettings = AgentSettings['harness']['tool_result_clearing']

/**
 * Finds old results that may leave the conversation, oldest first, with their calls. The last few results, errors and
 * results of the current turn stay. Results stay too if their manifest declares it or their tool is unknown. Returns
 * nothing unless enough tokens are saved: each clearing invalidates the server's cache.
 */
async function findClearable(
  kernel: Kernel,
  state: ConversationState,
  { enabled, trigger_tokens, keep_tool_uses, clear_at_least_tokens }: ClearingSettings,
): Promise<[ResultPart, CallPart][]> {
  if (!enabled || estimateMessages(state.messages) < trigger_tokens) return []
  const calls = new Map(listCalls(state.messages).map((call) => [call.call_id, call]))
  const meanings = await resolveCalls(kernel, [...calls.values()])
  const mustStay = (call_id: string) =>
    meanings.get(call_id)?.slot?.stays_in_context ?? meanings.get(call_id)?.slot === undefined
  const results = state.messages
    .slice(0, state.earlier)
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'tool_result')
  const all = state.messages.reduce(
    (sum, { parts }) => sum + parts.filter(({ type }) => type === 'tool_result').length,
    0,
  )
  const old = results
    .slice(0, Math.max(0, all - keep_tool_uses))
    .filter(({ is_error, call_id, text }) => !is_error && !mustStay(call_id) && !text.startsWith('[cleared '))
  const savedTokens = old.reduce((sum, { text }) => sum + estimateTokens(text), 0)
  return savedTokens < clear_at_least_tokens ? [] : old.map((result) => [result, calls.get(result.call_id)!])
}

/** Formats the replacement of a result; `path`: the file with the whole text. */
const formatClearedText = ({ name, text }: ResultPart, call: CallPart, path: string): string =>
  `[cleared ${name} ${describeInput(call.input)}: ${Buffer.byteLength(text)} bytes, full text in ${path}]`

/** Removes old results from a long conversation; each is saved to a file first. */
export async function clearOldResults(thread: Conversation): Promise<void> {
  const settings = thread.settings.harness.tool_result_clearing
  const old = await findClearable(thread.kernel, thread.state, settings)
  if (old.length === 0) return
  const texts: Record<string, string> = {}
  for (const [result, call] of old)
    texts[result.call_id] = formatClearedText(result, call, await saveResult(thread, result))
  await thread.commit({ kind: 'cleared', texts, ...(settings.clear_tool_inputs && { inputs: true }) })
  await thread.harness('context_cleared', { message: `${old.length} old results were removed from the conversation.` })
}

/** Returns the path of the whole text of a result; writes the file if the result has none. */
export const saveResult = (thread: Conversation, { call_id, spool_path, text }: ResultPart): Promise<string> =>
  spool_path === undefined ? saveText(thread, call_id, text) : Promise.resolve(spool_path)

/** Writes a text to the folder of the session; returns its workspace-relative path. */
export async function saveText({ store, session_id }: Conversation, label: string, text: string): Promise<string> {
  const name = `results/${label}.txt`
  await store.write(name, redactText(text))
  return `${CALLS_FOLDER}/${session_id}/${name}`
}
