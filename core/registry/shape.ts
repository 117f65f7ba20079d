import { deepFreeze, isObject, type Schema, type SlotInfo } from '../shapes/index.js'
import { toText } from '../text/index.js'
import { referredPart } from '../schema/index.js'

/** What normalisation needs of one schema, worked out once. */
export interface InputShape {
  readonly properties: Readonly<Record<string, Schema>>
  /** Folded spelling or alias → property. */
  readonly names: ReadonlyMap<string, string>
  readonly maxima: readonly (readonly [name: string, maximum: number])[]
  /** How many bytes a text, or all texts of a list, may have. */
  readonly sizes: readonly (readonly [name: string, most: number])[]
  readonly defaults: readonly (readonly [name: string, value: unknown])[]
  readonly paths: readonly (readonly [name: string, format: string])[]
  readonly types: ReadonlyMap<string, ReadonlySet<string>>
  /** Properties that may be null: there it says something, anywhere else it is a property that was not given. */
  readonly nullable: ReadonlySet<string>
  /** Takes more properties than it lists: every name then means itself. */
  readonly open: boolean
  /** What is said of a property that is not listed. */
  other(name: string): Schema | undefined
}

/** Lower case without `-` and `_`: `Max-Results` and `maxResults` are `max_results`. */
export const foldKey = (key: string): string => key.toLowerCase().replace(/[-_]/g, '')

export function inputShape(schema: Schema): InputShape {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>
  const names = new Map<string, string>()
  for (const name of Object.keys(properties)) {
    for (const alias of (properties[name]!['x-aliases'] ?? []) as string[]) names.set(foldKey(alias), name)
  }
  for (const name of Object.keys(properties)) names.set(foldKey(name), name)
  const all = Object.entries(properties)
  const { additionalProperties: others = 'unevaluatedProperties' in schema, patternProperties } = schema
  return {
    properties,
    names,
    maxima: all.flatMap(([name, { maximum }]) => (typeof maximum === 'number' ? [[name, maximum] as const] : [])),
    sizes: all.flatMap(([name, { 'x-max-bytes': most }]) => (typeof most === 'number' ? [[name, most] as const] : [])),
    // What somebody else wrote is filled in over there.
    defaults: (schema['x-foreign'] ? [] : all).flatMap(([name, schema]) =>
      schema['default'] === undefined ? [] : [[name, deepFreeze(schema['default'])] as const],
    ),
    paths: all.flatMap(([name, schema]) =>
      toText(formatOf(schema)).startsWith('workspace-') ? [[name, toText(formatOf(schema))] as const] : [],
    ),
    types: new Map(all.map(([name, schema]) => [name, typesOf(schema)])),
    nullable: new Set(all.flatMap(([name, one]) => (takesNull(one, schema) ? [name] : []))),
    open: others !== false || patternProperties !== undefined,
    other: (name) => inParts(schema, name) ?? (isObject(others) ? others : undefined),
  }
}

/** A property as the first of the parts that a schema is made of says it. */
function inParts(schema: Schema, name: string): Schema | undefined {
  const parts = [schema['allOf'], schema['anyOf'], schema['oneOf']].flat().filter(isObject)
  const found = parts.map(({ properties }) =>
    isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined,
  )
  return found.find(isObject)
}

function takesNull(schema: unknown, root: Schema, depth = 0): boolean {
  if (!isObject(schema) || depth > 16) return schema === true
  const takes = (one: unknown): boolean => takesNull(one, root, depth + 1)
  const { type, enum: choices, $ref, anyOf, oneOf, allOf } = schema
  if (type !== undefined && ![type].flat().includes('null')) return false
  if ((Array.isArray(choices) && !choices.includes(null)) || ('const' in schema && schema['const'] !== null))
    return false
  if (typeof $ref === 'string' && !takes(referredPart(root, $ref))) return false
  if (Array.isArray(allOf) && !allOf.every(takes)) return false
  return [anyOf, oneOf].every((choice) => !Array.isArray(choice) || choice.some(takes))
}

/** The format of a value, of its items, or of one of its alternatives. */
function formatOf(schema: Schema | undefined): unknown {
  if (!schema) return undefined
  const choices = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat() as Schema[]
  return (
    schema['format'] ??
    formatOf(schema['items'] as Schema | undefined) ??
    choices.map(formatOf).find((format) => format !== undefined)
  )
}

const known = new WeakMap<SlotInfo, Map<string, string[]>>()

/** The properties of a slot's input that have a format, themselves or as a list. */
export function propertiesOf(slot: SlotInfo, format: string): string[] {
  const formats = known.get(slot) ?? new Map<string, string[]>()
  known.set(slot, formats)
  const properties = (slot.input['properties'] ?? {}) as Record<string, Schema>
  const names = formats.get(format) ?? Object.keys(properties).filter((name) => formatOf(properties[name]) === format)
  formats.set(format, names)
  return names
}

export function typesOf(schema: Schema): Set<string> {
  const own = [schema['type'] ?? []].flat() as string[]
  const branches = [schema['anyOf'], schema['oneOf']].flat().filter(Boolean) as Schema[]
  return new Set([...own, ...branches.flatMap((branch) => [...typesOf(branch)])])
}
