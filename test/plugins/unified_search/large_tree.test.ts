import { spawnSync } from 'node:child_process'
import { rgPath } from '@vscode/ripgrep'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'
import { expect, it } from 'vitest'

// What the plain tool says of a tree is what we say: the same files, the same counts, in path order. The tree is made as those of the
// benches are, with nested ignore files, links, and names that are no text.

const plain = ['--no-config', '--no-require-git', '--no-ignore-global', '-g', '!**/.git', '-g', '!**/node_modules', '-g', '!**/.vtcode']
const rg = (cwd: string, ...args: string[]): string => spawnSync(rgPath, [...plain, ...args, './'], { cwd, encoding: 'utf8', maxBuffer: 1e9 }).stdout
const bySegments = (a: string, b: string): number => (a.replaceAll('/', '\0') < b.replaceAll('/', '\0') ? -1 : 1)

async function planted(): Promise<Booted> {
  const files: Record<string, string> = { '.gitignore': 'dist/\n*.log\n/tmp\n/packages/p7/test\n' }
  for (let at = 0; at < 1500; at++) {
    const folder = `packages/p${at % 30}/${at % 3 ? 'src' : 'test'}/deep${at % 7}`
    files[`${folder}/file${at}.${at % 4 ? 'ts' : 'js'}`] = `export const walk${at % 5} = ${at}\n${'const other = walk1\n'.repeat(at % 4)}`
    if (at % 50 === 0) files[`packages/p${at % 30}/.gitignore`] = `/gen\n*.snap\n!keep.snap\ndeep${at % 7}/file${at + 30}.ts\n`
    if (at % 25 === 0) for (const name of ['trace.log', 'a.snap', 'keep.snap', 'dist/a.ts', 'gen/b.ts', '.hidden.ts']) files[`packages/p${at % 30}/${name}`] = 'export const walk1 = 1\n'
  }
  const ws = await bootKernel({ files })
  symlinkSync('p1', join(ws.root, 'packages/link'))
  symlinkSync('/etc', join(ws.root, 'packages/out'))
  writeFileSync(Buffer.concat([Buffer.from(`${ws.root}/packages/p1/bad`), Buffer.from([0xff]), Buffer.from('.ts')]), 'export const walk1 = 1\n')
  return ws
}

/** All pages of a list or a grep, put together. */
async function pages({ call }: Pick<Booted, 'call'>, input: object): Promise<any[]> {
  const found: any[] = []
  for (let next: any = { tool: 'unified_search', input }; next; ) {
    const { ok, output }: any = await call('unified_search', { ...next.input, response_format: 'detailed' })
    expect(ok).toBe(true)
    found.push(...(output.items ?? output.matches))
    next = output.next
  }
  return found
}

const shown = (name: string): string => name.slice(2).replace('\ufffd', '\\xff')
const plainFiles = (root: string): string[] => rg(root, '--files', '--null').split('\0').filter(Boolean).map(shown).sort(bySegments)
/** The file of each line that matches, as often as it has some. */
function plainMatches(root: string, pattern: string): string[] {
  const counts = rg(root, '--count', '--null', '-e', pattern).split('\n').filter(Boolean).map((line) => line.split('\0'))
  return counts.flatMap(([file, count]) => Array<string>(Number(count)).fill(shown(file!))).sort(bySegments)
}

it('a tree of many folders, rules and links is listed and searched as ripgrep does: the same files, counts and order', async () => {
  await using ws = await planted()
  const files = plainFiles(ws.root)
  const listed = await pages(ws, { action: 'list', mode: 'recursive', entry_type: 'file', max_results: 700 })
  expect(listed.map(({ path }) => path)).toEqual(files)
  // With folders and links the files are the same.
  const all = await pages(ws, { action: 'list', mode: 'recursive', max_results: 5000 })
  expect(all.filter(({ type }) => type === 'file').map(({ path }) => path)).toEqual(files)
  expect(all.filter(({ type }) => type === 'symlink').map(({ path }) => path)).toEqual(['packages/link', 'packages/out'])
  expect(all.map(({ path }) => path)).toEqual(all.map(({ path }) => path).sort(bySegments))
  const chosen = await pages(ws, { action: 'list', mode: 'recursive', entry_type: 'file', globs: ['**/test/**/*.ts', '!**/deep3/**'], max_results: 5000 })
  expect(chosen.map(({ path }) => path)).toEqual(files.filter((path) => /\/test\/.*\.ts$/.test(path) && !path.includes('/deep3/')))

  const expected = plainMatches(ws.root, 'walk1')
  for (const max_results of [10_000, 300, 40]) {
    const found = await pages(ws, { action: 'grep', pattern: 'walk1', max_results })
    expect(found.map(({ file }) => file), `${max_results} a page`).toEqual(expected)
  }
}, 120_000)

it('a workspace in a larger repository is listed and searched by the rules that stand above it too', async () => {
  await using ws = await planted()
  const root = join(ws.root, 'packages')
  const kernel = await createKernel({ workspace: root, home: ws.home })
  try {
    const files = plainFiles(root)
    expect(files.some((path) => path.startsWith('p7/')) && files.every((path) => !path.startsWith('p7/test/') && !path.endsWith('.log'))).toBe(true)
    const paths = async (input: object): Promise<string[]> => (await pages(kernel, { action: 'list', mode: 'recursive', max_results: 5000, ...input })).flatMap(({ path, type }) => (type === 'file' ? [path] : []))
    expect(await paths({ entry_type: 'file' })).toEqual(files)
    expect(await paths({})).toEqual(files)
    const found = await pages(kernel, { action: 'grep', pattern: 'walk1', max_results: 10_000 })
    expect(found.map(({ file }) => file)).toEqual(plainMatches(root, 'walk1'))
  } finally {
    await kernel.close()
  }
}, 120_000)

it('what stays while other files and folders come, move and go is told once, in order, and afterwards all is as ripgrep says', async () => {
  await using ws = await planted()
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
      // It has not come yet.
    }
  }, 1)
  const stable = (path: string): boolean => !path.includes('/churn')
  try {
    for (let at = 0; at < 4; at++) {
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
  expect((await pages(ws, { action: 'list', mode: 'recursive', entry_type: 'file', max_results: 5000 })).map(({ path }) => path)).toEqual(plainFiles(ws.root))
}, 120_000)
