import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

it('shows the calls of this session and of no other', async () => {
  await using booted = await bootKernel({ files: { 'a.txt': 'hello\n' } })
  expect(await booted.call('resource/session_log')).toMatchObject({ ok: true, text: '' })
  await booted.call('unified_file', { action: 'read', path: 'a.txt' }, { session: 'mine' })
  await booted.call('unified_file', { action: 'read', path: 'none.txt' }, { session: 'other' })
  const log = await booted.call('resource/session_log', {}, { session: 'mine' })
  const lines = (log.ok ? (log.text ?? '') : '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([expect.objectContaining({ slot: 'unified_file/read', session: 'mine', ok: true })])
})
