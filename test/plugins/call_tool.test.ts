import { describe, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

describe('call_tool', () => {
  it('runs the named call, with its input in `input` or in further fields', async () => {
    await using booted = await bootKernel({ files: { 'a.txt': 'one\n' } })
    const read = await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    for (const input of [
      { tool: 'unified_file', input: { action: 'read', path: 'a.txt' } },
      { tool: 'unified_file/read', input: { path: 'a.txt' } },
      { tool: 'unified_file', action: 'read', path: 'a.txt' },
    ])
      expect(await booted.call('call_tool', input)).toMatchObject({
        ok: true,
        output: (read as { output: object }).output,
      })
  })

  it('resolves to the slot, effects and rules of the named call', async () => {
    await using booted = await bootKernel({
      files: { 'a.txt': 'one\n' },
      config: { policy: { deny: ['unified_file/copy'] } },
    })
    const resolved = await booted.kernel.resolve('call_tool', { tool: 'unified_file/delete', input: { path: 'a.txt' } })
    expect(resolved).toMatchObject({
      slot: { slot: 'unified_file/delete' },
      effects: ['write'],
      input: { path: 'a.txt' },
    })
    expect(
      await booted.call('call_tool', { tool: 'unified_file/copy', input: { path: 'a.txt', destination: 'b.txt' } }),
    ).toMatchObject({ ok: false, error: { code: 'VT_POLICY_DENIED' } })
    await using plan = await bootKernel({ files: { 'a.txt': 'one\n' }, mode: 'plan' })
    expect(await plan.call('call_tool', { tool: 'unified_file/delete', input: { path: 'a.txt' } })).toMatchObject({
      ok: false,
      error: { code: expect.stringMatching(/^VT_POLICY_/) },
    })
    expect(await plan.read('a.txt')).toBe('one\n')
  })

  it('refuses an unknown tool, an empty name and itself', async () => {
    await using booted = await bootKernel()
    expect(await booted.call('call_tool', {})).toMatchObject({ ok: false, error: { code: 'VT_INPUT_MISSING' } })
    for (const tool of ['nobody', 'call_tool', 'functions.call_tool', '']) {
      expect(await booted.call('call_tool', { tool, input: { tool: 'unified_search' } })).toMatchObject({
        ok: false,
        error: { code: 'VT_TOOL_UNKNOWN' },
      })
    }
  })
})
