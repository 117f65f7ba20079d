import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/exec.js'
import { items } from '../../support/inside.js'
import { checkLog, checkMemory, checkMessages } from '../../support/invariants.js'
import { call } from '../../support/peer.js'
import { delegation, report, says, spawn, tool, toolNames } from '../../support/delegation.js'

const look = 'Find out what the file says and report it.'

describe('agents/spawn', () => {
  it('starts explorers in parallel, each a session with items in the log and facts kept after resume and fork', async () => {
    const s = await delegation(
      [
        { toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer' }), spawn(`TWO ${look}`, { agent: 'explorer' })] },
        says('Both are known.'),
      ],
      {
        ONE: [
          { toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] },
          report('One is read.', { facts: ['a.txt:1 says a'] }),
        ],
        TWO: [report('Two is read.', { facts: ['b.txt:1 says b'], open_questions: ['Why b?'] })],
      },
      { files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } },
    )
    expect(await s.agent.run('Explore.')).toMatchObject({ outcome_code: 'success', text: 'Both are known.' })
    expect(items(s.events, 'subagent')).toMatchObject([
      { agent_name: 'explorer', status: 'completed', summary: expect.stringMatching(/is read\.$/) },
      { agent_name: 'explorer', status: 'completed', summary: expect.stringMatching(/is read\.$/) },
    ])
    expect(s.answers()).toEqual([
      expect.stringMatching(
        /^Unchecked report of explorer: a1: completed\.\n<report>\nOne is read\.\nFacts:\n- a\.txt:1 says a/,
      ),
      expect.stringContaining('Open questions:\n- Why b?'),
    ])
    const children = s.children()
    expect(new Set(children.map(({ session_id }) => session_id)).size).toBe(2)
    for (const { session_id, transcript_path } of children) {
      expect(readFileSync(join(s.root, transcript_path), 'utf8')).toContain('report_result')
      expect(
        JSON.parse(readFileSync(join(s.root, '.vtcode/sessions', session_id, 'manifest.json'), 'utf8')),
      ).toMatchObject({ parent_session_id: s.agent.session_id, mode: 'plan' })
    }
    checkLog(s.events)
    for (const { messages } of s.bodies()) checkMessages(messages)
    await s.agent.close()
    const memory = (id: string) =>
      checkMemory(readFileSync(join(s.root, '.vtcode/sessions', id, 'memory.json'), 'utf8'))
    const known = {
      grounded_facts: [
        { fact: 'a.txt:1 says a', source: 'subagent:explorer' },
        { fact: 'b.txt:1 says b', source: 'subagent:explorer' },
      ],
      open_questions: ['Why b?'],
      delegation_notes: ['`explorer`: One is read.', '`explorer`: Two is read.'],
    }
    expect(memory(s.agent.session_id)).toMatchObject(known)
    for (const how of [{}, { fork: 'summarized' as const }]) {
      const again = await createAgent(s.kernel, { ...s.options, resume: s.agent.session_id, ...how })
      await again.run('And now?')
      await again.close()
      expect(memory(again.session_id)).toMatchObject(known)
    }
  })

  it('limits an agent to its parent and its definition: writing, commands and agents are denied and not listed', async () => {
    const s = await delegation([{ toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer' })] }, says('Done.')], {
      ONE: [
        {
          toolCalls: [
            call('unified_file', { action: 'write', path: 'new.txt', content: 'x' }),
            call('unified_exec', { action: 'run', command: 'npm test' }),
            spawn(`TWO ${look}`),
          ],
        },
        report('Nothing was possible.'),
      ],
    })
    await s.agent.run('Explore.')
    const [parent, child] = [s.bodies('parent')[0], s.bodies('ONE')]
    expect([toolNames(parent).includes('agents'), toolNames(parent).includes('report_result')]).toEqual([true, false])
    expect(toolNames(child[0])).toEqual(expect.arrayContaining(['report_result', 'unified_search', 'unified_file']))
    expect(toolNames(child[0]).filter((name) => /agents|exec|patch|request_user/.test(name))).toEqual([])
    const denials = child[1].messages.filter(({ role }: any) => role === 'tool').map(({ content }: any) => content)
    expect(denials).toEqual([
      expect.stringContaining('VT_POLICY_DENIED'),
      expect.stringContaining('VT_POLICY_DENIED'),
      expect.stringContaining('VT_POLICY_DENIED'),
    ])
    expect(existsSync(join(s.root, 'new.txt'))).toBe(false)
    expect(JSON.stringify(child[0].tools).length / JSON.stringify(parent.tools).length).toBeLessThan(0.6)
    await s.agent.close()
  })

  it('lets a worker write only the paths that it names and refuses a path that another worker claimed', async () => {
    const s = await delegation(
      [
        {
          toolCalls: [
            spawn(`ONE ${look}`, { write_paths: ['src/**'], background: true }),
            spawn(`TWO ${look}`, { write_paths: ['src/a.ts'] }),
            spawn(`TWO ${look}`),
          ],
        },
        says('Waiting.'),
        says('Done.'),
      ],
      {
        ONE: [
          {
            toolCalls: [
              call('unified_file', { action: 'write', path: 'src/a.ts', content: 'in' }),
              call('unified_file', { action: 'write', path: 'out.ts', content: 'out' }),
              call('unified_exec', { action: 'run', command: 'echo x | tee src/b.ts' }),
            ],
          },
          says('The rest was refused.'),
          says('## Summary\nHalf of it.\n\n## Facts\n- src/a.ts is new'),
        ],
      },
    )
    await s.agent.run('Work.')
    expect(s.answers().slice(1)).toEqual([
      expect.stringContaining('VT_AGENT_PATH_CLAIMED'),
      expect.stringContaining('VT_AGENT_NEEDS_WORKTREE'),
    ])
    expect(['src/a.ts', 'out.ts', 'src/b.ts'].map((path) => existsSync(join(s.root, path)))).toEqual([
      true,
      false,
      false,
    ])
    expect(s.children()).toMatchObject([
      { agent: 'worker', status: 'completed', summary: 'Half of it.', changed_files: ['src/a.ts'] },
    ])
    expect(JSON.stringify(s.bodies('parent').at(-1).messages)).toContain('Unchecked report of worker: a1: completed.')
    checkLog(s.events)
    await s.agent.close()
  })

  it('runs three agents at once, ends each one and refuses more than a run may start', async () => {
    const names = ['P1', 'P2', 'P3', 'P4', 'P5']
    const s = await delegation(
      [
        {
          toolCalls: [
            ...names.map((name) => spawn(`${name} ${look}`, { agent: 'explorer' })),
            spawn(`P6 ${look}`, { agent: 'explorer' }),
          ],
        },
        says('Done.'),
      ],
      Object.fromEntries(names.map((name) => [name, [{ ...report(`${name} is done.`), how: { latency: 60 } }]])),
      { subagents: { max_total_per_run: 5 } },
    )
    await s.agent.run('Work.')
    expect(s.children().map(({ status }) => status)).toEqual(names.map(() => 'completed'))
    expect(s.most()).toBe(3)
    expect(s.answers().filter((text) => text.includes('VT_AGENT_LIMIT'))).toHaveLength(1)
    await s.agent.close()
  })

  it('returns the failure of an agent as a value: a model error, a timeout, a circle, an unknown agent', async () => {
    const circle = { toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' })] }
    const s = await delegation(
      [
        {
          toolCalls: [
            spawn(`ONE ${look}`, { agent: 'explorer' }),
            spawn(`TWO ${look}`, { agent: 'explorer', timeout_secs: 1 }),
            spawn(`SIX ${look}`, { agent: 'explorer', max_turns: 2 }),
            spawn(`ONE ${look}`, { agent: 'explorrer' }),
          ],
        },
        says('Done.'),
      ],
      {
        ONE: [{ error: { message: 'broken' }, status: 400 }],
        TWO: [{ ...says('late'), how: { latency: 4000 } }],
        SIX: [
          circle,
          { toolCalls: [call('unified_file', { action: 'inspect', path: 'a.txt' })] },
          says('I got nowhere.'),
        ],
      },
      { files: { 'a.txt': 'a\n' } },
    )
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success', text: 'Done.' })
    expect(s.children().map(({ status, error }) => [status, error?.code])).toEqual([
      ['failed', expect.stringMatching(/^VT_LLM_/)],
      ['failed', 'VT_AGENT_TIMEOUT'],
      ['failed', 'VT_AGENT_STOPPED'],
    ])
    expect(s.answers().at(-1)).toMatch(/VT_AGENT_UNKNOWN.*nearest: explorer/s)
    await s.agent.close()
  })

  it('counts the cost of an agent against the budget of its parent and ends both when it is used up', async () => {
    const usage = { prompt_tokens: 20_000, completion_tokens: 10, total_tokens: 20_010 }
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer' })] }, says('never')],
      { ONE: [{ toolCalls: [call('unified_search', { action: 'list' })], usage }, says('never')] },
      {
        model: { cost: { input: 100, output: 100 }, context_window: 200_000, max_output_tokens: 1000 },
        limits: { max_budget_usd: 1.5 },
      },
    )
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'budget_limit_reached' })
    expect(s.children()).toMatchObject([{ status: 'failed', error: { code: 'VT_LOOP_BUDGET' } }])
    await s.agent.close()
  })

  it('limits an agent defined by the repository to reading, whatever its definition requests', async () => {
    const worker =
      '---\nname: worker\ndescription: Does everything.\nmode: full-auto\nallow: [unified_file]\n---\nWrite.\n'
    const tries = { toolCalls: [spawn(`ONE ${look}`, { write_paths: ['**'] }), spawn(`TWO ${look}`)] }
    const s = await delegation(
      [tries, says('Done.')],
      {
        ONE: [
          { toolCalls: [call('unified_file', { action: 'write', path: 'x.txt', content: 'x' })] },
          report('Refused.'),
        ],
        TWO: [report('Two.')],
      },
      { files: { '.vtcode/agents/worker.md': worker } },
    )
    await s.agent.run('Work.')
    expect(existsSync(join(s.root, 'x.txt'))).toBe(false)
    expect(items(s.events, 'error').map(({ code, message }) => `${code} ${message}`)).toEqual([
      expect.stringMatching(
        /^VT_AGENT_DEFINITION [^]*'full-auto' is ignored[^]*'allow' is ignored[^]*belongs to the workspace and only reads|^VT_AGENT_DEFINITION [^]*'allow' is ignored[^]*'full-auto' is ignored[^]*belongs to the workspace and only reads/,
      ),
    ])
    expect(JSON.stringify(s.bodies('ONE')[1].messages)).toContain('VT_POLICY_')
    await s.agent.close()
  })

  it('hides the agents tool where agents are switched off and refuses a call of it', async () => {
    const s = await delegation(
      [{ toolCalls: [tool('spawn', { message: look })] }, says('Done.')],
      {},
      { subagents: { enabled: false } },
    )
    await s.agent.run('Work.')
    expect(toolNames(s.bodies('parent')[0])).not.toContain('agents')
    expect(s.answers()).toEqual([expect.stringContaining('VT_AGENT_DEPTH')])
    await s.agent.close()
  })

  it('ends its agents when the run is cancelled and logs the end of each', async () => {
    const s = await delegation(
      [
        {
          toolCalls: [
            spawn(`ONE ${look}`, { agent: 'explorer', background: true }),
            spawn(`TWO ${look}`, { agent: 'explorer' }),
          ],
        },
      ],
      {
        ONE: [{ ...says('never'), how: { latency: 600_000 } }],
        TWO: [{ ...says('never'), how: { latency: 600_000 } }],
      },
    )
    const stop = new AbortController()
    void eventually(() => s.bodies('ONE').length > 0 && s.bodies('TWO').length > 0).then(() => stop.abort())
    expect(await s.agent.run('Work.', { signal: stop.signal })).toMatchObject({ outcome_code: 'cancelled' })
    expect(s.children().map(({ status }) => status)).toEqual(['closed', 'closed'])
    expect(items(s.events, 'subagent').map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    checkLog(s.events)
    await s.agent.close()
  })
})
