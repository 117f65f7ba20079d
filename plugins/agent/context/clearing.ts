import type { AgentSettings, CallPart, ResultPart } from '../base/index.js'
import { briefly } from '../events/index.js'
import { sizeOf, tokensOf } from '../model/index.js'
import type { State } from '../session/index.js'

// What a model cannot simply ask for again.
const kept = new Set(['load_skill', 'load_skill_resource', 'task_tracker'])

/**
 * Which old results may leave the conversation: the oldest first, never the last few, an error, one of the turn under way or one that
 * lies nowhere else. Nothing, unless enough is won: each clearing costs the server's cache. call_id → the result.
 */
export function clearable(state: State, { enabled, trigger_tokens, keep_tool_uses, clear_at_least_tokens }: AgentSettings['harness']['tool_result_clearing']): [ResultPart, CallPart][] {
  if (!enabled || sizeOf(state.messages) < trigger_tokens) return []
  const calls = new Map(state.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool_call' ? [[part.call_id, part] as const] : []))))
  const results = state.messages.slice(0, state.earlier).flatMap(({ parts }) => parts).filter((part) => part.type === 'tool_result')
  const all = state.messages.reduce((sum, { parts }) => sum + parts.filter(({ type }) => type === 'tool_result').length, 0)
  const old = results.slice(0, Math.max(0, all - keep_tool_uses)).filter(({ is_error, name, text }) => !is_error && !kept.has(name) && !text.startsWith('[cleared '))
  const won = old.reduce((sum, { text }) => sum + tokensOf(text), 0)
  return won < clear_at_least_tokens ? [] : old.map((result) => [result, calls.get(result.call_id)!])
}

/** What stands in the place of a result; `path` holds the whole text. */
export const clearedText = ({ name, text }: ResultPart, call: CallPart, path: string): string =>
  `[cleared ${name} ${briefly(call.input)}: ${Buffer.byteLength(text)} bytes, full text in ${path}]`
