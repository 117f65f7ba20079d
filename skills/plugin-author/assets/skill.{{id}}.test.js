import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it is found, and loaded', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const result = await booted.call('load_skill', { name: '{{skill}}' })
  assert.ok(result.ok, JSON.stringify(result))
  assert.match(result.text, /in the words of a user/)
})
