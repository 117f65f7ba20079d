import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

it('shows what the session has kept, lists it by its name, and leads to no other file and to none of another session', async () => {
  await using booted = await bootKernel({ files: { '.vtcode/spool/run-1.txt': 'planted\n', 'secret.txt': 'no' }, config: { automation: { full_auto: { enabled: true, allowed_tools: ['exec', 'read', 'net', 'write'] } } } })
  expect(await booted.kernel.call('unified_exec', { action: 'run', command: 'seq 1 20000', yield_time_ms: 5000 }, { session: 'a' })).toMatchObject({ ok: true })
  const names = await booted.kernel.complete('resource/spool_file', 'id', '', 'a')
  expect(names.length).toBeGreaterThan(0)
  for (const id of names) {
    expect(await booted.kernel.call('resource/spool_file', { id }, { session: 'a' })).toMatchObject({ ok: true, text: expect.stringContaining('\n19999\n') })
    expect(await booted.kernel.call('resource/spool_file', { id }, { session: 'b' })).toMatchObject({ ok: false, error: { code: 'VT_PATH_NOT_FOUND' } })
  }
  expect(await booted.kernel.complete('resource/spool_file', 'id', '', 'b')).toEqual([])
  for (const id of ['run-1.txt', 'none.txt', '../../secret.txt', '..', '']) {
    expect(await booted.kernel.call('resource/spool_file', { id }, { session: 'a' }), id).toMatchObject({ ok: false })
  }
})
