import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fc, runs } from '../support/property.js'

let booted: Booted
beforeAll(async () => {
  booted = await bootKernel({ files: {} })
})
afterAll(() => booted[Symbol.asyncDispose]())
/** Removes everything but the folder of the program. */
const clear = () => {
  for (const name of readdirSync(booted.root))
    if (name !== '.vtcode') rmSync(join(booted.root, name), { recursive: true })
}
beforeEach(clear)

const ENV = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  ...Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => [
      [`GIT_${who}_NAME`, 'a'],
      [`GIT_${who}_EMAIL`, 'a@b.example'],
    ]),
  ),
}
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd, env: ENV, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1e8 })
let session = 0
const apply = (input: string) => booted.call('apply_patch', { input }, { session: `formats-${session++}` })

type Files = Record<string, string>
const put = (root: string, files: Files) => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content, 'latin1')
  }
}
/** Returns path → content and right to execute, without the folders of git and of the program. */
const readTree = (root: string): Record<string, [content: string, executable: boolean]> =>
  Object.fromEntries(
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => !/^\.(?:git|vtcode)(?:\/|$)/.test(path) && statSync(join(root, path)).isFile())
      .sort()
      .map((path) => [
        path,
        [readFileSync(join(root, path), 'latin1'), (statSync(join(root, path)).mode & 0o100) !== 0],
      ]),
  )

/** Makes a repository with two commits: `before`, and what `change` makes of it. */
function makeRepository(name: string, before: Files, change: (root: string) => void): string {
  const root = join(booted.root, '..', name)
  mkdirSync(root)
  git(root, 'init', '-q')
  put(root, before)
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'before', '--allow-empty')
  change(root)
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'after: change --- and +++', '-m', 'A body of the message.', '--allow-empty')
  return root
}
/** Repositories by the title of their change: each is made once and only read. */
const repositories = new Map<string, string>()
function openRepository(title: string, before: Files, change: (root: string) => void): string {
  const root = repositories.get(title) ?? makeRepository(`repository-${repositories.size}`, before, change)
  repositories.set(title, root)
  return root
}

const TEN = Array.from({ length: 10 }, (_, index) => `line ${index}\n`).join('')
const changes: [title: string, before: Files, change: (root: string) => void][] = [
  ['an empty new file', { a: '1\n' }, (root) => put(root, { 'pkg/__init__.py': '', a: '2\n' })],
  ['an empty file that is deleted', { a: '1\n', e: '' }, (root) => rmSync(join(root, 'e'))],
  ['a mode alone', { 'run.sh': 'x\n' }, (root) => chmodSync(join(root, 'run.sh'), 0o755)],
  [
    'a mode with a change',
    { 'run.sh': 'x\n' },
    (root) => (put(root, { 'run.sh': 'y\n' }), chmodSync(join(root, 'run.sh'), 0o755)),
  ],
  [
    'a file that is moved and changed',
    { 'a b.txt': TEN },
    (root) => (
      renameSync(join(root, 'a b.txt'), join(root, 'c d.txt')),
      put(root, { 'c d.txt': TEN.replace('line 3', 'LINE') })
    ),
  ],
  [
    'a copy of a changed file',
    { a: TEN },
    (root) => put(root, { a: TEN.replace('line 8', 'new'), b: TEN.replace('line 1\n', '') }),
  ],
  [
    'names with spaces, quotes, tabs and other scripts',
    { 'a b': '1\n', 'q"q': '1\n', 't\tt': '1\n', 'ü\u05d0': '1\n', 'back\\slash': '1\n' },
    (root) => put(root, { 'a b': '2\n', 'q"q': '2\n', 't\tt': '2\n', 'ü\u05d0': '2\n', 'back\\slash': '2\n' }),
  ],
  ['ends of files without a line end', { a: 'x', b: 'x\n', c: 'x' }, (root) => put(root, { a: 'x\n', b: 'x', c: 'y' })],
  [
    'lines that look like headers',
    { a: '-- one\n++ two\n@@ three\nend\n' },
    (root) => put(root, { a: '++ two\n-- four\nend\n-- \n' }),
  ],
  [
    'CRLF files',
    { a: TEN.replaceAll('\n', '\r\n') },
    (root) => put(root, { a: TEN.replaceAll('\n', '\r\n').replace('line 4', 'LINE') }),
  ],
  [
    'line ends that change',
    { a: 'one\r\ntwo\r\nthree\r\n', b: 'one\ntwo\n' },
    (root) => put(root, { a: 'one\r\ntwo\nthree\r\n', b: 'one\r\ntwo\r\n' }),
  ],
  [
    'a byte order mark that goes',
    { a: '\xef\xbb\xbfone\ntwo\n', b: '\xef\xbb\xbfone\ntwo\n' },
    (root) => put(root, { a: 'one\ntwo\n', b: '\xef\xbb\xbfONE\ntwo\n' }),
  ],
  ['empty lines at the ends of hunks', { a: `\n\n${TEN}\n\n` }, (root) => put(root, { a: `\n${TEN}\n\n\n` })],
]

