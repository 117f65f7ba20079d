import { symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { successText } from '../../build/plugins/lib/base/index.js'
import { holdForFile } from '../support/held.js'
import { pdf } from '../support/pdf.js'

type Input = Record<string, unknown>
/** Two inputs that differ in one field and have different values, or the reason why the text does not show the field. */
type Probe = [one: Input, other: Input] | string

const OWN = 'the caller wrote this text itself'
const NO_VALUE = 'two values do not differ'
const NETWORK = 'the answer of a service on the network'

const files: Files = {
  'a.txt': 'alpha one\nbeta two\nalpha three\n',
  'sub/b.md': 'alpha in sub\n',
  '.hidden.txt': 'alpha is hidden\n',
  '.gitignore': 'ignored.txt\n',
  'ignored.txt': 'alpha is ignored\n',
  'code.ts':
    'import { x } from "./x.js"\nexport class Kept {\n  #own = 1\n  run(): void {}\n}\ncall(1)\ncall(2)\nfunction inner() {}\n',
  'lib.py': 'class Base:\n    pass\n\ncall(1)\n',
  '.hidden.ts': 'call(3)\n',
  'other/c.ts': 'call(4)\nexport class Kept {}\n',
  'doc.pdf': pdf(['first page', 'second page']),
  'sgconfig.yml': 'ruleDirs: [rules]\ntestConfigs: [{ testDir: tests }]\n',
  'rules/a.yml': 'id: no-a\nlanguage: TypeScript\nseverity: error\nmessage: No 1.\nrule: { pattern: call(1) }\n',
  'rules/b.yml': 'id: no-b\nlanguage: TypeScript\nseverity: error\nmessage: No 2.\nrule: { pattern: call(2) }\n',
  'tests/a-test.yml': "id: no-a\nvalid: ['call(2)']\ninvalid: ['call(1)']\n",
  'tests/b-test.yml': "id: no-b\nvalid: ['call(2)']\ninvalid: ['call(1)']\n",
  '.vtcode/skills/one/SKILL.md': '---\nname: one\ndescription: The first skill.\n---\nText of $ARGUMENTS.\n',
  '.vtcode/skills/one/data.txt': 'line 1\nline 2\nline 3\n',
  '.vtcode/skills/two/SKILL.md': '---\nname: two\ndescription: The second skill.\n---\nText.\n',
}
/** Files of the folder `w`, which are written again before each call. */
const changed: Files = {
  'w/a.txt': 'one\ntwo\ntwo\n',
  'w/b.txt': 'other\n',
  'w/dir/c.txt': 'deep\n',
}
const patch = (path: string): string => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-one\n+ONE\n`

/** Adds a base input to both sides of each probe. */
const of = (base: Input, probes: Record<string, Input | Probe>): Record<string, Probe> =>
  Object.fromEntries(
    Object.entries(probes).map(([field, probe]): [string, Probe] => {
      if (typeof probe === 'string') return [field, probe]
      const [one, other] = (Array.isArray(probe) ? probe : [{}, probe]) as [Input, Input]
      return [
        field,
        [
          { ...base, ...one },
          { ...base, ...other },
        ],
      ]
    }),
  )

const output = (command: string) => ({ command })
const probes: Record<string, Record<string, Probe>> = {
  'unified_search/grep': of(
    { pattern: 'alpha' },
    {
      pattern: { pattern: 'beta' },
      patterns: [
        { pattern: undefined, patterns: ['alpha', 'beta'] },
        { pattern: undefined, patterns: ['alpha', 'sub'] },
      ],
      logic: [
        { pattern: undefined, patterns: ['two', 'sub'] },
        { pattern: undefined, patterns: ['two', 'sub'], logic: 'OR' },
      ],
      path: { path: 'sub' },
      case_sensitive: [
        { pattern: 'ALPHA', case_sensitive: false },
        { pattern: 'ALPHA', case_sensitive: true },
      ],
      context_lines: { context_lines: 1 },
      max_results: { max_results: 1 },
      skip: { skip: 1 },
      count: [{ max_results: 1 }, { max_results: 1, count: 'exact' }],
      literal: [{ pattern: 'a.pha' }, { pattern: 'a.pha', literal: true }],
      globs: { globs: '*.md' },
      file_extensions: { file_extensions: ['md'] },
      include_hidden: { include_hidden: true },
      include_ignored: { include_ignored: true },
    },
  ),
  'unified_search/list': of(
    { mode: 'recursive' },
    {
      path: { path: 'sub' },
      mode: { mode: 'tree' },
      max_results: { max_results: 2 },
      page: [{ max_results: 2 }, { max_results: 2, page: 2 }],
      pattern: { pattern: '*.md' },
      name_pattern: { name_pattern: 'b' },
      content_pattern: [
        { mode: 'find_content', content_pattern: 'alpha' },
        { mode: 'find_content', content_pattern: 'sub' },
      ],
      file_extensions: { file_extensions: ['md'] },
      entry_type: { entry_type: 'dir' },
      case_sensitive: [
        { name_pattern: 'A.TXT', case_sensitive: false },
        { name_pattern: 'A.TXT', case_sensitive: true },
      ],
      include_hidden: { include_hidden: true },
      include_ignored: { include_ignored: true },
      follow: { follow: true },
      max_depth: { max_depth: 1 },
      max_items: { max_items: 2 },
      globs: { globs: '*.md' },
    },
  ),
  'unified_search/outline': of(
    { path: 'code.ts' },
    {
      path: { path: 'lib.py' },
      lang: [{ path: '.' }, { path: '.', lang: 'py' }],
      type: { type: 'class' },
      match: { match: '^inner' },
      items: { items: 'imports' },
      pub_members: { pub_members: true },
      follow: [{ path: 'linked' }, { path: 'linked', follow: true }],
      view: { view: 'full' },
      max_results: [{ path: '.' }, { path: '.', max_results: 1 }],
    },
  ),
  'unified_search/structural': of(
    { pattern: 'call($A)', lang: 'ts' },
    {
      workflow: [{ rewrite: 'x($A)' }, { rewrite: 'x($A)', workflow: 'rewrite' }],
      pattern: { pattern: 'call(1)' },
      kind: [
        { pattern: undefined, kind: 'call_expression' },
        { pattern: undefined, kind: 'class_declaration' },
      ],
      rewrite: [
        { workflow: 'rewrite', rewrite: 'x($A)' },
        { workflow: 'rewrite', rewrite: 'y($A)' },
      ],
      fix_config: [
        { workflow: 'rewrite', fix_config: { template: 'x($A)' } },
        { workflow: 'rewrite', fix_config: { template: 'y($A)' } },
      ],
      lang: { lang: 'py' },
      selector: [
        { pattern: 'class $N { run(): void {} }' },
        { pattern: 'class $N { run(): void {} }', selector: 'method_definition' },
      ],
      strictness: [{ pattern: 'called(5)' }, { pattern: 'called(5)', strictness: 'signature' }],
      debug_query: { debug_query: 'ast' },
      config_path: [
        { pattern: undefined, lang: undefined, workflow: 'inspect' },
        { pattern: undefined, lang: undefined, workflow: 'inspect', config_path: 'none.yml' },
      ],
      filter: [
        { pattern: undefined, lang: undefined, workflow: 'scan' },
        { pattern: undefined, lang: undefined, workflow: 'scan', filter: 'no-b' },
      ],
      skip_snapshot_tests: [
        { pattern: undefined, lang: undefined, workflow: 'test', filter: 'no-a' },
        { pattern: undefined, lang: undefined, workflow: 'test', filter: 'no-a', skip_snapshot_tests: true },
      ],
      path: { path: 'other' },
      paths: { paths: ['other'] },
      globs: { globs: 'other/**' },
      context_lines: { context_lines: 1 },
      max_results: { max_results: 1 },
      skip: { skip: 1 },
      include_hidden: { include_hidden: true },
    },
  ),
  'unified_search/errors': {
    scope: [{ scope: 'current' }, { scope: 'archive' }],
    max_results: [{}, { max_results: 1 }],
  },
  'unified_search/tools': of(
    { keyword: 'file' },
    {
      keyword: { keyword: 'skill' },
      detail_level: { detail_level: 'full' },
      max_results: { max_results: 1 },
    },
  ),
  'unified_search/agent': { mode: [{}, { mode: 'full' }] },
  'unified_search/skill': { name: [{ name: 'one' }, { name: 'two' }] },
  'unified_search/web': of(
    { url: '/page' },
    {
      url: { url: '/other' },
      query: 'a field of former callers, which is refused',
      prompt: { prompt: 'where is the harbour' },
      max_bytes: { max_bytes: 1_024 },
      timeout_secs: 'limits time, not the value',
    },
  ),
  'unified_file/read': of(
    { path: 'a.txt' },
    {
      path: { path: 'sub/b.md' },
      max_bytes: { max_bytes: 5 },
      offset_lines: { offset_lines: 2 },
      page_size_lines: { page_size_lines: 1 },
      end_line: { end_line: 1 },
      offset_bytes: { offset_bytes: 3 },
      page_size_bytes: { page_size_bytes: 4 },
      pages: [{ path: 'doc.pdf' }, { path: 'doc.pdf', pages: '2' }],
    },
  ),
  load_skill_resource: of(
    { skill_name: 'one', resource_path: 'data.txt' },
    {
      skill_name: [{}, { skill_name: 'two', resource_path: 'SKILL.md' }],
      resource_path: { resource_path: 'SKILL.md' },
      max_bytes: { max_bytes: 5 },
      offset_lines: { offset_lines: 2 },
      page_size_lines: { page_size_lines: 1 },
      end_line: { end_line: 1 },
      offset_bytes: { offset_bytes: 3 },
      page_size_bytes: { page_size_bytes: 4 },
    },
  ),
  list_skills: of(
    { scope: 'workspace' },
    {
      query: { query: 'second' },
      scope: { scope: 'bundled' },
      page: [{ per_page: 1 }, { per_page: 1, page: 2 }],
      per_page: { per_page: 1 },
    },
  ),
  load_skill: {
    name: [{ name: 'one' }, { name: 'two' }],
    arguments: [{ name: 'one' }, { name: 'one', arguments: 'words' }],
  },
  'unified_file/write': of(
    { path: 'w/new.txt', content: 'x\n' },
    {
      path: { path: 'w/second.txt' },
      content: OWN,
      mode: [
        { path: 'w/a.txt', mode: 'append' },
        { path: 'w/a.txt', mode: 'overwrite' },
      ],
      overwrite: [
        { path: 'w/a.txt', mode: 'append' },
        { path: 'w/a.txt', overwrite: true },
      ],
      expected_hash: 'a hash allows or refuses the call',
    },
  ),
  'unified_file/edit': of(
    { path: 'w/a.txt', old_str: 'one', new_str: 'ONE' },
    {
      path: [{}, { path: 'w/b.txt', old_str: 'other' }],
      old_str: OWN,
      new_str: OWN,
      edits: [
        { old_str: undefined, new_str: undefined, edits: [{ old_str: 'one', new_str: 'ONE' }] },
        {
          old_str: undefined,
          new_str: undefined,
          edits: [
            { old_str: 'one', new_str: 'ONE' },
            { old_str: 'two\ntwo', new_str: 'x' },
          ],
        },
      ],
      replace_all: 'allows or refuses the call',
      expected_hash: 'a hash allows or refuses the call',
    },
  ),
  'unified_file/copy': of(
    { path: 'w/a.txt', destination: 'w/copy.txt' },
    {
      path: { path: 'w/b.txt' },
      destination: { destination: 'w/dir/copy.txt' },
      recursive: 'allows or refuses the call',
      overwrite: 'allows or refuses the call',
    },
  ),
  'unified_file/move': of(
    { path: 'w/a.txt', destination: 'w/moved.txt' },
    {
      path: { path: 'w/b.txt' },
      destination: { destination: 'w/dir/moved.txt' },
      overwrite: 'allows or refuses the call',
      expected_hash: 'a hash allows or refuses the call',
    },
  ),
  'unified_file/delete': of(
    { path: 'w/a.txt' },
    {
      path: { path: 'w/b.txt' },
      recursive: 'allows or refuses the call',
      force: 'allows or refuses the call',
      expected_hash: 'a hash allows or refuses the call',
    },
  ),
  'unified_file/patch': {
    patch: [
      { patch: patch('w/a.txt') },
      { patch: patch('w/a.txt').replace('+ONE', '+ONE\n+MORE').replace('+1 @@', '+1,2 @@') },
    ],
    path: 'names the file of a patch without names',
    dry_run: [{ patch: patch('w/a.txt') }, { patch: patch('w/a.txt'), dry_run: true }],
  },
  apply_patch: {
    input: [
      { input: '*** Begin Patch\n*** Update File: w/a.txt\n@@\n-one\n+ONE\n*** End Patch' },
      { input: '*** Begin Patch\n*** Delete File: w/a.txt\n*** End Patch' },
    ],
    dry_run: [
      { input: '*** Begin Patch\n*** Delete File: w/a.txt\n*** End Patch' },
      { input: '*** Begin Patch\n*** Delete File: w/a.txt\n*** End Patch', dry_run: true },
    ],
  },
  call_tool: {
    tool: [{ tool: 'list_skills' }, { tool: 'unified_exec/list' }],
    input: [
      { tool: 'list_skills', input: {} },
      { tool: 'list_skills', input: { query: 'second' } },
    ],
  },
  'unified_exec/run': of(output('echo one; echo "$X"; pwd; cat; tput cols 2>/dev/null'), {
    command: { command: 'echo two' },
    args: [
      { command: 'echo', args: ['a'] },
      { command: 'echo', args: ['b'] },
    ],
    workdir: { workdir: 'sub' },
    timeout_secs: [{ command: 'sleep 0.1' }, { command: 'sleep 30', timeout_secs: 1 }],
    yield_time_ms: [{ command: 'true' }, { command: 'sleep 30', yield_time_ms: 250 }],
    background: [{ command: 'true' }, { command: 'sleep 30', background: true }],
    tty: [{ command: 'test -t 1 && echo terminal' }, { command: 'test -t 1 && echo terminal', tty: true }],
    rows: [
      { command: 'stty size', tty: true },
      { command: 'stty size', tty: true, rows: 11 },
    ],
    cols: [
      { command: 'stty size', tty: true },
      { command: 'stty size', tty: true, cols: 55 },
    ],
    shell: [
      { command: 'echo $0', shell: 'bash' },
      { command: 'echo $0', shell: 'sh' },
    ],
    login: [{ command: 'shopt -p login_shell' }, { command: 'shopt -p login_shell', login: true }],
    env: { env: { X: 'set' } },
    input: { input: 'typed\n' },
    session_id: 'a name that the caller gives',
    max_output_tokens: [{ command: 'seq 900' }, { command: 'seq 900', max_output_tokens: 200 }],
    sandbox_permissions: 'asks or refuses; the value names the sandbox, the text of a failure too',
    justification: 'the text of a question',
  }),
  'unified_exec/code': of(
    { language: 'node', code: 'console.log(process.cwd()); globalThis.result = 1' },
    {
      code: { code: 'console.log(2)' },
      language: [
        { code: 'print(1)', language: 'python3' },
        { code: 'var print = (x) => console.log(x + 1); print(1)' },
      ],
      timeout_secs: 'limits time, not the value',
      workdir: { workdir: 'sub' },
      input: [
        { code: 'process.stdin.pipe(process.stdout)' },
        { code: 'process.stdin.pipe(process.stdout)', input: 'typed' },
      ],
      max_output_tokens: [
        { code: 'console.log("line\\n".repeat(900))' },
        { code: 'console.log("line\\n".repeat(900))', max_output_tokens: 200 },
      ],
    },
  ),
  'unified_exec/list': {},
  request_user_input: { questions: 'the answers of a person' },
  defuddle_fetch: { url: NETWORK, max_bytes: NETWORK },
  web_search: { query: NETWORK, max_results: NETWORK },
}

/** Slots of running commands: each probe starts its own command. */
const running: Record<string, Record<string, Probe>> = {
  'unified_exec/inspect': {
    session_id: 'names the command',
    spool_path: 'names the file',
    stream: [{}, { stream: 'stderr' }],
    head_lines: [{ tail_lines: 1 }, { tail_lines: 1, head_lines: 2 }],
    tail_lines: [{ head_lines: 1 }, { head_lines: 1, tail_lines: 2 }],
    query: [{ query: 'line 1' }, { query: 'line 2' }],
    literal: [{ query: 'line.1' }, { query: 'line.1', literal: true }],
    max_matches: [{ query: 'line' }, { query: 'line', max_matches: 1 }],
    screen: 'needs a terminal: test/plugins/unified_exec/inspect.test.ts',
  },
}
/** Fields of actions that wait for or change a running command; their text is that of `run`. */
const DELIVERED = ['unified_exec/close', 'unified_exec/poll', 'unified_exec/write', 'unified_exec/continue']

/** Actions that need a language server; their own tests compare text and value. */
const SERVED = [
  'unified_file/rename',
  ...['calls', 'definition', 'diagnostics', 'hover', 'implementations', 'references', 'symbols'].map(
    (action) => `unified_search/${action}`,
  ),
]

/** Removes what differs between two equal calls. */
const VOLATILE = /run-[0-9a-f]{8}|\d+(?:\.\d+)? s\b|\d{4}-\d\d-\d\dT[\d:.]+Z|run_[0-9a-f]{8}\w*-[0-9a-f]+/g
const settle = (text: string): string => text.replace(VOLATILE, '…')
const members = new Set(['duration_ms', 'pid', 'session_id', 'modified', 'cursor', 'command', 'hash', 'spool_path'])
const stable = (value: unknown): string =>
  settle(JSON.stringify(value, (name, member: unknown) => (members.has(name) ? undefined : member)) ?? '')

const shared = (async (): Promise<Booted & { base: string }> => {
  const server = createServer((request, answer) => {
    answer.setHeader('content-type', 'text/html')
    const page = request.url === '/page' ? 'The harbour is in the north. '.repeat(200) : 'Another page.'
    answer.end(`<html><body><article><p>${page}</p><p>The mill is in the south.</p></article></body></html>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  holdForFile({ [Symbol.asyncDispose]: async () => void server.close() })
  const { port } = server.address() as { port: number }
  const ws = holdForFile(
    await bootKernel({ files, config: { sandbox: { mode: 'off' }, web: { private_hosts: ['127.0.0.1'] } } }),
  )
  await ws.write('linked/own.ts', 'export class Own {}\n')
  symlinkSync('../other', join(ws.root, 'linked/more'))
  return { ...ws, base: `http://127.0.0.1:${port}` }
})()

