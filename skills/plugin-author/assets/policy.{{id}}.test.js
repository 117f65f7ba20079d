import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it asks before a release is changed', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const result = await booted.call('unified_file', { action: 'write', path: 'release/a.txt', content: 'x' })
  assert.equal(result.ok, false)
  assert.equal(result.error.code, 'VT_POLICY_NEEDS_APPROVAL')
})
