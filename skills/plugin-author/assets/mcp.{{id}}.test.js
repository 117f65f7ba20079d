import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('its server counts words', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const result = await booted.call('{{id}}', { text: 'one two three' })
  assert.ok(result.ok, JSON.stringify(result))
  assert.equal(result.text, '3 words')
})
