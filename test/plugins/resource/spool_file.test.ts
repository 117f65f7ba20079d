import { expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'

it('shows what was kept, lists it by its name, and leads to no other file', async () => {
  await using booted = await bootKernel({ files: { '.vtcode/spool/run-1.txt': 'kept\n', 'secret.txt': 'no' } })
  expect(await booted.call('resource/spool_file', { id: 'run-1.txt' })).toMatchObject({ ok: true, text: 'kept\n' })
  expect(await booted.kernel.complete('resource/spool_file', 'id', 'run')).toEqual(['run-1.txt'])
  for (const id of ['none.txt', '../../secret.txt', '..', '']) {
    expect(await booted.call('resource/spool_file', { id }), id).toMatchObject({ ok: false })
  }
})
