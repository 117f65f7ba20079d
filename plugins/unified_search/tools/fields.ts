import { isObject } from '../../../core/shapes/index.js'
import type { Schema } from '../../../core/index.js'

const deepest = 4
const longest = { text: 200, schema: 4_000 }

/** The fields of an input, a line each: type, choices, need and description. */
export function fieldLines(input: Schema): string[] {
  const required = [input['required'] ?? []].flat()
  return Object.entries((input['properties'] ?? {}) as Record<string, Schema>).flatMap(([name, schema]) => {
    if (schema['deprecated'] === true || schema['x-listed'] === false) return []
    const { description } = schema
    const text = typeof description === 'string' ? `: ${description.slice(0, longest.text)}` : ''
    return [
      `  ${name} (${typeOf(schema, input)}${required.includes(name) ? ', required' : ''})${text}`.slice(
        0,
        longest.schema,
      ),
    ]
  })
}

/** A type in a few words: `string`, `"a" | "b"`, `string[]`, `{ path: string, line?: integer }`. */
function typeOf(schema: unknown, root: Schema, depth = 0): string {
  if (!isObject(schema) || depth > deepest) return 'any'
  const { $ref, type, enum: choices, items, properties } = schema
  if (typeof $ref === 'string') return typeOf(target(root, $ref), root, depth + 1)
  if (Array.isArray(choices))
    return choices
      .slice(0, 40)
      .map((one) => JSON.stringify(one))
      .join(' | ')
  if ('const' in schema) return JSON.stringify(schema['const'])
  const alternatives = type === undefined ? alternativesOf(schema) : []
  if (alternatives.length > 0) return alternatives.map((one) => typeOf(one, root, depth + 1)).join(' | ')
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one }, root, depth)).join(' | ')
  if (type === 'array')
    return items === undefined ? 'any[]' : `(${typeOf(items, root, depth + 1)})[]`.replace(/^\((\w+)\)/, '$1')
  if (!isObject(properties)) return String(type ?? 'any')
  const required = [schema['required'] ?? []].flat()
  const members = Object.entries(properties).map(
    ([name, one]) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(one, root, depth + 1)}`,
  )
  return `{ ${members.join(', ')} }`
}

const alternativesOf = (schema: Schema): unknown[] => [schema['anyOf'] ?? schema['oneOf'] ?? []].flat()

const target = (root: Schema, reference: string): unknown =>
  reference.startsWith('#/')
    ? reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), root)
    : undefined
