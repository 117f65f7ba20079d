import type { Layer } from '../base/index.js'

/** Where a settings value came from, and what it overrode or why it was ignored. */
export interface Origin {
  /** Keys joined by `.`; items of a list that layers extend have their index at the end. */
  path: string
  layer: Layer
  /** Absolute file, or what else said it: `VTCODE__POLICY__MODE`, `options`, `defaults`. */
  file: string
  line?: number
  value: unknown
  overridden: { layer: Layer; file: string; line?: number; value: unknown; reason?: string }[]
}
