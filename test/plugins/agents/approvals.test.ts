import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { delegation, report, says, spawn } from '../../support/delegation.js'
import { call } from '../../support/peer.js'

const task = 'do the work that was described above.'
const write = { toolCalls: [call('unified_file', { action: 'write', path: 'src/a.txt', content: 'a\n' })] }
const writer = (name: string) =>
  spawn(`${name} ${task}`, { label: 'the parser', write_paths: ['src/**'], isolation: 'shared' })
const turns = [{ toolCalls: [writer('ONE'), spawn(`TWO ${task}`, { agent: 'explorer' })] }, says('Done.')]
const answers = { ONE: [write, report('One.')], TWO: [report('Two.')] }

describe('changes by an agent in mode ask', () => {
  it('asks for approval of each change in mode ask and names the agent', async () => {
    const asked: any[] = []
    const s = await delegation(turns, answers, { mode: 'ask', approve: (request) => (asked.push(request), true) })
    await s.agent.run('Work.')
    expect(asked.map(({ call: { slot, input } }) => [slot, input.path])).toEqual([['unified_file/write', 'src/a.txt']])
    expect(asked[0].question).toContain('The agent worker (a1, the parser) asks.')
    expect([s.answers().map((text) => /One\.|Two\./.exec(text)?.[0]), existsSync(join(s.root, 'src/a.txt'))]).toEqual([
      ['One.', 'Two.'],
      true,
    ])
  })

  it('changes nothing after a refusal', async () => {
    const s = await delegation(turns, answers, { mode: 'ask', approve: () => false })
    await s.agent.run('Work.')
    expect(existsSync(join(s.root, 'src/a.txt'))).toBe(false)
  })

  it('skips the question when a rule or the mode allows the change', async () => {
    for (const mode of [
      { mode: 'ask', config: { policy: { allow: ['unified_file/write'] } } },
      { mode: 'auto' },
    ] as const) {
      const asked: any[] = []
      const s = await delegation(turns, answers, { ...mode, approve: (request) => (asked.push(request), false) })
      await s.agent.run('Work.')
      expect([asked, existsSync(join(s.root, 'src/a.txt'))], mode.mode).toEqual([[], true])
    }
  })
})
