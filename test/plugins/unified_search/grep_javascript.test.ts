import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterEach, expect, it } from 'vitest'

// Calls must return equal answers with and without ripgrep.
const without = () => (process.env['VTCODE_RIPGREP_BIN'] = '/nonexistent/rg')
afterEach(() => {
  delete process.env['VTCODE_RIPGREP_BIN']
})
const files: Files = {
  '.gitignore': 'out/\n*.log\n!keep.log\n',
  '.vtcodegitignore': '/gen\n',
  'a.txt': 'alpha beta\nALPHA\n\tgamma — delta\n',
  'crlf.txt': 'one\r\ntwo\r\n',
  'u16.txt': Buffer.from('\ufeffalpha\n', 'utf16le'),
  'bin.dat': Buffer.from('alpha\0'),
  'keep.log': 'alpha\n',
  'no.log': 'alpha\n',
  'out/a.txt': 'alpha\n',
  'gen/a.txt': 'alpha\n',
  'src/gen/b.ts': 'alpha beta\n',
  'node_modules/x.js': 'alpha\n',
  '.h/x': 'alpha\n',
  'src/multi.txt': 'start {\n  inner\n}\nstart {\n  inner\n}\n',
}
const both = async (ws: Booted, input: object): Promise<[any, any]> => {
  const strip = (result: any) => {
    const { notices: _, ...rest } = result
    return JSON.parse(
      JSON.stringify(rest, (key, value) => (key === 'backend' || key === 'files_searched' ? undefined : value)),
    )
  }
  const first = strip(await ws.call('unified_search', input))
  without()
  const second = await ws.call('unified_search', input)
  expect(second.notices?.map(({ code }) => code)).toContain('VT_SEARCH_FALLBACK')
  delete process.env['VTCODE_RIPGREP_BIN']
  return [strip(second), first]
}

it('answers grep in JavaScript as ripgrep does', async () => {
  await using ws = await bootKernel({ files })
  for (const input of [
    { pattern: 'alpha' },
    { pattern: 'ALPHA' },
    { pattern: 'alpha', case_sensitive: true },
    { pattern: 'b\\w+|d\\w+', context_lines: 1 },
    { pattern: 'two$' },
    { pattern: '.*', literal: true },
    { pattern: '— delta', response_format: 'detailed' },
    { patterns: ['alpha', 'beta'] },
    { patterns: ['alpha', 'gamma'], logic: 'OR', max_results: 2 },
    { pattern: 'start \\{\\n\\s+inner' },
    { pattern: 'alpha', include_hidden: true, globs: ['**/*.ts', '**/x'] },
    { pattern: 'alpha', file_extensions: ['ts'] },
    { pattern: 'alpha', path: 'out' },
  ]) {
    const [ours, theirs] = await both(ws, { action: 'grep', count: 'exact', ...input })
    expect(ours, JSON.stringify(input)).toEqual(theirs)
  }
})

it('lists the files with a content in JavaScript as ripgrep does', async () => {
  await using ws = await bootKernel({ files })
  for (const input of [{}, { globs: ['**/*.txt', '!src'] }, { include_hidden: true }, { include_ignored: true }]) {
    const [ours, theirs] = await both(ws, { action: 'list', mode: 'find_content', content_pattern: 'alpha', ...input })
    expect(ours, JSON.stringify(input)).toEqual(theirs)
  }
})

it('refuses options that only ripgrep supports and invalid patterns', async () => {
  await using ws = await bootKernel({ files })
  without()
  expect(await ws.call('unified_search', { action: 'grep', pattern: '(?<=a)b' })).toMatchObject({
    ok: false,
    error: { code: 'VT_SEARCH_ENGINE_MISSING' },
  })
  expect(await ws.call('unified_search', { action: 'grep', pattern: '(' })).toMatchObject({
    ok: false,
    error: { code: 'VT_SEARCH_PATTERN', next: { input: { literal: true } } },
  })
  expect(await ws.call('unified_search', { action: 'grep', pattern: 'alpha' })).toMatchObject({
    ok: true,
    output: { backend: 'javascript' },
  })
})
