import type { ErrorObject, ValidateFunction } from 'ajv'
import { problem, type Schema } from '../shapes/index.js'
import { AJV_OPTIONS, loadBuiltCheck, isCommand, WORKSPACE_FORMATS, MAX_MATCHED_LENGTH } from './built.js'
import { createCostCheck, findSchemaProblem } from './cost.js'
import { toIssues, type Issue } from './issues.js'

/** Returns every issue of a value, at most 8; an empty list for a value that fits. */
export type Check = (value: unknown) => Issue[]

type Compile = (schema: Schema) => (value: unknown) => true | ErrorObject[]
let compiler: Promise<Compile> | undefined

/**
 * Compiles a JSON Schema (2020-12). The first call loads ajv. Every check ends, independent of its author: a schema
 * that takes too many steps for every value is refused here, a value that takes too many by the check. Throws
 * VT_SCHEMA_INVALID, VT_SCHEMA_PATTERN; the check throws VT_INPUT_TOO_LARGE.
 */
export async function compile(schema: Schema, id = 'a schema'): Promise<Check> {
  const objection = findSchemaProblem(schema)
  if (objection !== undefined) throw problem('VT_SCHEMA_INVALID', { id, reason: `it ${objection}` })
  const excess = createCostCheck(schema)
  let validate: ReturnType<Compile>
  try {
    const built = loadBuiltCheck(schema)
    validate = built ? toOutcome(built) : (await (compiler ??= loadCompiler()))(schema)
  } catch (error) {
    throw error instanceof Error && error.name.startsWith('VT_')
      ? error
      : problem('VT_SCHEMA_INVALID', { id, reason: String((error as Error).message) })
  }
  return (value) => {
    const over = excess(value)
    if (over)
      throw problem('VT_INPUT_TOO_LARGE', {
        size: `${over.steps} steps to check against the schema of ${id}`,
        limit: `${over.limit}`,
      })
    const errors = validate(value)
    return errors === true ? [] : toIssues(errors)
  }
}

async function loadCompiler(): Promise<Compile> {
  const [{ Ajv2020 }, formats, { RE2JS }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv-formats'),
    import('re2js'),
  ])
  // A pattern of a plugin's schema runs on every call, so it has to run in linear time.
  const linear = Object.assign(
    (pattern: string) => {
      try {
        const regex = RE2JS.compile(pattern)
        // ajv keeps one regex per pattern text.
        return {
          test: (text: string) => text.length <= MAX_MATCHED_LENGTH && regex.matcher(text).find(),
          toString: () => pattern,
        }
      } catch (error) {
        throw problem('VT_SCHEMA_PATTERN', { pattern, reason: String((error as Error).message) })
      }
    },
    { code: 'new RegExp' },
  )
  const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { regExp: linear, optimize: false } })
  formats.default.default(ajv)
  for (const ours of WORKSPACE_FORMATS) ajv.addFormat(ours, true)
  ajv.addFormat('command', isCommand)
  return (schema) => {
    const validate = ajv.compile(schema)
    // An ajv instance would keep every schema of every generation.
    ajv.removeSchema(schema)
    return toOutcome(validate)
  }
}

const toOutcome =
  (validate: ValidateFunction): ReturnType<Compile> =>
  (value) =>
    validate(value) || (validate.errors ?? [])
