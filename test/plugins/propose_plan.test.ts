import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Answers, Question } from 'vtcode'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { hold, items, scene } from '../support/inside.js'
import { checkLog, checkMessages } from '../support/invariants.js'
import { call, eventsOf, home, startPeer, vtcode, type Answer } from '../support/peer.js'

const plan = {
  title: 'Add retry',
  summary: 'The client tries again.',
  steps: [
    { action: 'Read the client' },
    { action: 'Add retry', files: ['client.ts'], verify: 'true' },
    { action: 'Document' },
  ],
  tests: 'node --test',
  assumptions: ['Only reads are tried again.'],
}
const propose = (more: object = {}): Answer => ({ toolCalls: [call('propose_plan', { ...plan, ...more })] })
const write = (path: string): Answer => ({ toolCalls: [call('unified_file', { action: 'write', path, content: 'x' })] })
const done: Answer = { content: 'Done.' }
const names = ({ tools }: any): string[] => tools.map(({ function: { name } }: any) => name)

/** Starts a conversation in mode plan with a person who answers each question in turn. */
async function talk(script: Answer[], answers: (Answers[string] | undefined)[], config: object = {}) {
  const s = await scene(script, { boot: { mode: 'plan', config } })
  const asked: Question[] = []
  const events: any[] = []
  const ask = async (questions: readonly Question[]): Promise<Answers | undefined> => {
    asked.push(...questions)
    const answer = answers.shift()
    return answer && Object.fromEntries(questions.map(({ id }) => [id, answer]))
  }
  const agent = await createAgent(s.booted.kernel, {
    env: {},
    surface: 'chat',
    providers: { approval: { ask, approve: async () => false } },
    onEvent: (event) => void events.push(event),
  })
  const outcome = await agent.run('retry failed requests, please')
  return { s, agent, outcome, asked, events, bodies: s.peer.bodies as any[] }
}
const pick = (label: string): Answers[string] => ({ selected: [label] })

