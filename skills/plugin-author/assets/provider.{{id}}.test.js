import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('its models are there', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const provider = booted.kernel.inspection.providers().find(({ name }) => name === '{{name}}')
  assert.deepEqual(Object.keys(provider?.contribution.manifest.provider.models), ['large'])
})
