import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { fc } from '../../support/property.js'
import { createKernel } from 'vtcode'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { makeManyFiles } from '../../support/many_files.js'
import { runs } from '../../support/property.js'

const list = async ({ call }: Booted, input: object): Promise<any> => {
  const result = await call('unified_search', { action: 'list', ...input })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return { ...result.output, notices: (result.notices ?? []).map((notice) => notice.code), text: result.text }
}
const paths = async (ws: Booted, input: object): Promise<string[]> =>
  (await list(ws, input)).items.map((item: any) => item.path)
const project: Files = {
  '.gitignore': 'out/\n*.log\n',
  '.env': 'x',
  'README.md': 'hello\n',
  'a.log': 'x',
  'out/x.js': 'x',
  'src/App.ts': 'hello hello\n',
  'src/deep/er/still/leaf.txt': 'x'.repeat(500),
  'src/util.ts': 'hello\nhello\n',
}

describe('unified_search/list: modes', () => {
  it('lists one level, directories first, with empty folders and links, and counts hidden entries (list)', async () => {
    await using ws = await bootKernel({ files: project })
    mkdirSync(join(ws.root, 'void'))
    symlinkSync('/etc', join(ws.root, 'link'))
    const result = await list(ws, {})
    expect(result.items).toEqual([
      { path: 'src', type: 'dir' },
      { path: 'void', type: 'dir' },
      { path: 'README.md', type: 'file' },
      { path: 'link', type: 'symlink' },
    ])
    expect(result).toMatchObject({ ignored_count: 2, hidden_count: 2, total: 4 })
    expect(result.text).toBe('src/\nvoid/\nREADME.md\nlink\n4 entries')
  })
  it('lists everything below, depth first (recursive)', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await paths(ws, { mode: 'recursive' })).toEqual([
      'README.md',
      'src',
      'src/App.ts',
      'src/deep',
      'src/deep/er',
      'src/deep/er/still',
      'src/deep/er/still/leaf.txt',
      'src/util.ts',
    ])
    expect(await paths(ws, { mode: 'recursive', max_depth: 2, path: 'src' })).toEqual([
      'src/App.ts',
      'src/deep',
      'src/deep/er',
      'src/util.ts',
    ])
  })
  it('shows empty folders and links with their kind in recursive, tree and find_name', async () => {
    await using ws = await bootKernel({ files: { 'src/a.ts': '', '.gitignore': 'out\n', 'src/out/x': '' } })
    mkdirSync(join(ws.root, 'src/void/deep'), { recursive: true })
    symlinkSync('../..', join(ws.root, 'src/void/up'))
    execFileSync('mkfifo', [join(ws.root, 'src/pipe')])
    const { items, total } = await list(ws, { mode: 'recursive' })
    expect(items.map(({ path, type }: any) => `${path} ${type}`)).toEqual([
      'src dir',
      'src/a.ts file',
      'src/pipe other',
      'src/void dir',
      'src/void/deep dir',
      'src/void/up symlink',
    ])
    expect(total).toBe(6)
    expect((await list(ws, { mode: 'tree' })).tree).toBe('src/\n  a.ts\n  pipe\n  void/\n    deep/\n    up')
    expect(await paths(ws, { mode: 'find_name', name_pattern: 'deep' })).toEqual(['src/void/deep'])
    expect(await paths(ws, { mode: 'recursive', entry_type: 'dir' })).toEqual(['src', 'src/void', 'src/void/deep'])
    expect(await paths(ws, { mode: 'recursive', entry_type: 'file' })).toEqual(['src/a.ts'])
    // A filter for files keeps a folder that holds such files.
    expect(await paths(ws, { mode: 'recursive', globs: '*.ts' })).toEqual(['src', 'src/a.ts'])
  })
  it('finds every entry whose name matches a glob or a part (find_name)', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await paths(ws, { mode: 'find_name', name_pattern: '*.ts' })).toEqual(['src/App.ts', 'src/util.ts'])
    expect(await paths(ws, { mode: 'find_name', name_pattern: 'app' })).toEqual(['src/App.ts'])
    expect(await paths(ws, { mode: 'find_name', name_pattern: 'App', case_sensitive: true })).toEqual(['src/App.ts'])
    expect(await paths(ws, { mode: 'find_name', pattern: 'src/**/[a-l]*.{txt,md}' })).toEqual([
      'src/deep/er/still/leaf.txt',
    ])
    expect(await paths(ws, { mode: 'find_name', name_pattern: 'e', entry_type: 'dir' })).toEqual([
      'src/deep',
      'src/deep/er',
    ])
    for (const name of ['pattern', 'name_pattern'])
      expect(
        await ws.call('unified_search', { action: 'list', mode: 'find_name', [name]: '{a,b}'.repeat(30) }),
      ).toMatchObject({
        ok: false,
        error: {
          code: 'VT_INPUT_INVALID',
          message: expect.stringMatching(/^'(?:name_)?pattern' .* more than 1,?000 alternatives\.$/),
        },
      })
  })
  it('answers find_content without a pattern with an example of find_content', async () => {
    await using booted = await bootKernel()
    const example = async (mode: string) =>
      ((await booted.call('unified_search', { action: 'list', mode })) as any).error.hint
    expect([await example('find_content'), await example('find_name')]).toEqual([
      'Example: unified_search {"action":"list","mode":"find_content","content_pattern":"TODO"}',
      'Example: unified_search {"action":"list","mode":"find_name","name_pattern":"*.rs"}',
    ])
  })

  it('shows files with their number of matching lines (find_content)', async () => {
    await using ws = await bootKernel({ files: project })
    expect((await list(ws, { mode: 'find_content', content_pattern: 'hello', file_extensions: ['ts'] })).items).toEqual(
      [
        { path: 'src/App.ts', type: 'file', matches: 1 },
        { path: 'src/util.ts', type: 'file', matches: 2 },
      ],
    )
  })
  it('sorts files by size (largest)', async () => {
    await using ws = await bootKernel({ files: project })
    expect((await list(ws, { mode: 'largest', max_results: 2 })).items).toEqual([
      { path: 'src/deep/er/still/leaf.txt', type: 'file', size: 500 },
      { path: 'src/App.ts', type: 'file', size: 12 },
    ])
  })
  it('draws a tree and counts what lies below its limit (tree)', async () => {
    await using ws = await bootKernel({ files: project })
    const { tree, items } = await list(ws, { mode: 'tree' })
    expect(tree).toBe('README.md\nsrc/\n  App.ts\n  deep/\n    er/\n      … (+2)\n  util.ts')
    expect(items).toEqual([])
    expect((await list(ws, { mode: 'tree', max_results: 2 })).tree).toBe('README.md\nsrc/\n… (+4)')
  })
  it('infers the mode from other action names and fields', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await ws.call('unified_search', { action: 'glob', pattern: '**/*.ts' })).toMatchObject({
      ok: true,
      output: { mode: 'find_name', total: 2 },
    })
    expect(await ws.call('unified_search', { action: 'ls' })).toMatchObject({ ok: true, output: { mode: 'list' } })
    expect(await ws.call('unified_search', { pattern: '*.ts' })).toMatchObject({
      ok: true,
      output: { mode: 'recursive', total: 2 },
    })
    expect(await ws.call('unified_search', { path: 'src' })).toMatchObject({
      ok: true,
      output: { mode: 'list', total: 3 },
    })
  })
})

