import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it counts lines and words', async () => {
  await using booted = await bootKernel({ manifests: [here], files: { 'a.txt': 'one two\nthree\n' } })
  const result = await booted.call('{{id}}', { path: 'a.txt' })
  assert.ok(result.ok, JSON.stringify(result))
  assert.deepEqual(result.output, { lines: 2, words: 3 })
})
