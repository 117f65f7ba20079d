import { expect, it } from 'vitest'
import { delegation, report, says, spawn, tool } from '../../support/delegation.js'

const look = 'Find out what the file says and report it.'
const explorer = { agent: 'explorer', background: true }

it('lists every agent with its state and the agents that may still be started', async () => {
  const s = await delegation(
    [
      { toolCalls: [tool('list')] },
      { toolCalls: [spawn(`ONE ${look}`, { ...explorer, label: 'first' })] },
      { toolCalls: [tool('wait', { ids: ['a1'] })] },
      { toolCalls: [tool('list')] },
      says('Done.'),
    ],
    { ONE: [report('First.')] },
  )
  expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success' })
  const [none, , , one] = s.answers()
  expect(none).not.toMatch(/^a1/)
  expect(one).toMatch(/^a1 {2}explorer {2}completed {2}first\n3 more can run at once, 19 more/)
  await s.agent.close()
})
