import { chmodSync, cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'

afterEach(() => {
  delete process.env['VTCODE_AST_GREP_BIN']
})

type File = { path: string; lang: string; items: { name: string; isExported: boolean }[] }
const outline = async (ws: Booted, input: object): Promise<any> =>
  ws.call('unified_search', {
    action: 'outline',
    view: 'full',
    response_format: 'detailed',
    max_results: 2000,
    ...input,
  })
const fallback = [
  expect.objectContaining({ code: 'VT_SEARCH_FALLBACK', message: expect.stringContaining('tree-sitter outlined') }),
]

/** Installs another program as ast-grep. */
function program(ws: Booted, body: string): void {
  const file = join(ws.home, 'ast-grep')
  writeFileSync(file, `#!/bin/bash\n${body}\n`)
  chmodSync(file, 0o755)
  process.env['VTCODE_AST_GREP_BIN'] = file
}

const at = (line: number, column = 0) => ({ line, column })
const sane = {
  role: 'item',
  symbolType: 'function',
  name: 'x',
  astKind: 'function_declaration',
  isExported: true,
  range: { byteOffset: { start: 0, end: 4 }, start: at(0), end: at(0, 4) },
}
/** Items that no file of 29 bytes has. */
const absurd: Record<string, object> = {
  'no range': { ...sane, range: undefined },
  'half a range': { ...sane, range: { start: at(0) } },
  'a range of nothing': { ...sane, range: null },
  'lines that no file has': { ...sane, range: { ...sane.range, end: at(1e12) } },
  'lines before the first': { ...sane, range: { ...sane.range, start: at(-1) } },
  'an end before the start': { ...sane, range: { ...sane.range, byteOffset: { start: 4, end: 0 } } },
  'bytes after the end': { ...sane, range: { ...sane.range, byteOffset: { start: 0, end: 1e6 } } },
  'a number as a name': { ...sane, name: 1 },
  'members without a range': { ...sane, members: [{ role: 'member', symbolType: 'method', name: 'y' }] },
  'members that are none': { ...sane, members: 'y' },
}

describe('unified_search/outline: faulty ast-grep', () => {
  it.each([
    ['that knows no outline', 'echo "error: unrecognized subcommand" >&2; exit 2'],
    ['that is killed', 'kill -9 $$'],
    ['that is killed after a part of its answer', 'printf \'{"path":"x\'; kill -SEGV $$'],
    ['that prints nonsense', 'echo "<html>nothing of the kind</html>"'],
    ['that prints other records', 'echo \'{"path":1,"items":{}}\''],
    ['that prints nothing', 'exit 0'],
    ...Object.entries(absurd).map(([what, item]) => [
      `whose items have ${what}`,
      `for one in "$@"; do [ -f "$one" ] && printf '{"path":"%s","items":[%s]}\\n' "$one" '${JSON.stringify(item)}'; done; exit 0`,
    ]),
  ])('falls back to tree-sitter with a notice for an ast-grep %s', async (_, body) => {
    await using ws = await bootKernel({ files: { 'src/a.ts': 'export function hello() {}\n' } })
    program(ws, body)
    for (const path of ['src/a.ts', 'src']) {
      expect(await outline(ws, { path })).toMatchObject({
        ok: true,
        output: { backend: 'tree-sitter', files: [{ path: 'src/a.ts', items: [{ name: 'hello' }] }] },
        notices: fallback,
      })
    }
  })
  it('serves twelve languages by tree-sitter when ast-grep is missing', async () => {
    await using ws = await bootKernel({ files: samples() })
    process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
    const result = await outline(ws, { path: '.', items: 'structure' })
    // The grammars of tree-sitter do not know all of the newest syntax.
    const notices = [...fallback, { code: 'VT_SEARCH_PARSE' }]
    expect(result).toMatchObject({ ok: true, output: { backend: 'tree-sitter' }, notices })
    expect(new Set(result.output.files.map(({ lang }: File) => lang))).toEqual(
      new Set(['C', 'Cpp', 'CSharp', 'Go', 'Java', 'JavaScript', 'Php', 'Python', 'Ruby', 'Rust', 'TypeScript', 'Tsx']),
    )
  })
})

/** A file for each language, with symbols that its outline must distinguish. */
function samples(): Record<string, string> {
  const folder = new URL('../../fixtures/outline/', import.meta.url)
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name.replace(/\.txt$/, ''), readFileSync(new URL(name, folder), 'utf8')]),
  )
}

type Names = { path: string; lang: string; groups: { names: string[] }[] }
const packages = [
  'ajv/lib',
  'yaml/dist',
  'tapable',
  'picomatch/lib',
  'commander',
  ...rounds<string[]>([], ['zod/src', 'execa', 'cosmiconfig', 'web-tree-sitter', 'gray-matter']),
]

