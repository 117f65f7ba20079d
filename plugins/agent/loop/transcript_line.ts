import type { JsonObject } from '../../../core/shapes/index.js'
import { redact } from '../../../core/text/index.js'
import type { MessagePart, Msg } from '../base/index.js'

/**
 * Formats a message as a transcript line of Claude Code, whose hooks search for `"role":"assistant"` and for texts
 * and calls in `content`.
 */
export function formatTranscriptLine(
  { role, parts }: Msg,
  { uuid, session_id, cwd, model, at }: { uuid: string; session_id: string; cwd: string; model: string; at: number },
): string {
  const content = parts.map(toContentBlock)
  const only =
    role === 'user' && content.every((block) => block['type'] === 'text')
      ? content.map((block) => block['text']).join('\n')
      : content
  const from = role === 'assistant' ? 'assistant' : 'user'
  const message = { role: from, ...(from === 'assistant' && { model }), content: only }
  const timestamp = new Date(at).toISOString()
  return `${JSON.stringify(redact({ type: from, sessionId: session_id, cwd, uuid, timestamp, message }))}\n`
}

function toContentBlock(part: MessagePart): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type === 'reasoning') return { type: 'thinking', thinking: part.text }
  if (part.type === 'tool_call') return { type: 'tool_use', id: part.call_id, name: part.name, input: part.input }
  if (part.type === 'tool_result')
    return { type: 'tool_result', tool_use_id: part.call_id, content: part.text, is_error: part.is_error }
  return { type: 'text', text: `[image ${part.image.name}]` }
}
