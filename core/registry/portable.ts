import { isObject, type JsonObject, type Schema } from '../shapes/index.js'
import { toText } from '../text/index.js'

/** What stands for "any value" where each schema needs a type. */
const anything = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'object' }]
const kept = new Set([
  'description',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'default',
  'x-values',
])
const simple = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array'])
const nameOfProperty = /^[a-zA-Z0-9_.-]{1,64}$/
/** Schemas of others may refer to themselves in circles, or double with each reference. */
const most = { depth: 32, schemas: 5_000 }

interface Walk {
  root: Schema
  left: number
}

/**
 * A schema in the subset that the tool APIs of OpenAI, Anthropic and Google all take: each schema has one type or typed alternatives,
 * choices are texts, references are written out, and at the top stands an object. It forbids nothing that the schema allows; the kernel
 * checks each call against the whole of it.
 */
export function portable(root: Schema): Schema {
  const { anyOf, ...top } = walk({ ...root, type: 'object' }, { root, left: most.schemas }, [])
  const choices = [root['anyOf'], root['oneOf'], root['allOf']].flat().filter(isObject)
  const of = choices.map((choice) => (choice['properties'] ?? {}) as JsonObject)
  if (!of.some((properties) => Object.keys(properties).length > 0)) return top
  const more = walk(
    { type: 'object', properties: Object.assign({}, ...of) as JsonObject },
    { root, left: most.schemas },
    [],
  )
  return { ...top, properties: { ...(more['properties'] as JsonObject), ...(top['properties'] as JsonObject) } }
}

function walk(given: unknown, state: Walk, path: readonly string[]): Schema {
  if (!isObject(given) || state.left-- <= 0) return { anyOf: anything }
  const { schema, refs } = written(given, state.root, path)
  if (refs.length > most.depth) return { type: 'object' }
  const base = Object.fromEntries(
    Object.entries(schema).filter(([key, value]) => kept.has(key) && (key !== 'default' || !isObject(value))),
  )
  const types = typesOf(schema)
  if (types.length === 1) return typed(types[0]!, schema, base, state, refs)
  const { description } = schema
  const choices =
    types.length === 0
      ? alternatives(schema, state, refs)
      : { anyOf: types.map((type) => typed(type, schema, {}, state, refs)) }
  return { ...choices, ...(typeof description === 'string' && { description }) }
}

/** The schema with what it refers to and all that `allOf` adds, written into it. */
function written(given: Schema, root: Schema, path: readonly string[]): { schema: Schema; refs: readonly string[] } {
  const { $ref, allOf, ...own } = given
  const referenced = typeof $ref === 'string' && !path.includes($ref) ? target(root, $ref) : undefined
  const parts = [referenced, ...(Array.isArray(allOf) ? allOf : [])].filter(isObject)
  // Each schema below has one step more, so that nothing is deeper than is counted.
  const refs = [...path, typeof $ref === 'string' ? $ref : '']
  if (parts.length === 0)
    return { schema: typeof $ref === 'string' && !own['type'] ? { ...own, type: 'object' } : own, refs }
  const joined = parts.reduce<Schema>((all, part) => {
    const properties = { ...(all['properties'] as JsonObject), ...(part['properties'] as JsonObject) }
    return { ...all, ...part, ...(Object.keys(properties).length > 0 && { properties }) }
  }, {})
  const again = { ...joined, ...own }
  return '$ref' in again || 'allOf' in again
    ? refs.length > most.depth
      ? { schema: { type: 'object' }, refs }
      : written(again, root, refs)
    : { schema: again, refs }
}

const target = (root: Schema, reference: string): unknown =>
  reference.startsWith('#/')
    ? reference
        .slice(2)
        .split('/')
        .reduce<unknown>(
          (at, step) => (isObject(at) ? at[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
          root,
        )
    : undefined

/** What it says of its types, or lets see; of several that a value may have, "nothing" is left to the check. */
function typesOf(schema: Schema): string[] {
  const said = [schema['type'] ?? []].flat().filter((type) => simple.has(toText(type))) as string[]
  if (said.length > 0) return said
  const values = 'const' in schema ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : []
  if (values.some((value) => typeof value === 'string')) return ['string']
  if (values.length > 0) return [...new Set(values.map((value) => typeof value))].filter((type) => simple.has(type))
  if ('properties' in schema || 'additionalProperties' in schema) return ['object']
  if ('items' in schema) return ['array']
  return []
}

/** Those of its alternatives that have a type; any value where none has. */
function alternatives(schema: Schema, state: Walk, refs: readonly string[]): Schema {
  const given = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat().map((one) => walk(one, state, refs))
  const [only, ...others] = given.flatMap((one) => (Array.isArray(one['anyOf']) ? (one['anyOf'] as Schema[]) : [one]))
  if (only === undefined) return { anyOf: anything }
  return others.length === 0 ? only : { anyOf: [only, ...others] }
}

function typed(type: string, schema: Schema, base: Schema, state: Walk, refs: readonly string[]): Schema {
  if (type === 'array') {
    const { items } = schema
    return { type, ...base, items: walk(isObject(items) ? items : {}, state, refs) }
  }
  if (type === 'object') return { type, ...members(schema, state, refs), ...base }
  const choices = (Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : []).filter(
    (value) => typeof value === 'string' && value !== '',
  )
  const dated = schema['format'] === 'date-time' ? { format: 'date-time' } : {}
  return { type, ...(type === 'string' && { ...(choices.length > 0 && { enum: choices }), ...dated }), ...base }
}

/** What is out of use, and what no list tells of. */
const isListedProperty = (schema: unknown): boolean =>
  !isObject(schema) || (schema['deprecated'] !== true && schema['x-listed'] !== false)

function members(schema: Schema, state: Walk, refs: readonly string[]): Schema {
  const { properties, required, additionalProperties: others } = schema
  const named = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, one]) =>
    nameOfProperty.test(name) && isListedProperty(one) ? [[name, walk(one, state, refs)] as const] : [],
  )
  const needed = Array.isArray(required) ? required.filter((name) => named.some(([known]) => known === name)) : []
  const top = refs.length === 1
  return {
    ...(needed.length > 0 && { required: needed }),
    ...((named.length > 0 || top) && { properties: Object.fromEntries(named) }),
    ...(typeof others === 'boolean' && { additionalProperties: others }),
    ...(isObject(others) && { additionalProperties: walk(others, state, refs) }),
  }
}
