import { describe, expect, it } from 'vitest'
import { cron, minute, talk } from '../../support/cron.js'
import { call } from '../../support/peer.js'

describe('cron/create', () => {
  it('creates recurring and single tasks, reports their next time, lists and deletes them', async () => {
    const { outputs, tasks, tools } = await talk([
      cron('create', { prompt: 'Look at the build.', every: '7m' }),
      cron('create', { prompt: 'Good morning.', expression: '0 9 * * *' }),
      cron('create', { prompt: 'Tea.', run_at: '2026-06-01T12:45:00Z' }),
      cron('list'),
      cron('delete', { id: '1' }),
      cron('delete', { id: '1' }),
      cron('list'),
    ])
    expect(tools).toContain('cron')
    expect(outputs.slice(0, 3)).toEqual([
      'Set: 1  every 6m, next at 2026-06-01T12:06:00.000Z, until 2026-06-04T12:00:00.000Z: Look at the build.',
      expect.stringMatching(
        /^Set: 2 {2}by 0 9 \* \* \* \(\S+\), next at 2026-06-0[12]T\d\d:00:00\.000Z, until 2026-06-04T12:00:00\.000Z: Good morning\.$/,
      ),
      'Set: 3  once, next at 2026-06-01T12:45:00.000Z: Tea.',
    ])
    expect(outputs[3]!.split('\n').map((line) => line[0])).toEqual(['1', '3', '2'])
    expect(outputs.slice(4, 6)).toEqual([
      '1 deleted.',
      expect.stringMatching(/^ERROR VT_SCHED_NOT_FOUND: There is no task '1'\.\n.*Use one of these ids: 3, 2; or/s),
    ])
    expect(outputs[6]).not.toContain('build')
    expect(tasks.map(({ id }) => id)).toEqual(['3', '2'])
  })

  it('starts a task when the session is idle, at the time of its expression, and stops after three days', async () => {
    const { inputs, tasks } = await talk([cron('create', { prompt: 'Look at the hour.', expression: '30 * * * *' })], {
      async resume(agent, pass) {
        for (const [ms, due] of [
          [29 * minute, minute],
          [minute, 0],
        ] as const) {
          pass(ms)
          expect(agent.tasks.due()).toBe(due)
        }
        await agent.run()
        // Missed for hours, it begins once.
        expect(agent.tasks.due()).toBe(60 * minute)
        pass(5 * 60 * minute)
        await agent.run()
        pass(72 * 60 * minute)
        await agent.run()
        expect(agent.tasks.due()).toBeUndefined()
      },
    })
    expect(inputs.filter((text) => text === 'Look at the hour.')).toHaveLength(3)
    expect(tasks).toEqual([])
  })

  it.each<[string, object, string, RegExp]>([
    ['no time', { prompt: 'x' }, 'VT_SCHED_BAD_EXPRESSION', /Give exactly one of expression, every, run_at/],
    [
      'two times',
      { prompt: 'x', every: '5m', run_at: '18:00' },
      'VT_SCHED_BAD_EXPRESSION',
      /Give exactly one of expression, every, run_at/,
    ],
    ['six fields', { prompt: 'x', expression: '0 0 9 * * *' }, 'VT_SCHED_BAD_EXPRESSION', /6 fields instead of five/],
    [
      'a day that never comes',
      { prompt: 'x', expression: '0 0 30 2 *' },
      'VT_SCHED_BAD_EXPRESSION',
      /the date never occurs/,
    ],
    ['words for an interval', { prompt: 'x', every: 'often' }, 'VT_SCHED_BAD_EXPRESSION', /Invalid interval 'often'/],
    [
      'a time that is past',
      { prompt: 'x', run_at: '2026-05-01T00:00:00Z' },
      'VT_SCHED_BAD_EXPRESSION',
      /The time run_at '2026-05-01T00:00:00Z' is in the past/,
    ],
    [
      'words for a time',
      { prompt: 'x', run_at: 'tomorrow' },
      'VT_SCHED_BAD_EXPRESSION',
      /Invalid time run_at 'tomorrow'/,
    ],
    ['nothing to do', { prompt: ' ', every: '5m' }, 'VT_INPUT_INVALID', /prompt/],
  ])('refuses %s and gives the right form', async (_, input, code, says) => {
    const { outputs, tasks } = await talk([cron('create', input)])
    expect(outputs[0]).toMatch(new RegExp(`^ERROR ${code}: `))
    expect(outputs[0]).toMatch(says)
    expect(tasks).toEqual([])
  })

  it('creates at most fifty tasks', async () => {
    const { outputs, tasks } = await talk([
      {
        toolCalls: Array.from({ length: 51 }, (_, n) =>
          call('cron', { action: 'create', prompt: `${n}`, every: '1h' }),
        ),
      },
    ])
    expect([
      tasks.length,
      outputs.filter((text) => text.startsWith('ERROR VT_SCHED_FULL: 50 scheduled tasks are the limit.')).length,
    ]).toEqual([50, 1])
  })

  it.each([
    ['no person takes part in the conversation', { surface: 'exec' }],
    ['it is switched off', { env: { VTCODE_DISABLE_CRON: '1' } }],
  ])('hides the cron tool where %s and refuses a call of it', async (_, how) => {
    const { tools, outputs, tasks } = await talk([cron('create', { prompt: 'x', every: '5m' })], how)
    expect([tools.includes('cron'), tasks]).toEqual([false, []])
    expect(outputs[0]).toMatch(/^ERROR VT_SCHED_DISABLED: /)
  })
})
