import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'
import { checkFileName, compile } from '../../../build/core/schema/index.js'
import { programFile } from '../../../build/core/system/index.js'

const values: unknown[] = [
  null,
  1,
  'text',
  '',
  [],
  ['a', 1],
  { a: 1 },
  true,
  -1,
  1e9,
  'x'.repeat(70_000),
  'deadbeefdeadbeef',
  '1-20',
  'nul\0',
  [{ old_str: '' }],
]

it('agrees between compiled checks of the build and the compiler, for all built-in actions', async () => {
  await using made = await tempWorkspace({})
  const kernel = await createKernel({ workspace: made.root, home: made.home })
  const built = new Set(readdirSync(programFile('manifests/schema/checks')))
  const schemas = kernel.list().map(({ input }) => input)
  expect(schemas.filter((schema) => !built.has(checkFileName(schema)))).toEqual([])
  for (const schema of schemas) {
    // A word more makes it a schema that the build did not know.
    const [ours, compiled] = [await compile(schema), await compile({ ...schema, $comment: 'anew' })]
    const properties = Object.keys((schema['properties'] ?? {}) as object)
    for (const value of [...values, {}, ...properties.flatMap((name) => values.map((one) => ({ [name]: one })))])
      expect(ours(value)).toEqual(compiled(value))
    for (const value of values)
      expect(ours(Object.fromEntries(properties.map((name) => [name, value])))).toEqual(
        compiled(Object.fromEntries(properties.map((name) => [name, value]))),
      )
  }
  await kernel.close()
})
