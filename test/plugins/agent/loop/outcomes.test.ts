import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually, nap, processesWith } from '../../../support/exec.js'
import { checkLog } from '../../../support/invariants.js'
import {
  call,
  eventsOf,
  home,
  logOf,
  markIn,
  startPeer,
  vtcode,
  type Answer,
  type Home,
} from '../../../support/peer.js'

const held: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of held.splice(0).reverse()) await one[Symbol.asyncDispose]()
})
async function scene(script: Answer[], extra: Parameters<typeof home>[2] = {}): Promise<Home> {
  const files = {
    'd0/a': '',
    'd1/b': '',
    'd2/c': '',
    ...Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`f${index}`, `${index} `.repeat(400)])),
  }
  const peer = await startPeer(script)
  held.push(peer)
  const place = await home(peer, files, extra)
  held.push(place)
  return place
}

const list = (index: number): Answer => ({ toolCalls: [call('unified_search', { action: 'list', path: `d${index}` })] })
const read = (index: number): Answer => ({ toolCalls: [call('unified_file', { action: 'read', path: `f${index}` })] })
const write: Answer = { toolCalls: [call('unified_file', { action: 'write', path: 'x', content: 'y' })] }
const run = (command: string): Answer => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
const many = (count: number, step: (index: number) => Answer) =>
  Array.from({ length: count }, (_, index) => step(index))
const harness = (settings: object) => ({ settings: { agent: { model: 'peer/m', harness: settings } } })
const priced = { provider: { cost: { input: 100, output: 900 } } }
const spent = { prompt_tokens: 1000, completion_tokens: 1000 }

interface Row {
  title: string
  script: Answer[]
  extra?: Parameters<typeof home>[2]
  flags?: string[]
  expected: [outcome_code: string, subtype: string, exit: number]
  stop?: string
}
const failed = 'error_during_execution'
const rows: Row[] = [
  { title: 'an answer', script: [{ content: 'ok' }], expected: ['success', 'success', 0] },
  { title: 'calls and an answer', script: [list(0), { content: 'ok' }], expected: ['success', 'success', 0] },
  {
    title: 'an exhausted budget',
    script: [{ ...list(0), usage: spent }],
    extra: priced,
    flags: ['--max-budget-usd', '1'],
    expected: ['budget_limit_reached', 'error_max_budget_usd', 1],
    stop: 'VT_LOOP_BUDGET',
  },
  {
    title: 'too many steps with calls',
    script: [...many(3, list), { content: 'half' }],
    extra: { settings: { tools: { max_tool_loops: 3 } } },
    expected: ['tool_loop_limit_reached', failed, 1],
  },
  {
    title: 'too many calls',
    script: [list(0), list(1), { content: 'half' }],
    extra: harness({ max_tool_calls_per_turn: 2 }),
    expected: ['tool_loop_limit_reached', failed, 1],
  },
  {
    title: 'calls in a circle',
    script: [...many(16, (index) => list(index % 2)), { content: 'in circles' }],
    expected: ['loop_detected', failed, 1],
  },
  {
    title: 'the same denied call again and again',
    script: [...many(4, () => write), { content: 'I may not.' }],
    flags: ['--mode', 'plan'],
    expected: ['loop_detected', failed, 1],
  },
  {
    title: 'a conversation that cannot be made shorter',
    script: [...many(8, read), ...many(8, () => ({ content: 'no summary' }))],
    extra: harness({ auto_compaction_threshold_tokens: 300 }),
    expected: ['handed_off', failed, 1],
    stop: 'VT_CONTEXT_STUCK',
  },
  {
    title: 'a change without an approver',
    script: [write, { content: 'Done.' }, { content: 'I may not.' }],
    flags: ['--mode', 'ask'],
    expected: ['escalated', failed, 1],
  },
  {
    title: 'a change without an approver and another way',
    script: [write, run('touch x'), { content: 'Done so.' }],
    flags: ['--mode', 'ask'],
    extra: { settings: { policy: { allow: ['Bash(touch x)'] } } },
    expected: ['success', 'success', 0],
  },
  {
    title: 'a change without an approver and a read',
    script: [write, run('ls'), { content: 'Done.' }, { content: 'I may not.' }],
    flags: ['--mode', 'ask'],
    expected: ['escalated', failed, 1],
  },
  {
    title: 'a refusal of the server',
    script: [{ error: { message: 'bad field' }, status: 400 }],
    expected: ['failed', failed, 1],
    stop: 'VT_LLM_REQUEST',
  },
]

