import { afterEach, describe, expect, it, vi } from 'vitest'
import { bootKernel } from 'vtcode/test'
import type { JsonObject, Result } from 'vtcode'

afterEach(() => void vi.useRealTimers())

const codeOf = (result: Result): string => (result.ok ? 'ok' : result.error.code)
const limited = (constraints: JsonObject) =>
  bootKernel({ files: { 'a.txt': 'x' }, config: { policy: { constraints } } as never })

describe('calls-per-minute limit', () => {
  it('counts over all sessions, names the wait, and starts again after a minute', async () => {
    await using booted = await limited({ 'unified_file/read': { max_calls_per_minute: 3 } })
    const read = (session: string) => booted.call('unified_file', { action: 'read', path: 'a.txt' }, { session })
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 })
    for (const session of ['one', 'one', 'two']) expect(codeOf(await read(session))).toBe('ok')
    vi.setSystemTime(1_800_000_020_000)
    expect(await read('three')).toMatchObject({
      ok: false,
      error: {
        code: 'VT_POLICY_RATE',
        retryable: true,
        message: 'unified_file/read is limited to 3 calls a minute.',
        hint: expect.stringMatching(/^Nothing was done\. Wait 40 s/),
        details: { retry_after_secs: 40 },
      },
    })
    // A refused call does not count, and duplicate_calls does not remember it as a denial.
    vi.setSystemTime(1_800_000_060_001)
    expect(codeOf(await read('three'))).toBe('ok')
  })

  it('counts by tool, slot or classic name, applies the strictest limit and leaves other slots free', async () => {
    await using booted = await limited({
      unified_file: { max_calls_per_minute: 3 },
      read_file: { max_calls_per_minute: 1 },
    })
    const codes = []
    for (const action of ['read', 'read', 'write', 'copy', 'delete'])
      codes.push(
        codeOf(
          await booted.call('unified_file', {
            action,
            path: action === 'write' ? 'b.txt' : 'a.txt',
            ...(action === 'write' && { content: '' }),
            ...(action === 'copy' && { destination: 'c.txt' }),
          }),
        ),
      )
    expect(codes).toEqual(['ok', 'VT_POLICY_RATE', 'ok', 'ok', 'VT_POLICY_RATE'])
    expect(codeOf(await booted.call('unified_search', { action: 'list' }))).toBe('ok')
  })

  it('accepts a limit from a workspace tool policy and applies the smaller of two', async () => {
    await using booted = await bootKernel({
      files: {
        '.vtcode/tool-policy.json': '{"version":1,"constraints":{"list_files":{"max_calls_per_minute":1}}}',
        '../home/.vtcode/vtcode.config.yaml': 'policy: { constraints: { list_files: { max_calls_per_minute: 5 } } }',
      },
    })
    expect([
      codeOf(await booted.call('unified_search', { action: 'list' })),
      codeOf(await booted.call('unified_search', { action: 'list' })),
    ]).toEqual(['ok', 'VT_POLICY_RATE'])
  })

  it('leaves out calls that are only explained or refused before', async () => {
    await using booted = await limited({ 'unified_file/delete': { max_calls_per_minute: 1 } })
    for (let round = 0; round < 3; round += 1) {
      expect((await booted.kernel.explain('unified_file', { action: 'delete', path: 'a.txt' })).verdict).toBe('run')
      expect(codeOf(await booted.call('unified_file', { action: 'delete', path: '.git/config' }))).toMatch(
        /DENIED|REPEATED/,
      )
    }
    expect(codeOf(await booted.call('unified_file', { action: 'delete', path: 'a.txt' }))).toBe('ok')
  })
})
