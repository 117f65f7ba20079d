import type { Schema } from '../../../core/base/index.js'

/** A schema with what a format cannot carry left out; the same object when nothing was. */
export interface Reduced {
  schema: Schema
  lost: boolean
}

const deepest = 32

/**
 * A JSON Schema as Google takes it: references are written out, those that run in a circle and lists of values of several types are
 * left out. The kernel checks every call against the whole schema, so nothing is let through by that.
 */
export function reducedForGoogle(root: Schema): Reduced {
  let lost = false
  const drop = (): undefined => void (lost = true)
  const target = (reference: string): unknown =>
    reference.startsWith('#/') ? reference.slice(2).split('/').reduce<unknown>((at, step) => (at as Schema | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], root) : undefined

  const walk = (value: unknown, path: readonly string[]): unknown => {
    if (value === true) return {}
    if (Array.isArray(value)) return value.map((item) => walk(item, path))
    if (typeof value !== 'object' || value === null) return value
    const { $ref, $defs: _, definitions: __, ...rest } = value as Schema
    if (typeof $ref === 'string') {
      const referenced = path.includes($ref) || path.length > deepest ? undefined : target($ref)
      if (typeof referenced === 'object' && referenced !== null) return walk({ ...referenced, ...rest }, [...path, $ref])
      drop()
    }
    const kept = Object.entries(rest).flatMap(([key, item]): [string, unknown][] => {
      if ((key === 'enum' || key === 'const') && !isPlainChoice(key === 'const' ? [item] : item, rest['type'])) return drop() ?? []
      // Names of properties are no keywords.
      if (key === 'properties') return [[key, Object.fromEntries(Object.entries(item as object).map(([name, one]) => [name, walk(one, path)]))]]
      return [[key, key === 'enum' || key === 'required' || key === 'type' || key === 'default' || key === 'const' ? item : walk(item, path)]]
    })
    return Object.fromEntries(kept)
  }
  return { schema: walk(root, []) as Schema, lost }
}

/** Values of one simple type, which is the declared one. */
function isPlainChoice(values: unknown, type: unknown): boolean {
  if (!Array.isArray(values)) return false
  const kinds = new Set(values.filter((value) => value !== null).map((value) => typeof value))
  const [kind] = kinds
  if (kinds.size !== 1 || !['string', 'number', 'boolean'].includes(kind!)) return false
  const types = [type ?? []].flat() as string[]
  return types.length === 0 || types.includes(kind!) || (kind === 'number' && types.includes('integer') && values.every((value) => value === null || Number.isInteger(value)))
}
