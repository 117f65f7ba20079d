import type { Manifest, Schema } from '../shapes/index.js'
import { toText } from '../text/index.js'
import { isTaken, keysOf, schemaObjection, waysOf, type ContractFault } from '../schema/index.js'

// The form of a manifest, as far as its schema cannot say it.

/** The manifest as the schema can check it: to the schema what an adapter of others does is a command. */
export function inOurWords(raw: Manifest | null, served: string | undefined): unknown {
  if (served === undefined) return raw
  const { [served]: _, ...rest } = raw!
  return waysOf('action').some((way) => way in rest) ? rest : { ...rest, run: [served] }
}

export const keysFor = (kind: string): readonly string[] => keysOf()[kind] ?? keysOf()['action']!

export const manifestVersion = (raw: Manifest | null): string =>
  /manifest[.:](\d+)/.exec(toText(raw?.['$schema'] ?? ''))?.[1] ?? '1'

export const findSchemaFaults = (manifest: Manifest): [key: string, why: string][] =>
  (['input', 'output', 'options', 'effectless'] as const).flatMap((key) => {
    const why = manifest[key] && schemaFault(manifest[key])
    return why ? [[key, why]] : []
  })

/** Says why a manifest cannot have this keyword with this value in a schema, whatever is below it. */
function entryFault(key: string, item: unknown): string | undefined {
  if (typeof item === 'string') {
    if (key === '$ref' && !/^#\/\$defs\/[^/]+$/.test(item)) return `refers to ${item}; only #/$defs/… is allowed`
    return ['$id', '$dynamicRef', '$dynamicAnchor'].includes(key) ? `has ${key}` : undefined
  }
  return key === 'enum' && Array.isArray(item) && item.length > 500 ? 'has an enum of more than 500 values' : undefined
}

/** Why a schema is not taken from a manifest: it would be expensive to compile or point elsewhere. */
function schemaFault(schema: Schema): string | undefined {
  let properties = 0
  const walk = (value: unknown, depth: number): string | undefined => {
    if (typeof value !== 'object' || value === null) return undefined
    if (depth > 32) return 'is nested more than 16 schemas deep'
    for (const [key, item] of Object.entries(value)) {
      if (key === 'properties') properties += Object.keys(Object(item)).length
      const why = entryFault(key, item) ?? (properties > 200 ? 'has more than 200 properties' : walk(item, depth + 1))
      if (why) return why
    }
    return undefined
  }
  const text = JSON.stringify(schema)
  // Without references a schema of that size multiplies to nothing.
  return text.length > 65_536
    ? 'is larger than 64 KiB'
    : (walk(schema, 0) ?? (text.includes('"$ref"') ? schemaObjection(schema) : undefined))
}

/** Finds keys that the schema allows and that exclude each other or have another meaning. */
export function findKeyConflicts(raw: Manifest, kind: string, served: string | undefined): ContractFault[] {
  const other = served !== undefined && waysOf('action').find((way) => Object.hasOwn(raw, way))
  if (other) return [{ path: [served], problem: `${other} and ${served} exclude each other.` }]
  if (kind !== 'adapter' || !isTaken(raw.key)) return []
  return [{ path: ['key'], problem: `'key' is '${raw.key}', which has a meaning in manifests already.` }]
}