let sessions = 0

async function ask(slot: string, input: Input): Promise<{ value: string; text: string }> {
  const { call, root, write, base } = await shared
  const [tool = '', action] = slot.split('/')
  if (/^(?:unified_file|apply_patch)/.test(slot) && !slot.endsWith('/read')) {
    await rm(join(root, 'w'), { recursive: true, force: true })
    for (const [path, text] of Object.entries(changed)) await write(path, text)
  }
  const session = `session${++sessions}`
  if (slot === 'load_skill_resource') await call('load_skill', { name: String(input['skill_name']) }, { session })
  const url = typeof input['url'] === 'string' && { url: base + input['url'] }
  const given = { ...(action !== undefined && { action }), ...JSON.parse(JSON.stringify(input)), ...url }
  const started = slot in running && (await call('unified_exec', { action: 'run', command: LINES }, { session }))
  const id = started && started.ok ? { session_id: started.output['session_id'] } : {}
  const result = await call(tool, { ...given, ...id }, { session: slot.endsWith('/errors') ? 'errors' : session })
  if (!result.ok) return { value: '', text: JSON.stringify(result.error) }
  return { value: stable(result.output), text: settle(successText(result)) }
}
const LINES = 'for i in 1 2 3 4 5 6; do echo "line $i"; done; echo "an error line" >&2'

