import type { Manifest, Schema } from '../shapes/index.js'
import { toText } from '../text/index.js'
import { isReservedKey, keysByKind, findSchemaProblem, handlerKeys, type ContractFault } from '../schema/index.js'

// Rules for manifests that their schema cannot express.

/** Returns a manifest in the form that the schema can check: the key of a foreign adapter becomes a command. */
export function toSchemaForm(raw: Manifest | null, served: string | undefined): unknown {
  if (served === undefined) return raw
  const { [served]: _, ...rest } = raw!
  return handlerKeys('action').some((way) => way in rest) ? rest : { ...rest, run: [served] }
}

export const listKeys = (kind: string): readonly string[] => keysByKind()[kind] ?? keysByKind()['action']!

export const readManifestVersion = (raw: Manifest | null): string =>
  /manifest[.:](\d+)/.exec(toText(raw?.['$schema'] ?? ''))?.[1] ?? '1'

export const findSchemaFaults = (manifest: Manifest): [key: string, why: string][] =>
  (['input', 'output', 'options', 'effectless'] as const).flatMap((key) => {
    const why = manifest[key] && findSchemaFault(manifest[key])
    return why ? [[key, why]] : []
  })

/**
 * Returns the reason why a schema in a manifest cannot contain this keyword with this value, regardless of nested
 * values.
 */
function findEntryFault(key: string, item: unknown): string | undefined {
  if (typeof item === 'string') {
    if (key === '$ref' && !/^#\/\$defs\/[^/]+$/.test(item)) return `refers to ${item}; only #/$defs/… is allowed`
    return ['$id', '$dynamicRef', '$dynamicAnchor'].includes(key) ? `has ${key}` : undefined
  }
  return key === 'enum' && Array.isArray(item) && item.length > 500 ? 'has an enum of more than 500 values' : undefined
}

/** Returns the reason why a schema is rejected: it is expensive to compile or refers to other documents. */
function findSchemaFault(schema: Schema): string | undefined {
  let properties = 0
  const walk = (value: unknown, depth: number): string | undefined => {
    if (typeof value !== 'object' || value === null) return undefined
    if (depth > 32) return 'is nested more than 16 schemas deep'
    for (const [key, item] of Object.entries(value)) {
      if (key === 'properties') properties += Object.keys(Object(item)).length
      const why =
        findEntryFault(key, item) ?? (properties > 200 ? 'has more than 200 properties' : walk(item, depth + 1))
      if (why) return why
    }
    return undefined
  }
  const text = JSON.stringify(schema)
  // Without references, a schema of this size cannot multiply.
  return text.length > 65_536
    ? 'is larger than 64 KiB'
    : (walk(schema, 0) ?? (text.includes('"$ref"') ? findSchemaProblem(schema) : undefined))
}

/** Finds keys that the schema allows and that exclude each other or have another meaning. */
export function findKeyConflicts(raw: Manifest, kind: string, served: string | undefined): ContractFault[] {
  const other = served !== undefined && handlerKeys('action').find((way) => Object.hasOwn(raw, way))
  if (other) return [{ path: [served], problem: `${other} and ${served} exclude each other.` }]
  if (kind !== 'adapter' || !isReservedKey(raw.key)) return []
  return [{ path: ['key'], problem: `The key '${raw.key}' has a meaning in manifests already. Choose another key.` }]
}