describe('apply_patch: diffs of git', () => {
  const forms: [form: string, args: string[]][] = [
    ['git diff', ['diff', '-M', '-C', '--find-copies-harder', 'HEAD~1']],
    ['git diff without context', ['diff', '-U0', '--no-renames', 'HEAD~1']],
    ['git diff with mnemonic prefixes', ['-c', 'diff.mnemonicPrefix=true', 'diff', '-M', 'HEAD~1']],
    ['git diff without prefixes', ['diff', '--no-prefix', '-M', 'HEAD~1']],
    ['git format-patch', ['format-patch', '-1', '--stdout', '-M']],
  ]
  it.each(
    forms.flatMap(([form, args]) => changes.map(([title, before, change]) => ({ form, args, title, before, change }))),
  )('applies $title as $form writes it', async ({ args, title, before, change }) => {
    const root = openRepository(title, before, change)
    put(booted.root, before)
    const result = await apply(git(root, ...args))
    expect(result).toMatchObject({ ok: true })
    expect(readTree(booted.root)).toEqual(readTree(root))
  })

  it('removes the last line that ends with a carriage return alone, not an equal line before it', async () => {
    const root = makeRepository('last-line', { a: 'g\r\ng\r' }, (root) => put(root, { a: 'g\r\n' }))
    put(booted.root, { a: 'g\r\ng\r' })
    expect(await apply(git(root, 'diff', '-U0', 'HEAD~1'))).toMatchObject({ ok: true })
    expect(readTree(booted.root)).toEqual(readTree(root))
  })

  it('applies random changes as git does, or refuses them before it changes anything', async () => {
    const line = fc.constantFrom('', 'a', 'b', '  c', '-- d', '++ e', '@@ f', 'g\r', '\\ h', ' ')
    const content = fc.tuple(fc.array(line, { maxLength: 12 }), fc.boolean()).map(([lines, isOpen]) =>
      lines
        .map((one) => `${one}\n`)
        .join('')
        .slice(0, isOpen ? -1 : undefined),
    )
    const root = join(booted.root, '../random')
    mkdirSync(root)
    git(root, 'init', '-q')
    const tree = fc.dictionary(fc.constantFrom('a', 'b c', 'd/e', 'ü'), content, { maxKeys: 4 })
    await fc.assert(
      fc.asyncProperty(tree, tree, fc.nat(3), async (before, after, context) => {
        const fill = (folder: string, files: Files) => {
          for (const name of readdirSync(folder))
            if (!/^\.(?:git|vtcode)$/.test(name)) rmSync(join(folder, name), { recursive: true })
          put(folder, files)
        }
        fill(booted.root, before)
        fill(root, before)
        git(root, 'add', '-A')
        fill(root, after)
        // Lists the new files, so that the difference from the index has them.
        git(root, 'add', '-N', '--ignore-removal', '.')
        const patch = git(root, 'diff', '-M', `-U${context}`)
        if (patch === '') return
        const unchanged = readTree(booted.root)
        const result = await apply(patch)
        // Without context a patch shows no line ends of the file, so added lines get those that the file has.
        const toText = (tree: object): string => {
          const text = JSON.stringify(tree)
          return context === 0 ? text.replaceAll('\\r\\n', '\\n') : text
        }
        expect(toText(readTree(booted.root))).toBe(toText(result.ok ? readTree(root) : unchanged))
        if (!result.ok) expect(result.error.code).toMatch(/^VT_PATCH_(?:AMBIGUOUS|CONTEXT|OVERLAP)$|^VT_PATH_EXISTS$/)
      }),
      { numRuns: runs(25) },
    )
  })
})

