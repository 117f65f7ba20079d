import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  among,
  describes,
  each,
  gives,
  holds,
  listed,
  outputOf,
  refuses,
  says,
  type Check,
  type Row,
} from '../../../support/seed.js'
import { online } from '../../../support/seed_web.js'
import { page } from '../../../support/server.js'

const search = (action: string, input: object = {}): object => ({ action, ...input })
const web = online({
  '/html/': page(readFileSync(new URL('../../../fixtures/duckduckgo/results.html', import.meta.url), 'utf8')),
  '/reader/': page('# Title\n\nText. '.padEnd(5000, 'x'), 'text/markdown; charset=utf-8'),
  '/silent': () => {},
  '/page': page(
    '<html><head><title>News</title></head><body><article><h1>News</h1><p>It rains in Bergen today.</p><p>The harbour is closed.</p></article></body></html>',
  ),
})
const question = {
  id: 'database',
  header: 'Database',
  question: 'Which one?',
  options: [
    { label: 'PostgreSQL', description: 'A server.' },
    { label: 'SQLite', description: 'A file.' },
  ],
}
/** A public address that needs no resolver; only our reader service is asked for it. */
const address = 'http://93.184.216.34/article'
const action =
  (tool: string, name: string): Check =>
  (place) =>
    expect(listed(place, tool).input.properties.action.enum).toContain(name)
const running: Check = async (place) => {
  const run = (input: object) => outputOf(place, 'unified_exec', input)
  const { session_id } = await run({
    action: 'run',
    command: 'read line; echo "got $line"; sleep 60',
    yield_time_ms: 250,
  })
  expect(await run({ action: 'list' })).toMatchObject({ sessions: among({ session_id }) })
  expect(await run({ action: 'write', session_id, input: 'hello\n' })).toMatchObject({ running: true })
  expect(await run({ action: 'poll', session_id })).toMatchObject({ running: true })
  expect(await run({ action: 'continue', session_id, yield_time_ms: 250 })).toMatchObject({ running: true })
  expect(JSON.stringify(await run({ action: 'inspect', session_id }))).toContain('got hello')
  expect(await run({ action: 'close', session_id })).toMatchObject({ running: false })
  expect(await run({ action: 'code', language: 'javascript', code: 'console.log(6 * 7)' })).toMatchObject({
    stdout: '42\n',
  })
}
const huge: Check = async (place) => {
  const file = join(place.root, 'huge.bin')
  writeFileSync(file, '')
  // More than one buffer of Node can hold, most of it a hole.
  truncateSync(file, 6 * 2 ** 30)
  await gives(
    'unified_file',
    { action: 'read', path: 'huge.bin', offset_bytes: 5 * 2 ** 30, page_size_bytes: 4 },
    { size_bytes: 6 * 2 ** 30 },
  )(place)
  // Later searches would name it.
  rmSync(file)
}

