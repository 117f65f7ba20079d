import { expect, it } from 'vitest'
import { checkLog } from '../../support/invariants.js'
import { delegation, report, says, spawn, tool } from '../../support/delegation.js'

const look = 'Find out what the file says and report it.'

it('waits for background agents, sends them messages, lists and closes them, and refuses unknown ids', async () => {
  const slow = { ...says('never'), how: { latency: 8000 } }
  const s = await delegation(
    [
      {
        toolCalls: [
          spawn(`ONE ${look}`, { agent: 'explorer', background: true, label: 'first' }),
          spawn(`TWO ${look}`, { agent: 'explorer', background: true }),
        ],
      },
      { toolCalls: [tool('wait', { ids: ['a1'] })] },
      { toolCalls: [tool('wait', { timeout_secs: 1 })] },
      {
        toolCalls: [
          tool('send', { id: 'a1', message: 'More of it, please.' }),
          tool('close', { id: 'a2' }),
          tool('close', { id: 'a9' }),
        ],
      },
      { toolCalls: [tool('wait', { ids: ['a1'], mode: 'any' })] },
      { toolCalls: [tool('list')] },
      says('Done.'),
    ],
    { ONE: [report('First.'), report('Second.')], TWO: [slow] },
  )
  expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success', text: 'Done.' })
  const [, , first, timed, sent, closed, unknown, second, list] = s.answers()
  expect(first).toContain('First.')
  expect(timed).toMatch(/a2 \(explorer\) is running\.\nThe time is over; they continue\./)
  expect([sent, closed]).toEqual(['a1 (explorer) has the message.', 'a2 (explorer) is closed.'])
  expect(unknown).toMatch(/VT_AGENT_UNKNOWN: Unknown agent 'a9'; agents of this conversation: a1, a2\./)
  expect(second).toContain('Second.')
  expect(list).toMatch(
    /^a1 {2}explorer {2}completed {2}first\na2 {2}explorer {2}closed\n3 more can run at once, 18 more/,
  )
  expect(
    s
      .bodies('ONE')
      .at(-1)
      .messages.map(({ role }: any) => role),
  ).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
  checkLog(s.events)
  await s.agent.close()
})
