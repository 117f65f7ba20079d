import type { Kernel } from '../../../core/kernel/index.js'
import { meaningsIn, type AgentSettings, type CallPart, type ResultPart } from '../base/index.js'
import { briefly } from '../events/index.js'
import { sizeOf, tokensOf } from '../model/index.js'
import { callsIn, type State } from '../session/index.js'

/**
 * Which old results may leave the conversation: the oldest first, never the last few, an error, one of the turn under way or one that
 * lies nowhere else, such as one that says so in its manifest or whose tool is gone. Nothing, unless enough is won: each clearing costs the server's cache. call_id → the result.
 */
export async function clearable(kernel: Kernel, state: State, { enabled, trigger_tokens, keep_tool_uses, clear_at_least_tokens }: AgentSettings['harness']['tool_result_clearing']): Promise<[ResultPart, CallPart][]> {
  if (!enabled || sizeOf(state.messages) < trigger_tokens) return []
  const calls = new Map(callsIn(state.messages).map((call) => [call.call_id, call]))
  const meanings = await meaningsIn(kernel, [...calls.values()])
  const stays = (call_id: string) => meanings.get(call_id)?.slot?.stays_in_context ?? meanings.get(call_id)?.slot === undefined
  const results = state.messages.slice(0, state.earlier).flatMap(({ parts }) => parts).filter((part) => part.type === 'tool_result')
  const all = state.messages.reduce((sum, { parts }) => sum + parts.filter(({ type }) => type === 'tool_result').length, 0)
  const old = results.slice(0, Math.max(0, all - keep_tool_uses)).filter(({ is_error, call_id, text }) => !is_error && !stays(call_id) && !text.startsWith('[cleared '))
  const won = old.reduce((sum, { text }) => sum + tokensOf(text), 0)
  return won < clear_at_least_tokens ? [] : old.map((result) => [result, calls.get(result.call_id)!])
}

/** What stands in the place of a result; `path` holds the whole text. */
export const clearedText = ({ name, text }: ResultPart, call: CallPart, path: string): string =>
  `[cleared ${name} ${briefly(call.input)}: ${Buffer.byteLength(text)} bytes, full text in ${path}]`