describe('unified_search/list: filters', () => {
  it('filters by globs, kind and extension and never includes ignored files', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await paths(ws, { mode: 'recursive', globs: ['**/*.js', '*.ts'] })).toEqual([
      'src',
      'src/App.ts',
      'src/util.ts',
    ])
    expect(await paths(ws, { mode: 'recursive', globs: '!src', entry_type: 'file' })).toEqual(['README.md'])
    expect(await paths(ws, { include_ignored: true, include_hidden: true })).toEqual([
      'out',
      'src',
      '.env',
      '.gitignore',
      'README.md',
      'a.log',
    ])
  })
  it.each([
    ['[', 'unclosed character class'],
    ['a[z-a]', 'invalid range'],
    ['{a,b', 'unclosed alternate group'],
    ['a}', 'unopened alternate group'],
    ['a\\', 'dangling'],
  ])('refuses the glob %s and names its fault', async (globs, fault) => {
    await using ws = await bootKernel({ files: { 'a.ts': '' } })
    for (const entry_type of ['any', 'file']) {
      const refused = await ws.call('unified_search', { action: 'list', mode: 'recursive', globs, entry_type })
      const error = { code: 'VT_INPUT_INVALID', message: expect.stringContaining(fault) }
      expect(refused).toMatchObject({ ok: false, error })
    }
  })
  it('returns a single named file as one entry', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await paths(ws, { path: 'out/x.js' })).toEqual(['out/x.js'])
    mkdirSync(join(ws.root, 'void'))
    expect(await list(ws, { path: 'void' })).toMatchObject({ items: [], total: 0, has_more: false })
  })
  it('returns more fields of each entry in the detailed form', async () => {
    await using ws = await bootKernel({ files: project })
    symlinkSync('App.ts', join(ws.root, 'src/alias.ts'))
    const { items } = await list(ws, { path: 'src', response_format: 'detailed' })
    expect(items).toMatchObject([
      { path: 'src/deep', name: 'deep', depth: 1 },
      { path: 'src/App.ts', size: 12, modified: expect.stringMatching(/^\d{4}-.*Z$/) },
      { path: 'src/alias.ts', type: 'symlink', target: 'App.ts' },
      { path: 'src/util.ts' },
    ])
  })
  it('lists the same entries in both forms: files, folders, links, pipes, a link as path', async () => {
    await using ws = await bootKernel({ files: { ...project, 'src/\u00fc.ts': 'x' } })
    symlinkSync('App.ts', join(ws.root, 'src/alias.ts'))
    symlinkSync('/etc', join(ws.root, 'src/out'))
    symlinkSync('nowhere', join(ws.root, 'src/gone'))
    execFileSync('mkfifo', [join(ws.root, 'src/pipe')])
    const cases = [
      { path: 'src' },
      { mode: 'recursive' },
      { mode: 'recursive', follow: true },
      { mode: 'find_name', name_pattern: 'a' },
      { path: 'src/alias.ts' },
    ]
    for (const input of cases) {
      const forms = await Promise.all(
        ['concise', 'detailed'].map(async (response_format) =>
          (await list(ws, { ...input, response_format })).items.map(({ path, type }: any) => [path, type]),
        ),
      )
      expect(forms[0], JSON.stringify(input)).toEqual(forms[1])
    }
    await using detailed = await bootKernel({ files: project, config: { output: { response_format: 'detailed' } } })
    expect((await list(detailed, { path: 'src' })).items[0]).toHaveProperty('modified')
  })
})

