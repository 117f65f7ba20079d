import type { Effect, JsonObject } from '../../../core/base/index.js'
import type { Kernel } from '../../../core/kernel/index.js'

/** The worst a call can do: that of its action, or of the whole tool where it does not say which; of an unknown tool nothing is known, and nothing runs. */
export function effectsOfCall(kernel: Kernel, name: string, input: unknown): readonly Effect[] {
  const tool = kernel.describe(name)
  if (!tool) return []
  const action = (input as JsonObject | null)?.['action']
  const slot = typeof action === 'string' ? kernel.list().find((one) => one.tool === tool.name && one.action === action) : undefined
  return slot?.effects ?? tool.effects
}
export const isQuiet = (effects: readonly Effect[]): boolean => !effects.includes('write') && !effects.includes('exec')
