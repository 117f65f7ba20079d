import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { listApprovals, writeApproval } from '../../../../build/plugins/agent/cli/index.js'
import { delegation, report, says, spawn, tool } from '../../../support/delegation.js'
import { items } from '../../../support/inside.js'
import { checkLog, checkMessages } from '../../../support/invariants.js'
import { call } from '../../../support/peer.js'

const look = 'Find out what the file says and report it.'
const run = (command: string) => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })

describe('delegation', () => {
  it('accepts the action names of other programs for spawn, send, wait and close', async () => {
    const s = await delegation(
      [
        { toolCalls: [call('spawn_agent', { message: `ONE ${look}`, agent: 'explorer', background: true })] },
        { toolCalls: [call('wait_agent', { ids: ['a1'] })] },
        { toolCalls: [call('send_input', { id: 'a1', message: 'More of it, please.' })] },
        { toolCalls: [call('wait_agent', {})] },
        { toolCalls: [call('close_agent', { id: 'a1' })] },
        says('Done.'),
      ],
      { ONE: [report('First.'), report('Second.')] },
    )
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success' })
    expect(s.answers()).toEqual([
      'a1 (explorer) works in the background.',
      expect.stringContaining('First.'),
      'a1 (explorer) has the message.',
      expect.stringContaining('Second.'),
      'a1 (explorer) is closed.',
    ])
    await s.agent.close()
  })

  it('runs twenty agents in three places to their end and refuses one more', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `P${String.fromCharCode(65 + n)}`)
    const s = await delegation(
      [
        {
          toolCalls: [...names, 'PU'].map((name) => spawn(`${name} ${look}`, { agent: 'explorer', background: true })),
        },
        says('Waiting.'),
        ...names.map(() => says('Heard.')),
      ],
      Object.fromEntries(names.map((name) => [name, [{ ...report(`${name} is done.`), how: { latency: 20 } }]])),
    )
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success' })
    expect(s.children().map(({ status, summary }) => [status, summary])).toEqual(
      names.map((name) => ['completed', `${name} is done.`]),
    )
    expect(s.most()).toBe(3)
    expect(s.answers().filter((text) => !text.includes('works in the background'))).toEqual([
      expect.stringMatching(/^ERROR VT_AGENT_LIMIT: 20 agents .*; 0 are left\./),
    ])
    expect(new Set(s.children().map(({ id }) => id)).size).toBe(20)
    checkLog(s.events)
    for (const { messages } of s.bodies()) checkMessages(messages)
    await s.agent.close()
  })

  it('returns a cut stream, a timeout and a loop of an agent as failures with the report so far', async () => {
    const cut = { content: 'Some words that never come to an end. '.repeat(20), how: { truncateAfterChunks: 2 } }
    const circle = Array.from({ length: 40 }, (_, n) => ({
      toolCalls: [call('unified_search', { action: 'list', path: `d${n % 2}` })],
    }))
    const s = await delegation(
      [
        {
          toolCalls: [
            spawn(`ONE ${look}`, { agent: 'explorer' }),
            spawn(`TWO ${look}`, { agent: 'explorer', timeout_secs: 5 }),
            spawn(`SIX ${look}`, { agent: 'explorer' }),
          ],
        },
        says('Done.'),
      ],
      {
        ONE: [cut, cut, cut, cut],
        TWO: [
          {
            content: '## Summary\nHalf of it.\n\n## Facts\n- d0 is there',
            toolCalls: [call('unified_search', { action: 'list' })],
          },
          { ...says('late'), how: { latency: 600_000 } },
        ],
        SIX: circle,
      },
      { files: { 'd0/a': '', 'd1/b': '' }, model: { retries: { request: 0, stream: 1 } } },
    )
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success', text: 'Done.' })
    expect(s.children().map(({ status, error }) => [status, error?.code])).toEqual([
      ['failed', expect.stringMatching(/^VT_LLM_/)],
      ['failed', 'VT_AGENT_TIMEOUT'],
      ['failed', 'VT_AGENT_STOPPED'],
    ])
    expect(s.children()[2].error.message).toContain('loop_detected')
    expect(s.answers()[1]).toMatch(/VT_AGENT_TIMEOUT[^]*Half of it\.\nFacts:\n- d0 is there/)
    expect(items(s.events, 'subagent').map(({ status, summary }) => [status, /^VT_\w+/.exec(summary)?.[0]])).toEqual(
      expect.arrayContaining([
        ['failed', 'VT_AGENT_TIMEOUT'],
        ['failed', 'VT_AGENT_STOPPED'],
      ]),
    )
    await s.agent.close()
  })

  it('asks the approver of the conversation one question at a time with the name of the agent', async () => {
    const asked: any[] = []
    let open = 0
    const approve = async (request: any) => {
      open += 1
      asked.push({ ...request, beside: open })
      await new Promise((resolve) => setTimeout(resolve, 20))
      open -= 1
      return request.call.input.command.includes('one')
    }
    const s = await delegation(
      [
        {
          toolCalls: [
            spawn(`ONE ${look}`, { agent: 'verifier', label: 'first' }),
            spawn(`TWO ${look}`, { agent: 'verifier' }),
          ],
        },
        says('Done.'),
      ],
      { ONE: [run('touch one.txt'), report('One.')], TWO: [run('touch two.txt'), report('Two.')] },
      { options: { providers: { approval: { approve } } } },
    )
    await s.agent.run('Work.')
    expect(asked.map(({ question, reasons, beside }) => [question.split('\n')[0], reasons[0], beside]).sort()).toEqual([
      ['The agent verifier (a1, first) asks.', 'The agent verifier (a1, first) asks.', 1],
      ['The agent verifier (a2) asks.', 'The agent verifier (a2) asks.', 1],
    ])
    expect(['one.txt', 'two.txt'].map((path) => existsSync(join(s.root, path)))).toEqual([true, false])
    await s.agent.close()
  })

  it('asks for approval by a file when no person is present and continues after the answer', async () => {
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { agent: 'verifier' })] }, says('Done.')],
      { ONE: [run('touch one.txt'), report('One.')] },
      { options: { providers: { approval: { deferred: true } } } },
    )
    const workspace = openWorkspace(s.root, s.kernel.inspection as never)
    const running = s.agent.run('Work.')
    await expect.poll(() => listApprovals(workspace)).toHaveLength(1)
    const [question] = await listApprovals(workspace)
    expect(question).toMatchObject({
      session_id: s.children()[0].session_id,
      tool: 'unified_exec',
      reason: expect.stringMatching(/^The agent verifier \(a1\) asks\. /),
      question: expect.stringMatching(/^The agent verifier \(a1\) asks\.\n/),
    })
    await writeApproval(workspace, { ...question!, answer: { decision: 'allow' } })
    expect(await running).toMatchObject({ outcome_code: 'success' })
    expect(existsSync(join(s.root, 'one.txt'))).toBe(true)
    workspace.close()
    await s.agent.close()
  })

  it('adds up the cost of all stretches of an agent and shows it while the agent runs', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 }
    const seen: any[] = []
    const s = await delegation(
      [
        { toolCalls: [spawn(`ONE ${look}`, { agent: 'explorer', label: 'first' })] },
        { toolCalls: [tool('send', { id: 'a1', message: 'More of it, please.' })] },
        { toolCalls: [tool('wait')] },
        says('Done.'),
      ],
      {
        ONE: [
          { toolCalls: [call('unified_search', { action: 'list' })], usage },
          { ...report('First.'), usage },
          { ...report('Second.'), usage },
        ],
      },
      {
        model: { cost: { input: 100, output: 100 }, context_window: 200_000, max_output_tokens: 1000 },
        options: {
          onEvent: () =>
            void seen.push(...s.agent.children.map(({ status, cost_usd, about }) => ({ status, cost_usd, about }))),
        },
      },
    )
    const { total_cost_usd } = await s.agent.run('Work.')
    expect(seen).toEqual(
      expect.arrayContaining([
        { status: 'running', cost_usd: 0, about: `ONE ${look}` },
        { status: 'completed', cost_usd: expect.closeTo(0.2), about: `ONE ${look}` },
      ]),
    )
    expect(s.agent.children).toMatchObject([
      { id: 'a1', agent: 'explorer', status: 'completed', cost_usd: expect.closeTo(0.3), summary: 'Second.' },
    ])
    expect(total_cost_usd).toBeGreaterThanOrEqual(0.3 - 1e-9)
    await s.agent.close()
    expect(readFileSync(join(s.root, s.agent.children[0]!.transcript_path), 'utf8')).toContain('Second.')
  })

  it('costs the conversation at most half of the bytes of reading by itself', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 8 }, (_, n) => [
        `src/part${n}.ts`,
        Array.from({ length: 60 }, (_, line) => `export const value_${n}_${line} = ${n * line}\n`).join(''),
      ]),
    )
    const reads = Object.keys(files).map((path) => ({ toolCalls: [call('unified_file', { action: 'read', path })] }))
    const sent = async (
      parent: Parameters<typeof delegation>[0],
      parts: Parameters<typeof delegation>[1] = {},
    ): Promise<number> => {
      const s = await delegation(parent, parts, { files })
      expect(await s.agent.run('Where is value_7_59?')).toMatchObject({ text: 'In src/part7.ts.' })
      await s.agent.close()
      return s.bodies('parent').reduce((sum, body) => sum + JSON.stringify(body).length, 0)
    }
    const alone = await sent([...reads, says('In src/part7.ts.')])
    const delegated = await sent(
      [
        { toolCalls: [spawn('ONE Find where value_7_59 is defined.', { agent: 'explorer' })] },
        says('In src/part7.ts.'),
      ],
      { ONE: [...reads, report('It is in part 7.', { facts: ['src/part7.ts:60 value_7_59'] })] },
    )
    expect(delegated / alone).toBeLessThanOrEqual(0.5)
  })
})
