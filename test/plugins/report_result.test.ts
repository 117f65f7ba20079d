import { describe, expect, it } from 'vitest'
import { reportIn } from '../../build/plugins/agent/delegation/index.js'
import { delegation, report, says, spawn } from '../support/delegation.js'

describe('report_result', () => {
  it('ends an agent with its report, and a conversation that is none is told that it has nobody to report to', async () => {
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

  it('is read from the sections of a last text where it was not called, else from how that begins', () => {
    expect(
      reportIn(
        'Hello.\n\n## Summary\nIt is so.\nReally.\n\n**Facts**\n- one\n2. two\n\nTouched Files:\n* a.ts\n### Verification\n\n### Open Questions\n- why?',
      ),
    ).toEqual({
      summary: 'It is so.\nReally.',
      facts: ['one', 'two'],
      touched_files: ['a.ts'],
      open_questions: ['why?'],
    })
    expect(reportIn(`${'x'.repeat(600)}`)).toEqual({ summary: 'x'.repeat(500) })
    expect(reportIn(`Facts:\n${'- f\n'.repeat(30)}`).facts).toHaveLength(10)
  })
})
