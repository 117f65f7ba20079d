import { execFileSync } from 'node:child_process'
import { bootKernel, type Booted } from 'vtcode/test'
import { beforeAll, describe, expect, it } from 'vitest'
import { holdForFile } from '../../support/held.js'

// A search without a result is true for what was asked, or the answer lists what was left out and the call that includes it.

const needle = 'needle\n'
const files = {
  '.gitignore': 'build/\n*.log\n!keep.log\nsrc/gen\n.env.local\n',
  '.env': 'TOKEN=1\n',
  '.env.local': 'TOKEN=2\n',
  '.github/workflows/ci.yml': 'runs-on: linux\n',
  'build/out.js': 'built()\n',
  'build/deep/.hidden.js': 'built()\n',
  'node_modules/pkg/index.js': 'dependency()\n',
  'trace.log': 'traced\n',
  'keep.log': needle,
  'src/a.ts': `${needle}const foo = 1\nfunction start() {\n  go()\n}\n// end\n`,
  'src/gen/api.ts': 'generated()\n',
  'packages/two/c.ts': needle,
  'packages/two/.npmrc': 'registry=here\n',
  'app/[id]/page.tsx': 'route()\n',
  'app/[...slug].tsx': 'catchAll()\n',
  'app/[user-name]/page.tsx': 'named()\n',
  'paths/users_{id}.yaml': 'openapi: 3\n',
  'logs/early.log.txt': 'ERROR first\n\0\0\nERROR last\n',
  'logs/late.txt': `ERROR first\n${`${'x'.repeat(79)}\n`.repeat(3000)}\0\nERROR last\n`,
  'logs/split.txt': 'one\0two target\nthree\n',
  'data/image.png': Buffer.from([137, 80, 78, 71, 0, 0, 0, 1, ...Buffer.from('pngtext\n')]),
  'data/tool': Buffer.concat([Buffer.alloc(600), Buffer.from('needle in a program\n'), Buffer.alloc(600)]),
  'data/only_nul.txt': Buffer.alloc(5000),
  'twice/twice/x.txt': 'inner\n',
  'void/.keep': '',
  'plain/code.js': 'if (a || b) call(x.y)\n',
  'wide/line.txt': `${'z'.repeat(5000)} handleRequest\n`,
  'lone/ref.ts': 'export function onlyHere() {}\n',
  'lone/.use.ts': 'onlyHere()\n',
}

let ws: Booted
beforeAll(async () => {
  ws = holdForFile(await bootKernel({ files }))
  execFileSync('git', ['init', '-q'], { cwd: ws.root })
})

const search = async (input: object, tool = 'unified_search'): Promise<any> => {
  const result: any = await ws.call(tool, input)
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  const notices = Object.fromEntries((result.notices ?? []).map(({ code, message }: any) => [code, message]))
  return { ...result.output, notices, text: result.text }
}
const grep = async (pattern: string, input: object = {}): Promise<any> => search({ action: 'grep', pattern, ...input })
const found = async (pattern: string, input: object = {}): Promise<string[]> => [
  ...new Set<string>((await grep(pattern, input)).matches.map(({ file }: any) => file)),
]
const paths = async (input: object): Promise<string[]> =>
  (await search({ action: 'list', ...input })).items.map(({ path }: any) => path)

