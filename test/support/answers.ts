import type { Result, Schema } from 'vtcode'
import { checkOutput, outputSchema } from 'vtcode/test'

/** Holds a success of one of our slots against what the slot says it answers, and that it answers nothing else; hands the result on. */
export async function asDeclared<R extends Result>(slot: string, result: R): Promise<R> {
  await checkOutput(closed(outputSchema({ list: () => [] }, slot)!), result)
  return result
}

/** The schema that also refuses every member it does not name. */
function closed(schema: Schema): Schema {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const shut = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, walk(part)]))
    return 'type' in shut && shut['properties'] !== undefined && shut['additionalProperties'] === undefined
      ? { ...shut, additionalProperties: false }
      : shut
  }
  return walk(schema) as Schema
}
