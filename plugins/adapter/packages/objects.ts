import { isObject } from '../../../core/shapes/index.js'

export { isObject }

/**
 * Returns plain data unchanged: not deep, and without keys that could reach a prototype. Throws the fault otherwise.
 */
export function requirePlainData(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > 64) throw new Error('it is nested more than 64 levels deep')
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype')
      throw new Error(`the key '${key}' is not allowed`)
    requirePlainData(item, depth + 1)
  }
  return value
}

/** Fills in these variables in one pass; other references stay unchanged. */
export function fill<T>(value: T, variables: Readonly<Record<string, string>>): T
export function fill(value: unknown, variables: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string')
    return value.replace(/\$\{([\w/]+)\}/g, (whole, name: string) =>
      Object.hasOwn(variables, name) ? variables[name]! : whole,
    )
  if (Array.isArray(value)) return value.map((item) => fill(item, variables))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, variables)]))
}
