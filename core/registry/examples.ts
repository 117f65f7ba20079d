import { isObject, type Contribution, type JsonObject, type Schema, type SlotInfo } from '../shapes/index.js'

/** The call that texts of errors quote: that of the manifest, else one that fills in what is required; `each`: as a tool of its own. */
export function exampleOf({ tool, action, example, input }: SlotInfo, each: boolean): string {
  if (typeof example === 'string') return `Example: ${example}`
  const properties = (input['properties'] ?? {}) as Record<string, Schema>
  const required = (input['required'] ?? []) as string[]
  const made = example ?? Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {})]))
  if (each && action !== undefined) return `Example: ${tool}_${action} ${JSON.stringify(made)}`
  return `Example: ${tool} ${JSON.stringify({ ...(action !== undefined && { action }), ...made })}`
}

function sample(schema: Schema): unknown {
  const [first] = (schema['enum'] as unknown[] | undefined) ?? []
  if (first !== undefined) return first
  const type = [schema['type']].flat()[0]
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? 1
  if (type === 'boolean') return true
  if (type === 'array') return [sample((schema['items'] as Schema) ?? {})]
  return schema['format'] === 'workspace-path' ? '.' : 'text'
}

/** Of the examples of a slot one that gives a field, where the usual one does not: what lacks it is shown with it. */
export function exampleWith(slot: { info: SlotInfo; primary: Contribution }, field: string, usual: string): string {
  if (field === '' || namesField(usual, field)) return usual
  const found = (slot.primary.manifest.examples ?? []).find(
    (one) => isObject(one) && one['invalid'] !== true && isObject(one['input']) && Object.hasOwn(one['input'], field),
  ) as { input: JsonObject } | undefined
  if (!found) return usual
  const { tool, example } = slot.info
  if (typeof example !== 'string')
    return exampleOf({ ...slot.info, example: found.input }, !usual.startsWith(`Example: ${tool} `))
  const said = Object.entries(found.input).map(
    ([name, value]) => `${name}=${JSON.stringify(value).replaceAll('"', "'")}`,
  )
  return `Example: ${tool}(${said.join(', ')})`
}

const namesField = (text: string, field: string): boolean => text.split(/[^\w]+/).includes(field)
