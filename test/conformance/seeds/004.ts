import { readFileSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Boot } from 'vtcode/test'
import {
  apart,
  describes,
  each,
  errorOf,
  gives,
  holds,
  outputOf,
  refuses,
  says,
  type Check,
  type Row,
} from '../../support/seed.js'
import { online } from '../../support/seed_web.js'
import { page, redirect, type Answering } from '../../support/server.js'

// The tools of thndrs.
const files = {
  'src/app.ts': 'one\ntwo\nthree\n',
  'src/deep/er/b.ts': 'two\n',
  'c.md': 'two\n',
  'README.md': '# teh project\n\nTODO: docs\n',
  '.hid/d.ts': 'two\n',
  'data/blob.bin': Uint8Array.from([0, 1, 2, 0]),
  'wide.txt': `match ${'x'.repeat(9000)}\n`,
  'long.txt': 'line\n'.repeat(1000),
  'many.txt': 'match\n'.repeat(2000),
  ...Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`crowd/f${index}.log`, ''])),
}
export const boot: Boot = { files, dialects: ['thndrs'], config: { sandbox: { mode: 'off' } } }

const results = page(readFileSync(new URL('../../fixtures/duckduckgo/results.html', import.meta.url), 'utf8'))
const hops: Record<string, Answering> = Object.fromEntries(
  Array.from({ length: 9 }, (_, index) => [`/hop${index}`, redirect(`/hop${index + 1}`)]),
)
const pages = {
  '/html/': results,
  '/article': page(
    '<html><head><title>News</title></head><body><nav>Menu</nav><article><h1>News</h1><p>It rains in Bergen today, and tomorrow too.</p></article><script>track()</script></body></html>',
  ),
  '/image': page(Buffer.from([137, 80, 78, 71, 0, 1]), 'image/png'),
  '/huge': ((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': 11_000_000 }).write('a')) as Answering,
  ...hops,
}
const web = online(pages, { dialects: ['thndrs'] })
const reads = (path: string, expected: (place: Parameters<Check>[0], url: string) => Check): Check =>
  web((place, { url }) => expected(place, `${url}${path}`)(place))
const linked = apart(boot)
const withLink = (check: Check): Check =>
  linked(async (place) => {
    await symlink('src', join(place.root, 'link')).catch(() => {})
    return check(place)
  })

const found =
  (input: object, files: string[]): Check =>
  async (place) =>
    expect((await outputOf(place, 'find_files', input)).files).toEqual(files)
const hits =
  (input: object, ...matches: object[]): Check =>
  async (place) =>
    expect((await outputOf(place, 'search_text', input)).matches).toEqual(matches)
/** The answer to a wrong call names no tool and no field of another vocabulary, and its next call is listed and works. */
const speaks =
  (tool: string, input: object): Check =>
  async (place) => {
    const { message, hint, next } = await errorOf(place, tool, input)
    expect(JSON.stringify([message, hint, next ?? null])).not.toMatch(/unified_|apply_patch|\bold_str\b|offset_lines/)
    if (!next) return
    expect(place.kernel.tools().map(({ name }) => name)).toContain(next.tool)
    await outputOf(place, next.tool, next.input)
  }
const fields: Record<string, string[]> = {
  find_files: ['pattern', 'glob', 'extensions', 'max_depth', 'include_hidden', 'follow_symlinks'],
  list_searchable_files: ['glob', 'include_hidden'],
  search_text: ['pattern', 'glob', 'extensions', 'context_lines', 'include_hidden'],
  read_file_range: ['path', 'start_line', 'end_line'],
  web_search: ['query', 'max_results'],
  read_url: ['url'],
  create_file: ['path', 'content'],
  replace_range: ['path', 'old_string', 'new_string'],
  write_patch: ['op', 'path', 'content', 'old_string', 'new_string'],
  run_shell: ['program', 'args', 'cwd', 'timeout_secs', 'background'],
}
const run = (program: string, args: string[] = [], beside: object = {}): object => ({ program, args, ...beside })

export const rows: Row[] = [
  [
    '5',
    'names and fields are the contract',
    ({ kernel }) =>
      expect(
        Object.fromEntries(
          kernel
            .tools()
            .filter(({ name }) => name in fields)
            .map(({ name, input }) => [name, Object.keys((input as any).properties).sort()]),
        ),
      ).toEqual(Object.fromEntries(Object.entries(fields).map(([name, all]) => [name, [...all].sort()]))),
  ],
  [
    '5',
    'output capped or summarised',
    async (place) =>
      expect(
        (await outputOf(place, 'search_text', { pattern: 'match', glob: 'many.txt' })).matches.length,
      ).toBeLessThan(2000),
  ],
  [
    '5',
    "next in the caller's dialect",
    each(
      speaks('create_file', { path: 'README.md', content: 'x' }),
      speaks('replace_range', { path: 'README.md', old_string: 'nowhere at all', new_string: 'x' }),
      speaks('search_text', { pattern: '(' }),
      speaks('read_file_range', { path: 'src', start_line: 1 }),
      speaks('find_files', {}),
    ),
  ],
  ['7', 'find_files: by name', found({ pattern: 'app' }, ['src/app.ts'])],
  [
    '10',
    'examples that would pass',
    apart(boot)(async (place) => {
      for (const name of Object.keys(fields).filter(
        (one) => !['web_search', 'read_url', 'list_searchable_files'].includes(one),
      )) {
        const { hint } = await errorOf(place, name, { no_such_field: 1 })
        const [, tool, input] = /Example: (\w+) (\{.*\})$/.exec(hint) ?? []
        expect([name, tool]).toEqual([name, name])
        await outputOf(place, name, JSON.parse(input!))
      }
    }),
  ],
  [
    '11',
    'find_files: by glob',
    each(
      found({ pattern: 'src/*.ts' }, ['src/app.ts']),
      found({ pattern: 'src/**' }, ['src/app.ts', 'src/deep/er/b.ts']),
      found({ pattern: 'src/app.ts' }, ['src/app.ts']),
      found({ pattern: '**/*.md' }, ['README.md', 'c.md']),
    ),
  ],
  ['12', 'glob filter', found({ pattern: '*.ts', glob: 'src/deep/**' }, ['src/deep/er/b.ts'])],
  ['13', 'extensions', found({ pattern: '*', extensions: ['md'] }, ['README.md', 'c.md'])],
  ['14', 'max_depth', found({ pattern: '*.ts', max_depth: 2 }, ['src/app.ts'])],
  [
    '15',
    'include_hidden',
    found({ pattern: '*.ts', include_hidden: true }, ['.hid/d.ts', 'src/app.ts', 'src/deep/er/b.ts']),
  ],
  [
    '16',
    'follow_symlinks',
    withLink(found({ pattern: 'app.ts', follow_symlinks: true }, ['link/app.ts', 'src/app.ts'])),
  ],
  ['18', 'hidden and links off by default', withLink(found({ pattern: '*.ts' }, ['src/app.ts', 'src/deep/er/b.ts']))],
  [
    '18',
    'capped',
    each(
      gives('find_files', { pattern: '*.log' }, { files: { length: 200 }, total: 250, truncated: true }),
      says('find_files', { pattern: '*.log' }, /250 files in all; narrow the search\.$/),
    ),
  ],
  [
    '20',
    'list_searchable_files',
    async (place) => {
      const { files: all } = await outputOf(place, 'list_searchable_files', {})
      expect(all).toEqual(expect.arrayContaining(['c.md', 'src/app.ts']))
      expect(all).not.toContain('data/blob.bin')
    },
  ],
  [
    '24',
    'glob',
    async (place) =>
      expect((await outputOf(place, 'list_searchable_files', { glob: '*.md' })).files).toEqual(['README.md', 'c.md']),
  ],
  [
    '25',
    'include_hidden',
    async (place) =>
      expect(
        (await outputOf(place, 'list_searchable_files', { include_hidden: true, glob: '**/*.ts' })).files,
      ).toContain('.hid/d.ts'),
  ],
  [
    '27',
    'guidance when to prefer',
    describes('search_text', /Prefer it when the content is known, find_files when the name is/),
  ],
  [
    '29',
    'search_text regex, file:line:text',
    says('search_text', { pattern: 't.o', glob: 'src/app.ts' }, /^src\/app\.ts:2:two$/),
  ],
  [
    '33',
    'pattern',
    each(
      hits({ pattern: '^thr', glob: 'src/**' }, { file: 'src/app.ts', line_number: 3, text: 'three' }),
      refuses('search_text', {}, { code: 'VT_INPUT_MISSING', message: /'pattern'/ }),
    ),
  ],
  ['34', 'glob', hits({ pattern: 'two', glob: '*.md' }, { file: 'c.md', line_number: 1, text: 'two' })],
  ['35', 'extensions', hits({ pattern: 'two', extensions: ['md'] }, { file: 'c.md', line_number: 1, text: 'two' })],
  [
    '36',
    'context_lines',
    says(
      'search_text',
      { pattern: 'two', glob: 'src/app.ts', context_lines: 1 },
      /^src\/app\.ts-1-one\nsrc\/app\.ts:2:two\nsrc\/app\.ts-3-three$/,
    ),
  ],
  [
    '37',
    'include_hidden',
    hits({ pattern: 'two', glob: '.hid/**', include_hidden: true }, { file: '.hid/d.ts', line_number: 1, text: 'two' }),
  ],
  [
    '39',
    'rg exit 1 = no matches',
    gives('search_text', { pattern: 'nowhere_to_be_found' }, { matches: [], total: 0, truncated: false }),
  ],
  [
    '39',
    'matches and line length capped',
    each(
      async (place) =>
        expect(
          (await outputOf(place, 'search_text', { pattern: 'match', glob: 'wide.txt' })).matches[0].text.length,
        ).toBeLessThan(2000),
      async (place) =>
        expect(await outputOf(place, 'search_text', { pattern: 'match', glob: 'many.txt' })).toMatchObject({
          truncated: true,
        }),
    ),
  ],
  [
    '41',
    'read_file_range 1-indexed',
    gives(
      'read_file_range',
      { path: 'src/app.ts', start_line: 1, end_line: 1 },
      { content: 'one\n', start_line: 1, end_line: 1 },
    ),
  ],
  ['45', 'path', refuses('read_file_range', { path: '../x', start_line: 1 }, { code: 'VT_PATH_OUTSIDE' })],
  [
    '46',
    'start_line',
    gives('read_file_range', { path: 'src/app.ts', start_line: 2 }, { content: 'two\nthree\n', start_line: 2 }),
  ],
  [
    '47',
    'end_line optional',
    gives(
      'read_file_range',
      { path: 'src/app.ts', start_line: 3 },
      { content: 'three\n', end_line: 3, total_lines: 3 },
    ),
  ],
  [
    '49',
    'targeted ranges preferred',
    gives('read_file_range', { path: 'long.txt', start_line: 1 }, { start_line: 1, end_line: 400, total_lines: 1000 }),
  ],
  [
    '51',
    'web_search',
    web(gives('web_search', { query: 'tapable hooks' }, { provider: 'duckduckgo', results: { length: 3 } })),
  ],
  ['55', 'query', refuses('web_search', {}, { code: 'VT_INPUT_MISSING', message: /query/ })],
  ['56', 'max_results', web(gives('web_search', { query: 'tapable', max_results: 1 }, { count: 1 }))],
  [
    '58',
    'depends on the selected mode',
    apart({ dialects: ['thndrs'], config: { web: { search: { provider: 'searxng' } } } })(
      refuses('web_search', { query: 'x' }, { message: /base_url/ }),
    ),
  ],
  [
    '60',
    'read_url readable text',
    reads('/article', (_, url) => async (place) => {
      const { content, title } = await outputOf(place, 'read_url', { url })
      expect([title, content]).toEqual(['News', expect.stringContaining('It rains in Bergen today')])
      expect(content).not.toMatch(/track\(\)|<p>/)
    }),
  ],
  ['64', 'url', refuses('read_url', {}, { code: 'VT_INPUT_MISSING', message: /'url'/ })],
  ['66', 'private targets rejected', refuses('read_url', { url: 'http://127.0.0.1:9/' }, { code: 'VT_WEB_BLOCKED' })],
  ['66', 'unsupported schemes', refuses('read_url', { url: 'file:///etc/passwd' }, { code: 'VT_WEB_URL' })],
  ['66', 'binary content', reads('/image', (_, url) => refuses('read_url', { url }, { code: 'VT_WEB_TYPE' }))],
  ['66', 'oversized', reads('/huge', (_, url) => refuses('read_url', { url }, { code: 'VT_WEB_TOO_LARGE' }))],
  ['66', 'redirect chains', reads('/hop0', (_, url) => refuses('read_url', { url }, { code: 'VT_WEB_REDIRECTS' }))],
  [
    '68',
    'create_file',
    each(
      gives('create_file', { path: 'new.txt', content: 'x\n' }, { path: 'new.txt', created: true, bytes_written: 2 }),
      holds('new.txt', 'x\n'),
    ),
  ],
  [
    '75',
    'fails if it exists',
    each(refuses('create_file', { path: 'c.md', content: 'x' }, { code: 'VT_PATH_EXISTS' }), holds('c.md', 'two\n')),
  ],
  [
    '75',
    'creates parents',
    each(gives('create_file', { path: 'made/up/new.txt', content: 'x' }), holds('made/up/new.txt', 'x')),
  ],
  [
    '77',
    'replace_range one unique exact occurrence',
    each(
      gives('create_file', { path: 'r.txt', content: 'a b\n' }),
      gives('replace_range', { path: 'r.txt', old_string: 'b', new_string: 'c' }, { replacements: 1 }),
      holds('r.txt', 'a c\n'),
    ),
  ],
  [
    '85',
    'fails on zero or several, file unchanged',
    each(
      refuses(
        'replace_range',
        { path: 'src/app.ts', old_string: 'four', new_string: 'x' },
        { code: 'VT_EDIT_NOT_FOUND' },
      ),
      refuses(
        'replace_range',
        { path: 'src/app.ts', old_string: 'e', new_string: 'x' },
        { code: 'VT_EDIT_NOT_UNIQUE' },
      ),
      holds('src/app.ts', 'one\ntwo\nthree\n'),
    ),
  ],
  [
    '87',
    'write_patch op create',
    each(
      gives('write_patch', { op: 'create', path: 'p.txt', content: 'a' }),
      refuses('write_patch', { op: 'create', path: 'p.txt', content: 'b' }, { code: 'VT_PATH_EXISTS' }),
      holds('p.txt', 'a'),
    ),
  ],
  [
    '87',
    'op replace',
    each(
      gives('write_patch', { op: 'replace', path: 'p2.txt', content: 'a' }),
      gives('write_patch', { op: 'replace', path: 'p2.txt', content: 'b' }),
      holds('p2.txt', 'b'),
    ),
  ],
  [
    '87',
    'op edit',
    each(
      gives('write_patch', { op: 'create', path: 'p3.txt', content: 'a b' }),
      gives('write_patch', { op: 'edit', path: 'p3.txt', old_string: 'b', new_string: 'c' }),
      holds('p3.txt', 'a c'),
    ),
  ],
  [
    '91',
    'op names validated',
    each(
      refuses('write_patch', { op: 'boom', path: 'x', content: 'x' }, { message: /'op'.*create.*replace.*edit/ }),
      async (place) => expect((await errorOf(place, 'write_patch', { path: 'x' })).message).toMatch(/^Missing 'op'/),
    ),
  ],
  ['97', 'guidance', describes('write_patch', /Create, replace or edit a file/)],
  [
    '99',
    'run_shell: program, stdout, stderr, status, timing',
    gives('run_shell', run('sh', ['-c', 'echo out; echo err >&2; exit 3']), {
      stdout: 'out\n',
      stderr: 'err\n',
      status: 'exited',
      exit_code: 3,
      duration_ms: expect.any(Number),
    }),
  ],
  ['103', 'program', refuses('run_shell', { args: ['x'] }, { code: 'VT_INPUT_MISSING', message: /'program'/ })],
  ['104', 'args', gives('run_shell', run('printf', ['%s', '$HOME;|']), { stdout: '$HOME;|' })],
  ['105', 'cwd', gives('run_shell', run('pwd', [], { cwd: 'src' }), { stdout: /\/src\n$/ })],
  ['106', 'timeout_secs', gives('run_shell', run('sleep', ['30'], { timeout_secs: 1 }), { status: 'timed_out' })],
  [
    '107',
    'background',
    async (place) => {
      const { session_id, status } = await outputOf(
        place,
        'run_shell',
        run('sh', ['-c', 'while [ ! -e go ]; do sleep 0.05; done; echo ready; sleep 60'], { background: true }),
      )
      expect(status).toBe('running')
      await place.write('go', '')
      await gives('poll_shell', { session_id }, { stdout: 'ready\n', status: 'running' })(place)
      await gives('stop_shell', { session_id }, { status: 'signaled' })(place)
    },
    '`run_shell` in the background',
  ],
  [
    '109',
    'local process, not a sandbox',
    apart({ files: { 'a.txt': '' }, dialects: ['thndrs'] })(async (place) => {
      await outputOf(place, 'run_shell', run('touch', ['/tmp/../usr/from_run_shell']))
      expect(await place.read('../../usr/from_run_shell')).toBeUndefined()
      await gives('run_shell', run('ls'), { stdout: 'a.txt\n' })(place)
    }),
    '`run_shell`',
  ],
  ['109', 'output capped, truncated', gives('run_shell', run('seq', ['200000']), { truncated: true, spool_path: /./ })],
  [
    '109',
    'redacted',
    async (place) =>
      expect(
        JSON.stringify(
          await place.call(
            'run_shell',
            run('echo', [`token ${['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_')}`]),
          ),
        ),
      ).not.toContain('a1B2c3D4e5F6'),
  ],
]
