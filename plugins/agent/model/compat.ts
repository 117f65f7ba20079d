import type { JsonObject } from '../../../core/shapes/index.js'
import { mergeObjects, type Model } from '../providers/index.js'

interface Message extends JsonObject {
  role: string
  tool_call_id?: string
  tool_calls?: { id: string; function: { name: string } }[]
  content?: unknown
  reasoning_content?: string
}
type Chat = JsonObject & { messages: Message[]; tools?: { function?: JsonObject }[] }

/**
 * Adapts the JSON body to this server: the rules of `compat`, then the fields of the entry. An unaffected body is not
 * parsed.
 */
export function adaptBody(json: string, model: Model): string {
  const hasRules =
    model.format === 'openai-chat' &&
    (Object.keys(model.compat).length > 0 || model.facts.supports_parallel_tool_calls === false)
  if (!hasRules && Object.keys(model.body).length === 0) return json
  const body = JSON.parse(json) as JsonObject
  return JSON.stringify(
    mergeObjects(hasRules && Array.isArray(body['messages']) ? adaptChatBody(body as Chat, model) : body, model.body),
  )
}

/** Applies the rules for servers that call themselves OpenAI compatible and differ in one point. */
function adaptChatBody(body: Chat, { compat, facts }: Model): JsonObject {
  const { max_tokens, reasoning_effort, ...rest } = body
  const adapted: Chat = { ...rest, messages: adaptMessages(body.messages, compat) }
  if (max_tokens !== undefined) adapted[compat.max_tokens_field ?? 'max_tokens'] = max_tokens
  if (typeof reasoning_effort === 'string')
    Object.assign(
      adapted,
      toThinkingFields(compat.reasoning_effort_map?.[reasoning_effort] ?? reasoning_effort, compat.thinking_format),
    )
  if (compat.store !== undefined) adapted['store'] = compat.store
  if (adapted.tools && facts.supports_parallel_tool_calls === false) adapted['parallel_tool_calls'] = false
  const { strict_tools: strict } = compat
  if (adapted.tools && strict !== undefined)
    adapted.tools = adapted.tools.map((tool) =>
      tool.function ? { ...tool, function: { ...tool.function, strict } } : tool,
    )
  return adapted
}

function toThinkingFields(effort: string, format: Model['compat']['thinking_format'] = 'openai'): JsonObject {
  if (format === 'zai') return { thinking: { type: effort === 'none' ? 'disabled' : 'enabled' } }
  if (format === 'qwen') return { enable_thinking: effort !== 'none' }
  return { reasoning_effort: effort }
}

function adaptMessages(messages: readonly Message[], compat: Model['compat']): Message[] {
  const names = new Map<string, string>()
  return messages.flatMap((message, index): Message[] => {
    for (const { id, function: called } of message.tool_calls ?? []) names.set(id, called.name)
    let adapted = message
    if (message.role === 'system' && compat.developer_role) adapted = { ...adapted, role: 'developer' }
    if (message.role === 'tool' && compat.tool_result_name)
      adapted = { ...adapted, name: names.get(message.tool_call_id ?? '') }
    if (message.reasoning_content !== undefined && compat.thinking_as_text) {
      const { reasoning_content, ...others } = adapted
      adapted = {
        ...others,
        role: message.role,
        content:
          `<thinking>\n${reasoning_content}\n</thinking>\n` +
          (typeof message.content === 'string' ? message.content : ''),
      }
    }
    const needsReply =
      compat.assistant_after_tool_result && message.role === 'tool' && messages[index + 1]?.role === 'user'
    return needsReply ? [adapted, { role: 'assistant', content: 'I have read the results.' }] : [adapted]
  })
}
