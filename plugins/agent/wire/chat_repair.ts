import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { ChatCalls } from './chat_calls.js'
import { readEndReason } from './end_reasons.js'
import { createServerFault, findServerError } from './fault.js'
import type { Repair } from './repair_types.js'
import { joinUsage, toCount, toName, toObject, toObjects, toOptionalText } from './shapes.js'

/** The words of the client library for the meanings of an end. */
const FINISH = { stop: 'stop', 'tool-calls': 'tool_calls', length: 'length', 'content-filter': 'content_filter' }

/** Repairs answers of chat completions, streamed or whole. */
export class ChatRepair implements Repair {
  readonly ended = false
  private readonly calls = new ChatCalls()
  private hasFinish = false
  private hasText = false
  private usage: JsonObject | undefined

  repair(event: JsonObject): JsonObject[] {
    const choice = toObjects(event['choices']).find(({ index }) => (toCount(index) ?? 0) === 0)
    const error = findServerError(event) ?? choice?.['error']
    if (error !== undefined && error !== null) throw createServerFault(error, 500)
    this.usage = joinUsage(this.usage, event['usage'] ?? choice?.['usage'] ?? toObject(event['x_groq'])['usage'])
    if (!choice) return this.usage ? [this.createChunk(event, [])] : []
    const delta = this.repairDelta(toObject(choice['delta'] ?? choice['message'] ?? { content: choice['text'] }))
    const finish_reason = readFinish(choice, delta)
    if (finish_reason !== null) this.hasFinish = true
    const chunk = this.createChunk(event, [{ index: 0, delta, finish_reason }])
    return isObject(choice['message']) ? [chunk, ...this.finish()] : [chunk]
  }

  /** A server that marks the end without a reason has sent everything. */
  finish(): JsonObject[] {
    if (this.hasFinish || (!this.calls.hasCalls && !this.hasText)) return []
    this.hasFinish = true
    const finish_reason = this.calls.hasCalls ? 'tool_calls' : 'stop'
    return [this.createChunk({}, [{ index: 0, delta: {}, finish_reason }])]
  }

  private createChunk({ id, model }: JsonObject, choices: JsonObject[]): JsonObject {
    return {
      ...(toName(id) !== undefined && { id: toName(id) }),
      ...(typeof model === 'string' && { model }),
      choices,
      ...(this.usage && { usage: addCachedTokens(this.usage) }),
    }
  }

  private repairDelta(delta: JsonObject): JsonObject {
    const { content, refusal, reasoning_details: details } = delta
    const old = isObject(delta['function_call']) ? [delta['function_call']] : []
    const pieces = toObjects(delta['tool_calls'] ?? old).flatMap((piece) => this.calls.repair(piece))
    const text = repairContent(content) ?? toName(refusal)
    if (text !== undefined && text.length > 0) this.hasText = true
    const reasoning = delta['reasoning_content'] ?? delta['reasoning'] ?? delta['thinking']
    return {
      ...(text !== undefined && { content: text }),
      ...(toName(refusal) !== undefined && { refusal }),
      ...(typeof reasoning === 'string' && { reasoning_content: reasoning }),
      ...(Array.isArray(details) && { reasoning_details: details }),
      ...(pieces.length > 0 && { tool_calls: pieces }),
    }
  }
}

/** Reads the reason for the end of a choice in the words of the client library; a refusal ends as filtered. */
function readFinish(choice: JsonObject, delta: JsonObject): string | null {
  const reason = toName(choice['finish_reason'])
  if (reason === undefined) return null
  const end = readEndReason('openai-chat', reason)
  return FINISH[delta['refusal'] === undefined ? end : 'content-filter']
}

/** Converts content: text, a list of parts, or a part alone. */
function repairContent(content: unknown): string | JsonObject[] | undefined {
  if (isObject(content)) return repairContent([content])
  if (!Array.isArray(content)) return toOptionalText(content)
  return content.flatMap((part): JsonObject[] => {
    if (typeof part === 'string') return [{ type: 'text', text: part }]
    if (!isObject(part)) return []
    return part['type'] === 'thinking' ? [part] : [{ type: 'text', text: toOptionalText(part['text']) ?? '' }]
  })
}

/**
 * Adds the cached tokens in the field of the client library: `prompt_cache_hit_tokens` (DeepSeek), `cached_tokens`
 * (Moonshot), `cache_read_input_tokens` (LiteLLM), `num_cached_tokens` (Mistral).
 */
function addCachedTokens(usage: JsonObject): JsonObject {
  const details = toObject(usage['prompt_tokens_details'])
  const names = ['prompt_cache_hit_tokens', 'cached_tokens', 'cache_read_input_tokens', 'num_cached_tokens']
  const cached = toCount(details['cached_tokens']) || names.map((name) => toCount(usage[name])).find(Boolean)
  return cached === undefined ? usage : { ...usage, prompt_tokens_details: { ...details, cached_tokens: cached } }
}
