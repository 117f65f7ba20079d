import type { LanguageModelV3Usage } from '@ai-sdk/provider'
import { estimateTokenCount } from 'tokenx'
import { omitUndefined } from '../../../core/shapes/index.js'
import type { MessagePart, Msg, Usage } from '../base/index.js'
import type { ModelFacts } from '../providers/index.js'

export const noUsage: Usage = { input_tokens: 0, cached_input_tokens: 0, cache_creation_tokens: 0, output_tokens: 0 }

const mostTokens = 1e9

/** Returns a plausible count; other values would lower costs or break sums. */
const toPlausibleCount = (tokens: number | undefined, most = mostTokens): number | undefined =>
  typeof tokens === 'number' && tokens >= 0 && tokens <= mostTokens ? Math.min(tokens, most) : undefined

/** Returns the usage that the server counted, or an estimate where its count is implausible. */
export function toUsage(usage: LanguageModelV3Usage | undefined, sent: () => number, answer: string): Usage {
  // A server that reports zero, or nothing, did not count.
  const input = toPlausibleCount(usage?.inputTokens.total) || undefined
  const reported = toPlausibleCount(usage?.outputTokens.total)
  const output = reported === 0 && answer !== '' ? undefined : reported
  const reasoning = toPlausibleCount(usage?.outputTokens.reasoning)
  const input_tokens = input ?? sent()
  const cached_input_tokens = toPlausibleCount(usage?.inputTokens.cacheRead, input_tokens) ?? 0
  return {
    input_tokens,
    cached_input_tokens,
    cache_creation_tokens: toPlausibleCount(usage?.inputTokens.cacheWrite, input_tokens - cached_input_tokens) ?? 0,
    output_tokens: output ?? estimateTokenCount(answer),
    ...omitUndefined({ reasoning_tokens: reasoning }),
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

/** Calculates USD, or `null` for a model without a price. The cache costs the input price by default. */
export function calculateCost(usage: Usage, cost: ModelFacts['cost']): number | null {
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
/** Returns the USD that the server reports, as OpenRouter does. */
export function readReportedCost(usage: LanguageModelV3Usage | undefined): number | undefined {
  const cost = usage?.raw?.['cost']
  return typeof cost === 'number' && cost >= 0 && Number.isFinite(cost) ? cost : undefined
}
/** Adds costs; an unknown cost makes the sum unknown. */
export const addUsd = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b)

export const estimateTokens = (text: string): number => estimateTokenCount(text)
export const estimateMessages = (messages: readonly Msg[]): number =>
  messages.reduce((sum, message) => sum + estimateMessage(message), 0)

/** Estimated tokens of an image of any size: servers shrink images. */
const IMAGE_TOKENS = 1_600
function estimatePart(part: MessagePart): number {
  if (part.type === 'image') return IMAGE_TOKENS
  const images = part.type === 'tool_result' ? (part.images?.length ?? 0) : 0
  return estimateTokens('text' in part ? part.text : JSON.stringify(part.input)) + images * IMAGE_TOKENS
}

// Messages are immutable, and their size is requested often.
const sizes = new WeakMap<Msg, number>()
function estimateMessage(message: Msg): number {
  let size = sizes.get(message)
  if (size === undefined)
    sizes.set(message, (size = message.parts.reduce((all, part) => all + estimatePart(part) + 4, 4)))
  return size
}
