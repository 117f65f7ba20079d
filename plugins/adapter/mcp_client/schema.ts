import { RE2JS } from 're2js'
import type { JsonObject, Schema } from '../../../core/index.js'

/**
 * The input schema of a foreign tool in the words the kernel checks by: lists of items as 2020-12 writes them, no identifiers, none of
 * our annotations, and no pattern that could take for ever, which then is the server's to enforce.
 */
export function foreignSchema(schema: Schema | undefined): Schema {
  const converted = modern(schema ?? {}) as JsonObject
  const { $schema: _, $id: __, ...rest } = converted
  return { ...rest, type: 'object', properties: (converted['properties'] as JsonObject | undefined) ?? {} }
}

function modern(value: unknown, named = false): unknown {
  if (Array.isArray(value)) return value.map((item) => modern(item))
  if (typeof value !== 'object' || value === null) return value
  const result: JsonObject = {}
  for (const [key, item] of Object.entries(value)) {
    // Below `properties` every key is a name, not a word of the language.
    if (named) result[key] = modern(item)
    else if (key.startsWith('x-') || (key === 'format' && String(item).startsWith('workspace-'))) continue
    else if (key === 'pattern' && !linear(item)) continue
    else if (key === 'items' && Array.isArray(item)) result['prefixItems'] = modern(item)
    else if (key === 'additionalItems' && Array.isArray((value as JsonObject)['items'])) result['items'] = modern(item)
    else if (key === 'enum' || key === 'const' || key === 'default' || key === 'examples') result[key] = item
    else result[key] = modern(item, ['properties', '$defs', 'definitions', 'dependentSchemas'].includes(key))
  }
  return result
}

function linear(pattern: unknown): boolean {
  try {
    RE2JS.compile(String(pattern))
    return String(pattern).length <= 512
  } catch {
    return false
  }
}