describe('unified_search/list: pages', () => {
  it('pages through one list without repeats and losses', async () => {
    const files = Object.fromEntries(Array.from({ length: 95 }, (_, index) => [`d${index % 5}/f${index}`, '']))
    await using ws = await bootKernel({ files })
    const seen: string[] = []
    let input: object | undefined = { mode: 'recursive', max_results: 30 }
    while (input) {
      const page = await list(ws, input)
      expect(page.total).toBe(100)
      if (page.has_more) expect(page.message).toBe(`Page ${page.page} of 4 (100 entries). Next: page=${page.page + 1}.`)
      seen.push(...page.items.map((item: any) => item.path))
      input = page.next?.input
    }
    expect(new Set(seen).size).toBe(100)
    expect(seen).toEqual(await paths(ws, { mode: 'recursive' }))
  })
  it('makes a page smaller that is too large for one answer, and reaches every entry once', async () => {
    const name = (at: number) => `${String(at).padStart(5, '0')}${'n'.repeat(245)}`
    await using ws = await bootKernel({
      files: Object.fromEntries(Array.from({ length: 4_200 }, (_, at) => [name(at), ''])),
    })
    const seen: string[] = []
    let input: object | undefined = { mode: 'find_name', name_pattern: 'n', max_results: 4_100 }
    while (input) {
      const page = await list(ws, input)
      expect(page.items).toHaveLength(Math.min(page.per_page, 4_200 - seen.length))
      seen.push(...page.items.map((item: any) => item.path))
      input = page.next?.input
    }
    expect(seen).toEqual(Array.from({ length: 4_200 }, (_, at) => name(at)))
  })
  it('returns at most max_items and the total', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await list(ws, { mode: 'recursive', max_items: 3 })).toMatchObject({
      items: [{}, {}, {}],
      total: (await list(ws, { mode: 'recursive' })).total,
      per_page: 3,
      truncated: true,
      has_more: true,
    })
  })
})

describe('unified_search/list: hostile trees', () => {
  it('escapes names that are not text in a list and accepts them as a path', async () => {
    await using ws = await bootKernel()
    const bad = (text: string) => Buffer.from(`${ws.root}/${text}`, 'latin1')
    mkdirSync(bad('d\xff'))
    writeFileSync(bad('d\xff/x\ny'), '')
    expect(await paths(ws, { mode: 'recursive' })).toEqual(['d\\xff', 'd\\xff/x\ny'])
    expect(await paths(ws, { path: 'd\\xff' })).toEqual(['d\\xff/x\ny'])
  })
  it('lists many thousand files in bounded time', async () => {
    await using ws = await bootKernel()
    const total = rounds(5_000, 100_000)
    makeManyFiles(join(ws.root, 'many'), total)
    const start = performance.now()
    expect(await list(ws, { mode: 'recursive', path: 'many' })).toMatchObject({ total, has_more: true })
    expect(performance.now() - start).toBeLessThan(10_0000)
  })
  it('follows no link loops and no links out of the workspace', async () => {
    await using ws = await bootKernel({ files: { 'a/f': '' } })
    symlinkSync('..', join(ws.root, 'a/up'))
    symlinkSync('/', join(ws.root, 'a/root'))
    expect(await paths(ws, { mode: 'recursive' })).toEqual(['a', 'a/f', 'a/root', 'a/up'])
  })
})

