import type { AgentSettings } from '../base/index.js'
import type { Model } from '../providers/index.js'

/**
 * The budget in tokens: `output` for an answer; compaction starts above `soft` at the start of a turn, above `hard`
 * at once.
 */
export interface TokenBudget {
  window: number
  output: number
  soft: number
  hard: number
}
const MAX_OUTPUT_TOKENS = 32_000
// Reserved for additions of the server.
const MARGIN_TOKENS = 4096

/** Computes the token budget of a model; `lowered`: the window that errors of the server revealed. */
export function computeTokenBudget(
  { facts, sources }: Model,
  { harness, context }: Pick<AgentSettings, 'harness' | 'context'>,
  lowered = Infinity,
): TokenBudget {
  const window = Math.min(facts.context_window ?? Infinity, lowered)
  // A default must not fill a small window.
  const output = Math.floor(
    Math.min(
      facts.max_output_tokens ?? MAX_OUTPUT_TOKENS,
      MAX_OUTPUT_TOKENS,
      sources['max_output_tokens'] === 'default' ? window / 4 : window / 2,
    ),
  )
  const most = window - Math.min(output + MARGIN_TOKENS, window / 2)
  const threshold =
    harness.auto_compaction_threshold_tokens ??
    Math.round(0.9 * Math.min(window, context.max_context_tokens || Infinity))
  const hard = Math.min(threshold, most)
  return { window, output, hard, soft: 0.9 * hard }
}

/** Returns the limit of an answer; none where both limits are guesses, since a server has a default of its own. */
export const limitOutput = ({ sources }: Model, { output }: TokenBudget): { max_output_tokens?: number } =>
  sources['context_window'] === 'assumed' && sources['max_output_tokens'] === 'default'
    ? {}
    : { max_output_tokens: output }
