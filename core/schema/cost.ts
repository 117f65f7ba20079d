import { isObject, type Schema } from '../shapes/index.js'

/** Limits of the work of a check: each part of `anyOf`, and each reference, is checked again for the same value. */
const LIMITS = { checks: 100_000, steps: 10_000_000, repeated: 10_000, levels: 64 }
/** Least depth of any value: a schema that costs too much for it can check nothing. */
const MIN_VALUE_DEPTH = 2

const SAME_VALUE_KEYS = {
  one: ['not', 'if', 'then', 'else'],
  list: ['allOf', 'anyOf', 'oneOf'],
  map: ['dependentSchemas', 'dependencies'],
}
const NESTED_VALUE_KEYS = {
  one: [
    'items',
    'additionalItems',
    'contains',
    'additionalProperties',
    'propertyNames',
    'unevaluatedItems',
    'unevaluatedProperties',
  ],
  list: ['items', 'prefixItems'],
  map: ['properties', 'patternProperties'],
}

/**
 * Returns the reason why a schema cannot be checked within bounds; nothing if it can. References to missing parts are
 * refused by the compiler.
 */
export function findSchemaProblem(schema: Schema): string | undefined {
  const foreign = findStructureFault(schema)
  if (foreign !== undefined) return foreign
  const checks = computeCosts(schema, MIN_VALUE_DEPTH).at(-1)!
  if (checks === Infinity) return 'refers to itself without end'
  return checks > LIMITS.checks ? `multiplies to more than ${LIMITS.checks} checks of one value` : undefined
}

/**
 * Creates a check of the steps that a value takes, which returns them if they are too many. The costs of the schema are
 * computed once.
 */
export function createCostCheck(schema: Schema): (value: unknown) => { steps: number; limit: number } | undefined {
  const repeated = JSON.stringify(schema).includes('"uniqueItems"')
  const known = computeCosts(schema, LIMITS.levels)
  if (known.at(-1)! <= 200 && !repeated) return () => undefined
  return (value) => {
    const { parts, depth } = measureValue(value)
    // Each item is compared with each.
    if (repeated && parts > LIMITS.repeated) return { steps: parts, limit: LIMITS.repeated }
    const steps = parts * known[Math.min(depth, known.length - 1)]!
    return steps > LIMITS.steps ? { steps, limit: LIMITS.steps } : undefined
  }
}

/**
 * Computes how often the parts of a schema are visited, for values of a depth of 0, 1, 2 …; the last number holds for
 * all deeper ones.
 */
function computeCosts(schema: Schema, levels: number): number[] {
  const all = collectParts(schema)
  const found: number[] = []
  let before = new Map<unknown, number>()
  for (let level = 0; level <= levels; level++) {
    const now = new Map<unknown, number>()
    const cost = (part: unknown): number => {
      if (!isObject(part)) return 1
      const known = now.get(part)
      if (known !== undefined) return known
      // A part that is reached again before it is done recurses for ever.
      now.set(part, Infinity)
      let sum = 1
      for (const next of listParts(part, SAME_VALUE_KEYS)) sum += cost(next)
      if (typeof part['$ref'] === 'string') sum += cost(resolveReference(schema, part['$ref']))
      if (level > 0) for (const next of listParts(part, NESTED_VALUE_KEYS)) sum += before.get(next) ?? 1
      now.set(part, sum)
      return sum
    }
    found.push(cost(schema))
    for (const part of all) if (cost(part) === Infinity) return [Infinity]
    if (level > 0 && all.every((part) => now.get(part) === before.get(part))) break
    before = now
  }
  return found
}

/** Lists the schema and everything in it that can be a schema. */
function collectParts(schema: Schema): Schema[] {
  const seen = new Set<Schema>()
  const rest: unknown[] = [schema]
  while (rest.length > 0) {
    const part = rest.pop()
    if (!isObject(part) || seen.has(part)) continue
    seen.add(part)
    rest.push(...listParts(part, SAME_VALUE_KEYS), ...listParts(part, NESTED_VALUE_KEYS))
    if (typeof part['$ref'] === 'string') rest.push(resolveReference(schema, part['$ref']))
  }
  return [...seen]
}

function listParts(schema: Schema, { one, list, map }: typeof SAME_VALUE_KEYS): unknown[] {
  return [
    ...one.map((key) => schema[key]).filter(isObject),
    ...list.flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : [])),
    ...map.flatMap((key) => (isObject(schema[key]) ? Object.values(schema[key]) : [])),
  ]
}

/** Returns the part of a schema that a reference points to. */
export function resolveReference(schema: Schema, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined
  let at: unknown = schema
  for (const name of ref.slice(1).split('/').slice(1)) {
    const key = unescapePointer(name)
    at = Array.isArray(at) ? at[Number(key)] : isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return at
}

function unescapePointer(name: string): string {
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return name
  }
}

/**
 * Returns the fault of a schema that cannot be followed, or that is nested so deep that readers would run out of stack.
 */
function findStructureFault(schema: Schema): string | undefined {
  const rest: { part: unknown; depth: number }[] = [{ part: schema, depth: 0 }]
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { part, depth } = next
    if (typeof part !== 'object' || part === null) continue
    if (depth > LIMITS.levels) return `is nested more than ${LIMITS.levels} levels deep`
    for (const [key, item] of Object.entries(part)) {
      if ((key === '$dynamicRef' || key === '$recursiveRef') && typeof item === 'string') return `has ${key}`
      if (key === '$ref' && typeof item === 'string' && resolveReference(schema, item) === undefined)
        return `refers to ${item.slice(0, 200)}, which is not a part of it`
      rest.push({ part: item, depth: depth + 1 })
    }
  }
  return undefined
}

/** Counts the parts of a value and its depth. */
function measureValue(value: unknown): { parts: number; depth: number } {
  let parts = 0
  let deepest = 0
  const rest: { part: unknown; depth: number }[] = [{ part: value, depth: 0 }]
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { part, depth } = next
    parts++
    deepest = Math.max(deepest, depth)
    if (typeof part === 'object' && part !== null)
      for (const item of Object.values(part)) rest.push({ part: item, depth: depth + 1 })
  }
  return { parts, depth: deepest }
}
