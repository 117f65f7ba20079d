import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it encodes what it is given', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const { would } = await booted.kernel.explain('{{id}}', { owner: 'a b', repository: 'c', number: 7 })
  assert.equal(would?.request.url, 'https://api.github.com/repos/a%20b/c/issues/7')
})
