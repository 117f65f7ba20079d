import type { JsonObject } from '../../../core/shapes/index.js'

/** A typed value as a reader is shown it: what it names, never what that stands for. */
export function formatTypedValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const { join, env, option, secret } = value as JsonObject
  if (Array.isArray(join)) return join.map(formatTypedValue).join('')
  const name = env ?? option ?? secret
  return typeof name === 'string' ? `\${${name}}` : JSON.stringify(value)
}
