import type { JsonObject } from '../../../core/shapes/index.js'

/** Formats a typed value for display: shows the name of a reference, never its value. */
export function formatTypedValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const { join, env, option, secret } = value as JsonObject
  if (Array.isArray(join)) return join.map(formatTypedValue).join('')
  const name = env ?? option ?? secret
  return typeof name === 'string' ? `\${${name}}` : JSON.stringify(value)
}
