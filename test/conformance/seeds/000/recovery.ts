import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { CallOptions } from 'vtcode'
import type { Booted } from 'vtcode/test'
import {
  among,
  apart,
  each,
  errorOf,
  gives,
  holds,
  outputOf,
  refuses,
  type Check,
  type Row,
} from '../../../support/seed.js'
import { hold, scene } from '../../../support/inside.js'
import { call, home, startPeer, vtcode, type Answer } from '../../../support/peer.js'

const search = (input: object): object => ({ action: 'structural', ...input })
const run = (command: string): object => ({ action: 'run', command })
const files = { 'a.txt': 'one\ntwo\nthree\n', 'src/x.ts': 'TODO\n' }
const planned = apart({ files, mode: 'plan' })
let sessions = 0
/** In plan mode, each time in a session that remembers no refusal. */
const plan = (check: Check): Check =>
  planned((place) => {
    const session = `plan${(sessions += 1)}`
    const call = (tool: string, input?: unknown, options?: CallOptions) =>
      place.call(tool, input, { session, ...options })
    return check({ ...place, call: call as Booted['call'] })
  })
const auto = apart({ files, mode: 'auto', config: { sandbox: { mode: 'off' } } })
/** A workspace where a rule denies every command, with a link out of it. */
const ruled = (check: Check): Check =>
  denying(async (place) => {
    await symlink('/etc', join(place.root, 'out')).catch(() => {})
    return check(place)
  })
const denying = apart({ files, mode: 'auto', config: { sandbox: { mode: 'off' }, policy: { deny: ['Bash(*)'] } } })
const inspected: [command: string, next: object][] = [
  ['cat a.txt', { tool: 'unified_file', input: { action: 'read', path: 'a.txt' } }],
  [
    'head -2 a.txt',
    { tool: 'unified_file', input: { action: 'read', path: 'a.txt', offset_lines: 1, page_size_lines: 2 } },
  ],
  [
    'sed -n 1,2p a.txt',
    { tool: 'unified_file', input: { action: 'read', path: 'a.txt', offset_lines: 1, page_size_lines: 2 } },
  ],
  ['ls src', { tool: 'unified_search', input: { action: 'list', path: 'src' } }],
  [
    'find . -name "*.ts"',
    { tool: 'unified_search', input: { action: 'list', mode: 'find_name', name_pattern: '*.ts' } },
  ],
  ['grep -rn TODO src', { tool: 'unified_search', input: { action: 'grep', pattern: 'TODO', path: 'src' } }],
]
const patch = (body: string): object => ({ input: `*** Begin Patch\n*** Update File: ${body}\n*** End Patch\n` })
const deniedThenFollowed = (command: string, next: object): Check =>
  plan(async (place) => {
    const error = await errorOf(place, 'unified_exec', run(command))
    expect(error).toMatchObject({ code: 'VT_POLICY_DENIED', next })
    await outputOf(place, error.next!.tool, error.next!.input)
  })

/** A model that was refused a change, in plan mode and without a person; `answers` are what it says then. */
async function refusedChange(answers: Answer[], settings: object = {}) {
  const write = call('unified_file', { action: 'write', path: 'z.txt', content: 'x' })
  const at = await scene([{ toolCalls: [write] }, ...answers], { boot: { mode: 'plan' }, settings })
  const outcome = await at.run('create z.txt')
  const told = at.peer.bodies.flatMap(({ messages }) => messages.map(({ content }: any) => String(content)))
  return { outcome: outcome as any, told, last: String(at.peer.bodies.at(-1).messages.at(-1).content) }
}
const chat = async (lines: string[], script: Answer[]) =>
  vtcode(hold(await home(hold(await startPeer(script)))), ['chat', '--quiet'], {
    input: lines.map((line) => `${line}\n`).join(''),
  })

