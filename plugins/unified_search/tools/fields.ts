import { isObject } from '../../../core/shapes/index.js'
import type { Schema } from '../../../core/index.js'

const MAX_DEPTH = 4
const MAX_CHARS = { text: 200, schema: 4_000 }

/** Renders the fields of an input, one line each: type, choices, `required` and description. */
export function renderFields(input: Schema): string[] {
  const required = [input['required'] ?? []].flat()
  return Object.entries((input['properties'] ?? {}) as Record<string, Schema>).flatMap(([name, schema]) => {
    if (schema['deprecated'] === true || schema['x-listed'] === false) return []
    const { description } = schema
    const text = typeof description === 'string' ? `: ${description.slice(0, MAX_CHARS.text)}` : ''
    return [
      `  ${name} (${formatType(schema, input)}${required.includes(name) ? ', required' : ''})${text}`.slice(
        0,
        MAX_CHARS.schema,
      ),
    ]
  })
}

/** Formats a type: `string`, `"a" | "b"`, `string[]`, `{ path: string, line?: integer }`. */
function formatType(schema: unknown, root: Schema, depth = 0): string {
  if (!isObject(schema) || depth > MAX_DEPTH) return 'any'
  const { $ref, type, enum: choices, items, properties } = schema
  if (typeof $ref === 'string') return formatType(resolveReference(root, $ref), root, depth + 1)
  if (Array.isArray(choices))
    return choices
      .slice(0, 40)
      .map((one) => JSON.stringify(one))
      .join(' | ')
  if ('const' in schema) return JSON.stringify(schema['const'])
  const alternatives = type === undefined ? listAlternatives(schema) : []
  if (alternatives.length > 0) return alternatives.map((one) => formatType(one, root, depth + 1)).join(' | ')
  if (Array.isArray(type)) return type.map((one) => formatType({ ...schema, type: one }, root, depth)).join(' | ')
  if (type === 'array')
    return items === undefined ? 'any[]' : `(${formatType(items, root, depth + 1)})[]`.replace(/^\((\w+)\)/, '$1')
  if (!isObject(properties)) return String(type ?? 'any')
  const required = [schema['required'] ?? []].flat()
  const members = Object.entries(properties).map(
    ([name, one]) => `${name}${required.includes(name) ? '' : '?'}: ${formatType(one, root, depth + 1)}`,
  )
  return `{ ${members.join(', ')} }`
}

const listAlternatives = (schema: Schema): unknown[] => [schema['anyOf'] ?? schema['oneOf'] ?? []].flat()

const resolveReference = (root: Schema, reference: string): unknown =>
  reference.startsWith('#/')
    ? reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), root)
    : undefined