describe('a field that changes the value changes the text', () => {
  const all = { ...probes, ...running }

  it('covers every field of every slot', async () => {
    const { kernel } = await shared
    const missing = kernel.list().flatMap(({ slot, input }) =>
      [...DELIVERED, ...SERVED].includes(slot)
        ? []
        : Object.keys(input['properties'] as object).flatMap((field) =>
            // The value is the text then; the diagnostics of a change are a notice.
            ['response_format', 'diagnostics'].includes(field) || all[slot]?.[field] !== undefined
              ? []
              : [`${slot} ${field}`],
          ),
    )
    expect(missing).toEqual([])
  })

  const rows = Object.entries(all).flatMap(([slot, fields]) =>
    Object.entries(fields).flatMap(([field, probe]) =>
      typeof probe === 'string' ? [] : [[slot, field, probe] as const],
    ),
  )
  it.each(rows)('shows %s %s', async (slot, _, [one, other]) => {
    if (slot.endsWith('/errors')) {
      const { call } = await shared
      for (const path of ['none.txt', 'nothing.txt'])
        await call('unified_file', { action: 'read', path }, { session: 'errors' })
    }
    const [a, b] = [await ask(slot, one), await ask(slot, other)]
    for (const { value, text } of [a, b]) expect(value, text).not.toBe('')
    expect(a.value, NO_VALUE).not.toBe(b.value)
    expect(a.text).not.toBe(b.text)
  })
})
