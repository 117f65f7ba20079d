import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../../support/invariants.js'
import { hold } from '../../../support/inside.js'
import { call, eventsOf, home, logOf, startPeer, vtcode, type Answer, type Home } from '../../../support/peer.js'
import { samplePoints } from '../../../support/sample.js'

const step = (...toolCalls: NonNullable<Answer['toolCalls']>): Answer => ({ toolCalls })
const write = (path = 'a.txt') => call('unified_file', { action: 'write', path, content: 'x' })
const edit = (old_str: string) => call('unified_file', { action: 'edit', path: 'there.txt', old_str, new_str: 'two' })
const run = (command: string) => call('unified_exec', { action: 'run', command })
const read = (path: string) => call('unified_file', { action: 'read', path })
const done: Answer = { content: 'Done.' }
const honest: Answer = { content: 'Not done.' }

const killing = join(import.meta.dirname, '../../../support/kill.mjs')

interface Ending {
  title: string
  script: Answer[]
  mode?: string
  settings?: object
  /** Tools, targets and codes of changes that were not applied. */
  not_applied: [tool: string, target: string, code: string][]
  /** The number of requests to the model. */
  asked: number
  text: string
  exit: number
}
const deny = { policy: { deny: ['Edit(a.txt)'] } }
const file = 'unified_file'
const endings: Ending[] = [
  {
    title: 'a denied write, then "done"',
    script: [step(write()), done, honest],
    mode: 'plan',
    not_applied: [[file, 'a.txt', 'VT_POLICY_DENIED']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a write that a rule denies',
    script: [step(write()), done, honest],
    settings: deny,
    not_applied: [[file, 'a.txt', 'VT_POLICY_DENIED']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a write without an approver',
    script: [step(write()), done, honest],
    mode: 'ask',
    not_applied: [[file, 'a.txt', 'VT_POLICY_NEEDS_APPROVAL']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a denied write, then the same done another way',
    script: [step(write()), step(write('b.txt')), done],
    settings: deny,
    not_applied: [],
    asked: 3,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a change that was made, then a denied one',
    script: [step(write('b.txt')), step(write()), done, honest],
    settings: deny,
    not_applied: [[file, 'a.txt', 'VT_POLICY_DENIED']],
    asked: 4,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'two denials',
    script: [step(write(), write('b.txt')), done, honest],
    mode: 'plan',
    not_applied: [
      [file, 'a.txt', 'VT_POLICY_DENIED'],
      [file, 'b.txt', 'VT_POLICY_DENIED'],
    ],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a failed edit',
    script: [step(edit('nothing')), done, honest],
    not_applied: [[file, 'there.txt', 'VT_EDIT_NOT_FOUND']],
    asked: 3,
    text: 'Not done.',
    exit: 0,
  },
  {
    title: 'a failed edit, then a good one',
    script: [step(edit('nothing')), step(edit('one')), done],
    not_applied: [],
    asked: 3,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a denied command',
    script: [step(run('rm there.txt')), done, honest],
    settings: { policy: { deny: ['Bash(rm *)'] } },
    not_applied: [['unified_exec', 'rm there.txt', 'VT_POLICY_DENIED']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a denied patch',
    script: [
      step(
        call('apply_patch', {
          input: '*** Begin Patch\n*** Update File: there.txt\n@@\n-one\n+two\n*** Add File: a.txt\n+x\n*** End Patch',
        }),
      ),
      done,
      honest,
    ],
    mode: 'plan',
    not_applied: [['apply_patch', 'there.txt a.txt', 'VT_POLICY_DENIED']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a path under another field name',
    script: [step(call('unified_file', { action: 'write', file_path: 'a.txt', content: 'x' })), done, honest],
    mode: 'plan',
    not_applied: [[file, 'a.txt', 'VT_POLICY_DENIED']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a path with control characters',
    script: [step(write('a\n\u001b]52;c;eA==\u0007Not applied: none.txt')), done, honest],
    mode: 'plan',
    not_applied: [[file, 'a\\u{a}\\u{1b}]52;c;eA==\\u{7}Not applied: none.txt', 'VT_POLICY_DENIED']],
    asked: 3,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a write whose arguments were cut',
    script: [
      { ...step(call(file, '{"action":"write","path":"a.txt","content":"ha')), finishReason: 'length' },
      done,
      honest,
    ],
    not_applied: [[file, 'a.txt', 'VT_LLM_CALL_TRUNCATED']],
    asked: 3,
    text: 'Not done.',
    exit: 0,
  },
  {
    title: 'a command that ran and failed',
    script: [step(run('false')), done],
    settings: { policy: { allow: ['Bash(false)'] } },
    not_applied: [],
    asked: 2,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a denied read',
    script: [step(read('.env')), done],
    settings: { policy: { deny: ['Read(.env)'] } },
    not_applied: [],
    asked: 2,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a read of a missing file',
    script: [step(read('gone.txt')), done],
    not_applied: [],
    asked: 2,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'an unknown tool',
    script: [step(call('no_such_tool', {})), done],
    not_applied: [],
    asked: 2,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a denied write, then a read',
    script: [step(write()), step(run('ls')), done, honest],
    settings: { policy: { ...deny.policy, allow: ['Bash(ls)'] } },
    not_applied: [[file, 'a.txt', 'VT_POLICY_DENIED']],
    asked: 4,
    text: 'Not done.',
    exit: 1,
  },
  {
    title: 'a denied write, then the same by a command',
    script: [step(write()), step(run('touch a.txt')), done],
    mode: 'ask',
    settings: { policy: { allow: ['Bash(touch *)'] } },
    not_applied: [],
    asked: 3,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a model that tries another file after the report',
    script: [step(write()), done, step(write('b.txt')), done],
    settings: deny,
    not_applied: [],
    asked: 4,
    text: 'Done.',
    exit: 0,
  },
  {
    title: 'a model that ignores the report',
    script: [step(write()), done, step(write()), honest],
    settings: deny,
    not_applied: [[file, 'a.txt', 'VT_POLICY_DENIED']],
    asked: 4,
    text: 'Not done.',
    exit: 1,
  },
  { title: 'nothing to do', script: [done], not_applied: [], asked: 1, text: 'Done.', exit: 0 },
]

async function scene(script: Answer[], settings: object = {}): Promise<{ at: Home; asked: () => any[] }> {
  const peer = hold(await startPeer(script))
  return {
    at: hold(
      await home(
        peer,
        { 'there.txt': 'one\n', '.env': 'x' },
        { settings: { agent: { model: 'peer/m' }, ...settings } },
      ),
    ),
    asked: () => peer.bodies,
  }
}
const shown = (rows: Ending['not_applied']) => rows.map(([tool, target, code]) => ({ tool, target, code }))

describe('notice of changes that were not applied', () => {
  it.each(endings)(
    'reports exactly what was not applied after $title',
    async ({ script, mode = 'auto', settings, not_applied, asked, text, exit }) => {
      const { at, asked: requests } = await scene(script, settings)
      const { code, out } = await vtcode(at, ['exec', '--json', '--mode', mode, 'change it'])
      const events = eventsOf(out)
      checkLog(events)
      const end = events.at(-1)
      expect([code, end.result, requests().length]).toEqual([exit, text, asked])
      expect(end.not_applied ?? []).toEqual(shown(not_applied))
      const told = events
        .filter(
          ({ type, item }) => type === 'item.completed' && item.type === 'user_message' && item.origin === 'harness',
        )
        .map(({ item }) => item.text)
      const first = requests().findIndex(({ messages }) => String(messages.at(-1).content).startsWith('Not applied: '))
      expect(told.length).toBe(first < 0 ? 0 : 1)
      if (told.length > 0)
        expect(told[0]).toMatch(/^Not applied: .*\(VT_\w+\)\.[\s\S]*Say in your answer what was not done and why/)
    },
  )

  it('prints changes that were not applied on stderr and, after the answer, on stdout, and exits with 1', async () => {
    const script = () => [step(write()), done, honest]
    const one = await scene(script())
    expect(await vtcode(one.at, ['exec', '--quiet', '--mode', 'plan', 'go'])).toMatchObject({
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: expect.stringMatching(
        /^Not applied: unified_file a\.txt \(VT_POLICY_DENIED\)\nvtcode: error: escalated: \d requests, .*\nA change was refused, and none was made after it\.\n {2}Allow it by a rule or another mode/,
      ),
    })
    const two = await scene(script())
    expect(await vtcode(two.at, ['ask', 'go'])).toMatchObject({
      code: 1,
      out: 'Not done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)\n',
      err: expect.stringMatching(
        /^Not applied: unified_file a\.txt \(VT_POLICY_DENIED\)\nvtcode: error: A change was refused, and none was made after it\.\n/,
      ),
    })
    const three = await scene(script())
    const { code, out } = await vtcode(three.at, ['ask', '--json', 'go'])
    expect([code, JSON.parse(out)]).toMatchObject([
      1,
      { response: 'Not done.', not_applied: [{ tool: 'unified_file', target: 'a.txt', code: 'VT_POLICY_DENIED' }] },
    ])
  })

  it('writes them after the answer into the file of --last-message-file, and not into code or JSON', async () => {
    const { at } = await scene([step(write()), done, done])
    await vtcode(at, ['exec', '--quiet', '--mode', 'plan', '--last-message-file', 'answer', 'go'])
    expect(readFileSync(join(at.root, 'answer'), 'utf8')).toBe(
      'Done.\nNot applied: unified_file a.txt (VT_POLICY_DENIED)',
    )
    const code = await scene([step(write()), done, { content: '```js\n1\n```' }])
    expect((await vtcode(code.at, ['ask', '--code', 'go'])).out).toBe('1\n')
  })

  it.each([
    ['with its text', [{ content: 'Done.', ...step(write()) }], 2],
    ['instead of a text', [step(write(), edit('one')), done], 3],
  ] as [string, Answer[], number][])(
    'keeps changes that the last answer of a limit requests %s, and names them with the task in the handoff',
    async (_, last, asked) => {
      const { at, asked: requests } = await scene([step(read('there.txt')), ...last], { tools: { max_tool_loops: 1 } })
      const { code, out } = await vtcode(at, ['exec', '--json', 'write x to a.txt'])
      const events = eventsOf(out)
      checkLog(events)
      const end = events.at(-1)
      const paths = asked === 2 ? ['a.txt'] : ['a.txt', 'there.txt']
      expect([code, end.outcome_code, requests().length]).toEqual([1, 'tool_loop_limit_reached', asked])
      expect(end.not_applied).toEqual(shown(paths.map((path) => [file, path, 'VT_LOOP_CALL_LIMIT'])))
      expect(end.result).toBe('Done.\n\nThe remaining work is in .vtcode/tasks/current_blocked.md.')
      expect(readdirSync(at.root)).not.toContain('a.txt')
      const handoff = readFileSync(join(at.root, '.vtcode/tasks/current_blocked.md'), 'utf8')
      expect(handoff).toContain('## Task\n\nwrite x to a.txt\n')
      expect(handoff).toContain(
        `## Not Applied\n\n${paths.map((path) => `- ${file} '${path}' (VT_LOOP_CALL_LIMIT)\n`).join('')}`,
      )
    },
  )

  it('uses the text of the recovery rule for a model without calls left', async () => {
    const { at, asked } = await scene([step(write()), done], { tools: { max_tool_loops: 1 } })
    const { out } = await vtcode(at, ['exec', '--json', '--mode', 'plan', 'go'])
    expect(eventsOf(out).at(-1)).toMatchObject({
      outcome_code: 'tool_loop_limit_reached',
      not_applied: [{ target: 'a.txt' }],
    })
    expect(asked().at(-1).messages.at(-1).content).toContain(
      'Not applied. Tools were disabled or denied during recovery, so no additional tool call ran.',
    )
  })

  it('passes the text of a refusal to the model unchanged', async () => {
    const { at, asked } = await scene([step(write('.git/config')), done, honest])
    await vtcode(at, ['exec', '--json', 'go'])
    expect(asked()[1].messages.at(-1).content).toMatch(/^ERROR VT_\w+: [\s\S]*\nSay: Not applied\. /)
  })

  it('reports a change at most once after kill -9 at any journal write, and ends the resumed run equally', async () => {
    const answers = [step(write()), done, honest]
    const byPlace = (body: any): Answer =>
      answers[body.messages.filter(({ role }: any) => role === 'assistant').length] ?? honest
    const play = async (kill?: number) => {
      const peer = hold(await startPeer(Array.from({ length: 10 }, () => byPlace)))
      const at = hold(await home(peer, {}, { settings: { agent: { model: 'peer/m' }, ...deny } }))
      const how = kill === undefined ? {} : { node: ['--import', killing], env: { KILL_AFTER: String(kill) } }
      const { code, out } = await vtcode(at, ['exec', '--json', '--mode', 'auto', 'change it'], how)
      const last =
        kill === undefined
          ? out
          : (await vtcode(at, ['resume', '--last', '--continue-turn', '--json', '--mode', 'auto'])).out
      const [session] = readdirSync(join(at.root, '.vtcode/sessions')).filter((name) => name.startsWith('ses_'))
      checkLog(logOf(at, session!))
      const facts = readFileSync(join(at.root, '.vtcode/sessions', session!, 'messages.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const { outcome_code, not_applied } = eventsOf(last).at(-1)
      return { code, writes: facts.length, told: facts.filter(({ tells }) => tells).length, outcome_code, not_applied }
    }
    const whole = await play()
    expect(whole).toMatchObject({ code: 1, told: 1, outcome_code: 'escalated', not_applied: [{ target: 'a.txt' }] })
    const points = Array.from({ length: whole.writes - 1 }, (_, index) => index + 1)
    for (const n of samplePoints(points, 3)) {
      const { told, outcome_code, not_applied } = await play(n)
      // The first write comes before the input, so there is nothing to resume.
      if (n > 1)
        expect({ n, told, outcome_code, not_applied }).toEqual({
          n,
          told: 1,
          outcome_code: 'escalated',
          not_applied: whole.not_applied,
        })
    }
  }, 300_000)
})