describe('unified_search/grep: spelling of globs', () => {
  it.each<[string, string | string[], string, object?]>([
    ['begins with ./', './src/**', 'src/a.ts'],
    ['begins with ./ and names a file', './keep.log', 'keep.log'],
    ['names a folder', 'src', 'src/a.ts'],
    ['names a folder with a slash at its end', 'src/', 'src/a.ts'],
    ['names folders in braces', '{src,packages}', 'packages/two/c.ts src/a.ts'],
    ['is a list with a comma', '*.js, *.ts', 'packages/two/c.ts src/a.ts'],
    ['has spaces in its braces', '*.{js, ts}', 'packages/two/c.ts src/a.ts'],
    ['begins with the path of the call', 'packages/two/**', 'packages/two/c.ts', { path: 'packages' }],
    ['is the path of the call', 'packages', 'packages/two/c.ts', { path: 'packages' }],
    ['excludes what begins with ./', ['src/**', 'packages/**', '!./src/**'], 'packages/two/c.ts'],
  ])('finds the files of a glob that %s', async (_, globs, expected, more = {}) => {
    expect((await found('needle', { globs, ...more })).join(' ')).toBe(expected)
  })
  it('finds the files of an absolute glob in the workspace, also below a path', async () => {
    expect(await found('needle', { globs: `${ws.root}/src/**` })).toEqual(['src/a.ts'])
    expect(await found('needle', { globs: `${ws.root}/packages/two`, path: 'packages' })).toEqual(['packages/two/c.ts'])
  })
  it.each([
    ['app/[id]/page.tsx', 'route', 'app/[id]/page.tsx'],
    ['app/[id]', 'route', 'app/[id]/page.tsx'],
    ['app/[id]/**', 'route', 'app/[id]/page.tsx'],
    ['**/[id]/*.tsx', 'route', 'app/[id]/page.tsx'],
    ['app/[...slug].tsx', 'catchAll', 'app/[...slug].tsx'],
    ['app/[user-name]/*.tsx', 'named', 'app/[user-name]/page.tsx'],
    ['paths/users_{id}.yaml', 'openapi', 'paths/users_{id}.yaml'],
    ['src/[abc].ts', 'needle', 'src/a.ts'],
  ])(
    'reads brackets and braces of the glob %s as a part of a name where such a name exists',
    async (globs, pattern, file) => {
      expect(await found(pattern, { globs })).toEqual([file])
    },
  )
  it('keeps a glob with the name of a folder inside the folder of the call', async () => {
    expect(await found('inner', { path: 'twice', globs: 'twice/**' })).toEqual(['twice/twice/x.txt'])
  })
  it('names the globs that match no file', async () => {
    const { notices, files_searched, text } = await grep('needle', { globs: ['lib/**', '*.[ch]'], path: 'src' })
    expect([files_searched, text]).toEqual([0, 'No matches in src (0 files searched)'])
    expect(notices['VT_SEARCH_NO_FILES']).toMatch(
      /'src' has no file of the globs lib\/\*\*, \*\.\[ch\]\. Globs are relative/,
    )
  })
  it('names the extensions of which there is no file, and an empty folder', async () => {
    expect((await grep('needle', { file_extensions: ['xyz'] })).notices['VT_SEARCH_NO_FILES']).toMatch(/extensions xyz/)
    expect((await grep('x', { path: 'void', include_hidden: true })).notices).toEqual({})
    expect((await grep('x', { path: 'void' })).notices['VT_SEARCH_LEFT_OUT']).toMatch(/^Left out: 1 hidden file\./)
  })
  it('accepts an extension with a star', async () => {
    expect(await found('needle', { file_extensions: ['*.ts'] })).toEqual(['packages/two/c.ts', 'src/a.ts'])
  })
})

