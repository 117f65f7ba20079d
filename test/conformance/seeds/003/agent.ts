import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createAgent } from 'vtcode/agent'
import { harness, hold, items, scene, type Scene } from '../../../support/inside.js'
import { call, eventsOf, home, startPeer, vtcode, type Answer, type Format } from '../../../support/peer.js'
import type { Row } from '../../../support/seed.js'
import { startServer } from '../../../support/wire_server.js'

// Of the program as an agent: what it reads, remembers and writes down.
const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
const write = (path: string, content = 'x') => call('unified_file', { action: 'write', path, content })
const read = (path: string) => call('unified_file', { action: 'read', path })
const done: Answer = { content: 'Done.' }
const files = { 'AGENTS.md': 'Instructions of the project.\n', 'a.txt': 'one\n' }
const key = { PEER_API_KEY: 'key-of-the-peer-0123' }
const system = (s: Scene): string => s.peer.bodies[0].messages[0].content
const told = (s: Scene, index = -1): string => String(s.peer.bodies.at(index).messages.at(-1).content)
const memory = async (s: Scene, session: string): Promise<any> =>
  JSON.parse((await s.booted.read(`.vtcode/sessions/${session}/memory.json`))!)
const types = (s: Scene) => s.events.map(({ type }) => type)

const large = Object.fromEntries(
  Array.from({ length: 8 }, (_, index) => [`f${index}.txt`, `word${index} of a large file\n`.repeat(400)]),
)
const isSummary = (body: any): boolean => JSON.stringify(body.messages).includes('You shorten the record')
const summary = JSON.stringify({
  goal: 'compare the files',
  constraints: ['change nothing'],
  done: ['read f0.txt'],
  facts: [{ fact: 'f0 holds word0', source: 'unified_file/read f0.txt' }],
  open_questions: [],
  next_steps: ['read the rest'],
})
/** A conversation that outgrows the window of its model. */
async function outgrown(reads = ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7']) {
  const steps = reads.map((name) => step(read(`${name}.txt`)))
  const summaries: any[] = []
  const s = await scene(
    Array.from(
      { length: 40 },
      () => (body: any) =>
        isSummary(body)
          ? (summaries.push(body), { content: summary })
          : (steps.shift() ?? { content: 'All compared.' }),
    ),
    { provider: { context_window: 20_000 }, boot: { files: large } },
  )
  const outcome = await s.run('compare all of them')
  return {
    s,
    outcome,
    summaries,
    boundaries: s.events.filter(({ type }) => type === 'thread.compact_boundary') as any[],
  }
}
const verified = (command: string) => ({
  agent: { model: 'peer/m', harness: { verification: { required: 'always', commands: [command] } } },
  policy: { allow: [`Bash(${command})`] },
  sandbox: { mode: 'off' },
})
/** A run of the program itself. */
async function exec(
  script: Answer[],
  args: string[] = ['go'],
  settings: object = {},
  inside: Record<string, string> = {},
) {
  const at = hold(
    await home(hold(await startPeer(script)), inside, { settings: { agent: { model: 'peer/m' }, ...settings } }),
  )
  return { at, ...(await vtcode(at, ['exec', '--json', ...args])) }
}

/** Returns the requests that a server of one wire received. */
async function sent(format: Format, settings: object): Promise<any> {
  const server = hold(await startServer(format))
  const s = await scene([], { format, url: server.url, settings })
  await s.run('go')
  return server.bodies[0]
}

