import { RE2JS } from 're2js'
import { isObject } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import { referredPart, schemaObjection } from '../../../core/schema/index.js'
import type { JsonObject, Schema } from '../../../core/index.js'

/**
 * The input schema of a foreign tool in the words the kernel checks by: lists of items as 2020-12 writes them, no identifiers and none of
 * our annotations. What the kernel cannot check (a word with a value that it does not have in 2020-12, a pattern that could take for
 * ever, a reference that leads out) is left out and the server's to enforce. The input goes to the server as the caller gave it.
 */
export function foreignSchema(schema: Schema | undefined): Schema {
  const root = schema ?? {}
  const converted = modern(root, root) as JsonObject
  const { $schema: _, $id: __, ...rest } = converted
  return {
    ...rest,
    type: 'object',
    properties: (converted['properties'] as JsonObject | undefined) ?? {},
    ...openness(rest),
    'x-foreign': true,
  }
}

/** Words by which a schema speaks of properties beside those in `properties`. */
const elsewhere = ['patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref', 'if', 'dependentSchemas']

/** A schema that lists its properties, and says nothing else of them, means these; a property beside them is a slip of the pen. */
function openness(schema: Schema): Schema {
  if ('additionalProperties' in schema || 'unevaluatedProperties' in schema) return {}
  return { additionalProperties: !('properties' in schema) || elsewhere.some((word) => word in schema) }
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0
const isText = (value: unknown): boolean => typeof value === 'string'
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isObject(value)
const isSchemaList = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const fits = (words: string, test: (value: unknown) => boolean): [string, typeof test][] =>
  words.split(' ').map((word) => [word, test])

/** What a value has to be for a word to mean in 2020-12 what it says. */
const words = new Map([
  ...fits('minimum maximum exclusiveMinimum exclusiveMaximum', Number.isFinite),
  ...fits('multipleOf', (value) => Number.isFinite(value) && (value as number) > 0),
  ...fits('minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains', isCount),
  ...fits('type', (value) => [value].flat().length > 0 && [value].flat().every((one) => types.has(toText(one)))),
  ...fits('required', isTextList),
  ...fits('enum', (value) => Array.isArray(value) && value.length > 0),
  ...fits('uniqueItems', (value) => typeof value === 'boolean'),
  ...fits('format description title $comment', isText),
  ...fits('pattern', linear),
  ...fits('allOf anyOf oneOf prefixItems', isSchemaList),
  ...fits(
    'items additionalProperties unevaluatedProperties unevaluatedItems contains propertyNames not if then else',
    isSchema,
  ),
  ...fits('properties $defs definitions dependentSchemas patternProperties', isObject),
  ...fits('dependentRequired', (value) => isObject(value) && Object.values(value).every(isTextList)),
  ...fits(
    'dependencies',
    (value) => isObject(value) && Object.values(value).every((one) => isTextList(one) || isSchema(one)),
  ),
])
/** What needs more than the schema to be followed, or would only confuse. */
const dropped = new Set([
  'id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  'nullable',
  'discriminator',
])
const named = new Set(['properties', '$defs', 'definitions', 'dependentSchemas', 'dependencies', 'patternProperties'])
const values = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

function modern(value: unknown, root: Schema, names = false): unknown {
  if (Array.isArray(value)) return value.map((item) => modern(item, root))
  if (!isObject(value)) return value
  // Below `properties` every key is a name, not a word of the language.
  if (names)
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, isSchema(item) || isTextList(item) ? modern(item, root) : {}]),
    )
  return Object.fromEntries(
    Object.entries(current(value)).flatMap(([key, item]): [string, unknown][] => {
      if (isDropped(key, item, root)) return []
      if (key === 'patternProperties')
        return [
          [
            key,
            modern(
              Object.fromEntries(Object.entries(item as JsonObject).filter(([pattern]) => linear(pattern))),
              root,
              true,
            ),
          ],
        ]
      return [[key, values.has(key) ? item : modern(item, root, named.has(key))]]
    }),
  )
}

function isDropped(key: string, item: unknown, root: Schema): boolean {
  if (key === '$ref' && (!isText(item) || referredPart(root, toText(item)) === undefined)) return true
  if (key.startsWith('x-') || dropped.has(key) || words.get(key)?.(item) === false) return true
  return key === 'format' && toText(item).startsWith('workspace-')
}

/** Words of earlier drafts and of OpenAPI in the form of 2020-12. */
function current(schema: Schema): Schema {
  const { items, additionalItems, ...rest } = schema
  const result: Schema = Array.isArray(items)
    ? { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
    : schema
  const { nullable, type } = result
  const bounds = [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const
  const exclusive = bounds.filter(([bound, word]) => result[word] === true && Number.isFinite(result[bound]))
  return {
    ...Object.fromEntries(Object.entries(result).filter(([key]) => !exclusive.some(([bound]) => bound === key))),
    ...Object.fromEntries(exclusive.map(([bound, word]) => [word, result[bound]])),
    ...(nullable === true && isText(type) && { type: [type, 'null'] }),
  }
}

function linear(pattern: unknown): boolean {
  try {
    RE2JS.compile(toText(pattern))
    return isText(pattern) && toText(pattern).length <= 512
  } catch {
    return false
  }
}

/** Texts are cleaned where they are shown; a name cannot be cleaned, because the server needs it unchanged. */
export function unfit(input: JsonObject = {}): string | undefined {
  const objection = schemaObjection(input)
  if (objection !== undefined) return `input ${objection}`
  let hidden = false
  const text = JSON.stringify(input, (key, value: unknown) => {
    hidden ||= /[\p{Cc}\p{Cf}]/u.test(key)
    return value
  })
  if (text.length > 65_536) return 'input is larger than 64 KiB'
  return hidden ? 'the name of a property holds control or invisible characters' : undefined
}