describe('unified_search/grep: hidden and ignored files', () => {
  it.each<[string, string, string[]]>([
    ['.github/**', 'runs-on', ['.github/workflows/ci.yml']],
    ['.github', 'runs-on', ['.github/workflows/ci.yml']],
    ['**/.github/**/*.yml', 'runs-on', ['.github/workflows/ci.yml']],
    ['.env', 'TOKEN', ['.env']],
    ['.env*', 'TOKEN', ['.env']],
    ['.env.local', 'TOKEN', ['.env.local']],
    ['**/.npmrc', 'registry', ['packages/two/.npmrc']],
    ['.npmrc', 'registry', ['packages/two/.npmrc']],
    ['build/**', 'built', ['build/out.js']],
    ['src/gen/*.ts', 'generated', ['src/gen/api.ts']],
    ['trace.log', 'traced', ['trace.log']],
    ['node_modules/**', 'dependency', ['node_modules/pkg/index.js']],
  ])('searches files that the glob %s names outright', async (globs, pattern, expected) => {
    expect(await found(pattern, { globs })).toEqual(expected)
    process.env['VTCODE_RIPGREP_BIN'] = '/nonexistent/rg'
    try {
      expect(await found(pattern, { globs })).toEqual(expected)
    } finally {
      delete process.env['VTCODE_RIPGREP_BIN']
    }
  })
  it.each<[string, object, string, object]>([
    ['generated', {}, '6 hidden files, 5 ignored files', { include_hidden: true, include_ignored: true }],
    ['built', { path: 'build', globs: '*.js' }, '1 hidden file', { include_hidden: true }],
    ['traced', { globs: '*.log' }, '1 ignored file', { include_ignored: true }],
    ['registry', { path: 'packages' }, '1 hidden file', { include_hidden: true }],
  ])('counts what a search for %s left out, and the next call includes it', async (pattern, input, count, fields) => {
    const { notices, next, total_matches } = await grep(pattern === 'built' ? 'absent' : pattern, input)
    expect(total_matches).toBe(0)
    expect(notices['VT_SEARCH_LEFT_OUT']).toContain(`Left out: ${count}`)
    expect(next.input).toMatchObject(fields)
    const again: any = await ws.call(next.tool, next.input)
    expect(again.output.total_matches).toBe(pattern === 'built' ? 0 : 1)
    expect(JSON.stringify(again.notices ?? [])).not.toContain('Give include')
  })
  it('names folders that only a path or a glob includes', async () => {
    const { notices } = await grep('dependency')
    expect(notices['VT_SEARCH_LEFT_OUT']).toMatch(
      /Left out unless path or globs name them: \.git, (?:\.vtcode, )?node_modules\.$/,
    )
    expect(await found('dependency', { path: 'node_modules' })).toEqual(['node_modules/pkg/index.js'])
  })
  it('adds no notice to a search that left nothing out', async () => {
    const { notices, text, files_searched } = await grep('absent', { path: 'paths' })
    expect([notices, files_searched, text]).toEqual([{}, 1, 'No matches in paths (1 file searched)'])
  })
  it('counts only the files that the globs name, though an ignore file keeps another', async () => {
    expect((await grep('absent', { globs: 'packages/**' })).files_searched).toBe(1)
    expect((await grep('needle', { globs: '*.xyz' })).files_searched).toBe(0)
  })
})

describe('unified_search: hidden and ignored files that a rule denies', () => {
  it.each(['rg', '/nonexistent/rg'])('shows and counts nothing of them by %s', async (program) => {
    await using denied = await bootKernel({
      files: {
        '.gitignore': 'build/\n',
        '.secret/key.txt': 'token\n',
        'build/secret/key.txt': 'token\n',
        'build/open.txt': 'open\n',
        '.env': 'token\n',
        'a.txt': 'x\n',
      },
      config: { policy: { deny: ['Read(.secret/**)', 'Read(build/secret/**)', 'Read(.env)'] } },
    })
    if (program !== 'rg') process.env['VTCODE_RIPGREP_BIN'] = program
    try {
      for (const input of [
        { globs: '.secret/**' },
        { globs: '.env*' },
        { globs: '**/.env' },
        { globs: 'build/**' },
        { globs: 'build/secret/**' },
        { globs: ['.secret', 'build/secret'] },
        { include_hidden: true, include_ignored: true },
        {},
      ]) {
        const result: any = await denied.call('unified_search', { action: 'grep', pattern: 'token', ...input })
        expect(result.output.total_matches, JSON.stringify(input)).toBe(0)
        expect(JSON.stringify(result.notices ?? []).replaceAll(JSON.stringify(input), '')).not.toMatch(
          /[2-9] (hidden|ignored)/,
        )
        const listed: any = await denied.call('unified_search', {
          action: 'list',
          mode: 'find_name',
          name_pattern: 'key.txt',
          ...input,
        })
        expect(listed.output.total, JSON.stringify(input)).toBe(0)
        expect(JSON.stringify(listed.notices ?? [])).not.toContain('Left out: ')
      }
      // The files that no rule denies are found in the same places.
      const open: any = await denied.call('unified_search', { action: 'grep', pattern: 'open', globs: 'build/**' })
      expect(open.output.matches).toMatchObject([{ file: 'build/open.txt' }])
    } finally {
      delete process.env['VTCODE_RIPGREP_BIN']
    }
  })
})

