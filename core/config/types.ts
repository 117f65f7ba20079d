import type { JsonObject, Layer, Settings } from '../base/index.js'

/** What a configuration file says: any part of the settings. */
export type Config = { [K in keyof Settings]?: Settings[K] extends object ? Partial<Settings[K]> | Settings[K] : Settings[K] } & JsonObject
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