describe('outcome of vtcode exec', () => {
  it.each(rows)(
    'reports the outcome of a run that has $title',
    async ({ script, extra, flags = [], expected, stop }) => {
      const place = await scene(script, extra)
      const { code, out } = await vtcode(place, ['exec', '--json', ...flags, 'x '.repeat(200)])
      const events = eventsOf(out)
      checkLog(events)
      const { outcome_code, subtype, stop_reason } = events.at(-1)
      expect([outcome_code, subtype, code, stop_reason]).toEqual([...expected, stop])
    },
  )

  it('ends a run after its turn limit and leaves queued inputs waiting', async () => {
    const place = await scene([{ content: 'one' }, { content: 'two' }])
    const session = eventsOf((await vtcode(place, ['exec', '--json', 'go'])).out)[0].session_id as string
    const waiting = {
      id: '00000000-0000-4000-8000-000000000000',
      text: 'and this',
      origin: 'queue',
      created_at: '2026-01-01T00:00:00.000Z',
    }
    const queue = { v: 1, pending: [waiting], applied: [] }
    writeFileSync(
      join(place.root, '.vtcode/sessions', session, 'queue.json'),
      JSON.stringify({ ...queue, seal: markIn(place, session, JSON.stringify(queue)) }),
    )
    const { code, out } = await vtcode(place, ['exec', '--json', '--resume', session, '--max-turns', '1', 'more'])
    expect([code, eventsOf(out).at(-1)]).toMatchObject([
      1,
      { outcome_code: 'turn_limit_reached', subtype: 'error_max_turns', num_turns: 1 },
    ])
    expect(
      JSON.parse(readFileSync(join(place.root, '.vtcode/sessions', session, 'queue.json'), 'utf8')).pending,
    ).toMatchObject([{ text: 'and this' }])
    checkLog(logOf(place, session))
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'ends a run cancelled with code 130 on %s during an answer and a call, without orphans',
    async (signal) => {
      const slow: Answer = { content: 'slow '.repeat(500), how: { latency: 50, chunkSize: 5 } }
      const sleeping = nap()
      const sleeps: Answer = {
        toolCalls: [call('unified_exec', { action: 'run', command: sleeping, timeout_secs: 60 })],
      }
      for (const [step, sign] of [
        [slow, '"agent_message"'],
        [sleeps, '"tool_invocation"'],
      ] as const) {
        const place = await scene([step], { settings: { policy: { allow: ['Bash(sleep *)'] } } })
        const { code, out } = await vtcode(place, ['exec', '--json', 'go'], {
          started: (child) =>
            child.stdout!.on(
              'data',
              (chunk: Buffer) => void (String(chunk).includes(sign) && setTimeout(() => child.kill(signal), 150)),
            ),
        })
        const events = eventsOf(out)
        checkLog(events)
        expect([code, events.at(-1).outcome_code, events.at(-1).subtype]).toEqual([130, 'cancelled', 'cancelled'])
        expect(events.filter(({ type }) => /^turn\.(completed|failed)$/.test(type))).toMatchObject([
          { type: 'turn.failed', code: 'VT_CANCELLED' },
        ])
        // A killed process may take a moment to disappear.
        expect(await eventually(() => processesWith(sleeping.replace(' ', '\0')).length === 0)).toBe(true)
      }
    },
  )

  it('records the outcome unknown of a killed run in the next process of the session', async () => {
    const place = await scene([
      { content: 'slow '.repeat(500), how: { latency: 50, chunkSize: 5 } },
      { content: 'later' },
    ])
    await vtcode(place, ['exec', '--json', 'go'], {
      started: (child) =>
        child.stdout!.on(
          'data',
          (chunk: Buffer) => void (String(chunk).includes('"agent_message"') && child.kill('SIGKILL')),
        ),
    })
    const session = readdirSync(join(place.root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))!
    expect((await vtcode(place, ['exec', '--resume', session, 'again'])).code).toBe(0)
    const log = logOf(place, session)
    checkLog(log)
    expect(log.filter(({ type }) => type === 'thread.completed')).toMatchObject([
      { outcome_code: 'unknown', subtype: failed },
      { outcome_code: 'success' },
    ])
  })

  it('exits with 2 or 3 when a run never started', async () => {
    const place = await scene([])
    const ends = async (...args: string[]) => (await vtcode(place, ['exec', ...args])).code
    expect([await ends(), await ends('--nonsense', 'x'), await ends('--max-turns', 'many', 'x')]).toEqual([2, 2, 2])
    expect([
      await ends('--model', 'nobody/m', 'x'),
      await ends('--config', 'agent.harnes.max_budget_usd=1', 'x'),
    ]).toEqual([3, 3])
    // A model without a price cannot be held to a budget.
    expect(await ends('--max-budget-usd', '1', 'x')).toBe(3)
    expect(existsSync(join(place.root, '.vtcode/sessions'))).toBe(false)
  })
})