describe('unified_search/grep: NUL bytes', () => {
  it('finds text before and after a NUL byte with the lines of the file', async () => {
    const { matches } = await grep('ERROR|target|three', { path: 'logs' })
    expect(matches.map(({ file, line_number }: any) => `${file}:${line_number}`)).toEqual([
      'logs/early.log.txt:1',
      'logs/early.log.txt:3',
      'logs/late.txt:1',
      'logs/late.txt:3003',
      'logs/split.txt:1',
      'logs/split.txt:2',
    ])
    // A NUL character would end the text for some readers.
    expect(matches[4]).toMatchObject({ text: 'one\ufffdtwo target', lossy: true })
    expect(await paths({ mode: 'find_content', content_pattern: 'ERROR' })).toEqual([
      'logs/early.log.txt',
      'logs/late.txt',
    ])
  })
  it('names a file without text that matches, and counts its matches', async () => {
    const { matches, total_matches, notices } = await grep('needle in')
    expect([matches, total_matches]).toEqual([[], 0])
    expect(notices['VT_FILE_BINARY']).toBe("'data/tool' is binary; its 1 match is only counted.")
  })
  it('leaves out files of types without text, counts them and searches them when a glob names them', async () => {
    expect((await grep('pngtext', { path: 'data' })).notices['VT_SEARCH_LEFT_OUT']).toMatch(/1 file without text/)
    expect((await grep('pngtext', { globs: 'data/*.png' })).notices['VT_FILE_BINARY']).toMatch(/data\/image\.png/)
  })
  it('answers for a file of NUL bytes', async () => {
    expect(await grep('x', { path: 'data/only_nul.txt' })).toMatchObject({ total_matches: 0 })
    expect((await grep('\\x00', { path: 'data/only_nul.txt' })).notices).toHaveProperty('VT_FILE_BINARY')
  })
})

describe('unified_search/grep: words of other engines', () => {
  it('runs a GNU alternative that matches nothing else as an alternative, and lists what ran', async () => {
    for (const engine of ['', '/nonexistent/rg']) {
      if (engine) process.env['VTCODE_RIPGREP_BIN'] = engine
      try {
        const { matches, notices } = await grep('foo\\|bar', { path: 'src' })
        expect(matches).toMatchObject([{ file: 'src/a.ts', line_number: 2 }])
        expect(notices['VT_SEARCH_LITERAL']).toMatch(/^'\\\|' is a plain character here, .* ran as 'foo\|bar'\.$/)
      } finally {
        delete process.env['VTCODE_RIPGREP_BIN']
      }
    }
    expect(await paths({ mode: 'find_content', content_pattern: '\\(foo\\|bar\\) =' })).toEqual(['src/a.ts'])
  })
  it.each([
    ['\\(foo\\)', "'\\(', '\\)' are plain characters here", '(foo)'],
    ['go\\{1,2\\}', "'\\{', '\\}' are plain characters here", 'go{1,2}'],
    ['no\\+', "'\\+' is a plain character here", 'no+'],
    ['string \\| number', "'\\|' is a plain character here", 'string | number'],
    ['/Function/i', "The slashes and the flags 'i' are plain text here", 'Function'],
  ])('shows what is plain text in %s and the other reading', async (pattern, plain, other) => {
    const { total_matches, notices, next } = await grep(pattern, { path: 'src' })
    expect(total_matches).toBe(0)
    expect(notices['VT_SEARCH_LITERAL']).toContain(plain)
    expect(next.input).toMatchObject({ pattern: other })
    expect(await ws.call(next.tool, next.input)).toMatchObject({ ok: true })
  })
  it('shows that a pattern ran as plain text', async () => {
    const { notices, next } = await grep('fo+ = \\d', { path: 'src', literal: true })
    expect(notices['VT_SEARCH_LITERAL']).toMatch(/plain text here/)
    const again: any = await ws.call(next.tool, next.input)
    expect(again.output.total_matches).toBe(1)
  })
  it.each(['a \\|\\| b', 'call\\(', 'x\\.y'])('leaves the pattern %s alone when it matches', async (pattern) => {
    const { total_matches, notices } = await grep(pattern, { path: 'plain' })
    expect([total_matches, notices]).toEqual([1, {}])
  })
  it.each([
    '(?s)start.*end',
    'start[\\s\\S]*end',
    'start(?s:.)*end',
    'start[\\w\\W]+end',
    '\\{\\x0a',
    'start[^!]*?\\u{a}',
  ])('matches across lines by %s', async (pattern) => {
    expect(await found(pattern, { path: 'src' })).toEqual(['src/a.ts'])
    process.env['VTCODE_RIPGREP_BIN'] = '/nonexistent/rg'
    try {
      if (!pattern.includes('u{')) expect(await found(pattern, { path: 'src' })).toEqual(['src/a.ts'])
    } finally {
      delete process.env['VTCODE_RIPGREP_BIN']
    }
  })
  it('shows a page after the last match as such', async () => {
    expect((await grep('needle', { path: 'src', skip: 10 })).text).toBe(
      '0 of 1 match in 1 file; skip=10 is past the last',
    )
  })
})

