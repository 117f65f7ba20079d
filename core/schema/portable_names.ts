import { isObject, type JsonObject, type Schema } from '../shapes/index.js'
import { sha256 } from '../system/index.js'
import { resolveReference } from './cost.js'

/** Names of properties that the tool APIs of OpenAI, Anthropic and Google accept. */
const PORTABLE_NAME = /^[a-zA-Z0-9_.-]{1,64}$/
const HASH_DIGITS = 8
/** Nesting of values and of schema parts that are followed; deeper names stay unchanged. */
const MAX_DEPTH = 32
const MAX_PARTS = 500

/** Returns a name without characters that a tool API refuses; empty if nothing is left. */
const toPlainName = (name: string): string => name.replace(/[^a-zA-Z0-9_.-]+/g, '_').replace(/^_+|_+$/g, '')

const toHashedName = (name: string): string => {
  const plain = toPlainName(name).slice(0, 64 - HASH_DIGITS - 1)
  return `${plain === '' ? 'property' : plain}_${sha256(name).slice(0, HASH_DIGITS)}`
}

/**
 * Returns the portable name of each property: `$filter` → `filter`, `a[b]` → `a_b`. Names that would be equal, and
 * those that are too long, end in digits of their hash.
 */
export function toPortableNames(names: readonly string[]): Map<string, string> {
  const count = new Map<string, number>()
  const wanted = names.map((name) => [name, PORTABLE_NAME.test(name) ? name : toPlainName(name)] as const)
  for (const [, plain] of wanted) count.set(plain, (count.get(plain) ?? 0) + 1)
  return new Map(
    wanted.map(([name, plain]) => [
      name,
      name === plain || (count.get(plain) === 1 && PORTABLE_NAME.test(plain)) ? plain : toHashedName(name),
    ]),
  )
}

/**
 * Replaces portable names in an input by the names of the schema, at any depth. Own names and unknown ones stay
 * unchanged, and so does a portable name that several properties could have.
 */
export function restoreNames(input: JsonObject, root: Schema): JsonObject {
  return needsNames(root) ? (restoreValue(input, [root], root, 0) as JsonObject) : input
}

const known = new WeakMap<Schema, boolean>()

/** Returns whether any property of a schema has a name that is not portable. */
function needsNames(root: Schema): boolean {
  let found = known.get(root)
  if (found === undefined) known.set(root, (found = hasOddName(root)))
  return found
}

function hasOddName(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOddName)
  if (!isObject(value)) return false
  const { properties } = value
  return (
    (isObject(properties) && Object.keys(properties).some((name) => !PORTABLE_NAME.test(name))) ||
    Object.values(value).some(hasOddName)
  )
}

function restoreValue(value: unknown, schemas: readonly Schema[], root: Schema, depth: number): unknown {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value
  const parts = listParts(schemas, root)
  if (Array.isArray(value)) {
    const items = parts.flatMap(({ items: one }) => (isObject(one) ? [one] : []))
    return items.length === 0 ? (value as unknown[]) : value.map((one) => restoreValue(one, items, root, depth + 1))
  }
  const properties = listProperties(parts)
  const others = parts.flatMap(({ additionalProperties: one }) => (isObject(one) ? [one] : []))
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const name = findOwnName(key, properties)
      // A value under both names would be lost.
      const used = name !== key && Object.hasOwn(value, name) ? key : name
      return [used, restoreValue(one, properties.get(used) ?? others, root, depth + 1)]
    }),
  )
}

/** Returns the schemas of each property of these parts. */
function listProperties(parts: readonly Schema[]): Map<string, Schema[]> {
  const properties = new Map<string, Schema[]>()
  for (const { properties: own } of parts)
    for (const [name, one] of Object.entries(isObject(own) ? own : {}))
      properties.set(name, [...(properties.get(name) ?? []), ...(isObject(one) ? [one] : [])])
  return properties
}

function findOwnName(key: string, properties: ReadonlyMap<string, unknown>): string {
  if (properties.has(key)) return key
  const odd = [...properties.keys()].filter((name) => !PORTABLE_NAME.test(name))
  for (const toName of [toHashedName, toPlainName]) {
    const [name, ...others] = odd.filter((one) => toName(one) === key)
    if (name !== undefined && others.length === 0) return name
  }
  return key
}

/** Returns the schemas with everything that they refer to or combine. */
function listParts(schemas: readonly Schema[], root: Schema): Schema[] {
  const parts = new Set<Schema>()
  const add = (one: unknown): void => {
    if (!isObject(one) || parts.has(one) || parts.size >= MAX_PARTS) return
    parts.add(one)
    const { $ref, allOf, anyOf, oneOf, then: yes, else: no } = one
    if (typeof $ref === 'string') add(resolveReference(root, $ref))
    for (const other of [allOf, anyOf, oneOf, yes, no].flat()) add(other)
  }
  schemas.forEach(add)
  return [...parts]
}