describe('apply_patch: diffs of other programs and of models', () => {
  it('applies diff -u with dates, with a new and a removed file', async () => {
    put(booted.root, { 'a.txt': TEN, 'gone.txt': 'x\n' })
    put(join(booted.root, '../new'), { 'a.txt': TEN.replace('line 2', 'two'), 'made.txt': 'y\n' })
    for (const name of ['old', 'new']) mkdirSync(join(booted.root, '..', name), { recursive: true })
    put(join(booted.root, '../old'), { 'a.txt': TEN, 'gone.txt': 'x\n' })
    let patch = ''
    try {
      execFileSync('diff', ['-ruN', 'old', 'new'], {
        cwd: join(booted.root, '..'),
        encoding: 'utf8',
        env: { ...ENV, TZ: 'Asia/Tokyo' },
      })
    } catch (error) {
      patch = (error as { stdout: string }).stdout
    }
    expect(await apply(patch.replaceAll(/^(---|\+\+\+) (?:old|new)\//gm, '$1 '))).toMatchObject({ ok: true })
    expect(Object.keys(readTree(booted.root))).toEqual(['a.txt', 'made.txt'])
    expect(readTree(booted.root)['a.txt']![0]).toBe(TEN.replace('line 2', 'two'))
  })

  it('changes the file itself for a diff against its backup', async () => {
    put(booted.root, { 'a.txt': '1\n' })
    expect(
      await apply('--- a.txt.orig\t2026-01-01 10:00:00\n+++ a.txt\t2026-01-01 10:00:01\n@@ -1 +1 @@\n-1\n+2\n'),
    ).toMatchObject({ ok: true })
    expect(readTree(booted.root)).toEqual({ 'a.txt': ['2\n', false] })
  })

  it('applies svn diff with a new file and changed properties', async () => {
    put(booted.root, { 'a.txt': '1\n' })
    const rule = '='.repeat(67)
    const patch = [
      'Index: a.txt',
      rule,
      '--- a.txt\t(revision 3)',
      '+++ a.txt\t(working copy)',
      '@@ -1 +1 @@',
      '-1',
      '+2',
      'Index: b.txt',
      rule,
      '--- b.txt\t(nonexistent)',
      '+++ b.txt\t(working copy)',
      '@@ -0,0 +1 @@',
      '+new',
      '',
      'Property changes on: b.txt',
      '_'.repeat(67),
      'Added: svn:eol-style',
      '## -0,0 +1 ##',
      '+native',
      '\\ No newline at end of property',
      '',
    ].join('\n')
    expect(await apply(patch)).toMatchObject({ ok: true })
    expect(readTree(booted.root)).toEqual({ 'a.txt': ['2\n', false], 'b.txt': ['new\n', false] })
  })

  it('takes no file name for a date', async () => {
    put(booted.root, { 'log 1970': 'one\n' })
    expect(await apply('--- log 1970\n+++ log 1970\n@@ -1,0 +2 @@\n+two\n')).toMatchObject({ ok: true })
    expect(readTree(booted.root)).toEqual({ 'log 1970': ['one\ntwo\n', false] })
  })

  it('accepts absolute paths inside the workspace', async () => {
    put(booted.root, { 'a.txt': '1\n' })
    const path = join(booted.root, 'a.txt')
    expect(await apply(`--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-1\n+2\n`)).toMatchObject({ ok: true })
    expect(readTree(booted.root)['a.txt']![0]).toBe('2\n')
  })

  it.each([
    ['counts that are too large', '@@ -1,9 +1,9 @@'],
    ['counts that are too small', '@@ -1,2 +1,2 @@'],
    ['a bare @@', '@@'],
    ['a header without numbers', '@@ ... @@'],
    ['a line before the place', '@@ c'],
  ])('places a hunk with %s by its lines', async (_, header) => {
    put(booted.root, { 'f.txt': 'a\nb\nc\nd\ne\nf\n', 'g.txt': '1\n' })
    const patch = `--- a/f.txt\n+++ b/f.txt\n${header}\n d\n-e\n+E\n f\n\n--- a/g.txt\n+++ b/g.txt\n@@ -1 +1 @@\n-1\n+2\n`
    expect(await apply(patch)).toMatchObject({ ok: true })
    expect(readTree(booted.root)).toEqual({ 'f.txt': ['a\nb\nc\nd\nE\nf\n', false], 'g.txt': ['2\n', false] })
  })

  it('refuses a hunk with wrong counts that fits in two places', async () => {
    put(booted.root, { 'f.txt': 'a\nb\na\nb\n' })
    const result = await apply('--- a/f.txt\n+++ b/f.txt\n@@ -1,7 +1,7 @@\n a\n-b\n+B\n')
    expect(result).toMatchObject({ ok: false, error: { code: 'VT_PATCH_AMBIGUOUS' } })
  })

  it('keeps a file that has more lines than a patch removes with it', async () => {
    put(booted.root, { 'f.txt': 'a\nb\n', 'e.txt': 'x\n' })
    for (const patch of [
      'diff --git a/f.txt b/f.txt\ndeleted file mode 100644\n--- a/f.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n',
      'diff --git a/e.txt b/e.txt\ndeleted file mode 100644\nindex e69de29..0000000\n',
    ])
      expect(await apply(patch)).toMatchObject({ ok: false, error: { code: 'VT_PATCH_CONTEXT' } })
    expect(Object.keys(readTree(booted.root))).toEqual(['e.txt', 'f.txt'])
  })

  it('names the file of a binary change in its refusal', async () => {
    const result = await apply(
      'diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n',
    )
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'VT_PATCH_SYNTAX', message: expect.stringContaining("'logo.png' is binary") },
    })
  })
})
