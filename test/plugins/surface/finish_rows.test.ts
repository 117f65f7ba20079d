import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from 'vtcode/agent'
import { eventually, nap, processesWith, rounds } from '../../support/exec.js'
import { hold, scene } from '../../support/inside.js'
import { checkLog } from '../../support/invariants.js'
import { call, eventsOf, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'

const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
const create = (...items: unknown[]): Answer =>
  step(call('task_tracker', { action: 'create', title: 'the task', items }))
const mark = (index: number, status: string): Answer => step(call('task_tracker', { action: 'update', index, status }))
const write = (path: string, content = 'x\n'): Answer => step(call('unified_file', { action: 'write', path, content }))
const done: Answer = { content: 'Done.' }
const proved = (verify: string) => create({ description: 'a', status: 'completed', verify })
const blocked = '.vtcode/tasks/current_blocked.md'

interface Scene {
  script: Answer[]
  flags?: string[]
  /** Commands that rules allow; all others need approval. */
  allow?: string[]
  settings?: object
  harness?: object
  files?: Record<string, string>
}
async function place({ script, allow = [], settings, harness, files = {} }: Scene): Promise<Home> {
  const peer = hold(await startPeer(script))
  const rules = { policy: { allow: allow.map((one) => `Bash(${one})`) }, sandbox: { mode: 'off' } }
  return hold(
    await home(peer, files, {
      settings: { agent: { model: 'peer/m', ...(harness && { harness }) }, ...rules, ...settings },
      provider: { context_window: 128_000 },
    }),
  )
}
async function run(at: Home, args: string[]) {
  const { code, out, err } = await vtcode(at, args)
  const events = eventsOf(out)
  if (events[0]?.seq === 1) checkLog(events)
  const completed = events.filter(({ type }) => type === 'item.completed').map(({ item }) => item)
  const harness = completed.filter(({ type }) => type === 'harness')
  return {
    code,
    err,
    end: events.at(-1),
    completed,
    harness,
    told: harness.map(({ event, message }) => (event.startsWith('continuation') ? `${event}: ${message}` : event)),
  }
}
async function exec(scene: Scene) {
  const at = await place(scene)
  return { at, ...(await run(at, ['exec', '--json', ...(scene.flags ?? []), 'go'])) }
}
const goOn = 'continuation_started: open_items'
const again = 'continuation_started: verification_failed'
const failing = ['verification_started', 'verification_failed']
const handed = 'blocked_handoff_written'

describe('the end of an answer, through exec', () => {
  it.each<[string, Scene, [outcome: string, code: number, verified: boolean | null], string[]]>([
    [
      'a change was not applied',
      { script: [write('a.txt'), done, done], settings: { policy: { deny: ['Edit'] } } },
      ['escalated', 1, null],
      [],
    ],
    [
      'continuation is off',
      { script: [create('a'), done], harness: { continuation_policy: 'off' } },
      ['success', 0, null],
      [],
    ],
    [
      'three turns did nothing',
      { script: [create('a'), done, done, done, done] },
      ['stopped_no_action', 1, null],
      [goOn, goOn, goOn, handed],
    ],
    ['a step is open', { script: [create('a'), done, mark(1, 'completed'), done] }, ['success', 0, null], [goOn]],
    [
      'all open steps are blocked',
      { script: [create('a'), mark(1, 'blocked'), done] },
      ['handed_off', 1, null],
      [handed],
    ],
    [
      'the same command fails the fourth time',
      { script: [proved('false'), done, done, done, done], allow: ['false'] },
      ['verification_failed', 1, false],
      [...failing, again, ...failing, again, ...failing, again, ...failing, handed],
    ],
    [
      'commands fail the eighth time, each time in another way',
      {
        script: Array(8).fill(done),
        flags: ['--verify', 'sh check.sh'],
        files: { 'check.sh': 'cat count; echo x >>count; exit 1\n' },
      },
      ['verification_failed', 1, false],
      [
        ...Array(7)
          .fill([...failing, again])
          .flat(),
        ...failing,
        handed,
      ],
    ],
    [
      'a command fails, then passes',
      { script: [proved('cat made.txt'), done, write('made.txt'), done], allow: ['cat *'] },
      ['success', 0, true],
      [...failing, again, 'verification_started', 'verification_passed'],
    ],
    [
      'a command may not run',
      { script: [proved('make proof'), done] },
      ['success', 0, false],
      ['verification_started'],
    ],
    ['there is no command', { script: [write('a.txt'), done] }, ['success', 0, false], []],
  ])('ends as its row requires: %s', async (_, scene, expected, told) => {
    const ran = await exec(scene)
    expect([ran.end.outcome_code, ran.code, ran.end.verified]).toEqual(expected)
    expect(ran.told).toEqual(told)
    expect(existsSync(join(ran.at.root, blocked))).toBe(told.includes(handed))
  })

  it('puts a message sent during verification before its result, and verifies again afterwards', async () => {
    const s = await scene([proved('sleep 1; false'), done, { content: 'You are heard.' }, done, done, done], {
      settings: { policy: { allow: ['Bash(sleep *)', 'Bash(false)'] }, sandbox: { mode: 'off' } },
    })
    const events: any[] = []
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: async (event: any) => {
        events.push(event)
        if (
          event.item?.event === 'verification_started' &&
          events.filter(({ item }) => item?.event === 'verification_started').length === 1
        )
          await agent.followUp('and look at this')
      },
    })
    await agent.run('go')
    const told = events
      .filter(
        ({ type, item }) =>
          type === 'item.completed' &&
          (item.type === 'harness' || item.type === 'user_message') &&
          item.event !== 'context_window_assumed',
      )
      .map(({ item }) => item.event ?? item.text.split('\n')[0])
    expect(told.slice(0, 6)).toEqual([
      'go',
      'verification_started',
      'verification_failed',
      'continuation_skipped',
      'and look at this',
      'verification_started',
    ])
    await agent.close()
  })
})

