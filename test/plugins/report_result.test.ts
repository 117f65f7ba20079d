import { describe, expect, it } from 'vitest'
import { parseReport } from '../../build/plugins/agent/delegation/index.js'
import { delegation, report, says, spawn } from '../support/delegation.js'

describe('report_result', () => {
  it('ends an agent with its report, and refuses the tool in a conversation that is no agent', async () => {
    const s = await delegation(
      [
        report('I am the conversation.'),
        { toolCalls: [spawn('ONE look at the file and report it.', { agent: 'explorer' })] },
        says('Done.'),
      ],
      {
        ONE: [
          report('Found.', {
            facts: ['a.txt:1 is a'],
            touched_files: ['b.txt'],
            verification: ['npm test passed'],
            open_questions: ['Why?'],
          }),
          says('never asked'),
        ],
      },
    )
    await s.agent.run('Work.')
    const [own, shown] = s.answers()
    expect(own).toContain('VT_AGENT_NONE')
    expect(shown).toBe(
      'Unchecked report of explorer: a1: completed.\n<report>\nFound.\nFacts:\n- a.txt:1 is a\nTouched files:\n- b.txt\nVerification:\n- npm test passed\nOpen questions:\n- Why?\n</report>',
    )
    expect(s.bodies('ONE')).toHaveLength(1)
    await s.agent.close()
  })

  it('reads a report from the sections of the last text where report_result was not called, else from its start', () => {
    expect(
      parseReport(
        'Hello.\n\n## Summary\nIt is so.\nReally.\n\n**Facts**\n- one\n2. two\n\nTouched Files:\n* a.ts\n### Verification\n\n### Open Questions\n- why?',
      ),
    ).toEqual({
      summary: 'It is so.\nReally.',
      facts: ['one', 'two'],
      touched_files: ['a.ts'],
      open_questions: ['why?'],
    })
    expect(parseReport(`${'x'.repeat(600)}`)).toEqual({ summary: 'x'.repeat(500) })
    expect(parseReport(`Facts:\n${'- f\n'.repeat(30)}`).facts).toHaveLength(10)
  })
})
