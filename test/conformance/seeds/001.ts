import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Files } from 'vtcode/test'
import {
  among,
  apart,
  each,
  errorOf,
  gives,
  holds,
  outputOf,
  refuses,
  takes,
  type Check,
  type Row,
} from '../../support/seed.js'

// The classic tools.
export const files: Files = {
  'src/app.ts':
    "import { a } from 'bees'\nexport class Greeter {\n  greet(name: string) {\n    console.log(name)\n  }\n}\n",
  'src/other.ts': "import { a } from 'bees'\nnew Greeter().greet('x')\n",
  'src/main.rs': 'fn main() {\n    let a = 1;\n}\n',
  'docs/notes.md': 'TODO and FIXME\nTODO\nFIXME\n',
  'docs/one.md': 'todo\nTODO\n',
  'long.txt': 'abc\n'.repeat(3000),
  'many/hits.txt': 'match\n'.repeat(111),
  '.hidden/secret.md': 'TODO\n',
  'sgconfig.yml': 'ruleDirs: [rules]\n',
  'rules/no-log.yml':
    'id: no-log\nlanguage: TypeScript\nseverity: error\nmessage: No log\nrule:\n  pattern: console.log($$$A)\n',
  ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`list/f${String(index).padStart(2, '0')}.txt`, ''])),
}

/** The seed's own file, to the letter. */
const policy = `{
  "constraints": {
    "run_terminal_cmd": { "allowed_modes": ["pty", "terminal", "streaming"], "default_response_format": "concise" },
    "list_files": { "max_items_per_call": 500, "default_response_format": "concise" },
    "grep_search": { "max_results_per_call": 200, "default_response_format": "concise" },
    "read_file": { "max_bytes_per_read": 200000 }
  }
}
`
const inSandbox = { sandbox: { mode: 'off' as const } }
const published = apart({
  files: {
    ...files,
    'big.txt': 'x'.repeat(300_000),
    'many/more.txt': 'match\n'.repeat(300),
    '.vtcode/tool-policy.json': policy,
  },
  dialects: ['classic'],
  config: inSandbox,
})
const strict = {
  run_terminal_cmd: { allowed_modes: ['terminal'], default_response_format: 'concise' },
  list_files: { max_items_per_call: 5, default_response_format: 'detailed' },
  grep_search: { max_results_per_call: 2 },
  read_file: { max_bytes_per_read: 8 },
}
const capped = apart({
  files: { ...files, '.vtcode/tool-policy.json': JSON.stringify({ constraints: strict }) },
  dialects: ['classic'],
  config: inSandbox,
})

/** Returns the text after `Example:` of a hint, as a call. */
function exampleIn(text: string): [tool: string, input: Record<string, unknown>] {
  const [, tool, inside] = /Example: (\w+)\((.*)\)/.exec(text) ?? []
  return [tool!, JSON.parse(`{${inside!.replaceAll("'", '"').replace(/(\w+)=/g, '"$1":')}}`)]
}
/** The error of the call names the field and shows a call that has it, and that passes. */
const showsMissing =
  (tool: string, input: object, field: string): Check =>
  async (place) => {
    const { message, hint } = await errorOf(place, tool, input)
    expect(message).toContain(`'${field}'`)
    const [name, example] = exampleIn(hint)
    expect([name, Object.keys(example)]).toEqual([tool, expect.arrayContaining([field])])
    await outputOf(place, name, example)
  }
/** A call of each tool and mode that lacks a field. */
const missing: [tool: string, input: object, field: string][] = [
  ['list_files', { mode: 'find_name' }, 'name_pattern'],
  ['list_files', { mode: 'find_content' }, 'content_pattern'],
  ['grep_search', {}, 'pattern'],
  ['grep_search', { mode: 'multi' }, 'patterns'],
  ['grep_search', { mode: 'similarity' }, 'reference_file'],
  ['ast_grep_search', {}, 'pattern'],
  ['ast_grep_search', { operation: 'transform', pattern: 'x' }, 'rewrite'],
  ['read_file', {}, 'path'],
  ['write_file', { path: 'new.txt' }, 'content'],
  ['edit_file', { path: 'long.txt' }, 'old_str'],
  ['run_terminal_cmd', {}, 'command'],
]
const alone = apart({ files, dialects: ['classic'], config: inSandbox })
/** The answer of the call names no tool and no field that this vocabulary lacks. */
const speaks =
  (tool: string, input: object): Check =>
  async (place) => {
    const { message, hint, next } = await errorOf(place, tool, input)
    expect(JSON.stringify([message, hint, next ?? null])).not.toMatch(
      /unified_|apply_patch|workflow|offset_lines|\bskip\b/,
    )
  }
