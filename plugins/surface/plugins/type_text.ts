import { toText } from '../../../core/text/index.js'
import type { Schema } from '../../../core/index.js'

// The TypeScript of schemas: of our settings and slots, and of manifests of plugins.

/** The width of generated lines of comments. */
const MAX_COLUMNS = 120

export const pascal = (name: string): string =>
  name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Keywords that narrow a value without changing its type, and those that say nothing of values. */
const silent = new RegExp(
  `^(?:${[
    'x-.*|\\$schema|\\$id|\\$defs|title|description|default|deprecated|examples|format|pattern|if|then|else|not|allOf|contains|propertyNames',
    '(?:min|max)(?:imum|Length|Items|Properties)|exclusive(?:Minimum|Maximum)|multipleOf|uniqueItems|dependentRequired|dependentSchemas',
  ].join('|')})$`,
)
const spoken = /^(?:\$ref|const|enum|type|properties|required|additionalProperties|items|prefixItems|anyOf|oneOf)$/

/** How a schema becomes a type: the names of `$ref`s, and whether open objects have more keys. */
export interface TypeContext {
  refer(name: string): string
  open: boolean
  /** What has no type yet is unknown, rather than an error. */
  lenient?: boolean
  /** Defaults are filled in: a key with a default and an object with keys of its own are present. */
  resolved?: boolean
}

/** The TypeScript of a schema. */
export function typeOf(schema: Schema | boolean, context: TypeContext, indent: string): string {
  if (typeof schema === 'boolean') return schema ? 'unknown' : 'never'
  if (!context.lenient) requireKnown(schema)
  if (schema['$ref'] !== undefined) return context.refer(toText(schema['$ref']).replace('#/$defs/', ''))
  if ('const' in schema) return literal(schema['const'])
  if (schema['enum']) return (schema['enum'] as unknown[]).map(literal).join(' | ')
  const branches = ((schema['anyOf'] ?? schema['oneOf'] ?? []) as Schema[]).filter(isShape)
  const types = [schema['type'] ?? (schema['properties'] ? 'object' : [])].flat() as string[]
  const own = types.map((type) => ofType(type, schema, context, indent))
  if (branches.length === 0) return own.length > 0 ? [...new Set(own)].join(' | ') : 'unknown'
  const union = [...new Set(branches.map((branch) => typeOf(branch, { ...context, resolved: false }, indent)))]
  if (own.length === 0) return union.join(' | ')
  return schema['properties'] ? `${own[0]} & ${grouped(union)}` : union.join(' | ')
}

function requireKnown(schema: Schema): void {
  const strange = Object.keys(schema).find((key) => !silent.test(key) && !spoken.test(key))
  if (strange !== undefined) throw new Error(`The keyword '${strange}' has no type yet.`)
}

/** Does a branch say what a value is, and not only which keys must be there or how large it is? */
const isShape = (branch: Schema): boolean =>
  ['$ref', 'const', 'enum', 'type', 'properties', 'items'].some((key) => key in branch) &&
  !(Object.keys(branch).join() === 'const' && typeof branch['const'] === 'number')

function ofType(type: string, schema: Schema, context: TypeContext, indent: string): string {
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
        ? `[${first.map((item) => typeOf(item, context, indent)).join(', ')}]`
        : `${grouped([typeOf((schema['items'] ?? true) as Schema, { ...context, resolved: false }, indent)])}[]`
    }
    case 'object':
      return objectType(schema, context, indent)
    default:
      if (context.lenient) return 'unknown'
      throw new Error(`There is no type for '${type}'.`)
  }
}

const grouped = (types: string[]): string =>
  types.length > 1 || /[|&](?![^{]*\})/.test(types[0]!.replace(/\{[\s\S]*\}/g, '{}'))
    ? `(${types.join(' | ')})`
    : types[0]!

interface ObjectSchema {
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  /** Names that mean something in an open map. */
  'x-fired'?: string[]
}
function objectType(schema: Schema, context: TypeContext, indent: string): string {
  const { properties = {}, required = [], additionalProperties, 'x-fired': known = [] } = schema as ObjectSchema
  const member = { ...context, resolved: false }
  const isPresent = (key: string, part: Schema) =>
    required.includes(key) ||
    (context.resolved === true && (part['default'] !== undefined || part['properties'] !== undefined))
  const inner = `${indent}  `
  const rest = additionalProperties ?? (context.open || Object.keys(properties).length === 0)
  const map = rest === false ? undefined : `{ [name: string]: ${typeOf(rest, member, indent)} }`
  // Names that mean something in an open map are completed all the same.
  if (known.length > 0)
    return `Open<${known.map((name) => `\n${inner}| ${literal(name)}`).join('')},\n${inner}${typeOf(rest, member, inner)}\n${indent}>`
  const lines = Object.entries(properties).map(([key, part]) => {
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key)
    return `${comment(noteOf(part), inner)}${inner}${name}${isPresent(key, part) ? '' : '?'}: ${typeOf(part, context, inner)}\n`
  })
  if (lines.length === 0) return map ?? '{ [name: string]: never }'
  const closed = `{\n${lines.join('')}${indent}}`
  return map === undefined
    ? closed
    : rest === true
      ? `{\n${lines.join('')}${inner}[name: string]: unknown\n${indent}}`
      : `${map} & ${closed}`
}

function literal(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value)
}

/** What an editor shows of a key. */
export function noteOf(schema: Schema): string {
  const {
    description = '',
    default: value,
    deprecated,
  } = schema as { description?: string; default?: unknown; deprecated?: boolean }
  const isEmpty =
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  const shown =
    isEmpty || description.startsWith('Default:')
      ? ''
      : `Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`
  return [
    deprecated ? '@deprecated' : '',
    description && (/[.!?]$/.test(description) ? description : `${description}.`),
    shown,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Returns a doc comment on lines of at most 120 columns, or nothing for no text. */
export function comment(text: string | undefined, indent: string): string {
  if (!text) return ''
  const words = text.replaceAll('*/', '*\\/').trim().split(/\s+/)
  const line = `${indent}/** ${words.join(' ')} */\n`
  if (line.length <= MAX_COLUMNS + 1) return line
  const lines = words.reduce<string[]>((done, word) => {
    const longer = `${done.at(-1) ?? `${indent} *`} ${word}`
    return done.length > 0 && longer.length <= MAX_COLUMNS
      ? [...done.slice(0, -1), longer]
      : [...done, `${indent} * ${word}`]
  }, [])
  return `${indent}/**\n${lines.join('\n')}\n${indent} */\n`
}