export const rows: Row[] = [
  [
    '258',
    'R1 prose → grep, not structural',
    refuses('unified_search', search({ pattern: 'AgentLoop agent loop', path: 'src' }), {
      code: /^VT_SEARCH_/,
      hint: /unified_search grep/,
      next: { tool: 'unified_search', input: { action: 'grep', pattern: 'AgentLoop agent loop', path: 'src' } },
    }),
  ],
  [
    '259',
    'R: structure → structural',
    gives('unified_search', search({ pattern: 'export class $NAME { $$$BODY }', lang: 'ts' }), {
      matches: [{ file: 'src/app.ts' }],
    }),
  ],
  [
    '260',
    'R2 small replacement → edit exact',
    each(
      gives('unified_file', { action: 'write', path: 'r/small.md', content: 'Old heading\n' }),
      gives('unified_file', { action: 'edit', path: 'r/small.md', old_str: 'Old heading', new_str: 'New heading' }),
      holds('r/small.md', 'New heading\n'),
    ),
  ],
  [
    '260',
    'R2 avoid large blocks through edit',
    async ({ call, write }) => {
      await write('r/large.txt', 'line of text\n'.repeat(2000))
      expect(
        await call('unified_file', {
          action: 'edit',
          path: 'r/large.txt',
          old_str: 'line of text\n'.repeat(2000),
          new_str: 'x',
        }),
      ).toMatchObject({ ok: true, notices: among({ code: 'VT_EDIT_LARGE' }) })
    },
  ],
  [
    '261',
    'R3 broad rewrite → write mode=overwrite or apply_patch; refuse without intent',
    each(
      gives('unified_file', { action: 'write', path: 'r/w.txt', content: 'old' }),
      refuses(
        'unified_file',
        { action: 'write', path: 'r/w.txt', content: 'new' },
        { code: 'VT_PATH_EXISTS', hint: /overwrite/ },
      ),
      gives('unified_file', { action: 'write', path: 'r/w.txt', content: 'new', mode: 'overwrite' }),
      holds('r/w.txt', 'new'),
    ),
  ],
  [
    '262',
    'R4 patch failed after change → re-read narrow',
    async (place) => {
      await place.write('r/p.txt', 'one\ntwo\nthree\n')
      const error = await errorOf(place, 'apply_patch', patch('r/p.txt\n@@\n one\n-two, as it was\n+2\n three'))
      expect(error).toMatchObject({
        code: 'VT_PATCH_CONTEXT',
        hint: expect.stringMatching(/Read the place again/),
        next: { tool: 'unified_file', input: { action: 'read', path: 'r/p.txt' } },
      })
      await outputOf(place, error.next!.tool, error.next!.input)
    },
  ],
  [
    '262',
    'R5 synthetic anchors refused',
    async (place) => {
      await place.write('r/h.txt', 'one\ntwo\n')
      await refuses('apply_patch', patch('r/h.txt\n@@ heading @@\n-two\n+2'), {
        code: 'VT_PATCH_CONTEXT',
        message: /"heading" of hunk 1 is no line/,
      })(place)
      await holds('r/h.txt', 'one\ntwo\n')(place)
    },
  ],
  [
    '263',
    'R6 denied shell inspection → unified_search/unified_file/request_user_input',
    plan(
      refuses('unified_exec', run('sed -n 1,2p a.txt'), {
        code: 'VT_POLICY_DENIED',
        hint: /Use unified_search or unified_file to inspect the workspace, or request_user_input to ask the user/,
      }),
    ),
  ],
  [
    '263',
    'R6 concrete `next` call for cat/head/sed/ls/find/grep',
    each(
      deniedThenFollowed('sed -n 1,2p a.txt', {
        tool: 'unified_file',
        input: { action: 'read', path: 'a.txt', offset_lines: 1, page_size_lines: 2 },
      }),
      deniedThenFollowed('find . -name "*.ts"', {
        tool: 'unified_search',
        input: { action: 'list', mode: 'find_name', name_pattern: '*.ts' },
      }),
      deniedThenFollowed('grep -rn TODO src', {
        tool: 'unified_search',
        input: { action: 'grep', pattern: 'TODO', path: 'src' },
      }),
      ...inspected.map(([command, next]) =>
        ruled(refuses('unified_exec', run(command), { code: 'VT_POLICY_DENIED', message: /Bash\(\*\)/, next })),
      ),
      ruled(async (place) => {
        // A call that would lead out of the workspace, also by a link, is never offered.
        for (const command of [
          'cat out/passwd',
          'sed -n 1,2p out/passwd',
          'ls out',
          'cat ../x',
          'cat /etc/passwd',
          'npm test',
        ])
          expect((await errorOf(place, 'unified_exec', run(command))).next, command).toBeUndefined()
      }),
      plan(async (place) => {
        await symlink('/etc', join(place.root, 'away'))
        expect((await errorOf(place, 'unified_exec', run('sed -n 1,2p away/passwd'))).next).toBeUndefined()
      }),
      ...['cat a.txt', 'head -2 a.txt', 'ls src'].map((command) =>
        plan(gives('unified_exec', run(command), { exit_code: 0 })),
      ),
    ),
  ],
  [
    '263',
    'R6 say not applied and suggest /mode auto',
    each(
      plan(
        refuses('unified_exec', run('npm test'), {
          details: { not_applied: true, say: /^Not applied\. .*--mode auto/ },
        }),
      ),
      async () => {
        const { err } = await chat(
          ['/mode plan', 'write', '/mode auto'],
          [
            { toolCalls: [call('unified_file', { action: 'write', path: 'z.txt', content: 'x' })] },
            { content: 'Not done.' },
            { content: 'Not done.' },
          ],
        )
        expect(err).toMatch(/^plan\nNot applied: unified_file z\.txt[^]*\nauto\n$/)
      },
    ),
  ],
  [
    '263',
    'suggested switch really helps',
    each(
      plan(
        refuses(
          'unified_file',
          { action: 'write', path: 'z.txt', content: 'x' },
          { hint: /run with `--mode auto`\.$/ },
        ),
      ),
      auto(gives('unified_file', { action: 'write', path: 'z.txt', content: 'x' })),
      plan(
        refuses('unified_exec', run('npm test'), {
          hint: /run with `--mode auto`, and the user adds the rule 'Bash\(npm test\)'/,
        }),
      ),
    ),
  ],
  [
    '263',
    'same denied call not retried',
    plan(
      each(
        refuses('unified_exec', run('npm test'), { code: 'VT_POLICY_DENIED', hint: /Do not repeat the call/ }),
        refuses('unified_exec', run('npm test'), { code: 'VT_POLICY_REPEATED' }),
      ),
    ),
  ],
  [
    '264',
    'Recovery pass cannot apply → final text with blocker',
    async () => {
      const { last, outcome } = await refusedChange([{ content: 'Done.' }], { tools: { max_tool_loops: 1 } })
      expect(last).toMatch(
        /No more calls are possible in this turn[^]*Not applied\. Tools were disabled or denied during recovery/,
      )
      expect(outcome.not_applied).toMatchObject([{ target: 'z.txt' }])
    },
  ],
  [
    '266',
    'example grep call',
    gives(
      'unified_search',
      { tool: 'unified_search', action: 'grep', pattern: 'TD-015|recovery-mode', path: 'docs/' },
      { matches: [{ file: 'docs/notes.md', line_number: 2 }] },
    ),
  ],
  [
    '275',
    'example structural call',
    gives(
      'unified_search',
      {
        tool: 'unified_search',
        action: 'structural',
        workflow: 'query',
        lang: 'rust',
        pattern: 'fn $NAME($$$ARGS) -> $RET { $$$BODY }',
        path: 'src/',
      },
      { matches: [{ file: 'src/lib.rs' }] },
    ),
  ],
  [
    '286',
    'prose to structural refused',
    refuses('unified_search', search({ pattern: 'AgentLoop agent loop', lang: 'rust', path: 'src/' }), {
      code: /^VT_SEARCH_/,
    }),
  ],
  [
    '290',
    'example edit call',
    each(
      gives('unified_file', { action: 'write', path: 'README.md', content: 'Old heading\n', mode: 'overwrite' }),
      gives('unified_file', {
        tool: 'unified_file',
        action: 'edit',
        path: 'README.md',
        old_str: 'Old heading',
        new_str: 'New heading',
      }),
      holds('README.md', 'New heading\n'),
    ),
  ],
  [
    '300',
    'example overwrite call',
    each(
      gives('unified_file', {
        tool: 'unified_file',
        action: 'write',
        path: 'README.md',
        mode: 'overwrite',
        content: '# New README\n...',
      }),
      holds('README.md', '# New README\n...'),
    ),
  ],
  [
    '310',
    'partial larger rewrite → patch',
    each(
      gives('unified_file', { action: 'write', path: 'r/q.txt', content: 'a\nb\nc\nd\n' }),
      gives('apply_patch', patch('r/q.txt\n@@\n a\n-b\n-c\n+B\n+C\n d')),
      holds('r/q.txt', 'a\nB\nC\nd\n'),
    ),
  ],
  [
    '316',
    'patch flow: narrow read, exact lines, re-read',
    async (place) => {
      await place.write('r/flow.txt', 'one\ntwo\nthree\n')
      const { content } = await outputOf(place, 'unified_file', {
        action: 'read',
        path: 'r/flow.txt',
        offset_lines: 2,
        page_size_lines: 1,
      })
      await outputOf(place, 'apply_patch', patch(`r/flow.txt\n@@\n-${String(content).trimEnd()}\n+2`))
      await gives(
        'unified_file',
        { action: 'read', path: 'r/flow.txt', offset_lines: 2, page_size_lines: 1 },
        { content: '2\n' },
      )(place)
    },
  ],
  [
    '322',
    'bad flow refused',
    async (place) => {
      await place.write('r/bad.txt', 'one\ntwo\n')
      await outputOf(place, 'unified_file', { action: 'edit', path: 'r/bad.txt', old_str: 'two', new_str: '2' })
      await refuses('apply_patch', patch('r/bad.txt\n@@\n one\n-two\n+zwei'), { code: 'VT_PATCH_CONTEXT' })(place)
      await holds('r/bad.txt', 'one\n2\n')(place)
    },
  ],
  [
    '330',
    'do not retry same shell command',
    plan(refuses('unified_exec', run('sed -n 1,2p a.txt'), { retryable: false, hint: /Do not repeat the call/ })),
  ],
  [
    '331',
    'switch to search/file',
    each(
      plan(refuses('unified_exec', run('find . -name "*.ts"'), { next: { tool: 'unified_search' } })),
      plan(refuses('unified_exec', run('sed -n 1,2p a.txt'), { next: { tool: 'unified_file' } })),
    ),
  ],
  [
    '332',
    'say not applied, recommend /mode auto',
    each(
      plan(refuses('unified_exec', run('npm test'), { details: { say: /^Not applied\./ } })),
      plan(async ({ call }) =>
        expect(
          await call('unified_file', { action: 'write', path: 'z', content: '' }, { surface: 'chat' }),
        ).toMatchObject({ ok: false, error: { hint: expect.stringMatching(/switch to \/mode auto/) } }),
      ),
    ),
  ],
  [
    '334',
    'Recovery-mode final wording used',
    async () => {
      const { last } = await refusedChange([{ content: 'Done.' }], { tools: { max_tool_loops: 1 } })
      expect(last).toContain(
        'Not applied. Tools were disabled or denied during recovery, so no additional tool call ran. Latest verified evidence is above; next action: re-enable the needed tool or switch to /mode auto.',
      )
    },
  ],
  [
    '338',
    '"Not applied. Tools were disabled or denied …" text',
    async () => {
      const { told } = await refusedChange([{ content: 'Not done.' }, { content: 'Not done.' }])
      expect(
        told.some((text) =>
          /Say: Not applied\. The tool was denied, so no additional tool call ran\. Latest verified evidence is above; next action: /.test(
            text,
          ),
        ),
      ).toBe(true)
    },
  ],
  [
    '340',
    'no pseudo tool-call markup',
    async () => {
      const at = await scene([
        { content: 'I use <tool_call>{"name":"unified_file"}</tool_call>' },
        { content: 'Plain words.' },
      ])
      expect(await at.run('go')).toMatchObject({ text: 'Plain words.' })
      expect(String(at.peer.bodies[1].messages.at(-1).content)).toMatch(/call/)
    },
  ],
  [
    '340',
    'no "done" for changes never applied',
    async () => {
      const { outcome, last } = await refusedChange([
        { content: 'Done, I created z.txt.' },
        { content: 'z.txt was not created.' },
      ])
      expect(last).toMatch(/^Not applied: .*z\.txt[^]*Say in your answer what was not done and why/)
      expect(outcome).toMatchObject({ text: 'z.txt was not created.', not_applied: [{ target: 'z.txt' }] })
    },
  ],
]