export const rows: Row[] = [
  [
    '5',
    'Canonical unified surface is what prompts and schemas target',
    ({ kernel }) =>
      expect(kernel.tools().map(({ name }) => name)).toEqual(
        among(
          'unified_search',
          'unified_file',
          'unified_exec',
          'request_user_input',
          'apply_patch',
          'web_search',
          'defuddle_fetch',
        ),
      ),
  ],
  [
    '5',
    'Legacy aliases (read_file, grep_file, list_files) still route internally',
    each(
      gives('read_file', { path: 'README.md' }, { content: /heading/ }),
      gives('grep_file', { pattern: 'TD-015' }, { matches: [{ file: 'docs/notes.md' }] }),
      gives('list_files', { path: 'langs' }, { items: among({ path: 'langs/a.py' }) }),
      ({ kernel }) =>
        expect(kernel.tools().map(({ name }) => name)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/^(read_file|grep_file|list_files)$/)]),
        ),
    ),
  ],
  [
    '5',
    'Legacy PTY helpers still route',
    async (place) => {
      await gives('run_pty_cmd', { command: 'test -t 1 && echo tty' }, { output: /tty/ })(place)
      const { session_id } = await outputOf(place, 'create_pty_session', { command: 'cat' })
      await gives('send_pty_input', { session_id, input: 'hello\n' }, { running: true })(place)
      await gives('list_pty_sessions', {}, { sessions: among({ session_id }) })(place)
      await gives('read_pty_session', { session_id }, {})(place)
      await gives('close_pty_session', { session_id }, { running: false })(place)
    },
  ],
  [
    '9',
    'unified_search exists, read-only',
    each(
      (place) =>
        expect(
          place.kernel
            .list()
            .filter(({ tool }) => tool === 'unified_search')
            .flatMap(({ effects }) => effects)
            .filter((effect) => !['read', 'net'].includes(effect)),
        ).toEqual([]),
      gives('unified_search', search('list')),
    ),
  ],
  [
    '11',
    'action grep',
    each(
      action('unified_search', 'grep'),
      gives('unified_search', search('grep', { pattern: 'TD-015' }), {
        matches: [{ file: 'docs/notes.md', line_number: 2 }],
      }),
    ),
  ],
  [
    '12',
    'action list',
    each(
      action('unified_search', 'list'),
      gives('unified_search', search('list'), { items: among({ path: 'src', type: 'dir' }) }),
    ),
  ],
  [
    '13',
    'action structural via local ast-grep, needs pattern/kind',
    each(
      gives('unified_search', search('structural', { pattern: 'legacy()' }), {
        backend: 'ast-grep',
        matches: [{ file: 'src/list.ts' }],
      }),
      refuses('unified_search', search('structural'), { code: 'VT_INPUT_MISSING', message: /pattern.*kind/ }),
    ),
  ],
  [
    '14',
    'action outline, token-efficient, default view digest',
    gives('unified_search', search('outline', { path: 'src/app.ts' }), {
      view: 'digest',
      files: [{ groups: among({ kind: 'class', names: ['App'], members: ['run', 'hide'] }) }],
    }),
  ],
  [
    '14',
    '"docs/development/grep-tool-guide.md Outline mode"',
    each(
      describes('unified_search', /outline/),
      says(
        'unified_search',
        { action: 'tools', keyword: 'unified_search/outline', detail_level: 'full' },
        /Symbols of a file or folder; use it before reading whole files/,
      ),
    ),
    'The guide of outlines',
  ],
  [
    '15',
    'action tools',
    gives('unified_search', search('tools', { keyword: 'structural' }), {
      tools: among({ tool: 'unified_search', action: 'structural' }),
    }),
  ],
  [
    '16',
    'action errors: archived/current',
    async ({ call, kernel }) => {
      await call('unified_file', { action: 'read', path: 'one.txt' }, { session: 'first' })
      await kernel.endSession('first')
      await call('unified_file', { action: 'read', path: 'two.txt' }, { session: 'second' })
      const asked = async (scope: string) =>
        ((await call('unified_search', { action: 'errors', scope }, { session: 'second' })) as any).output.errors.map(
          (one: any) => one.input.path,
        )
      expect([await asked('current'), await asked('archive')]).toEqual([
        ['two.txt'],
        expect.arrayContaining(['one.txt']),
      ])
    },
  ],
  [
    '17',
    'action agent',
    gives('unified_search', search('agent'), {
      node: process.version,
      engines: { ripgrep: { available: true }, ast_grep: { available: true } },
    }),
  ],
  [
    '18',
    'action web',
    web((place, { url }) =>
      gives('unified_search', search('web', { url: `${url}/page` }), { title: 'News', content: /It rains in Bergen/ })(
        place,
      ),
    ),
  ],
  [
    '19',
    'action skill',
    gives('unified_search', search('skill', { name: 'demo' }), { name: 'demo', instructions: 'Step one.\n' }),
  ],
  [
    '20',
    'unified_file exists: read write edit patch delete move copy',
    (place) =>
      expect(listed(place, 'unified_file').input.properties.action.enum).toEqual(
        among('read', 'write', 'edit', 'patch', 'delete', 'move', 'copy'),
      ),
  ],
  ['29', 'unified_exec: run write poll continue inspect list close code', running],
  [
    '39',
    'request_user_input collects short structured decisions when permitted',
    each(
      async ({ call }) =>
        expect(
          await call(
            'request_user_input',
            { questions: [question] },
            { ask: async () => ({ database: { selected: ['SQLite'] } }) },
          ),
        ).toMatchObject({ ok: true, output: { answers: { database: { selected: ['SQLite'] } } } }),
      refuses('request_user_input', { questions: [question] }, { code: 'VT_ASK_UNAVAILABLE' }),
    ),
  ],
  [
    '41',
    'apply_patch first-class',
    each(
      gives('apply_patch', { input: '*** Begin Patch\n*** Add File: patched.txt\n+one\n*** End Patch\n' }),
      holds('patched.txt', 'one\n'),
    ),
  ],
  [
    '43',
    'web_search: DuckDuckGo keyless',
    web(async (place, server) => {
      await gives('web_search', { query: 'tapable hooks' }, { provider: 'duckduckgo' })(place)
      expect(server.seen.find(({ path }) => path === '/html/')!.headers).not.toHaveProperty('authorization')
    }),
  ],
  [
    '43',
    'web_search: ranked results',
    web(
      gives(
        'web_search',
        { query: 'tapable hooks' },
        { results: [{ url: /tapable/ }, { url: /webpack/ }, { url: /npmjs/ }] },
      ),
    ),
  ],
  ['43', 'web_search query required', refuses('web_search', {}, { code: 'VT_INPUT_MISSING', message: /'query'/ })],
  [
    '43',
    'web_search max_results optional',
    web(gives('web_search', { query: 'tapable', max_results: 2 }, { count: 2 })),
  ],
  [
    '43',
    'web_search "config and guard rails"',
    web(async ({ call }) => {
      const codes: unknown[] = []
      for (const query of ['a', 'b', 'c', 'd', 'e'])
        codes.push(((await call('web_search', { query }, { session: 'many' })) as any).error?.code)
      expect(codes).toEqual([undefined, undefined, undefined, undefined, 'VT_WEB_CAP'])
    }),
  ],
  [
    '45',
    'defuddle_fetch via defuddle.md',
    each(
      describes('defuddle_fetch', /defuddle\.md/),
      web(async ({ call }, server) => {
        expect(await call('defuddle_fetch', { url: address }, { session: 'd1' })).toMatchObject({
          ok: true,
          output: { markdown: expect.stringMatching(/^# Title/) },
        })
        expect(server.seen.at(-1)!.path).toBe(`/reader/${address}`)
      }),
    ),
  ],
  [
    '45',
    'defuddle_fetch url required, max_bytes optional',
    each(
      refuses('defuddle_fetch', {}, { code: 'VT_INPUT_MISSING', message: /'url'/ }),
      web(async ({ call }) =>
        expect(await call('defuddle_fetch', { url: address, max_bytes: 1024 }, { session: 'd2' })).toMatchObject({
          ok: true,
          output: { truncated: true },
        }),
      ),
    ),
  ],
  [
    '45',
    'hard-capped at one call per session',
    web(async ({ call }) => {
      await call('defuddle_fetch', { url: address }, { session: 'd3' })
      expect(await call('defuddle_fetch', { url: address }, { session: 'd3' })).toMatchObject({
        ok: false,
        error: { code: 'VT_WEB_CAP' },
      })
    }),
    '`defuddle_fetch`, one call a session',
  ],
  [
    '51',
    'read: line or byte pagination',
    each(
      gives(
        'unified_file',
        { action: 'read', path: 'src/main.rs', offset_lines: 2, page_size_lines: 1 },
        { content: '    step(0);\n' },
      ),
      gives(
        'unified_file',
        { action: 'read', path: 'large_file.bin', offset_bytes: 2, page_size_bytes: 2 },
        { content: 'ab' },
      ),
    ),
  ],
  [
    '53',
    'read: path required',
    refuses('unified_file', { action: 'read' }, { code: 'VT_INPUT_MISSING', message: /'path'/ }),
  ],
  [
    '55',
    'max_bytes, default full file',
    each(
      async (place) =>
        expect((await outputOf(place, 'unified_file', { action: 'read', path: 'src/main.rs' })).content).toBe(
          await place.read('src/main.rs'),
        ),
      gives(
        'unified_file',
        { action: 'read', path: 'src/main.rs', max_bytes: 9 },
        { content: 'fn main()', truncated: true },
      ),
      async (place) => {
        const { content, truncated, next } = await outputOf(place, 'unified_file', { action: 'read', path: 'big.txt' })
        expect([content.length, truncated, next?.tool]).toEqual([1_048_576 - (1_048_576 % 5), true, 'unified_file'])
      },
    ),
    '`read` without a range',
  ],
  [
    '56',
    'offset_lines 1-indexed',
    gives(
      'unified_file',
      { action: 'read', path: 'docs/notes.md', offset_lines: 1, page_size_lines: 1 },
      { content: 'before\n' },
    ),
  ],
  [
    '57',
    'page_size_lines',
    gives(
      'unified_file',
      { action: 'read', path: 'docs/notes.md', offset_lines: 2, page_size_lines: 2 },
      { content: 'TD-015 and recovery-mode\nTODO\n', start_line: 2, end_line: 3 },
    ),
  ],
  [
    '58',
    'offset_bytes 0-indexed',
    gives(
      'unified_file',
      { action: 'read', path: 'docs/notes.md', offset_bytes: 0, page_size_bytes: 3 },
      { content: 'bef' },
    ),
  ],
  [
    '59',
    'page_size_bytes default 8192',
    async (place) =>
      expect(
        (await outputOf(place, 'unified_file', { action: 'read', path: 'large_file.bin', offset_bytes: 0 })).content,
      ).toHaveLength(8192),
  ],
  [
    '63',
    'example call 1 (offset_lines 100, page 50, with "tool" key)',
    gives(
      'unified_file',
      { tool: 'unified_file', action: 'read', path: 'src/main.rs', offset_lines: 100, page_size_lines: 50 },
      { start_line: 100, end_line: 149, content: /^    step\(98\);\n/ },
    ),
  ],
  [
    '73',
    'example call 2 (large_file.bin 0/8192)',
    gives(
      'unified_file',
      { tool: 'unified_file', action: 'read', path: 'large_file.bin', offset_bytes: 0, page_size_bytes: 8192 },
      { content: 'ab'.repeat(4096), size_bytes: 20_000 },
    ),
  ],
  ['81', 'seek-based access, whole file not loaded', huge],
  [
    '83',
    'write exists',
    each(
      gives('unified_file', { action: 'write', path: 'f/w.txt', content: 'one\n' }, { created: true }),
      holds('f/w.txt', 'one\n'),
    ),
  ],
  [
    '85',
    'edit exists',
    each(
      gives('unified_file', { action: 'edit', path: 'f/w.txt', old_str: 'one', new_str: 'two' }),
      holds('f/w.txt', 'two\n'),
    ),
  ],
  [
    '87',
    'patch exists',
    each(
      gives('unified_file', {
        action: 'patch',
        patch: '*** Begin Patch\n*** Update File: f/w.txt\n@@\n-two\n+three\n*** End Patch\n',
      }),
      holds('f/w.txt', 'three\n'),
    ),
  ],
  [
    '89',
    'delete exists',
    each(
      gives('unified_file', { action: 'write', path: 'f/gone.txt', content: '' }),
      gives('unified_file', { action: 'delete', path: 'f/gone.txt' }),
      holds('f/gone.txt', undefined),
    ),
  ],
  [
    '91',
    'move exists',
    each(
      gives('unified_file', { action: 'write', path: 'f/m.txt', content: 'm' }),
      gives('unified_file', { action: 'move', path: 'f/m.txt', destination: 'f/n.txt' }),
      holds('f/n.txt', 'm'),
      holds('f/m.txt', undefined),
    ),
  ],
  [
    '93',
    'copy exists',
    each(
      gives('unified_file', { action: 'copy', path: 'f/n.txt', destination: 'f/o.txt' }),
      holds('f/o.txt', 'm'),
      holds('f/n.txt', 'm'),
    ),
  ],
  [
    '97',
    'grep: pattern required',
    refuses('unified_search', search('grep'), { code: 'VT_INPUT_MISSING', message: /pattern/ }),
  ],
  [
    '98',
    'grep: path default "."',
    gives('unified_search', search('grep', { pattern: 'recovery-mode' }), { matches: [{ file: 'docs/notes.md' }] }),
  ],
  [
    '98',
    'grep: case_sensitive',
    each(
      gives('unified_search', search('grep', { pattern: 'todo', path: 'docs', case_sensitive: true }), {
        total_matches: 1,
      }),
      gives('unified_search', search('grep', { pattern: 'todo', path: 'docs', case_sensitive: false }), {
        total_matches: 2,
      }),
    ),
  ],
  [
    '98',
    'grep: context_lines',
    gives('unified_search', search('grep', { pattern: 'TD-015', context_lines: 1 }), {
      matches: [{ before: ['before'], after: ['TODO'] }],
    }),
  ],
  [
    '98',
    'grep: max_results',
    each(
      gives('unified_search', search('grep', { pattern: 'crowd', path: 'crowd', max_results: 3 }), {
        matches: { length: 3 },
        truncated: true,
      }),
      gives('unified_search', search('grep', { pattern: 'crowd', path: 'crowd', max_results: 3, count: 'exact' }), {
        matches: { length: 3 },
        total_matches: 40,
        truncated: true,
      }),
    ),
  ],
  ['99', 'grep guidance in description', describes('unified_search', /text by regular expression/i)],
  [
    '103',
    'list: path, mode, max_results',
    gives('unified_search', search('list', { path: 'langs', mode: 'recursive', max_results: 2 }), {
      items: [{}, {}],
      total: 8,
      has_more: true,
    }),
  ],
  [
    '104',
    'list: names, directories, tree-style',
    each(
      gives('unified_search', search('list', { mode: 'find_name', name_pattern: 'notes' }), {
        items: [{ path: 'docs/notes.md' }],
      }),
      gives('unified_search', search('list'), { items: among({ path: 'docs', type: 'dir' }) }),
      gives('unified_search', search('list', { path: 'docs', mode: 'tree' }), { tree: /notes\.md/ }),
    ),
  ],
  [
    '191',
    'tools: keyword required',
    refuses('unified_search', search('tools'), { code: 'VT_INPUT_MISSING', message: /'keyword'/ }),
  ],
  [
    '192',
    'tools: detail_level',
    async (place) => {
      const keys = async (detail_level: string) =>
        Object.keys(
          (await outputOf(place, 'unified_search', search('tools', { keyword: 'unified_search/grep', detail_level })))
            .tools[0],
        )
      expect([await keys('name-only'), await keys('name-and-description'), await keys('full')]).toEqual([
        expect.not.arrayContaining(['description']),
        expect.arrayContaining(['description']),
        expect.arrayContaining(['description', 'input']),
      ])
    },
  ],
  [
    '196',
    'errors: scope',
    refuses('unified_search', search('errors', { scope: 'old' }), {
      code: 'VT_INPUT_INVALID',
      message: /all.*current.*archive/,
    }),
  ],
  [
    '200',
    'agent: mode',
    each(
      gives('unified_search', search('agent', { mode: 'tools' }), { tools: among({ slot: 'unified_search/grep' }) }),
      gives('unified_search', search('agent', { mode: 'diagnostics' }), { diagnostics: expect.any(Array) }),
    ),
  ],
  [
    '204',
    'web: url required',
    refuses('unified_search', search('web'), { code: 'VT_INPUT_MISSING', message: /'url'/ }),
  ],
  [
    '205',
    'web: prompt',
    web((place, { url }) =>
      gives('unified_search', search('web', { url: `${url}/page`, prompt: 'Is the harbour open?' }), {
        passages: [/harbour/],
      })(place),
    ),
  ],
  [
    '205',
    'web: max_bytes',
    web((place, { url }) =>
      gives('unified_search', search('web', { url: `${url}/reader/x`, max_bytes: 1024 }), {
        truncated: true,
        bytes: 1024,
      })(place),
    ),
  ],
  [
    '205',
    'web: timeout_secs',
    web((place, { url }) =>
      refuses('unified_search', search('web', { url: `${url}/silent`, timeout_secs: 1 }), { code: 'VT_WEB_TIMEOUT' })(
        place,
      ),
    ),
  ],
  [
    '209',
    'skill: name required',
    each(
      describes('unified_search', /skill\(name\): Loads a skill/, /"name":\{/),
      refuses('unified_search', search('skill'), { code: 'VT_INPUT_MISSING', message: /'name'/ }),
    ),
  ],
]
