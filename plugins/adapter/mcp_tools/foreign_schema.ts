import { RE2JS } from 're2js'
import { isObject } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import { resolveReference, findSchemaProblem } from '../../../core/schema/index.js'
import type { JsonObject, Schema } from '../../../core/index.js'

/**
 * Converts the input schema of a foreign tool to the keywords that the kernel checks (2020-12), without identifiers and
 * our annotations. Keywords that the kernel cannot check are left out and enforced by the server: values unknown in
 * 2020-12, patterns without linear time, outside references. The server gets the input of the caller unchanged.
 */
export function convertForeignSchema(schema: Schema | undefined): Schema {
  const root = schema ?? {}
  const converted = modernize(root, root) as JsonObject
  const { $schema: _, $id: __, ...rest } = converted
  return {
    ...rest,
    type: 'object',
    properties: (converted['properties'] as JsonObject | undefined) ?? {},
    ...resolveOpenness(rest),
    'x-foreign': true,
  }
}

/** Keywords for properties other than those in `properties`. */
const PROPERTY_KEYWORDS = ['patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref', 'if', 'dependentSchemas']

/**
 * Returns `additionalProperties`. A schema that only lists its properties allows no others; another property is a
 * typing error.
 */
function resolveOpenness(schema: Schema): Schema {
  if ('additionalProperties' in schema || 'unevaluatedProperties' in schema) return {}
  return { additionalProperties: !('properties' in schema) || PROPERTY_KEYWORDS.some((word) => word in schema) }
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0
const isText = (value: unknown): boolean => typeof value === 'string'
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isObject(value)
const isSchemaList = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const listRules = (words: string, test: (value: unknown) => boolean): [string, typeof test][] =>
  words.split(' ').map((word) => [word, test])

/** For each keyword, a check whether its value is valid in 2020-12. */
const KEYWORD_RULES = new Map([
  ...listRules('minimum maximum exclusiveMinimum exclusiveMaximum', Number.isFinite),
  ...listRules('multipleOf', (value) => Number.isFinite(value) && (value as number) > 0),
  ...listRules('minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains', isCount),
  ...listRules('type', (value) => [value].flat().length > 0 && [value].flat().every((one) => TYPES.has(toText(one)))),
  ...listRules('required', isTextList),
  ...listRules('enum', (value) => Array.isArray(value) && value.length > 0),
  ...listRules('uniqueItems', (value) => typeof value === 'boolean'),
  ...listRules('format description title $comment', isText),
  ...listRules('pattern', isLinearPattern),
  ...listRules('allOf anyOf oneOf prefixItems', isSchemaList),
  ...listRules(
    'items additionalProperties unevaluatedProperties unevaluatedItems contains propertyNames not if then else',
    isSchema,
  ),
  ...listRules('properties $defs definitions dependentSchemas patternProperties', isObject),
  ...listRules('dependentRequired', (value) => isObject(value) && Object.values(value).every(isTextList)),
  ...listRules(
    'dependencies',
    (value) => isObject(value) && Object.values(value).every((one) => isTextList(one) || isSchema(one)),
  ),
])
/** Keywords that need more than the schema, or would only confuse. */
const DROPPED_KEYWORDS = new Set([
  'id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  'nullable',
  'discriminator',
])
const NAMING_KEYWORDS = new Set([
  'properties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
  'patternProperties',
])
const DATA_KEYWORDS = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired'])

function modernize(value: unknown, root: Schema, names = false): unknown {
  if (Array.isArray(value)) return value.map((item) => modernize(item, root))
  if (!isObject(value)) return value
  // Below `properties` every key is a name, not a keyword.
  if (names)
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        isSchema(item) || isTextList(item) ? modernize(item, root) : {},
      ]),
    )
  return Object.fromEntries(
    Object.entries(upgradeKeywords(value)).flatMap(([key, item]): [string, unknown][] => {
      if (isDropped(key, item, root)) return []
      if (key === 'patternProperties')
        return [
          [
            key,
            modernize(
              Object.fromEntries(Object.entries(item as JsonObject).filter(([pattern]) => isLinearPattern(pattern))),
              root,
              true,
            ),
          ],
        ]
      return [[key, DATA_KEYWORDS.has(key) ? item : modernize(item, root, NAMING_KEYWORDS.has(key))]]
    }),
  )
}

function isDropped(key: string, item: unknown, root: Schema): boolean {
  if (key === '$ref' && (!isText(item) || resolveReference(root, toText(item)) === undefined)) return true
  if (key.startsWith('x-') || DROPPED_KEYWORDS.has(key) || KEYWORD_RULES.get(key)?.(item) === false) return true
  return key === 'format' && toText(item).startsWith('workspace-')
}

/** Converts keywords of earlier drafts and of OpenAPI to 2020-12. */
function upgradeKeywords(schema: Schema): Schema {
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

function isLinearPattern(pattern: unknown): boolean {
  try {
    RE2JS.compile(toText(pattern))
    return isText(pattern) && toText(pattern).length <= 512
  } catch {
    return false
  }
}

/**
 * Returns why the kernel cannot use a schema. Texts are escaped when shown; names are not, because the server needs
 * them unchanged.
 */
export function findSchemaFault(input: JsonObject = {}): string | undefined {
  const objection = findSchemaProblem(input)
  if (objection !== undefined) return `input ${objection}`
  let hidden = false
  const text = JSON.stringify(input, (key, value: unknown) => {
    hidden ||= /[\p{Cc}\p{Cf}]/u.test(key)
    return value
  })
  if (text.length > 65_536) return 'input is larger than 64 KiB'
  return hidden ? 'a property name holds control or invisible characters' : undefined
}
