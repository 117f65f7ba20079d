import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it counts, and asks before a release is changed', async () => {
  await using booted = await bootKernel({ manifests: [here], files: { 'a.txt': 'one two\nthree\n' } })
  const counted = await booted.call('{{id}}', { path: 'a.txt' })
  assert.ok(counted.ok, JSON.stringify(counted))
  assert.deepEqual(counted.output, { lines: 2, words: 3 })
  const result = await booted.call('unified_file', { action: 'write', path: 'release/a.txt', content: 'x' })
  assert.equal(result.error?.code, 'VT_POLICY_NEEDS_APPROVAL')
})
