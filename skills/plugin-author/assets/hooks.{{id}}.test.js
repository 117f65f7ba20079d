import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('the license stays as it is', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const refused = await booted.call('unified_file', { action: 'write', path: 'LICENSE', content: 'x' })
  assert.equal(refused.ok, false)
  assert.match(refused.error.message, /stays as it is/)
  assert.ok((await booted.call('unified_file', { action: 'write', path: 'a.txt', content: 'x' })).ok)
})
