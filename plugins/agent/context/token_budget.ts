import type { AgentSettings } from '../base/index.js'
import type { Model } from '../providers/index.js'

/** How much fits, in tokens: an answer of `output`, and a request that is shortened beyond `soft` when a turn begins, beyond `hard` at once. */
export interface TokenBudget {
  window: number
  output: number
  soft: number
  hard: number
}
const mostOutput = 32_000
// Kept free for what a server adds of its own.
const margin = 4096

/** The token budget of a model; `lowered` is what its window turned out to be at most. */
export function tokenBudget(
  { facts, sources }: Model,
  { harness, context }: Pick<AgentSettings, 'harness' | 'context'>,
  lowered = Infinity,
): TokenBudget {
  const window = Math.min(facts.context_window ?? Infinity, lowered)
  // A default must not fill a small window.
  const output = Math.floor(
    Math.min(
      facts.max_output_tokens ?? mostOutput,
      mostOutput,
      sources['max_output_tokens'] === 'default' ? window / 4 : window / 2,
    ),
  )
  const most = window - Math.min(output + margin, window / 2)
  const wanted =
    harness.auto_compaction_threshold_tokens ??
    Math.round(0.9 * Math.min(window, context.max_context_tokens || Infinity))
  const hard = Math.min(wanted, most)
  return { window, output, hard, soft: 0.9 * hard }
}
