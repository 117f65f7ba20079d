import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it starts git with the number of commits', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const { would } = await booted.kernel.explain('{{id}}', { count: 3 })
  assert.deepEqual(would?.argv, ['git', 'log', '--oneline', '--max-count=3'])
})