it('follows links inside the workspace only when asked', async () => {
  await using ws = await bootKernel({ files: { 'real/f.txt': 'hello\n', '.gitignore': 'skip\n', 'real/skip': '' } })
  symlinkSync('../real', join(ws.root, 'real/again'))
  symlinkSync('real', join(ws.root, 'alias'))
  symlinkSync('/', join(ws.root, 'root'))
  symlinkSync('nowhere', join(ws.root, 'dangling'))
  expect(await paths(ws, { mode: 'recursive', entry_type: 'file' })).toEqual(['real/f.txt'])
  expect(await paths(ws, { mode: 'recursive', entry_type: 'file', follow: true })).toEqual([
    'alias/f.txt',
    'real/f.txt',
  ])
  expect(await paths(ws, { mode: 'find_content', content_pattern: 'hello', follow: true })).toEqual([
    'alias/f.txt',
    'real/f.txt',
  ])
})

it('names similar paths and the nearest parent of a missing path', async () => {
  await using ws = await bootKernel({ files: project })
  expect(await ws.call('unified_search', { action: 'list', path: 'src/deeep/x' })).toMatchObject({
    ok: false,
    error: { code: 'VT_PATH_NOT_FOUND', next: { tool: 'unified_search', input: { action: 'list', path: 'src' } } },
  })
})

