import { isObject, nearest, toText, type Schema } from '../../../core/base/index.js'
import type { Fault } from '../../../core/input/index.js'

/** What an input says of a property that a template refers to. */
export interface Declared {
  /** What the property may be; of a list, what it is beside its items. */
  type: 'scalar' | 'list' | 'object' | 'unknown'
  /** Every call has it: it is required, or has a default. */
  always: boolean
}

/** A property of an input by its path, `a` or `a.b`; nothing where the input does not declare it. */
export function declaredIn(input: Schema, path: string): Declared | undefined {
  let schema: unknown = input
  let always = true
  for (const name of path.split('.')) {
    const { properties, required, allOf } = isObject(schema) ? schema : ({} as Schema)
    if (!isObject(properties) || !Object.hasOwn(properties, name)) return undefined
    const named = [required, ...[allOf].flat().map((part) => (isObject(part) ? part['required'] : undefined))].flat()
    schema = properties[name]
    always &&= named.includes(name) || (isObject(schema) && schema['default'] !== undefined)
  }
  return { type: kindOf(schema), always }
}

function kindOf(schema: unknown): Declared['type'] {
  if (!isObject(schema)) return 'unknown'
  const types = [schema['type'] ?? []].flat().filter((one) => one !== 'null')
  const [only] = types
  if (types.length !== 1) return types.length > 1 && types.every((one) => ['string', 'number', 'integer', 'boolean'].includes(toText(one))) ? 'scalar' : 'unknown'
  return only === 'array' ? 'list' : only === 'object' ? 'object' : 'scalar'
}

/** A reference to a property that the input does not declare. */
export function undeclared(path: Fault['path'], name: string, input: Schema, where: string): Fault {
  const names = Object.keys((input['properties'] ?? {}) as object)
  const like = nearest(name, names)
  return {
    path,
    problem: `${where} refers to {${name}}, which the input does not declare.`,
    fix: like ? `Write {${like}}, or declare '${name}' under \`input.properties\`.` : `Declare it: \`input: { required: [${name}], properties: { ${name}: { type: string } } }\`.`,
  }
}
