import type { LanguageModelV3Usage } from '@ai-sdk/provider'
import { estimateTokenCount } from 'tokenx'
import { definedOnly } from '../../../core/shapes/index.js'
import type { MessagePart, Msg, Usage } from '../base/index.js'
import type { ModelFacts } from '../providers/index.js'

export const noUsage: Usage = { input_tokens: 0, cached_input_tokens: 0, cache_creation_tokens: 0, output_tokens: 0 }

const mostTokens = 1e9

/** A plausible count: another would lower costs, or end sums. */
const counted = (tokens: number | undefined, most = mostTokens): number | undefined =>
  typeof tokens === 'number' && tokens >= 0 && tokens <= mostTokens ? Math.min(tokens, most) : undefined

/** What the server counted, or an estimate where it said nothing that can be true. */
export function usageOf(usage: LanguageModelV3Usage | undefined, sent: () => number, answer: string): Usage {
  // A server that reports zero, or nothing, did not count.
  const input = counted(usage?.inputTokens.total) || undefined
  const said = counted(usage?.outputTokens.total)
  const output = said === 0 && answer !== '' ? undefined : said
  const reasoning = counted(usage?.outputTokens.reasoning)
  const input_tokens = input ?? sent()
  const cached_input_tokens = counted(usage?.inputTokens.cacheRead, input_tokens) ?? 0
  return {
    input_tokens,
    cached_input_tokens,
    cache_creation_tokens: counted(usage?.inputTokens.cacheWrite, input_tokens - cached_input_tokens) ?? 0,
    output_tokens: output ?? estimateTokenCount(answer),
    ...definedOnly({ reasoning_tokens: reasoning }),
    ...((input === undefined || output === undefined) && { estimated: true as const }),
  }
}

export function addUsage(a: Usage, b: Usage): Usage {
  const reasoning = (a.reasoning_tokens ?? 0) + (b.reasoning_tokens ?? 0)
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
    cache_creation_tokens: a.cache_creation_tokens + b.cache_creation_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    ...((a.reasoning_tokens ?? b.reasoning_tokens) !== undefined && { reasoning_tokens: reasoning }),
    ...((a.estimated || b.estimated) && { estimated: true as const }),
  }
}

/** USD, or `null` when the model has no price. Without prices of its own the cache costs what input costs. */
export function costOf(usage: Usage, cost: ModelFacts['cost']): number | null {
  if (!cost) return null
  const {
    input_tokens: input,
    cached_input_tokens: cached,
    cache_creation_tokens: created,
    output_tokens: output,
  } = usage
  return (
    ((input - cached - created) * cost.input +
      cached * (cost.cache_read ?? cost.input) +
      created * (cost.cache_write ?? cost.input) +
      output * cost.output) /
    1e6
  )
}
/** USD by the server's own count, where it tells one, as OpenRouter does. */
export function reportedCost(usage: LanguageModelV3Usage | undefined): number | undefined {
  const cost = usage?.raw?.['cost']
  return typeof cost === 'number' && cost >= 0 && Number.isFinite(cost) ? cost : undefined
}
/** Unknown costs make a sum unknown. */
export const addUsd = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b)

/** About how many tokens a text has. */
export const tokensOf = (text: string): number => estimateTokenCount(text)
/** About how many tokens messages take. */
export const sizeOf = (messages: readonly Msg[]): number =>
  messages.reduce((sum, message) => sum + sizeOfOne(message), 0)

/** About what an image costs, whatever its size: servers shrink one to about as many tokens. */
const tokensOfImage = 1_600
function weightOf(part: MessagePart): number {
  if (part.type === 'image') return tokensOfImage
  const images = part.type === 'tool_result' ? (part.images?.length ?? 0) : 0
  return tokensOf('text' in part ? part.text : JSON.stringify(part.input)) + images * tokensOfImage
}

// A message never changes, and a conversation is asked for its size again and again.
const sizes = new WeakMap<Msg, number>()
function sizeOfOne(message: Msg): number {
  let size = sizes.get(message)
  if (size === undefined) sizes.set(message, (size = message.parts.reduce((all, part) => all + weightOf(part) + 4, 4)))
  return size
}
