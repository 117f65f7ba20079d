import { expect, it } from 'vitest'
import { cron, talk } from '../../support/cron.js'

it('lists the tasks in the order of their next times, each with its time and its prompt', async () => {
  const { outputs } = await talk([
    cron('list'),
    cron('create', { prompt: 'Later.', run_at: '2026-06-01T13:00:00Z' }),
    cron('create', { prompt: 'Sooner.', every: '10m' }),
    cron('list'),
  ])
  expect(outputs[0]).toBe('There are no scheduled tasks.')
  expect(outputs[3]!.split('\n')).toEqual([
    expect.stringMatching(/^2 {2}every 10m, next at 2026-06-01T12:10:00\.000Z.*: Sooner\.$/),
    expect.stringMatching(/^1 {2}once, next at 2026-06-01T13:00:00\.000Z: Later\.$/),
  ])
})
