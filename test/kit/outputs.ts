import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Kernel, Result, Schema } from '../../core/index.js'
import { show } from './matches.js'

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
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  const validate = ajv.compile(schema)
  const wrong = (): string =>
    (validate.errors ?? [])
      .map(({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${show(params)}`)
      .join('; ')
  assert.ok(validate(result.output), `the output is not what the slot says it answers: ${wrong()}`)
}