describe('unified_search/list: patterns', () => {
  it.each<[string, string[]]>([
    ['src/*.ts', ['src/a.ts']],
    ['./src/*.ts', ['src/a.ts']],
    ['packages/*/*.ts', ['packages/two/c.ts']],
    ['**/two/*.ts', ['packages/two/c.ts']],
    ['src/**', ['src/a.ts']],
    ['.github/**', ['.github/workflows', '.github/workflows/ci.yml']],
    ['build/*.js', ['build/out.js']],
    ['app/[id]/*', ['app/[id]/page.tsx']],
  ])('lists every level for the pattern %s', async (pattern, expected) => {
    expect(await paths({ pattern })).toEqual(expected)
  })
  it.each<[object, string[]]>([
    [{ name_pattern: '[id]' }, ['app/[id]']],
    [{ name_pattern: '[...slug].tsx' }, ['app/[...slug].tsx']],
    [{ name_pattern: '.env*' }, ['.env']],
    [{ name_pattern: '.npmrc' }, ['packages/two/.npmrc']],
    [{ name_pattern: '.github' }, ['.github']],
    [{ name_pattern: '*.yml,*.yaml' }, ['paths/users_{id}.yaml']],
    [{ name_pattern: './src/a' }, ['src/a.ts']],
    [{ pattern: 'trace.log' }, ['trace.log']],
  ])('finds the entries of %j', async (input, expected) => {
    expect(await paths({ mode: 'find_name', ...input })).toEqual(expected)
  })
  it.each<[object, string, object]>([
    [
      { mode: 'find_name', name_pattern: '*.log', path: '.', globs: '!keep.log' },
      '1 ignored entry',
      { include_ignored: true },
    ],
    [{ mode: 'find_name', name_pattern: 'ci' }, '1 hidden entry', { include_hidden: true }],
    [{ name_pattern: 'a.ts' }, '1 entry lies below the 1 level', { mode: 'recursive' }],
    [{ name_pattern: 'api' }, '1 ignored entry', { mode: 'recursive', include_ignored: true }],
    [{ path: 'void' }, '1 hidden entry', { include_hidden: true }],
    [{ mode: 'recursive', max_depth: 1, name_pattern: 'a.ts' }, '1 entry lies below the 1 level', { max_depth: 64 }],
    [{ mode: 'largest', path: 'packages', file_extensions: ['npmrc'] }, '1 hidden entry', { include_hidden: true }],
    [{ mode: 'tree', path: 'packages/two', pattern: '.npm?c', include_hidden: false }, '', {}],
  ])('explains a list without entries: %j', async (input, count, fields) => {
    const { total, notices, next } = await search({ action: 'list', ...input })
    if (count === '') return expect(total).toBe(1)
    expect(total).toBe(0)
    expect(notices['VT_SEARCH_LEFT_OUT']).toContain(count)
    expect(next.input).toMatchObject(fields)
    const again: any = await ws.call(next.tool, next.input)
    expect(again.output.total).toBeGreaterThan(0)
  })
})