export const rows: Row[] = [
  [
    '15',
    'model reasons, harness runs',
    async () => {
      const s = await scene([step(write('a.txt', 'by the harness')), done])
      await s.run('go')
      expect(await s.booted.read('a.txt')).toBe('by the harness')
    },
  ],
  [
    '17',
    'instruction memory: AGENTS.md loading',
    async () => {
      const s = await scene([done], { boot: { files } })
      await s.run('go')
      expect(system(s)).toContain('Instructions of the project.')
    },
  ],
  [
    '17',
    'project docs, prompt assembly',
    async () => {
      const s = await scene([done], {
        boot: {
          files: { ...files, 'NOTES.md': 'Notes of the project.\n', '.vtcode/rules/style.md': 'A rule of style.\n' },
        },
        settings: { agent: { model: 'peer/m', instruction_files: ['NOTES.md'] } },
      })
      await s.run('go')
      const places = ['Notes of the project.', 'A rule of style.', 'Instructions of the project.'].map((part) =>
        system(s).indexOf(part),
      )
      expect(
        places.every((place) => place > 0),
        String(places),
      ).toBe(true)
      expect(system(s)).toContain(`Working folder: ${s.booted.root}`)
    },
  ],
  [
    '17',
    'onboarding guidance, session bootstrap',
    async () => {
      const at = hold(await home(hold(await startPeer([])), {}, {}))
      writeFileSync(join(at.home, '.vtcode/vtcode.config.json'), '{}')
      expect((await vtcode(at, ['exec', 'go'])).err).toMatch(/VT_LLM_NO_MODEL[^]*vtcode init/)
    },
  ],
  [
    '19',
    'tools: filesystem, search, edit, exec, protocol-backed',
    async () => {
      const s = await scene([
        step(write('b.txt', 'two')),
        step(call('unified_file', { action: 'edit', path: 'b.txt', old_str: 'two', new_str: '2' })),
        step(call('unified_search', { action: 'grep', pattern: '2' })),
        step(call('unified_exec', { action: 'run', command: 'cat b.txt' })),
        done,
      ])
      await s.run('go')
      expect(items(s.events, 'tool_invocation').map(({ tool_name, status }: any) => [tool_name, status])).toEqual(
        ['unified_file', 'unified_file', 'unified_search', 'unified_exec'].map((name) => [name, 'completed']),
      )
      expect(told(s)).toContain('2\nexit 0')
    },
  ],
  [
    '20',
    'dynamic context: instruction merging',
    async () => {
      const s = await scene([step(read('pkg/x.ts')), done], {
        boot: { files: { ...files, 'pkg/AGENTS.md': 'Of the package.\n', 'pkg/x.ts': '' } },
      })
      await s.run('go')
      expect(system(s)).not.toContain('Of the package.')
      expect(JSON.stringify(s.peer.bodies[1].messages)).toContain('Of the package.')
    },
  ],
  [
    '20',
    'dynamic context: task tracker state',
    async () => {
      const { out } = await exec([
        step(call('task_tracker', { action: 'create', title: 't', items: ['read', 'write'] })),
        done,
        done,
        done,
        done,
      ])
      expect(items(eventsOf(out), 'user_message').map(({ text }) => text)).toContainEqual(
        expect.stringMatching(/^Open:\n1 \[ \] read\n2 \[ \] write\n/),
      )
    },
  ],
  [
    '20',
    'dynamic context: history, spooled outputs',
    async () => {
      const s = await scene([step(call('unified_exec', { action: 'run', command: 'seq 20000' })), done])
      await s.run('go')
      expect(told(s)).toMatch(/\.vtcode\/spool\//)
      expect(s.peer.bodies[1].messages.map(({ role }: any) => role)).toEqual(['system', 'user', 'assistant', 'tool'])
    },
  ],
  [
    '20',
    'plan sidecars',
    async () => {
      const { at, code } = await exec(
        [
          step(
            call('propose_plan', {
              title: 'Add retry',
              summary: 'The client tries again.',
              steps: [
                { action: 'Read the client' },
                { action: 'Add retry', files: ['client.ts'], verify: 'true' },
                { action: 'Document' },
              ],
              tests: 'node --test',
              assumptions: ['Only reads are tried again.'],
            }),
          ),
        ],
        ['--plan', 'retry failed requests'],
      )
      expect([code, readdirSync(at.root), await at.read('.vtcode/plans/add-retry.md')]).toEqual([
        0,
        ['.vtcode'],
        expect.stringMatching(/^# Add retry\n/),
      ])
    },
  ],
  [
    '21',
    'SessionMemoryEnvelope persisted',
    async () => {
      const s = await scene([step(write('b.txt')), done])
      const { session_id } = await s.run('make b')
      expect(await memory(s, session_id!)).toMatchObject({ schema_version: 3, session_id })
    },
  ],
  [
    '21',
    'envelope: objective',
    async () => {
      const s = await scene([done])
      expect(await memory(s, (await s.run('make b')).session_id!)).toMatchObject({ objective: 'make b' })
    },
  ],
  [
    '21',
    'envelope: constraints',
    async () => {
      const { s, outcome } = await outgrown()
      expect(await memory(s, outcome.session_id!)).toMatchObject({ constraints: ['change nothing'] })
    },
  ],
  [
    '21',
    'envelope: touched files',
    async () => {
      const s = await scene([step(write('b.txt')), done])
      expect(await memory(s, (await s.run('make b')).session_id!)).toMatchObject({ touched_files: ['b.txt'] })
    },
  ],
  [
    '21',
    'envelope: grounded facts',
    async () => {
      const { s, outcome } = await outgrown()
      expect(await memory(s, outcome.session_id!)).toMatchObject({
        grounded_facts: [{ fact: 'f0 holds word0', source: 'unified_file/read f0.txt' }],
      })
    },
  ],
  [
    '21',
    'envelope: verification TODOs',
    async () => {
      const create = call('task_tracker', {
        action: 'create',
        title: 'the task',
        items: [{ description: 'a', verify: 'false' }],
      })
      const { at, out } = await exec(
        [
          step(create),
          step(call('task_tracker', { action: 'update', index: 1, status: 'completed' })),
          ...Array<Answer>(6).fill(done),
        ],
        ['go'],
        { policy: { allow: ['Bash(false)'] }, sandbox: { mode: 'off' } },
      )
      expect(JSON.parse((await at.read(`.vtcode/sessions/${eventsOf(out)[0].session_id}/memory.json`))!)).toMatchObject(
        { verification_todo: ['false'] },
      )
    },
  ],
  [
    '21',
    'used for resume',
    async () => {
      const { s, outcome } = await outgrown()
      const agent = await createAgent(s.booted.kernel, { env: key, resume: outcome.session_id! })
      await agent.run('and now?')
      await agent.close()
      expect(JSON.stringify(s.peer.bodies.at(-1).messages)).toMatch(/<session_memory>[^]*compare all of them/)
    },
  ],
  [
    '21',
    'used for summarised-fork handoff',
    async () => {
      const first = await exec([{ content: 'one' }, { content: 'forked' }], ['make b'])
      const { session_id } = eventsOf(first.out)[0]
      const { code } = await vtcode(first.at, ['resume', session_id, '--fork', '--summarize', 'and then?'])
      expect(code).toBe(0)
      expect(
        readdirSync(join(first.at.root, '.vtcode/sessions')).filter((name) => name.startsWith('ses_')),
      ).toHaveLength(2)
    },
  ],
  [
    '22',
    'split tool results, spool files',
    async () => {
      const s = await scene([step(call('unified_exec', { action: 'run', command: 'seq 20000' })), done])
      await s.run('go')
      const [, path] = /(\.vtcode\/spool\/[\w./-]*\w)/.exec(told(s))!
      expect(await s.booted.read(path!)).toContain('\n19999\n20000\n')
    },
  ],
  [
    '22',
    'archive transcripts',
    async () => {
      const { s, boundaries } = await outgrown()
      expect((await s.booted.read(boundaries[0].history_artifact_path))!.trim().split('\n')).toHaveLength(
        boundaries[0].original_message_count,
      )
    },
  ],
  [
    '22',
    'provider-aware auto-compaction',
    async () => {
      const { boundaries } = await outgrown()
      expect(boundaries[0]).toMatchObject({ trigger: 'auto', mode: 'local' })
      const wide = await scene(
        [...['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7'].map((name) => step(read(`${name}.txt`))), done],
        { provider: { context_window: 400_000 }, boot: { files: large } },
      )
      await wide.run('compare all of them')
      expect(types(wide)).not.toContain('thread.compact_boundary')
    },
    'Compaction by a provider',
  ],
  [
    '22',
    'dedupe of older repeated reads before summarising',
    async () => {
      const lines = Array.from({ length: 120 }, (_, index) => `line ${index + 1} of a\n`).join('')
      const s = await scene(
        [
          step(read('a.ts')),
          step(call('unified_file', { action: 'edit', path: 'a.ts', old_str: 'line 5 of a', new_str: 'LINE 5 of a' })),
          step(read('a.ts')),
          done,
          { content: summary },
        ],
        { boot: { files: { 'a.ts': lines } } },
      )
      const agent = await createAgent(s.booted.kernel, { env: key, onEvent: (event) => void s.events.push(event) })
      await agent.run('read it')
      await agent.run('more')
      await agent.compact()
      await agent.close()
      expect(s.events.find(({ type }) => type === 'thread.compact_boundary')).toMatchObject({ deduped_reads: 1 })
    },
  ],
  [
    '22',
    'state recoverable on disk',
    async () => {
      const s = await scene([step(write('b.txt')), done])
      const { session_id } = await s.run('make b')
      expect(readdirSync(join(s.booted.root, '.vtcode/sessions', session_id!))).toEqual(
        expect.arrayContaining(['events.jsonl', 'messages.jsonl', 'memory.json']),
      )
    },
  ],
  [
    '22',
    'lifecycle hooks',
    async () => {
      const s = await scene([done], {
        settings: {
          agent: { model: 'peer/m' },
          hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'echo hello from the hook' }] }] },
        },
      })
      await s.run('go')
      expect(JSON.stringify(s.peer.bodies[0].messages)).toContain('hello from the hook')
    },
  ],
  [
    '22',
    'tool middleware',
    async () => {
      const s = await scene([step(write('b.txt')), done], {
        settings: {
          agent: { model: 'peer/m' },
          hooks: {
            PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command: 'echo "not now" >&2; exit 2' }] }],
          },
        },
      })
      await s.run('go')
      expect([told(s, 1), await s.booted.read('b.txt')]).toEqual([expect.stringContaining('not now'), undefined])
    },
  ],
  [
    '22',
    'guard rails',
    async () => {
      const s = await scene([step(write('.git/config')), done, done], { boot: { mode: 'auto' } })
      await s.run('go')
      expect(told(s, 1)).toMatch(/VT_POLICY_DENIED/)
    },
  ],
  [
    '22',
    'duplicate-call protection',
    async () => {
      const s = await scene([...Array.from({ length: 8 }, () => step(read('a.txt'))), done], {
        boot: { files, timeouts: { reading: 0 }, config: { tools: { max_repeated_tool_calls: 2 } } as never },
      })
      await s.run('go')
      expect(JSON.stringify(s.peer.bodies.map(({ messages }) => messages))).toMatch(/VT_GUARD_DUPLICATE/)
    },
  ],
  [
    '22',
    'plan-mode enforcement',
    async () => {
      const s = await scene([step(write('b.txt')), done, done], { boot: { mode: 'plan' } })
      await s.run('go')
      expect([told(s, 1), await s.booted.read('b.txt')]).toEqual([
        expect.stringContaining('plan mode only reads'),
        undefined,
      ])
    },
  ],
  [
    '23',
    'continuation controller',
    async () => {
      const { out } = await exec([
        step(call('task_tracker', { action: 'create', title: 't', items: ['read'] })),
        done,
        step(call('task_tracker', { action: 'update', index: 1, status: 'completed' })),
        done,
      ])
      expect(harness(eventsOf(out), 'continuation_started')).toHaveLength(1)
    },
  ],
  [
    '23',
    'completion only with tracker complete',
    async () => {
      const { out } = await exec([
        step(call('task_tracker', { action: 'create', title: 't', items: ['read'] })),
        done,
        step(call('task_tracker', { action: 'update', index: 1, status: 'completed' })),
        done,
      ])
      expect(eventsOf(out).at(-1)).toMatchObject({ outcome_code: 'success', num_turns: 2 })
    },
  ],
  [
    '23',
    'completion only when verification commands pass',
    async () => {
      const failing = await exec(
        [step(write('b.txt')), ...Array.from({ length: 12 }, () => done)],
        ['go'],
        verified('false'),
      )
      expect([failing.code, eventsOf(failing.out).at(-1).outcome_code]).not.toEqual([0, 'success'])
      const passing = await exec([step(write('b.txt')), done], ['go'], verified('true'))
      expect([passing.code, eventsOf(passing.out).at(-1)]).toEqual([
        0,
        expect.objectContaining({ outcome_code: 'success', verification: expect.objectContaining({}) }),
      ])
    },
  ],
  [
    '26',
    'thread events',
    async () => {
      const s = await scene([done])
      await s.run('go')
      expect(types(s)).toEqual(
        expect.arrayContaining(['thread.started', 'turn.started', 'turn.completed', 'thread.completed']),
      )
    },
  ],
  [
    '26',
    'session archives',
    async () => {
      const s = await scene([done])
      const { session_id } = await s.run('go')
      expect((await s.booted.read(`.vtcode/sessions/${session_id}/messages.jsonl`))!).toContain('Done.')
    },
  ],
  [
    '26',
    'checkpoints',
    async () => {
      const { at, out } = await exec([step(write('b.txt', 'new')), done], ['--mode', 'full-auto', 'go'])
      expect(await at.read('b.txt')).toBe('new')
      const reverted = await vtcode(at, ['revert', '--turn', '1'])
      expect([out !== '', reverted.code, await at.read('b.txt')]).toEqual([true, 0, undefined])
    },
  ],
  [
    '26',
    'optional harness event logs',
    async () => {
      const { at } = await exec([done], ['go'], {
        agent: { model: 'peer/m', harness: { event_log_path: 'log.jsonl' } },
      })
      const places = [join(at.root, 'log.jsonl'), join(at.home, 'log.jsonl'), join(at.home, '.vtcode/log.jsonl')]
      expect(readFileSync(places.find(existsSync)!, 'utf8')).toContain('thread.started')
    },
  ],
  [
    '26',
    'for resume',
    async () => {
      const first = await exec([{ content: 'one' }, { content: 'two' }], ['say one'])
      const { out } = await vtcode(first.at, ['exec', '--json', '--resume', 'last', 'say two'])
      expect(eventsOf(out).at(-1)).toMatchObject({ outcome_code: 'success', result: 'two' })
    },
  ],
  [
    '27',
    'ThreadEvent is the one contract (exec, logs, interactive)',
    async () => {
      const { at, out } = await exec([done])
      const events = eventsOf(out)
      const kept = readFileSync(join(at.root, '.vtcode/sessions', events[0].session_id, 'events.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event)
      expect(kept).toEqual(events)
    },
  ],
  [
    '27',
    'item lifecycle from shared builders',
    async () => {
      const s = await scene([step(read('a.txt')), done], { boot: { files } })
      await s.run('go')
      const ids = (type: string) =>
        s.events
          .filter((event: any) => event.type === type && event.item.type === 'tool_invocation')
          .map((event: any) => event.item.id)
      expect([ids('item.started'), ids('item.completed')]).toEqual([[expect.any(String)], ids('item.started')])
    },
  ],
  [
    '27',
    'turn events wrapper-owned',
    async () => {
      const s = await scene([step(read('a.txt')), done], { boot: { files } })
      await s.run('go')
      expect([
        types(s).filter((type) => type === 'turn.started').length,
        types(s).indexOf('turn.started') < types(s).indexOf('item.started'),
      ]).toEqual([1, true])
    },
  ],
  [
    '27',
    'follow-ups queued, one at a time at idle',
    async () => {
      const s = await scene([{ content: 'one' }, { content: 'two' }, { content: 'three' }])
      const agent = await createAgent(s.booted.kernel, { env: key, onEvent: (event) => void s.events.push(event) })
      await agent.followUp('second')
      await agent.followUp('third')
      await agent.run('first')
      await agent.close()
      expect(s.peer.bodies.map(({ messages }) => messages.at(-1).content).sort()).toEqual(['first', 'second', 'third'])
      expect(types(s).filter((type) => type === 'turn.started')).toHaveLength(3)
    },
  ],
  [
    '28',
    'public loop semantics document',
    async () => {
      const page = readFileSync(new URL('../../../../docs/agent-loop.md', import.meta.url), 'utf8')
      const s = await scene([step(read('a.txt')), done], { boot: { files } })
      await s.run('go')
      for (const type of new Set(types(s))) expect(page).toContain(type)
    },
  ],
  [
    '29',
    'configuration split in three',
    async () => {
      const at = hold(
        await home(hold(await startPeer([])), {
          'vtcode.config.yaml':
            'agent: { harness: { max_tool_calls_per_turn: 5 } }\nautomation: { full_auto: { max_turns: 3 } }\ncontext: { dynamic: { retained_user_messages: 2 } }\n',
        }),
      )
      expect((await vtcode(at, ['config', 'validate'])).code).toBe(0)
    },
  ],
  [
    '30',
    'agent.harness: continuation',
    async () => {
      const script = [step(call('task_tracker', { action: 'create', title: 't', items: ['read'] })), done, done]
      const { out } = await exec(script, ['go'], {
        agent: { model: 'peer/m', harness: { continuation_policy: 'off' } },
      })
      expect(eventsOf(out).at(-1)).toMatchObject({ num_turns: 1 })
    },
  ],
  [
    '30',
    'agent.harness: event logging',
    async () => {
      const { at } = await exec([done], ['go'], {
        agent: { model: 'peer/m', harness: { event_log_path: 'log.jsonl' } },
      })
      expect(
        [join(at.root, 'log.jsonl'), join(at.home, 'log.jsonl'), join(at.home, '.vtcode/log.jsonl')].some(existsSync),
      ).toBe(true)
    },
  ],
  [
    '30',
    'agent.harness: per-turn safety limits',
    async () => {
      const s = await scene([step(read('a.txt')), step(read('b.txt')), { content: 'half' }], {
        boot: { files },
        settings: { agent: { model: 'peer/m', harness: { max_tool_calls_per_turn: 1 } } },
      })
      expect(await s.run('go')).toMatchObject({ outcome_code: 'tool_loop_limit_reached' })
    },
  ],
  [
    '30',
    'automation.full_auto: autonomous execution',
    async () => {
      const { at } = await exec([step(write('b.txt')), done], ['--mode', 'full-auto', 'go'], {
        automation: { full_auto: { enabled: true, allowed_tools: ['write'] } },
      })
      expect(await at.read('b.txt')).toBe('x')
    },
  ],
  [
    '30',
    'automation.full_auto: turn limits',
    async () => {
      const { out } = await exec(
        [step(call('task_tracker', { action: 'create', title: 't', items: ['read', 'write'] })), done, done, done],
        ['--mode', 'full-auto', 'go'],
        { automation: { full_auto: { enabled: true, max_turns: 2, allowed_tools: ['read', 'write'] } } },
      )
      expect(eventsOf(out).at(-1).outcome_code).toBe('turn_limit_reached')
    },
  ],
  [
    '31',
    'context.dynamic controls reintroduction',
    async () => {
      const s = await scene([step(call('unified_exec', { action: 'run', command: 'seq 3000' })), done], {
        settings: { agent: { model: 'peer/m' }, context: { dynamic: { tool_output_threshold: 1000 } } },
      })
      await s.run('go')
      expect(told(s).length).toBeLessThan(4000)
    },
  ],
  [
    '40',
    'main session keeps control',
    async () => {
      const s = await scene([step(read('a.txt')), done], { boot: { files } })
      await s.run('go')
      expect(new Set(s.events.map((event: any) => event.thread_id).filter(Boolean)).size).toBeLessThanOrEqual(1)
    },
  ],
  [
    '46',
    'Rig patterns without Rig control',
    async () => expect((await sent('anthropic-messages', {})).messages.at(-1)).toMatchObject({ role: 'user' }),
  ],
  [
    '47',
    'provider/model validation',
    async () => {
      const { code, out } = await exec([], ['--model', 'peer/unknown', 'go'])
      expect([code !== 0, out]).toEqual([true, expect.stringMatching(/peer\/unknown/)])
    },
  ],
  [
    '47',
    'reasoning payload shaping',
    async () => {
      const high = { agent: { model: 'peer/m', reasoning_effort: 'high' } }
      expect([
        (await sent('openai-chat', high)).reasoning_effort,
        (await sent('openai-responses', high)).reasoning.effort,
        (await sent('anthropic-messages', high)).output_config.effort,
      ]).toEqual(['high', 'high', 'high'])
    },
  ],
  [
    '48',
    'harness remains execution engine',
    async () => {
      const s = await scene([step(write('b.txt')), done])
      await s.run('go')
      expect(items(s.events, 'file_change')).toHaveLength(1)
    },
  ],
  [
    '49',
    'session continuity on own primitives, .vtcode/history',
    async () => {
      const { s } = await outgrown()
      expect(readdirSync(join(s.booted.root, '.vtcode/history')).some((name) => name.endsWith('.jsonl'))).toBe(true)
    },
  ],
]
