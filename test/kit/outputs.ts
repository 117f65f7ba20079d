import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { compileSchema, type Kernel, type Result, type Schema } from '../../core/index.js'

let known: Record<string, Schema> | undefined

/** What a slot says of its answers: by its own contract, or by that of the program. */
export function outputSchema(kernel: Pick<Kernel, 'list'>, slot: string): Schema | undefined {
  known ??= JSON.parse(readFileSync(new URL('../../manifests/_outputs.json', import.meta.url), 'utf8')) as Record<
    string,
    Schema
  >
  return kernel.list().find((info) => info.slot === slot)?.output ?? known[slot]
}

/** A success is what the contract of the slot says; throws an `AssertionError` where it is not. */
export async function checkOutput(schema: Schema | undefined, result: Result): Promise<void> {
  if (!schema || !result.ok) return
  const check = await compileSchema(schema)
  const wrong = check(result.output)
  assert.ok(wrong.length === 0, `the output is not what the slot says it answers: ${wrong.join(' ')}`)
}
