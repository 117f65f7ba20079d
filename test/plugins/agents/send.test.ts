import { expect, it } from 'vitest'
import { delegation, report, says, spawn, tool } from '../../support/delegation.js'

const look = 'Find out what the file says and report it.'
const explorer = { agent: 'explorer', background: true }

it('gives a finished agent another message, which it answers with its conversation', async () => {
  const s = await delegation(
    [
      { toolCalls: [spawn(`ONE ${look}`, explorer)] },
      { toolCalls: [tool('wait', { ids: ['a1'] })] },
      {
        toolCalls: [
          tool('send', { id: 'a1', message: 'And the second line?' }),
          tool('send', { id: 'a7', message: 'x' }),
        ],
      },
      { toolCalls: [tool('wait', { ids: ['a1'] })] },
      says('Done.'),
    ],
    { ONE: [report('First.'), report('Second.')] },
  )
  expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success' })
  const [, , sent, unknown, second] = s.answers()
  expect(sent).toBe('a1 (explorer) has the message.')
  expect(unknown).toContain('VT_AGENT_UNKNOWN')
  expect(second).toContain('Second.')
  expect(s.bodies('ONE').at(-1).messages.at(-1).content).toContain('And the second line?')
  await s.agent.close()
})