describe('the handoff of a limited run', () => {
  const read = step(call('unified_file', { action: 'read', path: 'there.txt' }))
  const files = { 'there.txt': 'one\n' }
  it.each<[string, Scene, string]>([
    [
      'of calls',
      { script: [create('a'), read, { content: 'Half of it.' }], harness: { max_tool_calls_per_turn: 1 }, files },
      'tool_loop_limit_reached',
    ],
    ['of turns', { script: [create('a'), done, done], flags: ['--max-turns', '1'] }, 'turn_limit_reached'],
    [
      'of money',
      {
        script: [{ ...create('a'), usage: { prompt_tokens: 1000, completion_tokens: 1000 } }, done],
        settings: { custom_providers: [] },
        harness: { max_budget_usd: 1 },
      },
      'budget_limit_reached',
    ],
  ])('writes a handoff at a limit %s', async (_, { settings: __, ...scene }, outcome) => {
    const peer = hold(await startPeer(scene.script))
    const at = hold(
      await home(peer, scene.files ?? {}, {
        settings: { agent: { model: 'peer/m', ...(scene.harness && { harness: scene.harness }) } },
        provider: {
          context_window: 128_000,
          ...(outcome.startsWith('budget') && { cost: { input: 100, output: 900 } }),
        },
      }),
    )
    const { code, end, told } = await run(at, ['exec', '--json', ...(scene.flags ?? []), 'go'])
    expect([code, end.outcome_code, told.filter((event) => event === handed)]).toEqual([1, outcome, [handed]])
    expect(end.result).toContain(`The remaining work is in ${blocked}.`)
    expect(readFileSync(join(at.root, blocked), 'utf8')).toMatch(
      new RegExp(
        `^---\\nsession_id: ses_\\w+\\noutcome: ${outcome}\\n[^]*## Current Tracker Snapshot\\n\\nthe task\\n1 \\[ \\] a\\n`,
      ),
    )
  })
  it('names a resume_command that continues the session and shows it the remaining work', async () => {
    const { at } = await exec({
      script: [proved('cat made.txt'), ...Array(4).fill(done), write('made.txt'), done],
      allow: ['cat *'],
    })
    const [, id] = /^resume_command: vtcode resume (ses_\w+) "<what to do>"$/m.exec(
      readFileSync(join(at.root, blocked), 'utf8'),
    )!
    const { code, end, completed } = await run(at, ['resume', '--json', id!, 'write made.txt'])
    expect([code, end.outcome_code, end.verified, existsSync(join(at.root, blocked))]).toEqual([
      0,
      'success',
      true,
      false,
    ])
    expect(
      completed.filter(({ type, text }) => type === 'user_message' && text.startsWith('What was left')).length,
    ).toBe(1)
  })
})

