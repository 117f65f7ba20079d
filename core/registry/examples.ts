import { isObject, type Contribution, type JsonObject, type Schema, type SlotInfo } from '../shapes/index.js'

/**
 * Formats the example call for error texts: that of the manifest, else one with the required fields. `each` formats it
 * as a tool of its own.
 */
export function formatExample({ tool, action, example, input }: SlotInfo, each: boolean): string {
  if (typeof example === 'string') return `Example: ${example}`
  const properties = (input['properties'] ?? {}) as Record<string, Schema>
  const required = (input['required'] ?? []) as string[]
  const made = example ?? Object.fromEntries(required.map((name) => [name, createSample(properties[name] ?? {})]))
  if (each && action !== undefined) return `Example: ${tool}_${action} ${JSON.stringify(made)}`
  return `Example: ${tool} ${JSON.stringify({ ...(action !== undefined && { action }), ...made })}`
}

function createSample(schema: Schema): unknown {
  const [first] = (schema['enum'] as unknown[] | undefined) ?? []
  if (first !== undefined) return first
  const type = [schema['type']].flat()[0]
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? 1
  if (type === 'boolean') return true
  if (type === 'array') return [createSample((schema['items'] as Schema) ?? {})]
  return schema['format'] === 'workspace-path' ? '.' : 'text'
}

/** Returns an example of a slot that has a field, if the usual one does not. */
export function findExampleWithField(
  slot: { info: SlotInfo; primary: Contribution },
  field: string,
  usual: string,
): string {
  if (field === '' || hasField(usual, field)) return usual
  const found = (slot.primary.manifest.examples ?? []).find(
    (one) => isObject(one) && one['invalid'] !== true && isObject(one['input']) && Object.hasOwn(one['input'], field),
  ) as { input: JsonObject } | undefined
  const { tool, example, input } = slot.info
  const schema = (input['properties'] as Record<string, Schema> | undefined)?.[field]
  if (!found && !schema) return usual
  const shown = found?.input ?? { ...(isObject(example) && example), [field]: createSample(schema!) }
  if (typeof example !== 'string')
    return formatExample({ ...slot.info, example: shown }, !usual.startsWith(`Example: ${tool} `))
  const written = Object.entries(shown)
    .map(([name, value]) => `${name}=${JSON.stringify(value).replaceAll('"', "'")}`)
    .join(', ')
  return found || !/[^(]\)$/.test(usual) ? `Example: ${tool}(${written})` : `${usual.slice(0, -1)}, ${written})`
}

const hasField = (text: string, field: string): boolean => text.split(/[^\w]+/).includes(field)
