import type { Result, ToolInfo } from 'vtcode'
import { bootKernel, fixtureW, type Booted } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { hold } from '../../support/held.js'

type Call = [tool: string, input: Record<string, unknown>]
const files = {
  ...fixtureW(),
  'long.txt': 'abc\n'.repeat(3000),
  'many.ts': 'console.log(1)\n'.repeat(200),
  'src/main.rs': 'fn main() {\n    let a = 1;\n}\n',
  'README.md': '# teh project\n\nTODO: write docs\n',
  'config.toml': 'x = 1\n',
  'raw.bin': Buffer.from([0, 1, 2, 3]),
  'latin1.txt': Buffer.from('caf\xe9\nsize = 1\n', 'latin1'),
}
/** Calls that fail, are cut or are corrected, in each vocabulary. */
const calls: Record<string, Call[]> = {
  classic: [
    ['grep_search', { pattern: 'console', max_results: 2 }],
    ['grep_search', { pattern: '(' }],
    ['grep_search', { pattern: 'x', skip: 1 }],
    ['grep_search', { mode: 'fuzzy', pattern: 'x' }],
    ['grep_search', {}],
    ['grep_search', { mode: 'similarity', reference_file: 'long.txt' }],
    ['grep_search', { pattern: 'x', path: '../x' }],
    ['grep_search', { pattern: 'a', max_results: 100_000 }],
    ['list_files', { per_page: 1, mode: 'recursive' }],
    ['list_files', { path: 'nope' }],
    ['list_files', { path: 'README.md', mode: 'tree' }],
    ['list_files', { mode: 'find_name' }],
    ['list_files', { mode: 'find_content', content_pattern: '(' }],
    ['read_file', { path: 'long.txt', max_bytes: 20 }],
    ['read_file', { path: 'long2.txt' }],
    ['read_file', { path: 'src' }],
    ['read_file', { path: 'long.txt', offset_bytes: 99_999 }],
    ['read_file', { path: '../x' }],
    ['read_file', {}],
    ['write_file', { path: 'README.md', content: 'x' }],
    ['write_file', { path: 'src', content: 'x' }],
    ['write_file', { path: 'a', content: 'x', mode: 'replace' }],
    ['edit_file', { path: 'many.ts', old_str: 'console', new_str: 'x' }],
    ['edit_file', { path: 'many.ts', old_str: 'konsole.log(1)', new_str: 'x' }],
    ['edit_file', { path: 'many.ts', old_str: 'qqq', new_str: 'x' }],
    ['edit_file', { path: 'many.ts', old_str: 'console', new_str: 'console' }],
    ['edit_file', { path: 'gone.ts', old_str: 'a', new_str: 'b' }],
    ['edit_file', { path: 'many.ts', old_string: 'a', new_str: 'b' }],
    ['edit_file', { path: 'latin1.txt', old_str: 'size', new_str: 'größe' }],
    ['edit_file', { path: 'latin1.txt', old_str: 'caf\ufffd', new_str: 'x' }],
    ['edit_file', { path: 'raw.bin', old_str: '\x01', new_str: 'x' }],
    ['write_file', { path: 'latin1.txt', content: 'größe', mode: 'overwrite' }],
    ['write_file', { path: 'raw.bin', content: 'x', mode: 'overwrite' }],
    ['write_file', { path: 'nd/', content: 'x' }],
    ['ast_grep_search', { pattern: 'console.log($A)', max_results: 2 }],
    ['ast_grep_search', { pattern: 'console.log($A)', rewrite: 'log($A)', max_results: 2 }],
    ['ast_grep_search', { pattern: 'console.log($A', language: 'ts' }],
    ['ast_grep_search', { operation: 'lint', pattern: 'x' }],
    ['ast_grep_search', { pattern: 'x', language: 'foo' }],
    ['ast_grep_search', { pattern: 'x', path: 'config.toml' }],
    ['ast_grep_search', { pattern: '$a' }],
    ['ast_grep_search', { operation: 'transform', pattern: 'x' }],
    ['run_terminal_cmd', { command: ['no-such-program'], mode: 'terminal' }],
    ['run_terminal_cmd', { command: 'sleep 5', timeout_secs: 1, mode: 'terminal' }],
    ['run_terminal_cmd', { command: 'seq 20000', mode: 'terminal' }],
    ['run_terminal_cmd', { command: 'ls', working_dir: 'gone' }],
    ['run_terminal_cmd', {}],
  ],
  thndrs: [
    ['find_files', { pattern: 'x'.repeat(2000) }],
    ['find_files', {}],
    ['find_files', { pattern: '*.ts', name: 'x' }],
    ['search_text', { pattern: '(' }],
    ['search_text', { pattern: 'console' }],
    ['search_text', {}],
    ['read_file_range', { path: 'long.txt', start_line: 1 }],
    ['read_file_range', { path: 'long.txt', start_line: 9, end_line: 3 }],
    ['read_file_range', { path: 'src', start_line: 1 }],
    ['read_file_range', { path: 'gone', start_line: 1 }],
    ['read_file_range', { path: 'long.txt', start_line: 99_999 }],
    ['read_file_range', { path: 'long.txt', offset_lines: 1 }],
    ['read_file_range', { path: 'long.txt' }],
    ['replace_range', { path: 'many.ts', old_string: 'console', new_string: 'x' }],
    ['replace_range', { path: 'many.ts', old_string: 'konsole.log(1)', new_string: 'x' }],
    ['replace_range', { path: 'many.ts', old_string: 'qqq', new_string: 'x' }],
    ['replace_range', { path: 'many.ts' }],
    ['create_file', { path: 'README.md', content: 'x' }],
    ['create_file', { path: 'src', content: 'x' }],
    ['create_file', { path: 'nd/', content: 'x' }],
    ['replace_range', { path: 'latin1.txt', old_string: 'size', new_string: 'größe' }],
    ['write_patch', {}],
    ['write_patch', { op: 'boom' }],
    ['write_patch', { op: 'edit', path: 'README.md' }],
    ['write_patch', { op: 'create', path: 'README.md', content: 'x' }],
    ['run_shell', { program: 'ls | cat' }],
    ['run_shell', { program: 'sleep', args: ['5'], timeout_secs: 1 }],
    ['run_shell', { program: 'ls', cwd: 'gone' }],
    ['run_shell', { command: 'ls' }],
    ['poll_shell', { session_id: 'run-00000000' }],
    ['stop_shell', { session_id: 'run-00000000' }],
    ['read_url', { url: 'file:///etc/passwd' }],
    ['read_url', { url: 'http://127.0.0.1/' }],
    ['web_search', {}],
  ],
  omp: [
    ['ast_grep', { pat: 'console.log($A)', paths: ['.'] }],
    ['ast_grep', { pat: 'console.log($A', paths: ['many.ts'] }],
    ['ast_grep', { pat: '', paths: ['src'] }],
    ['ast_grep', { pat: 'x', paths: ['long.txt'] }],
    ['ast_grep', { pat: 'x', paths: ['gone'] }],
    ['ast_grep', { pat: '$a', paths: ['.'] }],
    ['ast_grep', { pat: 'x', paths: ['skill://ast-grep/SKILL.md'] }],
    ['ast_grep', { pat: 'x', paths: ['https://example.org'] }],
    ['ast_grep', { pat: 'x', paths: ['src'], skip: -1 }],
    ['ast_grep', { pat: 'x', lang: 'ts' }],
    ['ast_grep', {}],
  ],
}