const fields = [
  'command',
  'content',
  'content_pattern',
  'content_type',
  'context_lines',
  'file_extensions',
  'include_hidden',
  'language',
  'logic',
  'max_bytes',
  'max_items',
  'max_results',
  'mode',
  'name_pattern',
  'new_str',
  'offset_bytes',
  'old_str',
  'operation',
  'page',
  'page_size_bytes',
  'path',
  'pattern',
  'patterns',
  'per_page',
  'reference_file',
  'response_format',
  'rewrite',
  'timeout_secs',
  'working_dir',
  'case_sensitive',
  'fuzzy_threshold',
]

export const rows: Row[] = [
  [
    '7',
    'unambiguous argument names',
    (place) =>
      expect(
        [...new Set(place.kernel.tools().flatMap(({ input }) => Object.keys((input as any).properties)))].sort(),
      ).toEqual([...fields].sort()),
  ],
  ['8', 'response_format default concise', gives('grep_search', { pattern: 'TODO' }, { response_format: 'concise' })],
  [
    '8',
    'detailed only when asked',
    each(
      gives(
        'list_files',
        { path: 'src', response_format: 'detailed' },
        { items: among({ name: 'app.ts', modified: /.+/ }) },
      ),
      async (place) =>
        expect(Object.keys((await outputOf(place, 'list_files', { path: 'src' })).items[0])).toEqual(['path', 'type']),
    ),
  ],
  [
    '9',
    'page (1-based), per_page on long listings',
    each(
      gives('list_files', { path: 'list', per_page: 10 }, { page: 1, items: among({ path: 'list/f00.txt' }) }),
      gives(
        'list_files',
        { path: 'list', per_page: 10, page: 3 },
        { page: 3, items: among({ path: 'list/f29.txt' }), has_more: false },
      ),
    ),
  ],
  [
    '10',
    'errors actionable with examples to retry with corrected inputs',
    alone(each(...missing.map(([tool, input, field]) => showsMissing(tool, input, field)))),
  ],
  [
    '10',
    "errors in the caller's own vocabulary",
    each(
      speaks('write_file', { path: 'long.txt', content: 'x' }),
      speaks('edit_file', { path: 'long.txt', old_str: 'nowhere', new_str: 'x' }),
      speaks('read_file', { path: 'gone.txt' }),
      speaks('ast_grep_search', { operation: 'lint', pattern: 'x' }),
    ),
  ],
  [
    '14',
    'grep_search exists',
    gives('grep_search', { pattern: 'Greeter' }, { matches: among({ path: 'src/app.ts' }) }),
  ],
  [
    '15',
    'mode exact',
    gives(
      'grep_search',
      { pattern: 'class Greeter', mode: 'exact' },
      { mode: 'exact', matches: [{ path: 'src/app.ts', line_number: 2 }] },
    ),
  ],
  [
    '15',
    'mode fuzzy',
    gives(
      'grep_search',
      { pattern: 'exprtcls', mode: 'fuzzy', fuzzy_threshold: 0.5 },
      { mode: 'fuzzy', matches: [{ path: 'src/app.ts', line_number: 2, score: expect.any(Number) }] },
    ),
  ],
  [
    '15',
    'mode multi',
    gives(
      'grep_search',
      { mode: 'multi', patterns: ['TODO', 'FIXME'], path: 'docs' },
      { mode: 'multi', matches: among({ path: 'docs/notes.md' }) },
    ),
  ],
  [
    '15',
    'mode similarity',
    gives(
      'grep_search',
      { mode: 'similarity', reference_file: 'src/app.ts' },
      { mode: 'similarity', files: among({ path: 'src/other.ts' }) },
    ),
  ],
  [
    '16',
    'pattern, path default ".", max_results',
    each(
      gives('grep_search', { pattern: 'TODO', max_results: 1 }, { matches: [{ text: /TODO/ }] }),
      gives('grep_search', { pattern: 'fn main' }, { matches: [{ path: 'src/main.rs' }] }),
    ),
  ],
  [
    '16',
    'wrong mode: allowed values',
    refuses(
      'grep_search',
      { pattern: 'x', mode: 'regex' },
      { code: 'VT_INPUT_INVALID', message: /exact.*fuzzy.*multi.*similarity/ },
    ),
  ],
  [
    '17',
    'multi: patterns[], logic AND/OR',
    each(
      async (place) =>
        expect(
          new Set(
            (
              await outputOf(place, 'grep_search', {
                mode: 'multi',
                patterns: ['TODO', 'FIXME'],
                logic: 'AND',
                path: 'docs',
              })
            ).matches.map((one: any) => one.path),
          ),
        ).toEqual(new Set(['docs/notes.md'])),
      async (place) =>
        expect(
          new Set(
            (
              await outputOf(place, 'grep_search', {
                mode: 'multi',
                patterns: ['TODO', 'FIXME'],
                logic: 'OR',
                path: 'docs',
              })
            ).matches.map((one: any) => one.path),
          ),
        ).toEqual(new Set(['docs/notes.md', 'docs/one.md'])),
    ),
  ],
  [
    '18',
    'similarity: reference_file required',
    refuses('grep_search', { mode: 'similarity' }, { code: 'VT_INPUT_MISSING', message: /reference_file/ }),
  ],
  [
    '18',
    'content_type structure/imports/functions/all',
    each(
      takes('grep_search', { content_type: { enum: ['structure', 'imports', 'functions', 'all'] } }),
      gives(
        'grep_search',
        { mode: 'similarity', reference_file: 'src/app.ts', content_type: 'imports' },
        { files: [{ path: 'src/other.ts', shared: ['bees'] }] },
      ),
      gives(
        'grep_search',
        { mode: 'similarity', reference_file: 'src/app.ts', content_type: 'functions' },
        { files: [{ path: 'src/other.ts', shared: ['greet'] }] },
      ),
      gives(
        'grep_search',
        { mode: 'similarity', reference_file: 'src/app.ts', content_type: 'structure' },
        { files: [{ path: 'src/other.ts', shared: ['Greeter'] }] },
      ),
      gives(
        'grep_search',
        { mode: 'similarity', reference_file: 'src/app.ts', content_type: 'all' },
        { files: [{ path: 'src/other.ts', shared: ['Greeter', 'bees', 'greet'] }] },
      ),
    ),
  ],
  [
    '19',
    'concise [{path,line_number,text}]',
    async (place) =>
      expect((await outputOf(place, 'grep_search', { pattern: 'fn main' })).matches).toEqual([
        { path: 'src/main.rs', line_number: 1, text: 'fn main() {' },
      ]),
  ],
  [
    '19',
    'detailed raw rg JSON',
    gives(
      'grep_search',
      { pattern: 'main', path: 'src/main.rs', response_format: 'detailed' },
      {
        matches: [
          {
            type: 'match',
            data: {
              path: { text: 'src/main.rs' },
              lines: { text: 'fn main() {\n' },
              line_number: 1,
              absolute_offset: 0,
              submatches: [{ match: { text: 'main' }, start: 3, end: 7 }],
            },
          },
        ],
      },
    ),
  ],
  [
    '19',
    'guidance when caps are hit',
    each(
      gives(
        'grep_search',
        { pattern: 'match', path: 'many', max_results: 5 },
        { message: /^At least 6 matches; narrow path or pattern, or raise max_results/ },
      ),
      async ({ call }) => {
        const result = await call('grep_search', { pattern: 'match', path: 'many', max_results: 5 })
        expect(result.ok && result.text).not.toMatch(/skip/)
      },
    ),
  ],
  ['21', 'list_files exists', gives('list_files', {}, { items: among({ path: 'src' }) })],
  [
    '22',
    'mode list',
    gives(
      'list_files',
      { path: 'src', mode: 'list' },
      { items: [{ path: 'src/app.ts' }, { path: 'src/main.rs' }, { path: 'src/other.ts' }] },
    ),
  ],
  [
    '22',
    'mode recursive',
    gives('list_files', { mode: 'recursive', name_pattern: '*.rs' }, { items: [{ path: 'src/main.rs' }] }),
  ],
  [
    '22',
    'mode find_name',
    gives('list_files', { mode: 'find_name', name_pattern: 'app' }, { items: [{ path: 'src/app.ts' }] }),
  ],
  [
    '22',
    'mode find_content',
    gives(
      'list_files',
      { mode: 'find_content', content_pattern: 'FIXME' },
      { items: [{ path: 'docs/notes.md', matches: 2 }] },
    ),
  ],
  [
    '23',
    'path, page, per_page',
    gives(
      'list_files',
      { path: 'list', page: 2, per_page: 20 },
      { page: 2, per_page: 20, total: 30, items: { length: 10 } },
    ),
  ],
  [
    '23',
    'max_items',
    gives('list_files', { path: 'list', max_items: 2 }, { items: [{}, {}], total: 30, has_more: true, message: /30/ }),
    '`list_files`, `max_items`',
  ],
  [
    '23',
    'include_hidden',
    each(gives('list_files', { include_hidden: true }, { items: among({ path: '.hidden' }) }), async (place) =>
      expect((await outputOf(place, 'list_files', {})).items).not.toEqual(among({ path: '.hidden' })),
    ),
  ],
  ['23', 'response_format', takes('list_files', { response_format: { enum: ['concise', 'detailed'] } })],
  [
    '24',
    'name_pattern, content_pattern, file_extensions, case_sensitive',
    each(
      gives(
        'list_files',
        { mode: 'recursive', name_pattern: '*.rs', file_extensions: ['rs', 'ts'] },
        { items: [{ path: 'src/main.rs' }] },
      ),
      gives(
        'list_files',
        { mode: 'find_content', content_pattern: 'todo', file_extensions: ['md'], case_sensitive: true },
        { items: [{ path: 'docs/one.md' }] },
      ),
      gives(
        'list_files',
        { mode: 'find_content', content_pattern: 'todo', file_extensions: ['md'], case_sensitive: false },
        { items: [{ path: 'docs/notes.md' }, { path: 'docs/one.md' }] },
      ),
    ),
  ],
  [
    '25',
    'paginated items with message when more pages',
    each(gives('list_files', { path: 'list', per_page: 10 }, { has_more: true, message: /page.*2/ }), async (place) =>
      expect((await outputOf(place, 'list_files', { path: 'list' })).message).toBeUndefined(),
    ),
  ],
  [
    '25',
    'concise omits low-signal fields',
    async (place) =>
      expect((await outputOf(place, 'list_files', { path: 'src' })).items[0]).toEqual({
        path: 'src/app.ts',
        type: 'file',
      }),
  ],
  [
    '27',
    'read_file path, max_bytes',
    gives(
      'read_file',
      { path: 'src/main.rs' },
      { path: 'src/main.rs', content: files['src/main.rs'], truncated: false },
    ),
  ],
  [
    '28',
    'max_bytes conserves tokens',
    gives(
      'read_file',
      { path: 'long.txt', max_bytes: 8 },
      { content: 'abc\nabc\n', truncated: true, size_bytes: 12000 },
    ),
  ],
  [
    '28',
    'going on after max_bytes',
    gives(
      'read_file',
      { path: 'long.txt', max_bytes: 8 },
      { next: { tool: 'read_file', input: { path: 'long.txt', offset_bytes: 8 } } },
    ),
    '`read_file`',
  ],
  [
    '31',
    'write_file path, content',
    each(
      gives('write_file', { path: 'new/a.txt', content: 'x' }, { path: 'new/a.txt', created: true, bytes_written: 1 }),
      holds('new/a.txt', 'x'),
    ),
  ],
  [
    '33',
    'mode overwrite',
    each(
      gives('write_file', { path: 'w1.txt', content: 'old' }),
      gives('write_file', { path: 'w1.txt', content: 'new', mode: 'overwrite' }, { mode: 'overwrite' }),
      holds('w1.txt', 'new'),
    ),
  ],
  [
    '33',
    'mode append',
    each(
      gives('write_file', { path: 'w2.txt', content: 'a' }),
      gives('write_file', { path: 'w2.txt', content: 'b', mode: 'append' }, { mode: 'append' }),
      holds('w2.txt', 'ab'),
    ),
  ],
  [
    '33',
    'mode skip_if_exists',
    each(
      gives('write_file', { path: 'w3.txt', content: 'a' }),
      gives('write_file', { path: 'w3.txt', content: 'b', mode: 'skip_if_exists' }, { skipped: true }),
      holds('w3.txt', 'a'),
    ),
  ],
  [
    '33',
    'absent mode',
    each(
      gives('write_file', { path: 'w4.txt', content: 'a' }),
      refuses('write_file', { path: 'w4.txt', content: 'b' }, { code: 'VT_PATH_EXISTS' }),
      holds('w4.txt', 'a'),
    ),
    '`write_file` without `mode`',
  ],
  [
    '35',
    'edit_file path old_str new_str',
    each(
      gives('write_file', { path: 'e.txt', content: 'one two' }),
      gives('edit_file', { path: 'e.txt', old_str: 'two', new_str: '2' }, { replacements: 1 }),
      holds('e.txt', 'one 2'),
    ),
  ],
  [
    '39',
    'run_terminal_cmd exists',
    gives('run_terminal_cmd', { command: ['printf', 'a'], mode: 'terminal' }, { stdout: 'a', exit_code: 0 }),
  ],
  [
    '41',
    'command string or array',
    each(
      gives('run_terminal_cmd', { command: 'printf a; printf b', mode: 'terminal' }, { stdout: 'ab' }),
      gives('run_terminal_cmd', { command: ['printf', '%s', 'a;b'], mode: 'terminal' }, { stdout: 'a;b' }),
    ),
  ],
  [
    '41',
    'working_dir',
    gives('run_terminal_cmd', { command: ['pwd'], working_dir: 'src', mode: 'terminal' }, { stdout: /\/src\n$/ }),
  ],
  [
    '41',
    'timeout_secs',
    gives('run_terminal_cmd', { command: ['sleep', '30'], timeout_secs: 1, mode: 'terminal' }, { timed_out: true }),
  ],
  [
    '41',
    'mode pty/terminal/streaming',
    each(
      ...['pty', 'terminal', 'streaming'].map((mode) =>
        gives('run_terminal_cmd', { command: ['printf', 'a'], mode }, { mode, exit_code: 0 }),
      ),
    ),
  ],
  [
    '41',
    'response_format',
    each(
      takes('run_terminal_cmd', { response_format: { enum: ['concise', 'detailed'] } }),
      gives(
        'run_terminal_cmd',
        { command: ['printf', 'a'], mode: 'terminal', response_format: 'detailed' },
        { stdout: 'a' },
      ),
    ),
  ],
  [
    '41',
    'streaming really streams',
    async ({ call }) => {
      const heard: string[] = []
      await call(
        'run_terminal_cmd',
        {
          command: 'echo first; touch said; while [ ! -e heard ]; do sleep 0.02; done; echo second',
          mode: 'streaming',
          timeout_secs: 30,
        },
        {
          onProgress: (progress) =>
            heard.push(JSON.stringify(progress)) === 1 && void call('write_file', { path: 'heard', content: '' }),
        },
      )
      expect(heard[0]).toContain('first')
      expect(heard[0]).not.toContain('second')
    },
  ],
  [
    '42',
    'default pty, ANSI kept',
    gives(
      'run_terminal_cmd',
      { command: "test -t 1 && printf '\\033[31mred\\033[0m'" },
      { mode: 'pty', output: /\u001b\[31mred/ },
    ),
  ],
  [
    '44',
    'ast_grep_search exists',
    gives('ast_grep_search', { pattern: 'console.log($A)' }, { matches: [{ path: 'src/app.ts' }] }),
  ],
  [
    '46',
    'pattern, path, rewrite, context_lines, max_results, response_format',
    each(
      takes('ast_grep_search', {
        pattern: {},
        path: {},
        rewrite: {},
        context_lines: {},
        max_results: {},
        response_format: { enum: ['concise', 'detailed'] },
      }),
      gives(
        'ast_grep_search',
        {
          pattern: 'console.log($A)',
          path: 'src',
          rewrite: 'log($A)',
          context_lines: 1,
          max_results: 1,
          response_format: 'detailed',
        },
        { matches: [{ lines: /greet[^]*console/, replacement: 'log(name)' }] },
      ),
    ),
  ],
  [
    '48',
    'search/custom concise',
    each(
      ...[{}, { operation: 'search' }, { operation: 'custom' }].map(
        (input): Check =>
          async (place) =>
            expect(
              (await outputOf(place, 'ast_grep_search', { pattern: 'console.log($A)', ...input })).matches,
            ).toEqual([{ path: 'src/app.ts', line_number: 4, text: 'console.log(name)' }]),
      ),
    ),
  ],
  [
    '49',
    'lint concise {path,line_number,message,severity,rule}',
    async (place) =>
      expect((await outputOf(place, 'ast_grep_search', { operation: 'lint' })).matches).toEqual([
        { path: 'src/app.ts', line_number: 4, message: 'No log', severity: 'error', rule: 'no-log' },
      ]),
  ],
  [
    '49',
    'lint with the key arg pattern',
    refuses('ast_grep_search', { operation: 'lint', pattern: 'x' }, { code: /^VT_INPUT_/, message: /pattern/ }),
    '`ast_grep_search`, `operation: lint`',
  ],
  [
    '50',
    'transform/refactor concise {path,line_number,note}',
    each(
      ...['transform', 'refactor'].map(
        (operation): Check =>
          async (place) =>
            expect(
              (await outputOf(place, 'ast_grep_search', { operation, pattern: 'console.log($A)', rewrite: 'log($A)' }))
                .matches,
            ).toEqual([{ path: 'src/app.ts', line_number: 4, note: 'console.log(name) → log(name)' }]),
      ),
      holds('src/app.ts', /console\.log/),
    ),
  ],
  [
    '51',
    'detailed raw AST-grep JSON',
    gives(
      'ast_grep_search',
      { pattern: 'console.log($A)', response_format: 'detailed' },
      {
        matches: [
          {
            text: 'console.log(name)',
            file: 'src/app.ts',
            language: 'TypeScript',
            lines: '    console.log(name)',
            range: { byteOffset: { start: expect.any(Number) }, start: { line: 3, column: 4 } },
            charCount: expect.any(Object),
            metaVariables: { single: { A: { text: 'name' } } },
          },
        ],
      },
    ),
  ],
  [
    '55',
    '.vtcode/tool-policy.json as shown is accepted',
    published(gives('list_files', {}, { items: among({ path: 'src' }) })),
  ],
  [
    '60',
    'run_terminal_cmd.allowed_modes',
    each(
      capped(
        refuses(
          'run_terminal_cmd',
          { command: ['printf', 'a'], mode: 'streaming' },
          { message: /terminal.*'streaming'/ },
        ),
      ),
      capped(gives('run_terminal_cmd', { command: ['printf', 'a'], mode: 'terminal' }, { stdout: 'a' })),
      published(gives('run_terminal_cmd', { command: ['printf', 'a'], mode: 'streaming' })),
    ),
  ],
  [
    '60',
    'default_response_format concise',
    published(gives('grep_search', { pattern: 'fn main' }, { response_format: 'concise' })),
  ],
  [
    '61',
    'list_files.max_items_per_call',
    each(
      capped(gives('list_files', { path: 'list' }, { items: { length: 5 }, total: 30, has_more: true })),
      capped(
        gives('list_files', { path: 'list', page: 6 }, { items: among({ path: 'list/f29.txt' }), has_more: false }),
      ),
    ),
  ],
  [
    '61',
    'default_response_format detailed on an alias',
    each(
      capped(gives('list_files', { path: 'src' }, { items: among({ name: 'app.ts', modified: /.+/ }) })),
      capped(
        gives(
          'list_files',
          { path: 'src', response_format: 'concise' },
          { items: [{ path: 'src/app.ts', type: 'file' }, {}, {}] },
        ),
      ),
    ),
  ],
  [
    '62',
    'grep_search.max_results_per_call',
    each(
      published(
        gives(
          'grep_search',
          { pattern: 'match', path: 'many', max_results: 1000 },
          { matches: { length: 200 }, message: /At least 201/ },
        ),
      ),
      capped(gives('grep_search', { pattern: 'TODO' }, { matches: { length: 2 } })),
    ),
  ],
  [
    '63',
    'read_file.max_bytes_per_read',
    each(
      published(async (place) =>
        expect((await outputOf(place, 'read_file', { path: 'big.txt' })).content).toHaveLength(200_000),
      ),
      capped(gives('read_file', { path: 'long.txt', max_bytes: 4000 }, { content: 'abc\nabc\n', truncated: true })),
    ),
  ],
  [
    '68',
    'applied automatically by the registry',
    each(
      capped(gives('unified_search', { action: 'list', path: 'list' }, { items: { length: 5 }, has_more: true })),
      gives('list_files', { path: 'list' }, { items: { length: 30 } }),
    ),
  ],
  [
    '72',
    'error names missing fields',
    refuses('edit_file', { path: 'a' }, { code: 'VT_INPUT_MISSING', message: /'old_str'.*'new_str'/ }),
  ],
  [
    '72',
    'error names allowed values',
    refuses(
      'write_file',
      { path: 'a', content: 'x', mode: 'replace' },
      { message: /overwrite.*append.*skip_if_exists/ },
    ),
  ],
  [
    '72',
    'error has a concrete example',
    refuses(
      'edit_file',
      { path: 'a' },
      { hint: "Example: edit_file(path='src/main.rs', old_str='let a = 1', new_str='let a = 2')" },
    ),
  ],
  [
    '73',
    "\"Error: Missing 'name_pattern'. Example: list_files(path='.', mode='recursive', name_pattern='*.rs')\"",
    refuses(
      'list_files',
      { mode: 'find_name' },
      {
        message: "Missing 'name_pattern'.",
        hint: "Example: list_files(path='.', mode='recursive', name_pattern='*.rs')",
      },
    ),
  ],
  [
    '77',
    'evaluation: real tasks chaining tools',
    async (place) => {
      const { matches } = await outputOf(place, 'grep_search', { pattern: 'new Greeter' })
      const { content } = await outputOf(place, 'read_file', { path: matches[0].path })
      await outputOf(place, 'edit_file', {
        path: matches[0].path,
        old_str: /'x'/.exec(content as string)![0],
        new_str: "'y'",
      })
      await outputOf(place, 'write_file', { path: 'done.md', content: 'Edited.\n' })
      await gives(
        'run_terminal_cmd',
        { command: ['cat', 'src/other.ts', 'done.md'], mode: 'terminal' },
        { stdout: /greet\('y'\)\nEdited\./ },
      )(place)
    },
  ],
  [
    '78',
    'track success rate, call count, tokens, errors',
    async (place) => {
      await place.call('read_file', { path: 'src/main.rs' }, { session: 'tracked' })
      await place.call('read_file', { path: 'gone' }, { session: 'tracked' })
      await place.kernel.endSession('tracked')
      const calls = readFileSync(join(place.root, '.vtcode/sessions/tracked/calls.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(calls).toMatchObject([
        { slot: 'unified_file/read', ok: true, ms: expect.any(Number) },
        { ok: false, code: 'VT_PATH_NOT_FOUND' },
      ])
    },
  ],
  [
    '79',
    'agents iterate on error feedback',
    async (place) => {
      const { hint } = await errorOf(place, 'grep_search', { mode: 'multi' })
      await outputOf(place, ...exampleIn(hint))
    },
  ],
]
