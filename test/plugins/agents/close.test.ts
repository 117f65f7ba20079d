import { expect, it } from 'vitest'
import { delegation, says, spawn, tool } from '../../support/delegation.js'

const look = 'Find out what the file says and report it.'
const explorer = { agent: 'explorer', background: true }

it('ends a working agent, and refuses an unknown one with the known ids', async () => {
  const s = await delegation(
    [
      { toolCalls: [spawn(`ONE ${look}`, explorer)] },
      { toolCalls: [tool('close', { id: 'a1' }), tool('close', { id: 'a2' })] },
      says('Done.'),
    ],
    { ONE: [{ ...says('never'), how: { latency: 600_000 } }] },
  )
  expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success', text: 'Done.' })
  const [, closed, unknown] = s.answers()
  expect(closed).toBe('a1 (explorer) is closed.')
  expect(unknown).toMatch(/VT_AGENT_UNKNOWN: Unknown agent 'a2'; agents of this conversation: a1\./)
  expect(s.children()).toMatchObject([{ id: 'a1', status: 'closed' }])
  await s.agent.close()
})
