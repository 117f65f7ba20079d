import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

it('serves calls without the compactor of repeated answers and its guard', async () => {
  await using booted = await bootKernel({ mode: 'plan', config: { manifests: ['!builtin:repeats'] } })
  for (let round = 0; round < 2; round += 1) {
    const result = await booted.call('unified_file', { action: 'write', path: 'x', content: '' })
    expect(!result.ok && result.error.code).toBe('VT_POLICY_DENIED')
  }
})
