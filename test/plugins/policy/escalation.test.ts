import { bootKernel } from 'vtcode/test'
import { expect, it } from 'vitest'

const outside = { command: ['true'], sandbox_permissions: 'require_escalated', justification: 'it needs the network' }

it('asks about a command outside the sandbox with its justification, even when everything is allowed', async () => {
  await using booted = await bootKernel()
  expect(await booted.call('unified_exec', outside)).toMatchObject({
    ok: false,
    error: {
      code: 'VT_POLICY_NEEDS_APPROVAL',
      message: expect.stringContaining('it needs the network'),
      details: { not_applied: true },
    },
  })
  expect(await booted.call('unified_exec', { command: ['true'] })).toMatchObject({ ok: true })
})

it('runs a command outside the sandbox when the user agrees', async () => {
  await using booted = await bootKernel()
  const reasons: string[] = []
  const approve = (request: { reasons: string[] }): boolean => Boolean(reasons.push(...request.reasons))
  const result = await booted.call('unified_exec', { ...outside, response_format: 'detailed' }, { approve })
  expect(result).toMatchObject({ ok: true, output: { exit_code: 0, sandbox: 'none' } })
  expect(reasons.join()).toContain('it needs the network')
})