describe('propose_plan in mode plan', () => {
  it('turns the steps of an accepted plan into tracker items and asks about the next write', async () => {
    const { s, agent, outcome, asked, events, bodies } = await talk(
      [propose(), write('client.ts'), done],
      [pick('execute')],
    )
    expect(asked).toMatchObject([
      {
        id: 'plan',
        question: 'What about the plan in .vtcode/plans/add-retry.md?',
        options: ['execute', 'auto_accept', 'fresh_context', 'revise', 'cancel'].map((label) => ({ label })),
      },
    ])
    expect(readFileSync(join(s.booted.root, '.vtcode/plans/add-retry.md'), 'utf8')).toBe(
      '# Add retry\n\nThe client tries again.\n\n## Steps\n\n1. Read the client\n2. Add retry\n   files: client.ts\n   verify: `true`\n3. Document\n\n## Tests\n\nnode --test\n\n## Assumptions\n\n- Only reads are tried again.\n',
    )
    expect([agent.mode, agent.tracker?.items.map(({ description }) => description)]).toEqual([
      'ask',
      ['Read the client', 'Add retry', 'Document'],
    ])
    expect(outcome).toMatchObject({
      outcome_code: 'escalated',
      num_turns: 2,
      not_applied: [{ code: 'VT_POLICY_NEEDS_APPROVAL' }],
    })
    expect([names(bodies[0]).includes('propose_plan'), names(bodies[1]).includes('propose_plan')]).toEqual([
      true,
      false,
    ])
    expect(JSON.stringify(bodies[1].messages)).toContain(
      'Plan accepted by the user: .vtcode/plans/add-retry.md\\"'.slice(0, -2),
    )
    expect(events.filter(({ type }) => type.startsWith('plan.'))).toMatchObject([
      { type: 'plan.approval.requested', plan_file: '.vtcode/plans/add-retry.md' },
      { type: 'plan.approval.resolved', decision: 'execute', automatic: false },
    ])
    expect(
      events.flatMap(({ type, item }) => (type === 'item.completed' && item.type === 'plan' ? [item.text] : [])),
    ).toEqual([expect.stringContaining('# Add retry')])
    checkLog(events)
    for (const { messages } of bodies) checkMessages(messages)
    await agent.close()
  })

  it('allows the writes of a plan that was accepted with its changes', async () => {
    const { s, agent } = await talk([propose(), write('client.ts'), done], [pick('auto_accept')])
    expect([agent.mode, existsSync(join(s.booted.root, 'client.ts'))]).toEqual(['auto', true])
    await agent.close()
  })

  it('starts from the plan alone, without old messages, where the person chose a fresh context', async () => {
    const { agent, bodies, events } = await talk(
      [
        { toolCalls: [call('unified_search', { action: 'list' })] },
        { content: 'secret of the old talk', toolCalls: propose().toolCalls! },
        done,
      ],
      [pick('fresh_context')],
    )
    const sent = JSON.stringify(bodies[2].messages)
    for (const gone of ['secret of the old talk', 'unified_search']) expect(sent).not.toContain(gone)
    for (const there of [
      'retry failed requests, please',
      '## Steps',
      'Add retry',
      'Task tracker: Add retry (0 of 3 completed)',
      'The user accepted the plan',
    ])
      expect(sent).toContain(there)
    expect(events.filter(({ type }) => type === 'context.reset')).toMatchObject([
      { trigger: 'plan_approval', plan_preserved: true, tool_budget_reset: false },
    ])
    expect(events.find(({ type }) => type === 'context.reset').turn_id).toMatch(/^tn_/)
    checkLog(events)
    await agent.close()
  })

  it.each<[string, (Answers[string] | undefined)[]]>([
    ['their own words', [{ selected: [], other: 'Without the documents.' }]],
    ['revise and what should be different', [pick('revise'), { selected: [], other: 'Without the documents.' }]],
  ])('revises a plan by %s as the next turn of mode plan', async (_, answers) => {
    const { s, agent, bodies, outcome } = await talk(
      [propose(), propose({ steps: plan.steps.slice(0, 2) })],
      [...answers, pick('cancel')],
    )
    expect(bodies[1].messages.at(-1)).toMatchObject({ role: 'user', content: 'Without the documents.' })
    expect([agent.mode, agent.tracker, outcome.outcome_code, bodies.length]).toEqual(['plan', undefined, 'success', 2])
    expect(readdirSync(join(s.booted.root, '.vtcode/plans')).sort()).toEqual(['add-retry-2.md', 'add-retry.md'])
    await agent.close()
  })

  it('drops a plan whose question is closed and continues without it', async () => {
    const { agent, outcome, bodies } = await talk([propose()], [undefined])
    expect([agent.mode, agent.tracker, outcome.text, bodies.length]).toEqual([
      'plan',
      undefined,
      'The plan is dropped; it stands in .vtcode/plans/add-retry.md.',
      1,
    ])
    await agent.close()
  })

  it.each<[object, RegExp]>([
    [{ title: ' ' }, /title is missing/],
    [{ summary: undefined, tests: '' }, /summary is missing; tests is missing/],
    [{ steps: [] }, /steps is missing/],
    [{ steps: [{ action: 'a' }, { action: ' ' }] }, /steps\[1\] says no action/],
    [{ steps: [{ action: 'a' }, { action: 'a' }] }, /steps\[1\] is "a", as steps\[0\] is/],
    [{ assumptions: undefined }, /assumptions is missing/],
    [{ open_questions: ['Which client?'] }, /open_questions has 1/],
  ])('refuses an incomplete plan and names the missing parts: %j', async (more, says) => {
    const { s, agent, events, asked } = await talk([propose(more), done], [])
    const output = events.find(({ type, item }) => type === 'item.completed' && item.type === 'tool_output').item
    expect(output).toMatchObject({ error_code: 'VT_PLAN_INCOMPLETE' })
    expect(output.output).toMatch(says)
    expect([asked, existsSync(join(s.booted.root, '.vtcode/plans'))]).toEqual([[], false])
    await agent.close()
  })

  it('writes a plan inside the folder of plans under any title, or refuses it', async () => {
    const { s, agent, events } = await talk(
      [
        propose({ title: '../../x' }),
        propose({ title: 'é'.repeat(100) }),
        propose({ title: '日本' }),
        propose({ title: 'y'.repeat(10_000) }),
        done,
      ],
      [
        pick('revise'),
        { selected: [], other: 'a' },
        pick('revise'),
        { selected: [], other: 'b' },
        pick('revise'),
        { selected: [], other: 'c' },
      ],
    )
    expect(readdirSync(join(s.booted.root, '.vtcode/plans')).sort()).toEqual([
      `${'e'.repeat(60)}.md`,
      'plan.md',
      'x.md',
    ])
    expect(
      events.findLast(({ type, item }) => type === 'item.completed' && item.type === 'tool_output').item.error_code,
    ).toBe('VT_INPUT_INVALID')
    await agent.close()
  })

  it('follows no link out of the folder of plans', async () => {
    const s = await scene([propose(), done], { boot: { mode: 'plan' } })
    mkdirSync(join(s.booted.root, '.vtcode'), { recursive: true })
    mkdirSync(join(s.booted.root, 'elsewhere'))
    symlinkSync('../elsewhere', join(s.booted.root, '.vtcode/plans'))
    await s.run('go')
    expect(readdirSync(join(s.booted.root, 'elsewhere'))).toEqual([])
  })

  it('names the plan to every later turn of the conversation and reports edits of a person', async () => {
    const s = await scene([propose(), done, done, done])
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      surface: 'chat',
      providers: { approval: { ask: async () => ({ plan: pick('execute') }), approve: async () => false } },
    })
    await agent.setMode('plan')
    await agent.run('go')
    writeFileSync(join(s.booted.root, '.vtcode/plans/add-retry.md'), '# Another\n')
    await agent.close()
    const again = await createAgent(s.booted.kernel, { env: {}, surface: 'chat', resume: agent.session_id })
    expect(again.tracker?.items.length).toBe(3)
    await again.run('and now?')
    expect(JSON.stringify(s.peer.bodies.at(-1).messages)).toContain(
      'Plan accepted by the user: .vtcode/plans/add-retry.md (edited since)',
    )
    await again.close()
    const forked = await createAgent(s.booted.kernel, {
      env: {},
      surface: 'chat',
      resume: agent.session_id,
      fork: 'summarized',
    })
    await forked.run('and now?')
    expect(JSON.stringify(s.peer.bodies.at(-1).messages)).toContain('.vtcode/plans/add-retry.md (edited since)')
    await forked.close()
  })

  it('refuses propose_plan outside of mode plan', async () => {
    const s = await scene([propose(), done])
    await s.run('go')
    expect(items(s.events, 'tool_output')).toMatchObject([{ error_code: 'VT_PLAN_MODE' }])
  })
})

