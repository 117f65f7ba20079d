import { spawnSync } from 'node:child_process'
import { rgPath } from '@vscode/ripgrep'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createKernel } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'
import { beforeAll, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { holdForFile } from '../../support/held.js'

// Compares searches of a tree with the plain tool: files, counts and path order. The tree is made like those of the
// benches are, with nested ignore files, links, and names that are no text.

const plain = [
  '--no-config',
  '--no-require-git',
  '--no-ignore-global',
  '-g',
  '!**/.git',
  '-g',
  '!**/node_modules',
  '-g',
  '!**/.vtcode',
]
const rg = (cwd: string, ...args: string[]): string =>
  spawnSync(rgPath, [...plain, ...args, './'], { cwd, encoding: 'utf8', maxBuffer: 1e9 }).stdout
const bySegments = (a: string, b: string): number => (a.replaceAll('/', '\0') < b.replaceAll('/', '\0') ? -1 : 1)

async function planted(): Promise<Booted> {
  const files: Record<string, string> = { '.gitignore': 'dist/\n*.log\n/tmp\n/packages/p7/test\n' }
  for (let at = 0; at < rounds(900, 1500); at++) {
    const folder = `packages/p${at % 30}/${at % 3 ? 'src' : 'test'}/deep${at % 7}`
    files[`${folder}/file${at}.${at % 4 ? 'ts' : 'js'}`] =
      `export const walk${at % 5} = ${at}\n${'const other = walk1\n'.repeat(at % 4)}`
    if (at % 50 === 0)
      files[`packages/p${at % 30}/.gitignore`] = `/gen\n*.snap\n!keep.snap\ndeep${at % 7}/file${at + 30}.ts\n`
    if (at % 25 === 0)
      for (const name of ['trace.log', 'a.snap', 'keep.snap', 'dist/a.ts', 'gen/b.ts', '.hidden.ts'])
        files[`packages/p${at % 30}/${name}`] = 'export const walk1 = 1\n'
  }
  const ws = await bootKernel()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(ws.root, name)), { recursive: true })
    writeFileSync(join(ws.root, name), text)
  }
  symlinkSync('p1', join(ws.root, 'packages/link'))
  symlinkSync('/etc', join(ws.root, 'packages/out'))
  writeFileSync(
    Buffer.concat([Buffer.from(`${ws.root}/packages/p1/bad`), Buffer.from([0xff]), Buffer.from('.ts')]),
    'export const walk1 = 1\n',
  )
  return ws
}

let ws: Booted
beforeAll(async () => {
  ws = holdForFile(await planted())
})

/** Joins all pages of a list or a grep. */
async function pages({ call }: Pick<Booted, 'call'>, input: object): Promise<any[]> {
  const found: any[] = []
  for (let next: any = { tool: 'unified_search', input }; next;) {
    const { ok, output }: any = await call('unified_search', { ...next.input, response_format: 'detailed' })
    expect(ok).toBe(true)
    found.push(...(output.items ?? output.matches))
    next = output.next
  }
  return found
}

const shown = (name: string): string => name.slice(2).replace('\ufffd', '\\xff')
const plainFiles = (root: string): string[] =>
  rg(root, '--files', '--null').split('\0').filter(Boolean).map(shown).sort(bySegments)
/** Returns the file of each matching line, once a line. */
function plainMatches(root: string, pattern: string): string[] {
  const counts = rg(root, '--count', '--null', '-e', pattern)
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\0'))
  return counts.flatMap(([file, count]) => Array<string>(Number(count)).fill(shown(file!))).sort(bySegments)
}

it('lists and searches a large tree like ripgrep: the same files, counts and order', async () => {
  const files = plainFiles(ws.root)
  const listed = await pages(ws, { action: 'list', mode: 'recursive', entry_type: 'file', max_results: 700 })
  expect(listed.map(({ path }) => path)).toEqual(files)
  // Listing folders and links adds no files.
  const all = await pages(ws, { action: 'list', mode: 'recursive', max_results: 5000 })
  expect(all.filter(({ type }) => type === 'file').map(({ path }) => path)).toEqual(files)
  expect(all.filter(({ type }) => type === 'symlink').map(({ path }) => path)).toEqual([
    'packages/link',
    'packages/out',
  ])
  expect(all.map(({ path }) => path)).toEqual(all.map(({ path }) => path).sort(bySegments))
  const chosen = await pages(ws, {
    action: 'list',
    mode: 'recursive',
    entry_type: 'file',
    globs: ['**/test/**/*.ts', '!**/deep3/**'],
    max_results: 5000,
  })
  expect(chosen.map(({ path }) => path)).toEqual(
    files.filter((path) => /\/test\/.*\.ts$/.test(path) && !path.includes('/deep3/')),
  )

  const expected = plainMatches(ws.root, 'walk1')
  for (const max_results of rounds([10_000, 300], [10_000, 300, 40])) {
    const found = await pages(ws, { action: 'grep', pattern: 'walk1', max_results })
    expect(
      found.map(({ file }) => file),
      `${max_results} a page`,
    ).toEqual(expected)
  }
})

