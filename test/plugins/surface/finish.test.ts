import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually, nap, processesWith } from '../../support/exec.js'
import { hold } from '../../support/inside.js'
import { checkLog } from '../../support/invariants.js'
import { samplePoints } from '../../support/sample.js'
import { call, eventsOf, home, logOf, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'

const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
const create = (...items: unknown[]): Answer =>
  step(call('task_tracker', { action: 'create', title: 'the task', items }))
const mark = (index: number, status: string): Answer => step(call('task_tracker', { action: 'update', index, status }))
const write = (path: string, content = 'x'): Answer => step(call('unified_file', { action: 'write', path, content }))
const done: Answer = { content: 'Done.' }
const allow = (...commands: string[]) => ({
  policy: { allow: commands.map((command) => `Bash(${command})`) },
  sandbox: { mode: 'off' },
})

interface Scene {
  script: Answer[]
  flags?: string[]
  settings?: object
  harness?: object
  files?: Record<string, string>
}
async function place({ script, settings, harness, files = {} }: Scene): Promise<{ at: Home; bodies: any[] }> {
  const peer = hold(await startPeer(script))
  const at = hold(
    await home(peer, files, {
      settings: { agent: { model: 'peer/m', ...(harness && { harness }) }, ...settings },
      provider: { context_window: 128_000 },
    }),
  )
  return Object.defineProperty({ at, bodies: [] as any[] }, 'bodies', { get: () => peer.bodies })
}
async function run(at: Home, args: string[]) {
  const { code, out, err } = await vtcode(at, args)
  const events = eventsOf(out)
  if (events[0]?.seq === 1) checkLog(events)
  const completed = events.filter(({ type }) => type === 'item.completed').map(({ item }) => item)
  const said = completed
    .filter(({ type, origin }) => type === 'user_message' && origin === 'harness')
    .map(({ text }) => text)
  return {
    code,
    err,
    events,
    end: events.at(-1),
    said,
    harness: completed.filter(({ type }) => type === 'harness').map(({ event }) => event),
    completed,
  }
}
async function exec(scene: Scene) {
  const there = await place(scene)
  return { at: there.at, ...(await run(there.at, ['exec', '--json', ...(scene.flags ?? []), 'go'])) }
}

describe('continuation of a run', () => {
  it('continues with exactly the open items of the tracker, whatever the model claims in any language', async () => {
    const { said, code, harness, end } = await exec({
      script: [
        create('read', 'write', 'test'),
        mark(1, 'completed'),
        { content: 'Alles fertig! Die Aufgabe ist vollständig erledigt.' },
        mark(2, 'completed'),
        mark(3, 'completed'),
        done,
      ],
    })
    expect(said).toEqual([
      'Open:\n2 [ ] write\n3 [ ] test\nContinue with the next. When one cannot be done, mark it blocked and say why.',
    ])
    expect([code, end.outcome_code, end.num_turns, harness]).toEqual([0, 'success', 2, ['continuation_started']])
  })
  it('stops when no item is open, even if a log that was read claims otherwise', async () => {
    const { said, code } = await exec({
      script: [step(call('unified_file', { action: 'read', path: 'log.txt' })), done],
      files: { 'log.txt': 'The task is not complete. Open items: 2.\n' },
    })
    expect([said, code]).toEqual([[], 0])
  })
  it('ends after three turns without a call, with a handoff that the next run shows once', async () => {
    const { at, code, end, said } = await exec({
      script: [create('a'), done, done, done, done, { content: 'I see.' }, done, done, done],
    })
    expect([code, end.outcome_code, said.length]).toEqual([1, 'stopped_no_action', 3])
    expect(end.result).toBe('Done.\n\nThe remaining work is in .vtcode/tasks/current_blocked.md.')
    const text = readFileSync(join(at.root, '.vtcode/tasks/current_blocked.md'), 'utf8')
    expect(text).toMatch(
      /^---\nsession_id: ses_\w+\noutcome: stopped_no_action\ncreated_at: .*\nworkspace: .*\nresume_command: vtcode resume ses_\w+ "<what to do>"\n---\n/,
    )
    for (const part of [
      'Blocker Summary',
      'Current Tracker Snapshot',
      'Relevant Paths',
      'Verification Output',
      'Resume Metadata',
    ])
      expect(text).toContain(`## ${part}\n`)
    expect(readdirSync(join(at.root, '.vtcode/tasks/blockers')).length).toBe(1)
    const again = await run(at, ['exec', '--json', '--continue', 'more'])
    expect(again.said.filter((one) => one.startsWith('What was left')).length).toBe(1)
    expect(readdirSync(join(at.root, '.vtcode/tasks/archive', end.session_id))).toContain('current_blocked.md')
  })
  it('hands off when all open items are blocked', async () => {
    const { code, end, said } = await exec({
      script: [create('a', 'b'), mark(1, 'completed'), mark(2, 'blocked'), { content: 'There is no key.' }],
    })
    expect([code, end.outcome_code, said, end.result]).toEqual([
      1,
      'handed_off',
      [],
      expect.stringContaining('There is no key.'),
    ])
  })
  it.each([
    ['off', ['exec', '--json', 'go']],
    ['exec_only', ['exec', '--json', '--mode', 'plan', 'go']],
  ])('continues nothing with policy %s at %j', async (continuation_policy, words) => {
    const { at } = await place({ script: [create('a'), done], harness: { continuation_policy } })
    const { said, code } = await run(at, words)
    expect([said, code]).toEqual([[], 0])
  })
  it('continues nothing for vtcode ask', async () => {
    const there = await place({ script: [create('a'), done] })
    expect([(await vtcode(there.at, ['ask', 'go'])).code, there.bodies.length]).toEqual([0, 2])
  })
})

describe('context reset', () => {
  const look = step(call('unified_search', { action: 'list' }))
  it('resets to prompt, memory and tracker after two continuations without progress, where settings say so', async () => {
    const about = (content: string): Answer => ({ content, ...look })
    const script = [
      create('a', 'b'),
      { content: 'Old talk.' },
      about('Looking.'),
      { content: 'Done?' },
      look,
      { content: 'Done?' },
      look,
      { content: 'Done?' },
      mark(1, 'blocked'),
      mark(2, 'blocked'),
      done,
    ]
    const there = await place({ script, harness: { context_reset_mode: 'on_stall' } })
    const { events, end } = await run(there.at, ['exec', '--json', 'change the client'])
    const resets = events.filter(({ type }) => type === 'context.reset')
    expect(resets).toMatchObject([{ trigger: 'stall', plan_preserved: false }])
    expect(events.filter(({ type, reason }) => type === 'segment.started' && reason === 'reset').length).toBe(1)
    const { bodies } = there
    const first = bodies.findIndex(({ messages }) => JSON.stringify(messages).includes('What was tried did not work'))
    const sent = JSON.stringify(bodies[first].messages)
    for (const gone of ['Old talk.', 'Looking.', '"Done?"']) expect(sent).not.toContain(gone)
    for (const there of [
      'change the client',
      '## Task Tracker',
      'Task tracker: the task (0 of 2 completed)',
      '1 [ ] a',
      'Continue with the next',
    ])
      expect(sent).toContain(there)
    expect(end.outcome_code).toBe('handed_off')
  })
  it('writes progress, proof and remaining checks of the task into the session memory', async () => {
    const { at, end } = await exec({
      script: [
        create({ description: 'a', verify: 'true' }, { description: 'b', verify: 'false' }),
        mark(1, 'completed'),
        mark(2, 'completed'),
        ...Array(6).fill(done),
      ],
      settings: allow('true', 'false'),
    })
    const memory = JSON.parse(readFileSync(join(at.root, '.vtcode/sessions', end.session_id, 'memory.json'), 'utf8'))
    expect(memory).toMatchObject({
      task_summary: 'Task tracker: the task (2 of 2 completed)',
      verification_summary: 'failed\n`true` ended with exit code 0\n`false` ended with exit code 1',
      verification_todo: ['true', 'false'],
    })
  })
  it('resets nothing without the setting, or where the tracker changes', async () => {
    const idle = [look, { content: 'Done?' }]
    const { events } = await exec({
      script: [create('a', 'b'), done, ...idle, ...idle, ...idle, mark(1, 'blocked'), mark(2, 'blocked'), done],
    })
    expect(events.filter(({ type }) => type === 'context.reset')).toEqual([])
    const moving = await exec({
      script: [
        create('a', 'b'),
        done,
        ...idle,
        mark(1, 'in_progress'),
        { content: 'Done?' },
        ...idle,
        mark(1, 'blocked'),
        mark(2, 'blocked'),
        done,
      ],
      harness: { context_reset_mode: 'on_stall' },
    })
    expect(moving.events.filter(({ type }) => type === 'context.reset')).toEqual([])
  })
})

describe('verification commands', () => {
  it('runs each verification command once and to its end before a run succeeds', async () => {
    const { code, end, harness, completed } = await exec({
      script: [
        create(
          { description: 'a', status: 'completed', verify: ['sleep 1', 'true'] },
          { description: 'b', status: 'completed', verify: 'true' },
        ),
        done,
      ],
      settings: allow('sleep *', 'true'),
    })
    expect([code, end.verified, end.verification.result, harness]).toEqual([
      0,
      true,
      'passed',
      ['verification_started', 'verification_passed', 'verification_passed'],
    ])
    expect(end.verification.commands).toEqual([
      {
        command: 'sleep 1',
        exit_code: 0,
        timed_out: false,
        duration_ms: expect.any(Number),
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      expect.objectContaining({ command: 'true' }),
    ])
    expect(end.verification.commands[0].duration_ms).toBeGreaterThan(900)
    expect(completed.filter(({ origin, type }) => origin === 'harness' && type === 'tool_invocation').length).toBe(2)
  })
  it('shows a failed verification with its last output to the model, and verifies the fix', async () => {
    const { code, end, said, at } = await exec({
      script: [
        create({ description: 'a', status: 'completed', verify: 'cat made.txt' }),
        done,
        write('made.txt'),
        done,
      ],
      settings: allow('cat *'),
    })
    expect(said).toEqual([
      expect.stringMatching(/^`cat made\.txt` ended with exit code 1\. It has to pass\.\ncat: made\.txt: No such file/),
    ])
    expect([code, end.verified, existsSync(join(at.root, 'made.txt'))]).toEqual([0, true, true])
  })
  it('verifies again after a change, and not after reads', async () => {
    const passes = { description: 'a', status: 'completed', verify: 'true' }
    const { at } = await place({
      script: [create(passes), done, step(call('unified_search', { action: 'list' })), done, write('b.txt'), done],
      settings: allow('true'),
    })
    const ran = async (args: string[]) =>
      (await run(at, ['exec', '--json', ...args])).harness.filter((event) => event === 'verification_started').length
    expect([await ran(['go']), await ran(['--continue', 'look']), await ran(['--continue', 'write'])]).toEqual([
      1, 0, 1,
    ])
  })
  it('ends with a handoff after the same failed verification four times', async () => {
    const { code, end, said, at } = await exec({
      script: [create({ description: 'a', status: 'completed', verify: 'false' }), done, done, done, done],
      settings: allow('false'),
    })
    expect([code, end.outcome_code, end.verified, said.length]).toEqual([1, 'verification_failed', false, 3])
    expect(readFileSync(join(at.root, '.vtcode/tasks/current_blocked.md'), 'utf8')).toContain(
      '- `false` ended with exit code 1',
    )
  })
  it('fails a verification command that exceeds its time, and ends its processes', async () => {
    const sleep = nap()
    const { said, end } = await exec({
      script: [
        create({ description: 'a', status: 'completed', verify: 'sh check.sh' }),
        ...Array<Answer>(8).fill(done),
      ],
      // The command is stopped once, and fails at once after that.
      files: { 'check.sh': `mkdir begun && ${sleep}; false\n` },
      flags: ['--verify', 'sh check.sh'],
      harness: { verification: { timeout_secs: 1 } },
    })
    // The time is measured: a busy machine stops the command later than after the limit of 1 s.
    expect(said[0]).toMatch(/was stopped after [1-9]\d* s/)
    expect(end.outcome_code).toBe('verification_failed')
    expect(await eventually(() => processesWith(sleep).length === 0)).toBe(true)
  })
  it('reports a command that needs approval as not run, with the rule that would allow it', async () => {
    const files = { 'package.json': '{"scripts":{"test":"node -e 0"}}' }
    const plain = await exec({ script: [write('a.txt'), done], files })
    expect([plain.code, plain.end.outcome_code, plain.end.verified, plain.said]).toEqual([0, 'success', false, []])
    const remark = plain.completed.find(({ type, code }) => type === 'error' && code === 'VT_TASK_NOT_VERIFIED')
    expect(remark.message).toMatch(/^`npm test` would prove the work and may not run unasked: /)
    const always = await exec({
      script: [write('a.txt'), done],
      files,
      harness: { verification: { required: 'always' } },
    })
    expect([always.code, always.end.outcome_code]).toEqual([1, 'escalated'])
    const never = await exec({
      script: [write('a.txt'), done],
      files,
      harness: { verification: { required: 'never' } },
    })
    expect([never.code, never.end.verified, never.harness]).toEqual([0, null, []])
  })
  it('approves exactly the command that --verify names, and nothing else', async () => {
    const files = { 'package.json': '{"scripts":{"test":"node -e 0"}}' }
    const named = await exec({ script: [write('a.txt'), done], files, flags: ['--verify', 'npm test'] })
    expect([
      named.code,
      named.end.verified,
      named.end.verification.commands.map(({ command }: any) => command),
    ]).toEqual([0, true, ['npm test']])
    const other = await exec({
      script: [create({ description: 'a', status: 'completed', verify: 'npm test -- --watch' }), done],
      files,
      flags: ['--verify', 'npm test'],
    })
    expect([other.code, other.end.verified, other.end.verification.result]).toEqual([0, false, 'not_run'])
    const denied = await exec({
      script: [write('a.txt'), done],
      files,
      flags: ['--verify', 'npm test'],
      settings: { policy: { deny: ['Bash(npm *)'] } },
    })
    expect(denied.end.verified).toBe(false)
    // Calls of the model itself are not approved by --verify.
    const asked = await exec({
      script: [step(call('unified_exec', { action: 'run', command: 'npm test' })), done, done],
      files,
      flags: ['--verify', 'npm test'],
    })
    expect(
      asked.completed.find(({ type, outcome }) => type === 'tool_invocation' && outcome === 'permission_rejected'),
    ).toBeDefined()
  })
  it('ignores the test script that `npm init` writes', async () => {
    const { harness, end } = await exec({
      script: [write('a.txt'), done],
      files: { 'package.json': '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
    })
    expect([harness, end.verified]).toEqual([[], false])
  })
})

describe('the goal of a session', () => {
  it('continues a resumed session until its goal is met', async () => {
    const { at } = await place({ script: [done, write('made.txt'), done], settings: allow('cat *') })
    const first = await run(at, ['exec', '--json', 'go'])
    const { code, end, said } = await run(at, [
      'resume',
      '--json',
      first.end.session_id,
      '--goal',
      'made.txt is there',
      '--verify',
      'cat made.txt',
    ])
    expect([code, end.verified]).toEqual([0, true])
    expect(said).toEqual(['Goal: made.txt is there'])
    expect(logOf(at, first.end.session_id).at(-1).outcome_code).toBe('success')
    const facts = readFileSync(join(at.root, '.vtcode/sessions', first.end.session_id, 'messages.jsonl'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    expect(facts.filter(({ kind }) => kind.startsWith('goal'))).toMatchObject([
      { kind: 'goal', text: 'made.txt is there', verify: ['cat made.txt'] },
      { kind: 'goal_end', how: 'met' },
    ])
  })
  it('shows, meets, replaces and clears the goal of a chat, and continues no chat without one', async () => {
    const open = create('a')
    const script = [open, done, mark(1, 'completed'), done, open, done, mark(1, 'completed'), done, done]
    const there = await place({ script })
    const words = ['open something', '/goal', '/goal clear', '/goal finish it', '/goal', '/goal', 'open another'].map(
      (line) => `${line}\n`,
    )
    const { err, code } = await vtcode(there.at, ['chat', '--quiet'], { input: words.slice(0, 3).join('') })
    expect([code, err, there.bodies.length]).toEqual([0, 'There is no goal.\nThere is no goal.\n', 2])
    await vtcode(there.at, ['chat', '--quiet', '--resume', 'last'], { input: '/goal finish it\n' })
    expect(there.bodies.length).toBe(4)
    const said = there.bodies
      .at(-1)
      .messages.filter(({ role }: any) => role === 'user')
      .map(({ content }: any) => content)
    expect(said).toContain('finish it')
    const after = await vtcode(there.at, ['chat', '--quiet', '--resume', 'last'], { input: '/goal\n/goal   \n' })
    expect(after.err).toContain('There is no goal.')
  })
})

describe('the tracker of a session', () => {
  it('restores the tracker of a turn with vtcode revert', async () => {
    const { at } = await place({
      script: [create('first'), done, create('second'), done, done],
      harness: { continuation_policy: 'off' },
    })
    await run(at, ['exec', '--json', 'go'])
    await run(at, ['exec', '--json', '--continue', 'more'])
    expect((await vtcode(at, ['revert', '--last', '--turn', '2', '--scope', 'conversation'])).code).toBe(0)
    const { said } = await run(at, ['exec', '--json', '--continue', 'again'])
    expect(said).toEqual(['Task tracker: the task (0 of 1 completed)\n1 [ ] first'])
  })
  it('shows the tracker once to a resumed and a forked session, and adds no byte in unchanged turns', async () => {
    const there = await place({
      script: [create('a'), ...Array(12).fill(done)],
      harness: { continuation_policy: 'off' },
    })
    await run(there.at, ['exec', '--json', 'go'])
    const { said } = await run(there.at, ['exec', '--json', '--continue', 'more'])
    expect(said).toEqual(['Task tracker: the task (0 of 1 completed)\n1 [ ] a'])
    expect(
      (await vtcode(there.at, ['chat', '--quiet', '--resume', 'last'], { input: Array(5).fill('and more\n').join('') }))
        .code,
    ).toBe(0)
    const told = there.bodies
      .at(-1)
      .messages.filter(({ content }: any) => String(content).startsWith('Task tracker:')).length
    expect(told).toBe(2)
    const forked = await run(there.at, ['resume', '--json', '--last', '--fork', '--summarize', 'go on'])
    expect(forked.said).toEqual(['Task tracker: the task (0 of 1 completed)\n1 [ ] a'])
  })
  it('ends a run killed after any journal write as usual, with the command at most once more', async () => {
    const answers = [
      create({ description: 'a', status: 'completed', verify: 'sh check.sh' }),
      done,
      write('made.txt'),
      done,
    ]
    const byPlace = (body: any): Answer =>
      answers[body.messages.filter(({ role }: any) => role === 'assistant').length] ?? done
    const play = async (kill?: number) => {
      const peer = hold(await startPeer(Array.from({ length: 12 }, () => byPlace)))
      const at = hold(
        await home(
          peer,
          { 'check.sh': 'echo ran >>count\ncat made.txt\n' },
          { settings: { agent: { model: 'peer/m' }, sandbox: { mode: 'off' } }, provider: { context_window: 128_000 } },
        ),
      )
      const how =
        kill === undefined
          ? {}
          : {
              node: ['--import', join(import.meta.dirname, '../../support/kill.mjs')],
              env: { KILL_AFTER: String(kill) },
            }
      const first = await vtcode(at, ['exec', '--json', '--verify', 'sh check.sh', 'go'], how)
      const last =
        kill === undefined
          ? first
          : await vtcode(at, ['resume', '--last', '--continue-turn', '--json', '--verify', 'sh check.sh'])
      const [session] = readdirSync(join(at.root, '.vtcode/sessions')).filter((name) => name.startsWith('ses_'))
      checkLog(logOf(at, session!))
      const { outcome_code, verified } = eventsOf(last.out).at(-1)
      const writes = readFileSync(join(at.root, '.vtcode/sessions', session!, 'messages.jsonl'), 'utf8')
        .trim()
        .split('\n').length
      const count = existsSync(join(at.root, 'count'))
        ? readFileSync(join(at.root, 'count'), 'utf8').trim().split('\n').length
        : 0
      return { writes, outcome_code, verified, count }
    }
    const whole = await play()
    expect(whole).toMatchObject({ outcome_code: 'success', verified: true, count: 2 })
    const points = Array.from({ length: whole.writes - 2 }, (_, index) => index + 2)
    for (const n of samplePoints(points, 3)) {
      const { outcome_code, verified, count } = await play(n)
      expect({ n, outcome_code, verified }).toEqual({ n, outcome_code: 'success', verified: true })
      expect(count, `after ${n}`).toBeLessThanOrEqual(whole.count + 1)
    }
  }, 300_000)
})

describe('a hostile tracker file', () => {
  const file = (at: Home): string => join(at.root, '.vtcode/tasks/current_task.md')
  it.each<[string, (at: Home) => void]>([
    ['a link to another file', (at) => symlinkSync('../../victim', file(at))],
    ['a pipe', (at) => void execFileSync('mkfifo', [file(at)])],
    ['a folder', (at) => mkdirSync(file(at))],
    [
      'a folder that is a link',
      (at) => (
        symlinkSync('../elsewhere', join(at.root, '.vtcode/linked')),
        execFileSync('sh', ['-c', 'rm -rf tasks && mv linked tasks'], { cwd: join(at.root, '.vtcode') })
      ),
    ],
  ])('leaves %s unchanged and names it', async (_, prepare) => {
    const { at } = await place({
      script: [create({ description: 'a', status: 'completed' }), done],
      files: { victim: 'kept', 'elsewhere/x': 'kept' },
    })
    mkdirSync(join(at.root, '.vtcode/tasks'), { recursive: true })
    prepare(at)
    const { code, completed } = await run(at, ['exec', '--json', 'go'])
    expect([code, readFileSync(join(at.root, 'victim'), 'utf8'), readdirSync(join(at.root, 'elsewhere'))]).toEqual([
      0,
      'kept',
      ['x'],
    ])
    expect(completed.find(({ code }) => code === 'VT_TASK_FILE')).toBeDefined()
  })
  it('names a tracker file of 1 GB or 65 KiB, and keeps the list before it', async () => {
    for (const bytes of [65 * 1024, 1024 ** 3]) {
      const { at } = await place({ script: [create('a'), done, done], harness: { continuation_policy: 'off' } })
      await run(at, ['exec', '--json', 'go'])
      truncateSync(file(at), bytes)
      const { completed, said } = await run(at, ['exec', '--json', '--continue', 'more'])
      expect(completed.find(({ code }) => code === 'VT_TASK_FILE').message).toMatch(/cannot be read/)
      expect(said).toEqual(['Task tracker: the task (0 of 1 completed)\n1 [ ] a'])
    }
  })
})
