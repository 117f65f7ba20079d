import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import {
  parseLoop,
  parseReminder,
  roundInterval,
  formatInterval,
} from '../../../../build/plugins/agent/schedule/index.js'
import { scene, type Scene } from '../../../support/inside.js'

const minute = 60_000
const chat = { surface: 'chat' }
const time = { skipped: 0 }
const clock = { now: () => Date.UTC(2026, 5, 1) + time.skipped, sleep: async (ms: number) => void (time.skipped += ms) }
const pass = (ms: number): void => void (time.skipped += ms)
const opener =
  (s: Scene) =>
  (more: object = chat, env: object = {}) =>
    createAgent(s.booted.kernel, {
      env: { PEER_API_KEY: 'key-of-the-peer-0123', ...env },
      ...more,
      onEvent: (event) => void s.events.push(event),
      providers: { clock },
    })
const fired = ({ events }: { events: any[] }): string[] =>
  events.flatMap(({ type, item }) =>
    type === 'item.completed' && item.type === 'harness' && item.event === 'schedule_fired' ? [item.message] : [],
  )

describe('/loop and /remind', () => {
  it('rounds an interval to the nearest one that divides its unit', () => {
    const rounded = Object.fromEntries(
      ['30s', '61s', '5m', '7m', '25m', '45m', '90m', '5h', '36h', '3d', '99d'].map((said) => [
        said,
        formatInterval(roundInterval(said)!),
      ]),
    )
    expect(rounded).toEqual({
      '30s': '1m',
      '61s': '2m',
      '5m': '5m',
      '7m': '6m',
      '25m': '30m',
      '45m': '1h',
      '90m': '2h',
      '5h': '6h',
      '36h': '2d',
      '3d': '3d',
      '99d': '30d',
    })
    expect(['0m', '5', 'often', '5w', '-5m'].map(roundInterval)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
  it('reads an interval before or after the prompt and defaults to ten minutes', () => {
    expect(parseLoop('7m look at the build')).toEqual({ prompt: 'look at the build', every_secs: 360 })
    expect(parseLoop('look at the build every 2h')).toEqual({ prompt: 'look at the build', every_secs: 7200 })
    expect(parseLoop('read every file')).toEqual({ prompt: 'read every file', every_secs: 600 })
    for (const wrong of ['', '7m', '0m look'])
      expect(() => parseLoop(wrong), wrong).toThrow(expect.objectContaining({ code: 'VT_SCHED_BAD_EXPRESSION' }))
  })
  it('accepts a future time and rejects times in words', async () => {
    const now = Date.parse('2026-06-01T12:00:00Z')
    expect(await parseReminder('+45m tea', now)).toEqual({ prompt: 'tea', at: now + 45 * minute })
    expect(await parseReminder('2026-06-01T13:00:00Z tea time', now)).toEqual({
      prompt: 'tea time',
      at: now + 60 * minute,
    })
    for (const wrong of ['', '18:30', 'tomorrow tea', '2026-05-01T13:00:00Z tea', '25:00 tea'])
      await expect(parseReminder(wrong, now), wrong).rejects.toMatchObject({
        code: 'VT_SCHED_BAD_EXPRESSION',
        extra: { hint: expect.stringContaining('/remind +45m') },
      })
  })
})

describe('session tasks', () => {
  it('runs a due task at an idle boundary after user input, once for all missed times, and after resume', async () => {
    const s = await scene(Array.from({ length: 12 }, (_, index) => ({ content: `answer ${index}` })))
    const open = opener(s)
    const agent = await open()
    const task = await agent.tasks.loop('7m look at the build')
    expect([task.every_secs, Date.parse(task.next) - clock.now(), Date.parse(task.ends!) - clock.now()]).toEqual([
      360,
      6 * minute,
      72 * 60 * minute,
    ])
    await agent.run('hello')
    expect([fired(s), agent.tasks.due()]).toEqual([[], 6 * minute])
    pass(20 * minute)
    expect(agent.tasks.due()).toBe(0)
    await agent.followUp('a person says this')
    await agent.run('and this')
    const inputs = s.peer.bodies.map(({ messages }: any) => messages.at(-1).content)
    expect(inputs).toEqual(['hello', 'and this', 'a person says this', 'look at the build'])
    expect(fired(s)).toEqual([`${task.id}: look at the build`])
    await agent.close()
    const again = await open({ ...chat, resume: agent.session_id })
    expect(again.tasks.list().map(({ id, prompt }) => [id, prompt])).toEqual([[task.id, 'look at the build']])
    pass(60 * minute)
    await again.run()
    expect(fired(s)).toHaveLength(2)
    expect(await again.tasks.cancel('all')).toBe(1)
    expect([again.tasks.list(), again.tasks.due()]).toEqual([[], undefined])
    await again.close()
  })

  it('ends tasks after three days, reminders after one run, and limits a session to fifty', async () => {
    const s = await scene(Array.from({ length: 12 }, () => ({ content: 'ok' })))
    const open = opener(s)
    const agent = await open()
    await agent.tasks.loop('1d look')
    await agent.tasks.remind('+45m tea')
    pass(50 * minute)
    await agent.run()
    expect(agent.tasks.list()).toHaveLength(1)
    for (let days = 0; days < 4; days += 1) {
      pass(24 * 60 * minute)
      if (agent.tasks.due() === 0) await agent.run()
    }
    expect(agent.tasks.list()).toEqual([])
    expect(fired(s)).toEqual(['2: Remind me: tea', '1: look', '1: look', '1: look'])
    for (let index = 0; index < 50; index += 1) await agent.tasks.loop('look')
    await expect(agent.tasks.loop('look')).rejects.toMatchObject({ code: 'VT_SCHED_FULL' })
    await agent.close()
    const before = s.peer.bodies.length
    const exec = await open({ resume: agent.session_id })
    pass(60 * minute)
    await exec.run('go')
    expect([s.peer.bodies.length - before, exec.tasks.due()]).toEqual([1, undefined])
    await exec.close()
    const off = await open(chat, { VTCODE_DISABLE_CRON: '1' })
    await expect(off.tasks.loop('look')).rejects.toMatchObject({ code: 'VT_SCHED_DISABLED' })
    await off.close()
  })

  it('waits one interval when the clock is set back by a day, and ignores past times', async () => {
    const s = await scene(Array.from({ length: 6 }, () => ({ content: 'ok' })))
    const agent = await opener(s)()
    await agent.tasks.loop('10m look')
    pass(-24 * 60 * minute)
    expect(agent.tasks.due()).toBe(10 * minute)
    pass(6 * minute)
    expect(agent.tasks.due()).toBe(4 * minute)
    pass(4 * minute)
    expect(agent.tasks.due()).toBe(0)
    await agent.run()
    expect([fired(s).length, agent.tasks.due()]).toEqual([1, 10 * minute])
    pass(24 * 60 * minute)
    await agent.run()
    expect(fired(s)).toHaveLength(2)
    await agent.close()
  })
})