it('shows the first of very many matches and counts all, like ripgrep', async () => {
  const line = (at: number): string => `export const flood${at} = 'ä' // flood`
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `src/d${at % 7}/f${at}.ts`,
      Array.from({ length: 600 }, (_, row) => line(row)).join(at % 3 ? '\n' : '\r\n'),
    ]),
  )
  await using ws = await bootKernel({
    files: {
      ...files,
      'src/d0/binary.bin': `\0${line(1)}\n${'flood\n'.repeat(3000)}`,
      'src/d0/.ignore': 'f7.ts\n',
      'src/long.ts': `${'flood '.repeat(2000)}\n`,
    },
  })
  const expected = rg(ws.root, '--line-number', '--no-heading', '--with-filename', '--sort', 'path', '-e', 'flood')
    .split('\n')
    .filter((found) => found !== '' && !found.includes('binary.bin'))
  const places = expected.map((found) => /^\.\/([^:]+:\d+):/.exec(found)![1]!)
  expect(places.length).toBe(39 * 600 + 1)
  const cases: [{ pattern: string; max_results: number; skip?: number; case_sensitive?: boolean }, number][] = [
    [{ pattern: 'flood', max_results: 100 }, 300],
    [{ pattern: 'flood\\d* = .*$', max_results: 700 }, 1400],
    [{ pattern: 'FLOOD', case_sensitive: false, max_results: 50, skip: 20_000 }, 50],
  ]
  for (const [input, most] of cases) {
    const { output }: any = await ws.call('unified_search', {
      action: 'grep',
      ...input,
      count: 'exact',
      response_format: 'detailed',
    })
    const total = input.pattern.includes('=') ? 39 * 600 : places.length
    expect(output, input.pattern).toMatchObject({
      total_matches: total,
      files_with_matches: total === places.length ? 40 : 39,
      truncated: true,
    })
    const found: any[] = []
    for (let next: any = { ...input }; found.length < most;) {
      const page: any = await ws.call('unified_search', { action: 'grep', ...next, response_format: 'detailed' })
      found.push(...page.output.matches)
      next = page.output.next.input
    }
    const { skip: from = 0 } = input
    expect(found.slice(0, most).map(({ file, line_number }) => `${file}:${line_number}`)).toEqual(
      places.filter((place) => total === places.length || !place.startsWith('src/long')).slice(from, from + most),
    )
    expect(found[0].submatches[0].text.toLowerCase()).toContain('flood')
  }
})

it('applies ignore rules above a workspace inside a larger repository', async () => {
  const root = join(ws.root, 'packages')
  const kernel = await createKernel({ workspace: root, home: ws.home })
  try {
    const files = plainFiles(root)
    expect(
      files.some((path) => path.startsWith('p7/')) &&
        files.every((path) => !path.startsWith('p7/test/') && !path.endsWith('.log')),
    ).toBe(true)
    const paths = async (input: object): Promise<string[]> =>
      (await pages(kernel, { action: 'list', mode: 'recursive', max_results: 5000, ...input })).flatMap(
        ({ path, type }) => (type === 'file' ? [path] : []),
      )
    expect(await paths({ entry_type: 'file' })).toEqual(files)
    expect(await paths({})).toEqual(files)
    const found = await pages(kernel, { action: 'grep', pattern: 'walk1', max_results: 10_000 })
    expect(found.map(({ file }) => file)).toEqual(plainMatches(root, 'walk1'))
  } finally {
    await kernel.close()
  }
})

// Keep this test last, because it changes the tree.
it('returns stable files once and in order while others change, and matches ripgrep afterwards', async () => {
  const [stay, hits] = [plainFiles(ws.root), plainMatches(ws.root, 'walk1')]
  let round = 0
  const churn = setInterval(() => {
    const folder = (at: number): string => join(ws.root, `packages/p${at % 30}/src/churn${at % 9}`)
    round++
    mkdirSync(folder(round), { recursive: true })
    writeFileSync(join(folder(round), `churn${round}.ts`), 'export const walk1 = 1\n')
    rmSync(`${folder(round + 4)}-moved`, { recursive: true, force: true })
    try {
      renameSync(folder(round + 4), `${folder(round + 4)}-moved`)
    } catch {
      // The file does not exist yet.
    }
  }, 1)
  const stable = (path: string): boolean => !path.includes('/churn')
  try {
    for (let at = 0; at < rounds(2, 4); at++) {
      const all = await pages(ws, { action: 'list', mode: 'recursive', max_results: 5000 })
      expect(all.filter(({ path, type }) => type === 'file' && stable(path)).map(({ path }) => path)).toEqual(stay)
      const files = await pages(ws, { action: 'list', mode: 'recursive', entry_type: 'file', max_results: 5000 })
      expect(files.map(({ path }) => path).filter(stable)).toEqual(stay)
      const found = await pages(ws, { action: 'grep', pattern: 'walk1', max_results: 10_000 })
      expect(found.map(({ file }) => file).filter(stable)).toEqual(hits)
    }
  } finally {
    clearInterval(churn)
  }
  expect(round).toBeGreaterThan(20)
  expect(
    (await pages(ws, { action: 'list', mode: 'recursive', entry_type: 'file', max_results: 5000 })).map(
      ({ path }) => path,
    ),
  ).toEqual(plainFiles(ws.root))
})
