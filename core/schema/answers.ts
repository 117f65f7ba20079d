import { problem, type Contribution, type Schema } from '../shapes/index.js'
import { moduleOf } from '../system/index.js'
import { compile } from './compile.js'

/** Contract: throws VT_PLUGIN_RESULT, naming the path, for an output that the schema does not take. */
export type OutputCheck = (output: unknown) => void

const checks = new WeakMap<Schema, Promise<OutputCheck>>()

/**
 * Holds what a plugin of others answers to what its slot says under `output`. As with an input, a key that a module answers and the schema
 * does not name is one too many, unless the schema says otherwise; our adapters add to what they answer that it was cut. Throws VT_SCHEMA_INVALID, VT_SCHEMA_PATTERN.
 */
export function outputCheck(schema: Schema, { id, manifest }: Contribution): Promise<OutputCheck> {
  let check = checks.get(schema)
  if (!check) checks.set(schema, (check = made(moduleOf(manifest) === undefined ? schema : closed(schema), id)))
  return check
}

async function made(schema: Schema, plugin: string): Promise<OutputCheck> {
  const check = await compile(schema, `the output of ${plugin}`)
  return (output) => {
    const [issue] = check(output)
    if (issue)
      throw problem(
        'VT_PLUGIN_RESULT',
        { plugin, problem: `its \`output\` does not take what it answered. ${issue.problem.replace(/\.$/, '')}` },
        { details: { path: issue.field, problem: issue.problem } },
      )
  }
}

/** What names its properties and says nothing of others has no others. */
const closed = (schema: Schema): Schema =>
  schema['properties'] &&
  !['additionalProperties', 'unevaluatedProperties', 'patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref'].some(
    (key) => key in schema,
  )
    ? { ...schema, additionalProperties: false }
    : schema