describe('a verification command', () => {
  it('ends a daemon that a verification leaves', async () => {
    const sleep = nap()
    const { end } = await exec({ script: [proved(`${sleep} & true`), done], allow: ['sleep *', 'true'] })
    expect([end.outcome_code, end.verified]).toEqual(['success', true])
    expect(await eventually(() => processesWith(sleep).length === 0)).toBe(true)
  })
  it('fails a verification that wants a terminal, and waits for no question', async () => {
    const files = { 'ask.sh': 'read answer </dev/tty\n', 'wait.sh': 'read answer || echo nobody\n' }
    const { end, completed } = await exec({
      script: Array(4).fill(done),
      flags: ['--verify', 'sh wait.sh', '--verify', 'sh ask.sh'],
      files,
    })
    expect([end.outcome_code, end.verification.commands.map(({ exit_code }: any) => exit_code === 0)]).toEqual([
      'verification_failed',
      [true, false],
    ])
    expect(completed.find(({ type, output }) => type === 'tool_output' && output.includes('nobody'))).toBeDefined()
  })
  it('shows the model the end of more output than a file keeps, and equal output equally at any length', async () => {
    const { end, harness, completed } = await exec({
      script: Array(5).fill(done),
      flags: ['--verify', 'sh loud.sh'],
      files: {
        'loud.sh': `if [ -e again ]; then head -c 3000000 /dev/zero | tr "\\0" x; else head -c ${rounds(68_000_000, 1_000_000_000)} /dev/zero; touch again; fi; echo; echo "took $$ ms"; echo the end; exit 3\n`,
      },
    })
    const failed = harness.filter(({ event }) => event === 'verification_failed')
    // The first output is another one; the four that follow are the same, but for a time.
    expect([end.outcome_code, failed.length]).toEqual(['verification_failed', 5])
    expect(failed[0]).toMatchObject({ path: expect.stringMatching(/^\.vtcode\/spool\//), data: { exit_code: 3 } })
    const said = completed
      .filter(({ type, origin }) => type === 'user_message' && origin === 'harness')
      .map(({ text }) => text)
    expect(said[0]).toMatch(/the end\nThe whole output is in \.vtcode\/spool\/[\w.-]+\.$/)
    expect(said[0].length).toBeLessThan(4600)
  })
  it('reports a verification that changes the verified files, and certifies them as verified', async () => {
    const { at, end, completed } = await exec({
      script: [write('made.txt', 'one\n'), done],
      flags: ['--verify', 'sh fix.sh'],
      files: { 'fix.sh': 'echo two >>made.txt\n' },
    })
    expect([end.outcome_code, end.verified]).toEqual(['success', true])
    expect(completed.find(({ type }) => type === 'error')).toMatchObject({
      code: 'VT_TASK_CHANGED',
      message: expect.stringContaining('made.txt'),
    })
    const { code, out, err } = await vtcode(at, ['sessions', 'show', end.session_id, '--certificate'])
    expect([code, JSON.parse(out).files]).toEqual([
      0,
      [{ path: 'made.txt', sha256: '2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806' }],
    ])
    expect(err).toContain('Changed since the commands ran: made.txt: changed')
    writeFileSync(join(at.root, 'made.txt'), 'one\n')
    expect((await vtcode(at, ['sessions', 'show', end.session_id, '--certificate'])).err).toBe('')
  })
  it.each([
    ['', 'is empty'],
    ['x'.repeat(1001), 'has 1001 characters'],
  ])('refuses a verification command that no certificate can hold', async (command, problem) => {
    const at = await place({ script: [] })
    expect(await vtcode(at, ['exec', '--verify', command, 'go'])).toMatchObject({
      code: 3,
      err: expect.stringContaining(problem),
    })
  })
})

describe('a goal in a chat', () => {
  it('shows turns, cost and command results of a goal, and replaces it with a second one', async () => {
    const at = await place({
      script: [create('a'), done, done, done, done, mark(1, 'completed'), ...Array(4).fill(done)],
      harness: { verification: { commands: ['false'] } },
      allow: ['false'],
    })
    const { err } = await vtcode(at, ['chat', '--quiet'], {
      input: '/goal make it\n/goal\n/goal make it well\n/goal\n/goal clear\n/goal\n',
    })
    expect(err).toContain('Goal: make it\n4 turns\nnothing was verified yet\n')
    expect(err).toContain('Replaced the goal: make it\n')
    expect(err).toMatch(
      /Goal: make it well\n4 turns(, 0\.0000 USD)?\nlast verification: failed\nfalse ended with exit code 1\n/,
    )
    expect(err).toMatch(/The goal is cleared\.\nThere is no goal\.\n$/)
  })
  it('refuses an empty goal, and one as long as a book, by name', async () => {
    const at = await place({ script: [] })
    expect((await vtcode(at, ['chat', '--quiet'], { input: `/goal ${'x'.repeat(4001)}\n` })).err).toContain(
      'VT_CONFIG_INVALID: A goal has 1 to 4000 characters; this one has 4001.',
    )
  })
})

describe('two live sessions', () => {
  it('keeps a tracker file for each session, even when both write at once', async () => {
    const track = (title: string): Answer => step(call('task_tracker', { action: 'create', title, items: ['a'] }))
    const s = await scene(
      Array.from(
        { length: 20 },
        () => (body: any) =>
          body.messages.at(-1).role === 'tool'
            ? done
            : track(body.messages.findLast(({ role }: any) => role === 'user').content),
      ),
      { settings: { agent: { model: 'peer/m', harness: { continuation_policy: 'off' } } } },
    )
    const agents = await Promise.all(['one', 'other'].map(() => createAgent(s.booted.kernel, { env: {} })))
    await Promise.all(agents.map((agent, at) => agent.run(`task ${at}`)))
    const tasks = join(s.booted.root, '.vtcode/tasks')
    const files = [
      join(tasks, 'current_task.md'),
      ...agents.map(({ session_id }) => join(tasks, session_id, 'current_task.md')),
    ]
      .filter(existsSync)
      .map((file) => readFileSync(file, 'utf8'))
    expect(files.map((text) => /^<!-- vtcode session=(ses_\w+) .*\n# (task \d)\n/.exec(text)?.slice(1)).sort()).toEqual(
      agents.map(({ session_id }, at) => [session_id, `task ${at}`]).sort(),
    )
    for (const agent of agents) await agent.close()
    // The folder of an ended session is taken over, and its old content is kept.
    const third = await createAgent(s.booted.kernel, { env: {} })
    await third.run('task 2')
    expect([
      readFileSync(join(tasks, 'current_task.md'), 'utf8').split('\n')[1],
      readdirSync(join(tasks, 'archive')).length,
    ]).toEqual(['# task 2', 1])
    await third.close()
  })
})

describe('the tracker in a request', () => {
  const settings = { settings: { agent: { model: 'peer/m', harness: { continuation_policy: 'off' } } } }
  it('sends the title and open steps of the tracker, once after a compaction', async () => {
    const summary = JSON.stringify({
      goal: 'g',
      constraints: [],
      done: [],
      facts: [],
      open_questions: [],
      next_steps: [],
    })
    const s = await scene(
      Array.from(
        { length: 30 },
        (_, at) => (body: any) =>
          JSON.stringify(body.messages).includes('You shorten the record')
            ? { content: summary }
            : at === 0
              ? create('a', 'b')
              : { content: `Talk ${'of this and that '.repeat(40)}` },
      ),
      settings,
    )
    const agent = await createAgent(s.booted.kernel, { env: {} })
    for (const text of ['go', 'more', 'and more', 'yet more']) await agent.run(text)
    expect(await agent.compact()).toBe(true)
    await agent.run('on')
    const told = (body: any): number =>
      body.messages.filter(({ content }: any) =>
        String(content).startsWith('Task tracker: the task (0 of 2 completed)\n1 [ ] a\n2 [ ] b'),
      ).length
    expect(told(s.peer.bodies.at(-1))).toBe(1)
    await agent.run('and on')
    expect(told(s.peer.bodies.at(-1))).toBe(1)
    await agent.close()
  })
  it('sends no byte of an unchanged tracker in ten turns', async () => {
    const s = await scene(
      Array.from(
        { length: 40 },
        () => (body: any) => (body.messages.at(-1).content === 'track' ? create('a', 'b') : done),
      ),
      settings,
    )
    const [tracked, plain] = [
      await createAgent(s.booted.kernel, { env: {} }),
      await createAgent(s.booted.kernel, { env: {} }),
    ]
    const size = async (agent: typeof plain, text: string): Promise<number> => (
      await agent.run(text),
      JSON.stringify(s.peer.bodies.at(-1).messages).length
    )
    const before = [await size(tracked, 'track'), await size(plain, 'hello')]
    let after = before
    for (let turn = 0; turn < 10; turn++) after = [await size(tracked, 'go on'), await size(plain, 'go on')]
    expect(after[0]! - before[0]!).toBe(after[1]! - before[1]!)
    for (const agent of [tracked, plain]) await agent.close()
  })
})
