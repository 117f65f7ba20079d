import { withoutValues } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { callsFolder } from '../../lib/state/index.js'
import { meaningsIn, type AgentSettings, type CallPart, type ResultPart } from '../base/index.js'
import { briefly } from '../events/index.js'
import { sizeOf, tokensOf } from '../model/index.js'
import { listCalls, type Conversation, type ConversationState } from '../session/index.js'

type ClearingSettings = AgentSettings['harness']['tool_result_clearing']

/**
 * Which old results may leave the conversation: the oldest first, never the last few, an error, one of the turn under way or one that
 * lies nowhere else, such as one that says so in its manifest or whose tool is gone. Nothing, unless enough is saved: each clearing costs the server's cache. call_id → the result.
 */
async function clearable(
  kernel: Kernel,
  state: ConversationState,
  { enabled, trigger_tokens, keep_tool_uses, clear_at_least_tokens }: ClearingSettings,
): Promise<[ResultPart, CallPart][]> {
  if (!enabled || sizeOf(state.messages) < trigger_tokens) return []
  const calls = new Map(listCalls(state.messages).map((call) => [call.call_id, call]))
  const meanings = await meaningsIn(kernel, [...calls.values()])
  const stays = (call_id: string) =>
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
    .filter(({ is_error, call_id, text }) => !is_error && !stays(call_id) && !text.startsWith('[cleared '))
  const won = old.reduce((sum, { text }) => sum + tokensOf(text), 0)
  return won < clear_at_least_tokens ? [] : old.map((result) => [result, calls.get(result.call_id)!])
}

/** What stands in the place of a result; `path` holds the whole text. */
const clearedText = ({ name, text }: ResultPart, call: CallPart, path: string): string =>
  `[cleared ${name} ${briefly(call.input)}: ${Buffer.byteLength(text)} bytes, full text in ${path}]`

/** Takes old results out of the conversation when it has grown long; each is written down first. */
export async function clearOld(thread: Conversation): Promise<void> {
  const settings = thread.settings.harness.tool_result_clearing
  const old = await clearable(thread.kernel, thread.state, settings)
  if (old.length === 0) return
  const texts: Record<string, string> = {}
  for (const [result, call] of old) texts[result.call_id] = clearedText(result, call, await keepResult(thread, result))
  await thread.commit({ kind: 'cleared', texts, ...(settings.clear_tool_inputs && { inputs: true }) })
  await thread.harness('context_cleared', { message: `${old.length} old results left the conversation.` })
}

/** Where the whole text of a result lies; it is written there unless it lies somewhere. */
export const keepResult = (thread: Conversation, { call_id, spool_path, text }: ResultPart): Promise<string> =>
  spool_path === undefined ? keepText(thread, call_id, text) : Promise.resolve(spool_path)

/** Writes a text beside the journal; returns its workspace-relative path. */
export async function keepText({ store, session_id }: Conversation, label: string, text: string): Promise<string> {
  const name = `results/${label}.txt`
  await store.write(name, withoutValues(text))
  return `${callsFolder}/${session_id}/${name}`
}
