import { expect, it } from 'vitest'
import { cron, talk } from '../../support/cron.js'

it('deletes one task or all of them, and names the remaining ones for an unknown id', async () => {
  const create = (prompt: string) => cron('create', { prompt, every: '1h' })
  const { outputs, tasks } = await talk([
    ...['a', 'b', 'c'].map(create),
    cron('delete', { id: '2' }),
    cron('delete', { id: '2' }),
    cron('delete', { id: 'all' }),
  ])
  expect(outputs.slice(3)).toEqual([
    '1 deleted.',
    expect.stringMatching(/^ERROR VT_SCHED_NOT_FOUND: There is no task '2'\.\n.*Use one of these ids: 1, 3; or/s),
    '2 deleted.',
  ])
  expect(tasks).toEqual([])
})