it('agrees with git about ignored files', async () => {
  await using ws = await bootKernel({
    files: {
      '.gitignore':
        '\ufeff/top\n*.tmp\r\n!keep.tmp\nbuild/\n!build/keep\nfoo/**/bar\n**/deep\nspace\\ \n[!a]x\n\\#hash\ndocs/*.txt\n',
      'sub/.gitignore': '!x.tmp\n/only\n',
      'sub/only': '',
      'sub/in/only': '',
      'sub/x.tmp': '',
      'y.tmp': '',
      'keep.tmp': '',
      'build/keep': '',
      'src/build/z': '',
      'foo/bar': '',
      'foo/a/b/bar': '',
      bar: '',
      'a/b/deep': '',
      deeper: '',
      'space ': '',
      ax: '',
      bx: '',
      '#hash': '',
      'docs/a.txt': '',
      'docs/in/b.txt': '',
      top: '',
      'in/top': '',
      excluded: '',
      'in/excluded': '',
    },
  })
  const git = (args: string[], input = '') =>
    execFileSync('git', ['-c', 'core.excludesFile=', ...args], { cwd: ws.root, input, encoding: 'utf8' })
  git(['init', '-q'])
  writeFileSync(join(ws.root, '.git/info/exclude'), 'excluded\n')
  const all = execFileSync('find', ['.', '-name', '.git', '-prune', '-o', '-type', 'f', '-print0'], {
    cwd: ws.root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter(Boolean)
    .map((path) => path.slice(2))
    .filter((path) => !/(^|\/)\./.test(path))
  let ignored: string[] = []
  try {
    ignored = git(['check-ignore', '-z', '--stdin'], all.join('\0')).split('\0')
  } catch {
    // Status 1: nothing is ignored.
  }
  const ours = await paths(ws, { mode: 'recursive', entry_type: 'file' })
  const visible = all.filter((path) => !ignored.includes(path)).sort()
  expect(ours.sort()).toEqual(visible)
  // All modes and searches see the same files, also the JavaScript walk that follows links.
  for (const path of all) writeFileSync(join(ws.root, path), 'needle()\n')
  for (const input of [
    { mode: 'find_name', name_pattern: '*' },
    { mode: 'find_content', content_pattern: 'needle' },
    { mode: 'largest' },
    { mode: 'list', max_depth: 64 },
    { mode: 'recursive', follow: true },
  ]) {
    expect((await paths(ws, { entry_type: 'file', ...input })).sort(), JSON.stringify(input)).toEqual(visible)
  }
  const found = await ws.call('unified_search', { action: 'grep', pattern: 'needle', max_results: 1000 })
  expect(found.ok && (found.output as any).matches.map(({ file }: any) => file).sort()).toEqual(visible)
  const { tree } = await list(ws, { mode: 'tree', max_depth: 64 })
  expect(tree.split('\n').filter((line: string) => !line.endsWith('/'))).toHaveLength(visible.length)
})

describe('unified_search/list compared with ripgrep', () => {
  const ripgrep = (cwd: string): string[] => {
    const args = [
      '--files',
      '--null',
      '--no-config',
      ...(existsSync(join(cwd, '.git')) ? [] : ['--no-require-git']),
      '--no-ignore-global',
      '-g',
      '!**/.git',
      '-g',
      '!**/node_modules',
      './',
    ]
    const { stdout } = spawnSync(rgPath, args, { cwd, encoding: 'utf8' })
    return stdout
      .split('\0')
      .filter(Boolean)
      .map((path) => path.slice(2))
      .sort()
  }

  it('lists exactly the files that ripgrep sees, under random ignore rules', async () => {
    await using ws = await bootKernel()
    const piece = fc.constantFrom(
      'a',
      'b',
      '*',
      '?',
      '*.tmp',
      'build',
      '[ab]',
      '[!a]',
      '**',
      'c.js',
      'a*',
      '*b',
      '{a,b}',
      '\\*',
      'x.tmp',
    )
    const rule = fc
      .tuple(
        fc.constantFrom('', '', '!'),
        fc.constantFrom('', '', '/'),
        fc.array(piece, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
        fc.constantFrom('', '', '/'),
      )
      .map((parts) => parts.join(''))
    const folder = fc
      .array(fc.constantFrom('a', 'b', 'ab', 'build', 'node_modules', '.h'), { maxLength: 3 })
      .map((parts) => parts.join('/'))
    const file = fc.tuple(folder, fc.constantFrom('c.js', 'd.ts', 'x.tmp', 'keep.tmp', '.dot'))
    const rules = fc.tuple(
      folder,
      fc.constantFrom('.gitignore', '.gitignore', '.ignore', '.rgignore', '.git/info/exclude'),
      fc.array(rule, { minLength: 1, maxLength: 4 }),
    )
    const write = (folder: string, name: string, text: string): void => {
      mkdirSync(dirname(join(ws.root, folder, name)), { recursive: true })
      writeFileSync(join(ws.root, folder, name), text)
    }
    let round = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 10, maxLength: 40 }),
        fc.array(rules, { maxLength: 6 }),
        async (files, ruled) => {
          const root = `round${round++}`
          for (const [at, name] of files) write(`${root}/${at}`, name, '')
          for (const [at, name, text] of ruled) write(`${root}/${at}`, name, `${text.join('\n')}\n`)
          const listed = await paths(ws, { path: root, mode: 'recursive', entry_type: 'file', max_results: 5000 })
          expect(listed.map((path) => path.slice(root.length + 1)).sort()).toEqual(ripgrep(join(ws.root, root)))
        },
      ),
      { numRuns: runs(rounds(20, 100)) },
    )
  })

  it('applies the ignore rules of the repository around the workspace', async () => {
    await using outer = await bootKernel({
      files: {
        '.gitignore': 'dist/\n/packages/one/gen\n',
        'packages/one/dist/x.js': '',
        'packages/one/gen/y.js': '',
        'packages/one/src/gen/z.js': '',
      },
    })
    const kernel = await createKernel({ workspace: join(outer.root, 'packages/one') })
    const result = await kernel.call('unified_search', { action: 'list', mode: 'recursive', entry_type: 'file' })
    await kernel.close()
    expect(result.ok && (result.output as any).items.map((item: any) => item.path)).toEqual(
      ripgrep(join(outer.root, 'packages/one')),
    )
    expect(result).toMatchObject({ ok: true, output: { items: [{ path: 'src/gen/z.js' }] } })
  })

  it('lists files although the ignore file above the workspace is a pipe without a writer', async () => {
    await using outer = await bootKernel({ files: { 'one/x.js': '' } })
    execFileSync('mkfifo', [join(outer.root, '.gitignore'), join(outer.root, '.ignore')])
    const kernel = await createKernel({ workspace: join(outer.root, 'one') })
    const result = await kernel.call('unified_search', { action: 'list', mode: 'recursive' })
    await kernel.close()
    expect(result).toMatchObject({ ok: true, output: { items: [{ path: 'x.js' }] } })
  })
})
