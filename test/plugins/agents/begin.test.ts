import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { delegation, report, says, spawn } from '../../support/delegation.js'
import { items } from '../../support/inside.js'
import { call } from '../../support/peer.js'

const look = 'do the work that was described above.'
const write = { toolCalls: [call('unified_file', { action: 'write', path: 'src/a.txt', content: 'a\n' })] }
const writer = (name: string) => spawn(`${name} ${look}`, { label: 'the parser', write_paths: ['src/**'], isolation: 'shared' })
const slots = (asked: any[]) => asked.map(({ call: { slot } }) => slot)

describe('an agent that changes files, in mode ask', () => {
  it('begins when a person agreed to it, who reads what it may change', async () => {
    const asked: any[] = []
    const s = await delegation([{ toolCalls: [writer('ONE'), spawn(`TWO ${look}`, { agent: 'explorer' })] }, says('Done.')], { ONE: [write, report('One.')], TWO: [report('Two.')] }, { mode: 'ask', approve: (request) => (asked.push(request), true) })
    await s.agent.run('Work.')
    // Who only reads is not asked about.
    expect(slots(asked)).toEqual(['agents/begin', 'unified_file/write'])
    expect(asked[0]).toMatchObject({ call: { input: { agent: 'worker', label: 'the parser', isolation: 'shared', write_paths: ['src/**'] } } })
    expect(JSON.stringify(asked[0])).toContain('which mode ask does not do unasked')
    expect([s.answers().map((text) => /One\.|Two\./.exec(text)?.[0]), existsSync(join(s.root, 'src/a.txt'))]).toEqual([['One.', 'Two.'], true])
  })

  it('does not begin after a no, which its conversation reads and no agent is counted for', async () => {
    const s = await delegation([{ toolCalls: [writer('ONE')] }, says('Done.')], { ONE: [write] }, { mode: 'ask', approve: ({ call: { slot } }) => slot !== 'agents/begin' })
    await s.agent.run('Work.')
    expect([s.answers(), s.children(), s.bodies('ONE'), items(s.events, 'subagent')]).toEqual([[expect.stringMatching(/VT_POLICY_|denied/)], [], [], []])
  })

  it('is not asked about where a rule allows it, or where the mode changes files unasked', async () => {
    const how = [{ mode: 'ask', config: { policy: { allow: ['agents/begin', 'unified_file/write'] } } }, { mode: 'auto' }] as const
    for (const where of how) {
      const asked: any[] = []
      const s = await delegation([{ toolCalls: [writer('ONE')] }, says('Done.')], { ONE: [write, report('One.')] }, { ...where, approve: (request) => (asked.push(request), false) })
      await s.agent.run('Work.')
      expect([slots(asked), s.answers()], where.mode).toEqual([[], [expect.stringContaining('One.')]])
    }
  })
})