const fieldsOf = (tools: readonly ToolInfo[]): Set<string> =>
  new Set(JSON.stringify(tools.map(({ input }) => input)).match(/(?<=")[a-z][a-z_]+(?=":\{)/g))
/** Words that are only field names of tools. */
const ambiguous = new Set([
  'action',
  'path',
  'paths',
  'mode',
  'name',
  'names',
  'input',
  'type',
  'follow',
  'shell',
  'match',
  'signal',
  'cursor',
  'page',
  'items',
  'view',
  'keys',
  'login',
  'pattern',
  'patterns',
  'filter',
  'code',
  'url',
  'content',
  'patch',
  'env',
  'rows',
  'cols',
  'scope',
  'query',
  'kind',
  'rule',
  'title',
  'command',
  'destination',
  'text',
  'args',
  'background',
  'language',
  'pages',
  'session_id',
  'rewrite',
  'selector',
  'strictness',
  'template',
  'regex',
  'file',
  'arguments',
  'id',
  'properties',
  'description',
  'value',
  'label',
  'options',
  'tool',
  'tools',
  'process',
  'logic',
  'keyword',
  'paste',
  'eof',
  'input_schema',
  'overwrite',
  'recursive',
  'globs',
  'response_format',
])

function said(result: Result): string {
  if (!result.ok)
    return JSON.stringify([result.error.message, result.error.hint, result.error.next ?? null, result.notices ?? []])
  const text = result.text ?? ''
  return JSON.stringify([
    text.slice(text.lastIndexOf('\n') + 1),
    result.output['message'] ?? null,
    result.output['next'] ?? null,
    (result.notices ?? []).map(({ message }) => message),
  ])
}

async function booted(dialect: string): Promise<Booted & { foreign: RegExp }> {
  const ws = await bootKernel({ files, dialects: [dialect] })
  await using everything = await bootKernel({ dialects: ['unified', 'classic', 'omp', 'thndrs'] })
  const own = ws.kernel.tools()
  const names = new Set(own.map(({ name }) => name))
  const shown = fieldsOf(own)
  const strange = everything.kernel
    .tools()
    .map(({ name }) => name)
    .filter((name) => !names.has(name))
  const fields = [...fieldsOf(everything.kernel.tools())].filter((field) => !shown.has(field) && !ambiguous.has(field))
  expect(strange).toContain('unified_file')
  expect(fields).toContain('offset_lines')
  return Object.assign(ws, { foreign: new RegExp(`\\b(?:${[...strange, ...fields].join('|')})\\b`, 'g') })
}

describe.each(Object.keys(calls))('%s dialect', (dialect) => {
  it('names only the tools and fields of its dialect in every answer', async () => {
    await using ws = await booted(dialect)
    for (const [tool, input] of calls[dialect]!) {
      const result = await ws.call(tool, input)
      const line = said(result)
      // Quotes of the caller and the output of a command may hold any word.
      const quoted = JSON.stringify(input)
      expect(
        { call: [tool, input], foreign: (line.match(ws.foreign) ?? []).filter((word) => !quoted.includes(word)) },
        line,
      ).toMatchObject({ foreign: [] })
      if (!result.ok) expect(result.error.hint, line).not.toBe('')
    }
  })

  it('suggests no next call that fails', async () => {
    const boot = async (): Promise<Booted> => hold(await bootKernel({ files, dialects: [dialect] }))
    let ws = await boot()
    for (const [tool, input] of calls[dialect]!) {
      const result = await ws.call(tool, input)
      const next = (result.ok ? result.output['next'] : result.error.next) as
        | { tool: string; input: object }
        | undefined
      if (next)
        expect(await ws.call(next.tool, next.input), JSON.stringify([tool, input, next])).toMatchObject({ ok: true })
      // A successful call may have changed files.
      if (next || result.ok) ws = await boot()
    }
  })

  it('shows examples that the dialect accepts', async () => {
    const ws = await bootKernel({ files, dialects: [dialect] })
    await using _ = ws
    for (const { name } of ws.kernel.tools()) {
      const refused = await ws.call(name, { no_such_field: 1 })
      const [, tool, example] = /Example: (\w+) ?(\(.*\)|\{.*\})/.exec(refused.ok ? '' : refused.error.hint) ?? []
      // A tool without needed fields takes an empty call.
      if (!example) continue
      const input = JSON.parse(
        example.startsWith('{')
          ? example
          : `{${example
              .slice(1, -1)
              .replaceAll("'", '"')
              .replace(/(\w+)=/g, '"$1":')}}`,
      )
      if (['read_url', 'web_search'].includes(tool!) || 'session_id' in input) continue
      expect(await ws.call(tool!, input), `${tool} ${example}`).toMatchObject({ ok: true })
    }
  })
})

it('continues a cut read of the classic dialect to the last byte', async () => {
  await using ws = await bootKernel({ files, dialects: ['classic'] })
  let text = ''
  let call: { tool: string; input: object } | undefined = {
    tool: 'read_file',
    input: { path: 'long.txt', max_bytes: 4000 },
  }
  while (call) {
    const result: Result = await ws.call(call.tool, call.input)
    expect(result).toMatchObject({ ok: true })
    const { output }: any = result
    text += output.content
    call = output.next
  }
  expect(text).toBe(files['long.txt'])
})

it('polls and stops background programs of the thndrs dialect', async () => {
  await using ws = await bootKernel({ files, dialects: ['thndrs'] })
  const started: any = await ws.call('run_shell', {
    program: 'sh',
    args: ['-c', 'sleep 0.3; echo ready; sleep 60'],
    background: true,
  })
  expect(started).toMatchObject({
    ok: true,
    output: { status: 'running' },
    text: expect.stringContaining('poll_shell'),
  })
  const { session_id } = started.output
  expect(await ws.call('poll_shell', { session_id })).toMatchObject({
    ok: true,
    output: { stdout: 'ready\n', status: 'running' },
  })
  expect(await ws.call('stop_shell', { session_id })).toMatchObject({ ok: true, output: { status: 'signaled' } })
})

it('finds files of the thndrs dialect by globs over paths', async () => {
  await using ws = await bootKernel({ files: { 'src/app.ts': '', 'src/deep/b.ts': '', 'c.ts': '' } })
  const found = async (pattern: string) => ((await ws.call('find_files', { pattern })) as any).output.files
  expect(await found('src/**')).toEqual(['src/app.ts', 'src/deep/b.ts'])
  expect(await found('src/*.ts')).toEqual(['src/app.ts'])
  expect(await found('src/app.ts')).toEqual(['src/app.ts'])
  expect(await found('*.ts')).toEqual(['c.ts', 'src/app.ts', 'src/deep/b.ts'])
})
