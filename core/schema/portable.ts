import { isObject, type JsonObject, type Schema } from '../shapes/index.js'
import { toText, truncateLine } from '../text/index.js'
import { resolveReference } from './cost.js'
import { toPortableNames } from './portable_names.js'

/** "Any value", where each schema needs a type. */
const ANY_VALUE = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'object' }]
const KEPT_KEYS = new Set([
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
const SIMPLE_TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array'])
/** Foreign schemas may refer to themselves in circles, or double with each reference. */
const LIMITS = { depth: 32, schemas: 5_000 }

interface WalkState {
  root: Schema
  left: number
}

/**
 * Converts a schema to the subset that the tool APIs of OpenAI, Anthropic and Google accept: one type or typed
 * alternatives, text choices, no references, an object at the top. The result forbids no valid input; the kernel checks
 * each call with the original.
 */
export function toPortableSchema(root: Schema): Schema {
  const { anyOf, ...top } = convertSchema({ ...root, type: 'object' }, { root, left: LIMITS.schemas }, [])
  const choices = [root['anyOf'], root['oneOf'], root['allOf']].flat().filter(isObject)
  const of = choices.map((choice) => (choice['properties'] ?? {}) as JsonObject)
  if (!of.some((properties) => Object.keys(properties).length > 0)) return top
  const more = convertSchema(
    { type: 'object', properties: Object.assign({}, ...of) as JsonObject },
    { root, left: LIMITS.schemas },
    [],
  )
  return { ...top, properties: { ...(more['properties'] as JsonObject), ...(top['properties'] as JsonObject) } }
}

function convertSchema(given: unknown, state: WalkState, path: readonly string[]): Schema {
  if (!isObject(given) || state.left-- <= 0) return { anyOf: ANY_VALUE }
  const { schema: expanded, refs } = expandReferences(given, state.root, path)
  if (refs.length > LIMITS.depth) return { type: 'object' }
  const schema = describeValues(expanded)
  const base = Object.fromEntries(
    Object.entries(schema).filter(([key, value]) => KEPT_KEYS.has(key) && (key !== 'default' || !isObject(value))),
  )
  const types = inferTypes(schema)
  if (types.length === 1) return convertType(types[0]!, schema, base, state, refs)
  const { description } = schema
  const choices =
    types.length === 0
      ? convertAlternatives(schema, state, refs)
      : { anyOf: types.map((type) => convertType(type, schema, {}, state, refs)) }
  return { ...choices, ...(typeof description === 'string' && { description }) }
}

/** Returns a schema with its reference and all parts of `allOf` merged into it. */
function expandReferences(
  given: Schema,
  root: Schema,
  path: readonly string[],
): { schema: Schema; refs: readonly string[] } {
  const { $ref, allOf, ...own } = given
  const referenced = typeof $ref === 'string' && !path.includes($ref) ? resolveReference(root, $ref) : undefined
  const parts = [referenced, ...(Array.isArray(allOf) ? allOf : [])].filter(isObject)
  // Each nested schema adds one step, so the depth is never greater than counted.
  const refs = [...path, typeof $ref === 'string' ? $ref : '']
  if (parts.length === 0)
    return { schema: typeof $ref === 'string' && !own['type'] ? { ...own, type: 'object' } : own, refs }
  const joined = parts.reduce<Schema>((all, part) => {
    const properties = { ...(all['properties'] as JsonObject), ...(part['properties'] as JsonObject) }
    return { ...all, ...part, ...(Object.keys(properties).length > 0 && { properties }) }
  }, {})
  const again = { ...joined, ...own }
  return '$ref' in again || 'allOf' in again
    ? refs.length > LIMITS.depth
      ? { schema: { type: 'object' }, refs }
      : expandReferences(again, root, refs)
    : { schema: again, refs }
}

/**
 * Returns the declared types, else those of its values or keywords. `null` among several types is left to the check.
 */
function inferTypes(schema: Schema): string[] {
  const declared = [schema['type'] ?? []].flat().filter((type) => SIMPLE_TYPES.has(toText(type))) as string[]
  if (declared.length > 0) return declared
  const values = 'const' in schema ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : []
  if (values.some((value) => typeof value === 'string')) return ['string']
  if (values.length > 0)
    return [...new Set(values.map((value) => typeof value))].filter((type) => SIMPLE_TYPES.has(type))
  if ('properties' in schema || 'additionalProperties' in schema) return ['object']
  if ('items' in schema) return ['array']
  return []
}

/** Returns the alternatives that have a type; any value where none has. */
function convertAlternatives(schema: Schema, state: WalkState, refs: readonly string[]): Schema {
  const given = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat().map((one) => convertSchema(one, state, refs))
  const [only, ...others] = given.flatMap((one) => (Array.isArray(one['anyOf']) ? (one['anyOf'] as Schema[]) : [one]))
  if (only === undefined) return { anyOf: ANY_VALUE }
  return others.length === 0 ? only : { anyOf: [only, ...others] }
}

function convertType(type: string, schema: Schema, base: Schema, state: WalkState, refs: readonly string[]): Schema {
  if (type === 'array') {
    const { items } = schema
    return { type, ...base, items: convertSchema(isObject(items) ? items : {}, state, refs) }
  }
  if (type === 'object') return { type, ...convertMembers(schema, state, refs), ...base }
  const choices = (Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : []).filter(
    (value) => typeof value === 'string' && value !== '',
  )
  const dated = schema['format'] === 'date-time' ? { format: 'date-time' } : {}
  return { type, ...(type === 'string' && { ...(choices.length > 0 && { enum: choices }), ...dated }), ...base }
}

/** Adds choices that are no texts, which not every wire accepts as choices, to the description. */
function describeValues(schema: Schema): Schema {
  const values = Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : []
  const others = values.filter((value) => typeof value === 'number' || typeof value === 'boolean')
  if (others.length === 0) return schema
  const { description } = schema
  const introduction = values.length === 1 ? 'Always' : others.length < values.length ? 'Also' : 'One of'
  const list = `${introduction} ${others.join(', ')}.`
  return { ...schema, description: typeof description === 'string' ? `${description} ${list}` : list }
}

/** Returns whether lists show a property: not if deprecated or unlisted. */
const isListedProperty = (schema: unknown): boolean =>
  !isObject(schema) || (schema['deprecated'] !== true && schema['x-listed'] !== false)

/** Adds the name of a renamed property to its description. */
function describeName(name: string, portable: string, schema: Schema): Schema {
  if (name === portable) return schema
  const { description } = schema
  const about = typeof description === 'string' ? ` ${description}` : ''
  return { ...schema, description: `\`${truncateLine(name, 80)}\`:${about}`.replace(/:$/, '') }
}

function convertMembers(schema: Schema, state: WalkState, refs: readonly string[]): Schema {
  const { properties, required, additionalProperties: others } = schema
  const listed = Object.entries(isObject(properties) ? properties : {}).filter(([, one]) => isListedProperty(one))
  const names = toPortableNames(listed.map(([name]) => name))
  const named = listed.map(([name, one]): [string, Schema] => [
    names.get(name)!,
    describeName(name, names.get(name)!, convertSchema(one, state, refs)),
  ])
  const needed = Array.isArray(required) ? required.flatMap((name) => names.get(toText(name)) ?? []) : []
  const top = refs.length === 1
  return {
    ...(needed.length > 0 && { required: needed }),
    ...((named.length > 0 || top) && { properties: Object.fromEntries(named) }),
    ...(typeof others === 'boolean' && { additionalProperties: others }),
    ...(isObject(others) && { additionalProperties: convertSchema(others, state, refs) }),
  }
}
