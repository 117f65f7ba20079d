import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { delegation, report, says, spawn } from '../../../support/delegation.js'

const look = 'Find out what the file says and report it.'

describe('agent hooks', () => {
  it('runs matching SubagentStart and SubagentStop hooks, which add text and continue an agent', async () => {
    const once = `cat >> ends; grep -q '"stop_hook_active":true' ends || { echo Read b.txt too. >&2; exit 2; }`
    const hooks = {
      SubagentStart: [{ matcher: 'explorer', hooks: [{ command: 'tee -a begins >&2; echo The build is red.' }] }],
      SubagentStop: [{ matcher: 'explorer', hooks: [{ command: once }] }],
      Stop: [{ hooks: [{ command: 'echo stop >> stops' }] }],
    }
    const s = await delegation(
      [
        { toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer' }), spawn(`TWO ${look}`, { write_paths: ['src/**'] })] },
        says('Done.'),
      ],
      { ONE: [report('Only a.txt.'), report('Both files.', { facts: ['b.txt:1 says b'] })], TWO: [report('Two.')] },
      { config: { hooks } },
    )
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success' })
    const told = s.bodies('ONE').map(({ messages }) => messages.at(-1).content)
    expect(told).toEqual([`ONE ${look}\n\nThe build is red.`, 'Read b.txt too.'])
    expect(s.bodies('TWO')[0].messages.at(-1).content).toBe(`TWO ${look}`)
    expect(s.answers()[0]).toContain('Both files.\nFacts:\n- b.txt:1 says b')
    const heard = (name: string): any[] =>
      readFileSync(join(s.root, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const [child] = s.children()
    expect(heard('begins')).toMatchObject([
      {
        hook_event_name: 'SubagentStart',
        session_id: s.agent.session_id,
        agent_type: 'explorer',
        agent_id: child.thread_id,
      },
    ])
    expect(heard('ends')).toMatchObject([
      { hook_event_name: 'SubagentStop', agent_transcript_path: child.transcript_path, stop_hook_active: false },
      { stop_hook_active: true },
    ])
    // The Stop hook runs only for the end of the conversation.
    expect(readFileSync(join(s.root, 'stops'), 'utf8')).toBe('stop\n')
    await s.agent.close()
  })

  it('continues an agent eight times for a hook that never accepts and reports its remark', async () => {
    const hooks = {
      SubagentStop: [
        { hooks: [{ command: `printf '{"decision": "block", "reason": "More.", "systemMessage": "It goes on."}'` }] },
      ],
    }
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer' })] }, says('Done.')],
      { ONE: Array.from({ length: 12 }, (_, n) => says(`Answer ${n}.`)) },
      { config: { hooks } },
    )
    await s.agent.run('Work.')
    expect(s.bodies('ONE')).toHaveLength(9)
    expect(s.answers()[0]).toContain('Answer 8.')
    expect(
      s.events.filter(({ type, item }) => type === 'item.completed' && item.message === 'It goes on.'),
    ).toHaveLength(9)
    await s.agent.close()
  })
})