describe('grep_search: nothing found', () => {
  it('counts what a fuzzy search left out, and the next call includes it', async () => {
    const { notices, next } = await search({ action: 'fuzzy', pattern: 'registry' }, 'grep_search')
    expect(notices['VT_SEARCH_LEFT_OUT']).toMatch(/hidden files/)
    const again: any = await ws.call('grep_search/fuzzy', { ...next.input })
    expect(again.output.matches).toMatchObject([{ file: 'packages/two/.npmrc' }])
  })
  it('searches hidden files that a glob of a fuzzy search names', async () => {
    const { matches } = await search({ action: 'fuzzy', pattern: 'runs-on', globs: '.github' }, 'grep_search')
    expect(matches).toMatchObject([{ file: '.github/workflows/ci.yml' }])
  })
  it('names a file of which only the beginning of a line was scored', async () => {
    const { notices } = await search({ action: 'fuzzy', pattern: 'handleRequest', path: 'wide' }, 'grep_search')
    expect(notices['VT_SEARCH_PARTIAL']).toMatch(/4,096 characters of a line: wide\/line\.txt/)
  })
  it('counts what a search of similar files left out, and finds what its glob names', async () => {
    const input = { action: 'similarity', reference_file: 'lone/ref.ts', path: 'lone' }
    const { notices, next } = await search(input, 'grep_search')
    expect(notices['VT_SEARCH_LEFT_OUT']).toMatch(/1 hidden file/)
    const again: any = await ws.call('grep_search/similarity', { ...next.input })
    expect(again.output.files).toMatchObject([{ path: 'lone/.use.ts' }])
    expect(await search({ ...input, globs: '.use.ts' }, 'grep_search')).toMatchObject({
      files: [{ path: 'lone/.use.ts' }],
    })
  })
})

describe('unified_search: nothing found in the words of a dialect', () => {
  it.each<[string, string, object]>([
    ['classic', 'grep_search', { pattern: 'registry' }],
    ['classic', 'grep_search', { pattern: 'registry', mode: 'fuzzy' }],
    ['classic', 'grep_search', { reference_file: 'lone/ref.ts', path: 'lone', mode: 'similarity' }],
    ['classic', 'list_files', { mode: 'find_name', name_pattern: '*api*' }],
    ['classic', 'list_files', { mode: 'find_content', content_pattern: 'generated' }],
    ['thndrs', 'search_text', { pattern: 'generated' }],
    ['thndrs', 'find_files', { pattern: 'api' }],
    ['thndrs', 'list_searchable_files', { glob: '*.log' }],
  ])('accepts the fields that the notice of %s/%s names', async (dialect, tool, input) => {
    await using other = await bootKernel({ files, dialects: [dialect] })
    const { kernel } = other
    const path = tool === 'list_searchable_files' ? { glob: 'tr*.log' } : {}
    const first: any = await kernel.call(tool, { ...input, ...path })
    const message = first.notices.find(({ code }: any) => code === 'VT_SEARCH_LEFT_OUT').message
    const fields = Object.fromEntries([...message.matchAll(/include_\w+/g)].map(([field]) => [field, true]))
    expect(Object.keys(fields).length).toBeGreaterThan(0)
    const again: any = await kernel.call(tool, { ...input, ...path, ...fields })
    const { matches, items, files: listed } = again.output
    expect((listed ?? matches ?? items).length, JSON.stringify(again)).toBeGreaterThan(0)
    expect(JSON.stringify(again.notices ?? [])).not.toContain('VT_INPUT_IGNORED')
  })
})

describe('unified_search: too much', () => {
  it.each<[string, object]>([
    ['a glob of 64 KB', { globs: `${'a/'.repeat(32_768)}*` }],
    ['10,000 globs', { globs: Array.from({ length: 10_000 }, (_, at) => `f${at}`) }],
    ['1,000 globs in one text', { globs: Array.from({ length: 1000 }, (_, at) => `${at}`).join(',') }],
    ['a pattern of 16 KB', { pattern: 'x'.repeat(16_384) }],
  ])('refuses %s and names the field', async (_, input) => {
    const result: any = await ws.call('unified_search', { action: 'grep', pattern: 'x', ...input })
    expect(result).toMatchObject({ ok: false, error: { code: expect.stringMatching(/^VT_INPUT_/) } })
    expect(result.error.message).toMatch(/globs|pattern/)
  })
})
