import { deepFreeze, isObject, type Schema, type SlotInfo } from '../shapes/index.js'
import { toText } from '../text/index.js'
import { resolveReference } from '../schema/index.js'

/** Data of one schema for the normalisation, computed once. */
export interface InputShape {
  readonly properties: Readonly<Record<string, Schema>>
  /** Folded spelling or alias → property. */
  readonly names: ReadonlyMap<string, string>
  readonly maxima: readonly (readonly [name: string, maximum: number])[]
  /** Maximum bytes of a text, or of all texts of a list. */
  readonly sizes: readonly (readonly [name: string, most: number])[]
  readonly defaults: readonly (readonly [name: string, value: unknown])[]
  readonly paths: readonly (readonly [name: string, format: string])[]
  readonly types: ReadonlyMap<string, ReadonlySet<string>>
  /** Properties that may be null; for any other property, null means absent. */
  readonly nullable: ReadonlySet<string>
  /** The input accepts other properties, so every name is exact. */
  readonly open: boolean
  /** Returns the schema of a property that is not listed. */
  other(name: string): Schema | undefined
}

/** Folds a key to lower case without `-` and `_`: `Max-Results` and `maxResults` are `max_results`. */
export const foldKey = (key: string): string => key.toLowerCase().replace(/[-_]/g, '')

export function createInputShape(schema: Schema): InputShape {
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
    // Foreign tools fill in their own defaults.
    defaults: (schema['x-foreign'] ? [] : all).flatMap(([name, schema]) =>
      schema['default'] === undefined ? [] : [[name, deepFreeze(schema['default'])] as const],
    ),
    paths: all.flatMap(([name, schema]) =>
      toText(findFormat(schema)).startsWith('workspace-') ? [[name, toText(findFormat(schema))] as const] : [],
    ),
    types: new Map(all.map(([name, schema]) => [name, listTypes(schema)])),
    nullable: new Set(all.flatMap(([name, one]) => (canBeNull(one, schema) ? [name] : []))),
    open: others !== false || patternProperties !== undefined,
    other: (name) => findPartProperty(schema, name) ?? (isObject(others) ? others : undefined),
  }
}

/** Returns a property as the first part of a combined schema declares it. */
function findPartProperty(schema: Schema, name: string): Schema | undefined {
  const parts = [schema['allOf'], schema['anyOf'], schema['oneOf']].flat().filter(isObject)
  const found = parts.map(({ properties }) =>
    isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined,
  )
  return found.find(isObject)
}

function canBeNull(schema: unknown, root: Schema, depth = 0): boolean {
  if (!isObject(schema) || depth > 16) return schema === true
  const takes = (one: unknown): boolean => canBeNull(one, root, depth + 1)
  const { type, enum: choices, $ref, anyOf, oneOf, allOf } = schema
  if (type !== undefined && ![type].flat().includes('null')) return false
  if ((Array.isArray(choices) && !choices.includes(null)) || ('const' in schema && schema['const'] !== null))
    return false
  if (typeof $ref === 'string' && !takes(resolveReference(root, $ref))) return false
  if (Array.isArray(allOf) && !allOf.every(takes)) return false
  return [anyOf, oneOf].every((choice) => !Array.isArray(choice) || choice.some(takes))
}

/** Returns the format of a value, of its items, or of one of its alternatives. */
function findFormat(schema: Schema | undefined): unknown {
  if (!schema) return undefined
  const choices = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat() as Schema[]
  return (
    schema['format'] ??
    findFormat(schema['items'] as Schema | undefined) ??
    choices.map(findFormat).find((format) => format !== undefined)
  )
}

const known = new WeakMap<SlotInfo, Map<string, string[]>>()

/** Lists the properties of a slot's input that have a format, directly or in a list. */
export function listPropertiesWithFormat(slot: SlotInfo, format: string): string[] {
  const formats = known.get(slot) ?? new Map<string, string[]>()
  known.set(slot, formats)
  const properties = (slot.input['properties'] ?? {}) as Record<string, Schema>
  const names = formats.get(format) ?? Object.keys(properties).filter((name) => findFormat(properties[name]) === format)
  formats.set(format, names)
  return names
}

export function listTypes(schema: Schema): Set<string> {
  const own = [schema['type'] ?? []].flat() as string[]
  const branches = [schema['anyOf'], schema['oneOf']].flat().filter(Boolean) as Schema[]
  return new Set([...own, ...branches.flatMap((branch) => [...listTypes(branch)])])
}
