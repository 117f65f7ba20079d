import type { Schema } from '../shapes/index.js'
import { compile } from './compile.js'

/**
 * Compiles a JSON Schema (2020-12) to a function that returns the problems of a value as sentences. Throws
 * VT_SCHEMA_INVALID, VT_SCHEMA_PATTERN; the function throws VT_INPUT_TOO_LARGE.
 */
export async function compileSchema(schema: Schema): Promise<(value: unknown) => string[]> {
  const check = await compile(schema)
  return (value) => check(value).map(({ problem }) => problem)
}