describe('vtcode exec --plan', () => {
  async function exec(script: Answer[], args: string[]) {
    const peer = hold(await startPeer(script))
    const at = hold(await home(peer))
    return { at, peer, ...(await vtcode(at, args)) }
  }
  it('ends with a plan, its path and no change, and asks no person', async () => {
    const { at, code, out, err } = await exec([propose()], ['exec', '--plan', 'retry failed requests'])
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /^# Add retry\n[^]*\nThe plan stands in \.vtcode\/plans\/add-retry\.md\. No person was asked; nothing is done yet\.\n$/,
      ),
    ])
    expect(err).toContain('success: 1 request')
    expect(readdirSync(at.root).sort()).toEqual(['.vtcode'])
  })
  it('accepts a plan in mode full-auto with any tool list and writes below the folder of plans freely', async () => {
    const peer = hold(await startPeer([write('.vtcode/plans/notes.md'), propose()]))
    const at = hold(
      await home(
        peer,
        {},
        {
          settings: {
            agent: { model: 'peer/m' },
            automation: { full_auto: { enabled: true, allowed_tools: ['unified_file/read'] } },
          },
        },
      ),
    )
    const { code, out } = await vtcode(at, ['--mode', 'full-auto', 'exec', '--plan', '--json', 'retry failed requests'])
    expect([code, eventsOf(out).at(-1).outcome_code]).toEqual([0, 'success'])
    expect(readdirSync(at.root)).toEqual(['.vtcode'])
    expect(readdirSync(join(at.root, '.vtcode/plans')).sort()).toEqual(['add-retry.md', 'notes.md'])
  })
  it('lists propose_plan in mode plan only, also in a dry run', async () => {
    const peer = hold(await startPeer([]))
    const at = hold(await home(peer))
    const tools = async (...flags: string[]): Promise<string[]> =>
      JSON.parse((await vtcode(at, ['exec', '--dry-run', '--json', ...flags, 'go'])).out).tools.map(
        ({ name }: any) => name,
      )
    expect([(await tools()).includes('propose_plan'), (await tools('--plan')).includes('propose_plan')]).toEqual([
      false,
      true,
    ])
  })
  it('writes no file outside the folder of plans, by any tool or command', async () => {
    const run = (command: string): Answer => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
    const { at, out } = await exec(
      [write('a.txt'), run('sed -i s/a/b/ a.txt'), run('echo a > a.txt'), run('cat a.txt & touch b'), done],
      ['exec', '--json', '--plan', 'go'],
    )
    const codes = eventsOf(out).flatMap(({ type, item }) =>
      type === 'item.completed' && item.type === 'tool_output' ? [item.error_code] : [],
    )
    expect(codes).toEqual(Array(4).fill('VT_POLICY_DENIED'))
    expect(readdirSync(at.root).sort()).toEqual(['.vtcode'])
  })
})
