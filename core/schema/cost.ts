import { isObject, type Schema } from '../shapes/index.js'

/** What a schema may multiply to: each of `anyOf`, and each reference, is checked again for the same value. */
const most = { checks: 100_000, steps: 10_000_000, repeated: 10_000, levels: 64 }
/** How deep a value is at least, however simple: a schema that costs too much for it can check nothing. */
const usual_depth = 2

const here = {
  one: ['not', 'if', 'then', 'else'],
  list: ['allOf', 'anyOf', 'oneOf'],
  map: ['dependentSchemas', 'dependencies'],
}
const below = {
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

/** Why a schema cannot be checked within bounds; nothing where it can. A reference that leads nowhere is the compiler's to refuse. */
export function schemaObjection(schema: Schema): string | undefined {
  const foreign = tooDeep(schema)
  if (foreign !== undefined) return foreign
  const checks = costs(schema, usual_depth).at(-1)!
  if (checks === Infinity) return 'refers to itself without end'
  return checks > most.checks ? `multiplies to more than ${most.checks} checks of one value` : undefined
}

/** How many steps a value takes where they are too many; what is known of the schema is worked out once. */
export function excessOf(schema: Schema): (value: unknown) => { steps: number; limit: number } | undefined {
  const repeated = JSON.stringify(schema).includes('"uniqueItems"')
  const known = costs(schema, most.levels)
  if (known.at(-1)! <= 200 && !repeated) return () => undefined
  return (value) => {
    const { parts, depth } = sizeOf(value)
    // Each item is compared with each.
    if (repeated && parts > most.repeated) return { steps: parts, limit: most.repeated }
    const steps = parts * known[Math.min(depth, known.length - 1)]!
    return steps > most.steps ? { steps, limit: most.steps } : undefined
  }
}

/** How often the parts of a schema are gone through for a value of a depth of 0, 1, 2 …, each as often as the schema leads to it; the last number holds for all deeper ones. */
function costs(schema: Schema, levels: number): number[] {
  const all = reachable(schema)
  const found: number[] = []
  let before = new Map<unknown, number>()
  for (let level = 0; level <= levels; level++) {
    const now = new Map<unknown, number>()
    const cost = (part: unknown): number => {
      if (!isObject(part)) return 1
      const known = now.get(part)
      if (known !== undefined) return known
      // What comes back here before it is done comes back for ever.
      now.set(part, Infinity)
      let sum = 1
      for (const next of partsOf(part, here)) sum += cost(next)
      if (typeof part['$ref'] === 'string') sum += cost(referredPart(schema, part['$ref']))
      if (level > 0) for (const next of partsOf(part, below)) sum += before.get(next) ?? 1
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

/** The schema with everything in it that can be a schema. */
function reachable(schema: Schema): Schema[] {
  const seen = new Set<Schema>()
  const rest: unknown[] = [schema]
  while (rest.length > 0) {
    const part = rest.pop()
    if (!isObject(part) || seen.has(part)) continue
    seen.add(part)
    rest.push(...partsOf(part, here), ...partsOf(part, below))
    if (typeof part['$ref'] === 'string') rest.push(referredPart(schema, part['$ref']))
  }
  return [...seen]
}

function partsOf(schema: Schema, { one, list, map }: typeof here): unknown[] {
  return [
    ...one.map((key) => schema[key]).filter(isObject),
    ...list.flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : [])),
    ...map.flatMap((key) => (isObject(schema[key]) ? Object.values(schema[key]) : [])),
  ]
}

/** What a reference within a schema leads to. */
export function referredPart(schema: Schema, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined
  let at: unknown = schema
  for (const name of ref.slice(1).split('/').slice(1)) {
    const key = unescaped(name)
    at = Array.isArray(at) ? at[Number(key)] : isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return at
}

function unescaped(name: string): string {
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return name
  }
}

/** What cannot be followed, and what is nested so deep that readers would run out of stack. */
function tooDeep(schema: Schema): string | undefined {
  const rest: { part: unknown; depth: number }[] = [{ part: schema, depth: 0 }]
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { part, depth } = next
    if (typeof part !== 'object' || part === null) continue
    if (depth > most.levels) return `is nested more than ${most.levels} levels deep`
    for (const [key, item] of Object.entries(part)) {
      if ((key === '$dynamicRef' || key === '$recursiveRef') && typeof item === 'string') return `has ${key}`
      if (key === '$ref' && typeof item === 'string' && referredPart(schema, item) === undefined)
        return `refers to ${item.slice(0, 200)}, which is not a part of it`
      rest.push({ part: item, depth: depth + 1 })
    }
  }
  return undefined
}

/** Its parts, and how deep they lie. */
function sizeOf(value: unknown): { parts: number; depth: number } {
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
