import { problem, type Contribution, type Schema } from '../shapes/index.js'
import { findModulePath } from '../system/index.js'
import { compile } from './compile.js'

/** Contract: throws VT_PLUGIN_RESULT, with the path, for an output that the schema refuses. */
export type OutputCheck = (output: unknown) => void

const checks = new WeakMap<Schema, Promise<OutputCheck>>()

/**
 * Checks the answers of plugins of others against the `output` schema of the slot. As with an input, a module may not
 * answer keys that the schema does not name, unless the schema permits them; our adapters add a note on truncation.
 * Throws VT_SCHEMA_INVALID, VT_SCHEMA_PATTERN.
 */
export function compileOutputCheck(schema: Schema, { id, manifest }: Contribution): Promise<OutputCheck> {
  let check = checks.get(schema)
  if (!check)
    checks.set(
      schema,
      (check = createOutputCheck(findModulePath(manifest) === undefined ? schema : forbidExtraProperties(schema), id)),
    )
  return check
}

async function createOutputCheck(schema: Schema, plugin: string): Promise<OutputCheck> {
  const check = await compile(schema, `the output of ${plugin}`)
  return (output) => {
    const [issue] = check(output)
    if (issue)
      throw problem(
        'VT_PLUGIN_RESULT',
        { plugin, problem: `the answer does not match \`output\`. ${issue.problem.replace(/\.$/, '')}` },
        { details: { path: issue.field, problem: issue.problem } },
      )
  }
}

/** Forbids further properties if the schema names some and does not mention others. */
const forbidExtraProperties = (schema: Schema): Schema =>
  schema['properties'] &&
  !['additionalProperties', 'unevaluatedProperties', 'patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref'].some(
    (key) => key in schema,
  )
    ? { ...schema, additionalProperties: false }
    : schema
