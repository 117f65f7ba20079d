import { toText } from '../../../core/text/index.js'
import type { Schema } from '../../../core/shapes/index.js'

/** The width of generated comment lines. */
const MAX_COLUMNS = 120

export const toPascalCase = (name: string): string =>
  name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Keywords without an effect on the type: constraints and annotations. */
const IGNORED_KEYWORDS = new RegExp(
  `^(?:${[
    'x-.*|\\$schema|\\$id|\\$defs|title|description|default|deprecated|examples|format|pattern',
    'if|then|else|not|allOf|contains|propertyNames|multipleOf|uniqueItems|dependentRequired|dependentSchemas',
    '(?:min|max)(?:imum|Length|Items|Properties)|exclusive(?:Minimum|Maximum)',
  ].join('|')})$`,
)
const TYPED_KEYWORDS =
  /^(?:\$ref|const|enum|type|properties|required|additionalProperties|items|prefixItems|anyOf|oneOf)$/

/** Options of the conversion: names for `$ref`s, and whether open objects accept more keys. */
export interface TypeContext {
  refer(name: string): string
  open: boolean
  /** True if an unsupported type becomes `unknown` instead of an error. */
  lenient?: boolean
  /** True if defaults are filled in: keys with a default and objects with properties are present. */
  resolved?: boolean
}

/** Renders the TypeScript type of a schema. */
export function renderType(schema: Schema | boolean, context: TypeContext, indent: string): string {
  if (typeof schema === 'boolean') return schema ? 'unknown' : 'never'
  if (!context.lenient) requireKnownKeywords(schema)
  if (schema['$ref'] !== undefined) return context.refer(toText(schema['$ref']).replace('#/$defs/', ''))
  if ('const' in schema) return renderLiteral(schema['const'])
  if (schema['enum']) return (schema['enum'] as unknown[]).map(renderLiteral).join(' | ')
  const branches = ((schema['anyOf'] ?? schema['oneOf'] ?? []) as Schema[]).filter(isShape)
  const types = [schema['type'] ?? (schema['properties'] ? 'object' : [])].flat() as string[]
  const own = types.map((type) => renderNamedType(type, schema, context, indent))
  if (branches.length === 0) return own.length > 0 ? [...new Set(own)].join(' | ') : 'unknown'
  const union = [...new Set(branches.map((branch) => renderType(branch, { ...context, resolved: false }, indent)))]
  if (own.length === 0) return union.join(' | ')
  return schema['properties'] ? `${own[0]} & ${groupUnion(union)}` : union.join(' | ')
}

function requireKnownKeywords(schema: Schema): void {
  const unknownKeyword = Object.keys(schema).find((key) => !IGNORED_KEYWORDS.test(key) && !TYPED_KEYWORDS.test(key))
  if (unknownKeyword !== undefined) throw new Error(`The keyword '${unknownKeyword}' is not supported.`)
}

/** Checks whether a branch defines the type of a value, not only required keys or a size. */
const isShape = (branch: Schema): boolean =>
  ['$ref', 'const', 'enum', 'type', 'properties', 'items'].some((key) => key in branch) &&
  !(Object.keys(branch).join() === 'const' && typeof branch['const'] === 'number')

function renderNamedType(type: string, schema: Schema, context: TypeContext, indent: string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'array': {
      const first = schema['prefixItems'] as Schema[] | undefined
      return first
        ? `[${first.map((item) => renderType(item, context, indent)).join(', ')}]`
        : `${groupUnion([renderType((schema['items'] ?? true) as Schema, { ...context, resolved: false }, indent)])}[]`
    }
    case 'object':
      return renderObjectType(schema, context, indent)
    default:
      if (context.lenient) return 'unknown'
      throw new Error(`The type '${type}' is not supported.`)
  }
}

const groupUnion = (types: string[]): string =>
  types.length > 1 || /[|&](?![^{]*\})/.test(types[0]!.replace(/\{[\s\S]*\}/g, '{}'))
    ? `(${types.join(' | ')})`
    : types[0]!

interface ObjectSchema {
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  /** Known names of an open map. */
  'x-fired'?: string[]
}
function renderObjectType(schema: Schema, context: TypeContext, indent: string): string {
  const { properties = {}, required = [], additionalProperties, 'x-fired': known = [] } = schema as ObjectSchema
  const member = { ...context, resolved: false }
  const isPresent = (key: string, part: Schema) =>
    required.includes(key) ||
    (context.resolved === true && (part['default'] !== undefined || part['properties'] !== undefined))
  const inner = `${indent}  `
  const rest = additionalProperties ?? (context.open || Object.keys(properties).length === 0)
  const map = rest === false ? undefined : `{ [name: string]: ${renderType(rest, member, indent)} }`
  // Editors complete the known names of an open map.
  if (known.length > 0)
    return (
      `Open<${known.map((name) => `\n${inner}| ${renderLiteral(name)}`).join('')},\n${inner}` +
      `${renderType(rest, member, inner)}\n${indent}>`
    )
  const lines = Object.entries(properties).map(([key, part]) => {
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : renderLiteral(key)
    return (
      `${renderComment(renderNote(part), inner)}${inner}${name}${isPresent(key, part) ? '' : '?'}: ` +
      `${renderType(part, context, inner)}\n`
    )
  })
  if (lines.length === 0) return map ?? '{ [name: string]: never }'
  const closed = `{\n${lines.join('')}${indent}}`
  return map === undefined
    ? closed
    : rest === true
      ? `{\n${lines.join('')}${inner}[name: string]: unknown\n${indent}}`
      : `${map} & ${closed}`
}

function renderLiteral(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value)
}

/** Renders the note on a key that an editor shows. */
export function renderNote(schema: Schema): string {
  const {
    description = '',
    default: value,
    deprecated,
  } = schema as { description?: string; default?: unknown; deprecated?: boolean }
  const isEmpty =
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  const defaultText =
    isEmpty || description.startsWith('Default:')
      ? ''
      : `Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`
  return [
    deprecated ? '@deprecated' : '',
    description && (/[.!?]$/.test(description) ? description : `${description}.`),
    defaultText,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Returns a doc comment on lines of at most 120 columns, or nothing for no text. */
export function renderComment(text: string | undefined, indent: string): string {
  if (!text) return ''
  const words = text.replaceAll('*/', '*\\/').trim().split(/\s+/)
  const line = `${indent}/** ${words.join(' ')} */\n`
  if (line.length <= MAX_COLUMNS + 1) return line
  const lines = words.reduce<string[]>((wrapped, word) => {
    const longer = `${wrapped.at(-1) ?? `${indent} *`} ${word}`
    return wrapped.length > 0 && longer.length <= MAX_COLUMNS
      ? [...wrapped.slice(0, -1), longer]
      : [...wrapped, `${indent} * ${word}`]
  }, [])
  return `${indent}/**\n${lines.join('\n')}\n${indent} */\n`
}