it('finds 99 of 100 names of either engine with the other, in samples of twelve languages and real packages', async () => {
  const files = Object.fromEntries(Object.entries(samples()).map(([name, text]) => [`samples/${name}`, text]))
  await using ws = await bootKernel({ files })
  for (const name of packages)
    cpSync(new URL(`../../../node_modules/${name}`, import.meta.url), join(ws.root, 'lib', name), {
      recursive: true,
      filter: (path) => !/benchmarks$|\.(wasm|map)$/.test(path),
    })
  const named = async (): Promise<Map<string, string[]>> => {
    const found = new Map<string, string[]>()
    for (const path of ['samples', ...packages.map((name) => `lib/${name}`)]) {
      // Names alone, so that few files are left out of an answer.
      const { output } = await outline(ws, { path, items: 'structure', view: 'names' })
      for (const { path: file, lang, groups } of output.files as Names[])
        if (!['Json', 'Markdown'].includes(lang))
          found.set(
            file,
            groups.flatMap(({ names }) => names),
          )
    }
    return found
  }
  const byProgram = await named()
  process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
  const byParser = await named()
  // Names cut by the limits of one answer do not count; ast-grep lists `export { a }` as a module named exports.
  const all = [...byProgram].flatMap(([path, theirs]) =>
    byParser.has(path)
      ? [{ path, theirs: theirs.filter((name) => name !== 'exports'), ours: byParser.get(path)! }]
      : [],
  )
  const lost = all.flatMap(({ path, theirs, ours }) => without(theirs, ours).map((name) => `${path}: ${name}`))
  const added = all.flatMap(({ path, theirs, ours }) => without(ours, theirs).map((name) => `${path}: ${name}`))
  const names = all.flatMap(({ theirs }) => theirs).length
  expect(names).toBeGreaterThan(rounds(1000, 4000))
  expect(lost.length / names, lost.slice(0, 20).join('\n')).toBeLessThan(0.01)
  expect(added.length / names, added.slice(0, 20).join('\n')).toBeLessThan(0.01)
})

/** Returns the names that `others` lacks or holds less often. */
function without(names: string[], others: string[]): string[] {
  const left = [...others]
  return names.filter((name) => {
    const at = left.indexOf(name)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

it('finds names in headers, callbacks, branches and classes with both engines, and none local to a function', async () => {
  await using ws = await bootKernel({
    files: Object.fromEntries(Object.entries(samples()).filter(([name]) => name.startsWith('hard'))),
  })
  const named = async (): Promise<Record<string, string[]>> => {
    const { output } = await outline(ws, { path: '.', items: 'structure' })
    return Object.fromEntries(
      (output.files as File[]).map(({ path, items }) => [
        path,
        items.map(({ name }) => name).filter((name) => name !== 'exports'),
      ]),
    )
  }
  const byProgram = await named()
  expect(byProgram['hard.h']).toEqual(['s', 'e', 'counter', 'names', 'text', 'f', 'g', 'h'])
  process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
  const byParser = await named()
  expect(Object.keys(byParser)).toHaveLength(12)
  for (const [path, names] of Object.entries(byProgram)) expect(without(names, byParser[path]!), path).toEqual([])
  expect(Object.entries(byParser).flatMap(([path, names]) => without(names, byProgram[path]!))).toEqual([])
})

it.each(['ast-grep', 'tree-sitter'])(
  'lists by %s each exported constant, destructured name, abstract class and declaration once',
  async (engine) => {
    const files = {
      'a.ts': [
        'export const one = 1',
        'export const two: number = 2',
        'export let three = 3, four = 4',
        'export const { five, six: seven, ...eight } = one, [nine] = []',
        'export const fn = () => { class Local {} }',
        'export var ten = 10',
        'export abstract class Shape { abstract area(): number\n private side = 1 }',
        'abstract class Hidden {}',
        'export function over(a: string): void',
        'export function over(a: number): void',
        'export function over(a: unknown): void {}',
        'const plain = 1',
      ].join('\n'),
      'b.d.ts':
        'export declare function declared(): void\nexport declare const value: number\ndeclare function global1(): void\nexport function bare(): void\n',
    }
    await using ws = await bootKernel({ files })
    if (engine === 'tree-sitter') process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
    const { output } = await outline(ws, { path: '.', items: 'structure' })
    const [a, b] = output.files
    expect(output.backend).toBe(engine)
    expect(a.items.map(({ name }: { name: string }) => name)).toEqual([
      'one',
      'two',
      'three',
      'four',
      'five',
      'seven',
      'eight',
      'nine',
      'fn',
      'ten',
      'Shape',
      'Hidden',
      'over',
      'plain',
    ])
    expect(b.items.map(({ name }: { name: string }) => name)).toEqual(['declared', 'value', 'global1', 'bare'])
    expect(a.items.find(({ name }: { name: string }) => name === 'Shape').members).toMatchObject([
      { name: 'area', isPublic: true },
      { name: 'side', isPublic: false },
    ])
    expect(
      a.items
        .filter(({ isExported }: { isExported: boolean }) => !isExported)
        .map(({ name }: { name: string }) => name),
    ).toEqual(['Hidden', 'plain'])
  },
)

it('lists what the files of a CommonJS directory hold', async () => {
  await using ws = await bootKernel({
    files: {
      'lib/a.js': "'use strict'\nfunction build() {}\nmodule.exports = { build }\n",
      'lib/b.mjs': 'export function shown() {}\nfunction hidden() {}\n',
    },
  })
  const result = await ws.call('unified_search', { action: 'outline', path: 'lib' })
  expect(result).toMatchObject({ ok: true, text: expect.stringMatching(/build[\s\S]*shown/) })
  expect((result as any).text).not.toContain('hidden')
})
