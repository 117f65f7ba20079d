import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bootKernel } from 'vtcode/test'

const here = fileURLToPath(new URL('.', import.meta.url))

test('it leaves downloads out', async () => {
  await using booted = await bootKernel({ manifests: [here] })
  const result = await booted.call('unified_exec', { action: 'run', command: ['printf', 'Downloading a\\nbuilt\\n'] })
  assert.ok(result.ok, JSON.stringify(result))
  assert.match(result.text, /built/)
  assert.doesNotMatch(result.text, /Downloading/)
})
