import type { Layer } from '../shapes/index.js'

/** The origin of a settings value, with the values that it overrode or that were ignored. */
export interface Origin {
  /** Keys joined by `.`; items of a list that layers extend have their index at the end. */
  path: string
  layer: Layer
  /** The absolute file, or another source: `VTCODE__POLICY__MODE`, `options`, `defaults`. */
  file: string
  line?: number
  value: unknown
  overridden: { layer: Layer; file: string; line?: number; value: unknown; reason?: string }[]
}
