import { execFileSync } from 'node:child_process'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { describe, expect, it } from 'vitest'

const outline = async ({ call }: Booted, input: object): Promise<any> => {
  const result = await call('unified_search', { action: 'outline', ...input })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return { ...result.output, notices: (result.notices ?? []).map((notice) => notice.code), text: result.text }
}
const groups = async (ws: Booted, input: object): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    (await outline(ws, input)).files[0].groups.map((group: any) => [
      group.kind,
      [...group.names, ...group.members.map((name: string) => `.${name}`)],
    ]),
  )

const project: Files = {
  'src/app.ts':
    'import { a } from "./a.js"\nexport class Café {\n  #hidden = 1\n  run(): void {}\n}\nfunction inner() {}\nexport const LIMIT = 1;\n',
  'src/lib.py': 'class Base:\n    def run(self):\n        pass\n',
  'run.sh': 'X=1\nmain() {\n  echo hi\n}\n',
  'm.lua': 'local M = {}\nfunction M.a(x) end\nlocal function b() end\nreturn M\n',
  'p.json': '{"name":"é","scripts":{"build":"x","test":"y"}}',
  'plain.txt': 'no language\n',
}

describe('unified_search/outline: file', () => {
  it('shows a file as a digest, its names or in full', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await outline(ws, { path: 'src/app.ts' })).toMatchObject({
      view: 'digest',
      backend: 'ast-grep',
      truncated: false,
      total_symbols: 5,
      text: 'src/app.ts (TypeScript)\n  class: Café:2 (#hidden:3, run:4)\n  function: inner:6\n  constant: LIMIT:7',
    })
    expect((await outline(ws, { path: 'src/app.ts', view: 'names' })).files[0].groups[0]).toEqual({
      kind: 'class',
      names: ['Café'],
    })
    const [item] = (await outline(ws, { path: 'src/app.ts', view: 'full' })).files[0].items
    expect(item).toMatchObject({
      kind: 'class',
      name: 'Café',
      isExported: true,
      line_number: 2,
      end_line: 5,
      signature: 'export class Café {',
    })
    expect(item.members).toMatchObject([
      { name: '#hidden' },
      { name: 'run', kind: 'method', isPublic: true, line_number: 4 },
    ])
  })
  it('shows the line of every symbol in each view, members after their owner, and signatures in full', async () => {
    await using ws = await bootKernel({ files: project })
    const text = async (view: string) =>
      (await outline(ws, { path: 'src/app.ts', items: 'all', view })).text.split('\n')
    expect(await text('names')).toEqual([
      'src/app.ts (TypeScript)',
      '  module: "./a.js":1',
      '  class: Café:2',
      '  function: inner:6',
      '  constant: LIMIT:7',
    ])
    expect(await text('full')).toEqual([
      'src/app.ts (TypeScript)',
      '  1 module: import { a } from "./a.js"',
      '  2-5 class: export class Café {',
      '    3 field: #hidden = 1',
      '    4 method: run(): void {}',
      '  6 function: function inner() {}',
      '  7 constant: export const LIMIT = 1;',
    ])
  })
  it('leaves out the lines of members where a digest would get long', async () => {
    const methods = Array.from({ length: 30 }, (_, at) => `  method${at}() {}\n`).join('')
    await using ws = await bootKernel({ files: { 'a.ts': `class A {\n${methods}}\n` } })
    const { text } = await outline(ws, { path: 'a.ts' })
    expect(text).toMatch(/class: A:1 \(method0, method1, .*method29\)$/)
  })
  it('states that a file has more symbols than an answer shows', async () => {
    const lines = Array.from({ length: 2_100 }, (_, at) => `const c${at} = ${at}\n`).join('')
    await using ws = await bootKernel({ files: { 'a.ts': lines } })
    const { truncated, text } = await outline(ws, { path: 'a.ts', type: 'constant' })
    expect(truncated).toBe(true)
    expect(text).toMatch(/Only the first 2000 items are shown; give type or match\.$/)
  })
  it('filters symbols by role, type, match and visibility', async () => {
    await using ws = await bootKernel({ files: project })
    const names = async (input: object) =>
      (await outline(ws, { path: 'src/app.ts', view: 'names', ...input })).files.flatMap((file: any) =>
        file.groups.flatMap((group: any) => group.names),
      )
    expect(await names({ items: 'imports' })).toEqual(['"./a.js"'])
    expect(await names({ items: 'exports' })).toEqual(['Café', 'LIMIT'])
    expect(await names({ type: 'class,function' })).toEqual(['Café', 'inner'])
    expect(await names({ type: ['constant'] })).toEqual(['LIMIT'])
    expect(await names({ type: '["class", "function"]' })).toEqual(['Café', 'inner'])
    expect(await names({ match: '^in' })).toEqual(['inner'])
  })
  describe('exports of CommonJS', () => {
    const files: Files = {
      'members.js':
        'exports.first = function () {};\nmodule.exports.Second = class Second { bar() {} };\nfunction plain() {}\n' +
        'plain.prototype.third = function () {};\nexports.unset = void 0;\nexports.count = { of: 10 };\nexports.plain = plain;\n',
      'object.js':
        'const shared = 1\nmodule.exports = { fourth() {}, fifth: () => 1, sixth: function () {}, shared, size: 5, Inner: class {} }\n',
      'alias.js': 'exports = module.exports = { seventh() {} }\n',
      'whole.js': 'module.exports = class Whole { run() {} }\n',
      'nameless.js': 'module.exports = function () {}\n',
    }
    const exported: Record<string, string[]> = {
      'members.js': ['first', 'Second', 'plain', 'count'],
      'object.js': ['shared', 'fourth', 'fifth', 'sixth', 'size', 'Inner'],
      'alias.js': ['seventh'],
      'whole.js': ['Whole'],
      'nameless.js': ['module.exports'],
    }
    const names = async (ws: Booted, path: string): Promise<string[]> =>
      (await outline(ws, { path, view: 'full', items: 'exports' })).files[0].items.map((item: any) => item.name)

    it.each(['the library', 'the program', 'tree-sitter'])('lists them as exports by %s', async (engine) => {
      await using ws = await bootKernel({ files })
      if (engine === 'the program') {
        const { resolveBinaryPath } = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js')
        process.env['VTCODE_AST_GREP_BIN'] = resolveBinaryPath()
      }
      if (engine === 'tree-sitter') process.env['VTCODE_AST_GREP_BIN'] = '/bin/false'
      try {
        for (const [path, expected] of Object.entries(exported)) expect(await names(ws, path)).toEqual(expected)
        const { items } = (await outline(ws, { path: 'members.js', view: 'full' })).files[0]
        expect(items.map((item: any) => [item.kind, item.name])).toEqual([
          ['function', 'first'],
          ['class', 'Second'],
          ['function', 'plain'],
          ['method', 'plain.prototype.third'],
          ['constant', 'count'],
        ])
        expect(items[1].members).toMatchObject([{ kind: 'method', name: 'bar', line_number: 2 }])
      } finally {
        delete process.env['VTCODE_AST_GREP_BIN']
      }
    })
  })
  it('updates the outline after every change of a file, however quick', async () => {
    await using ws = await bootKernel({ files: project })
    for (let round = 0; round < 20; round++) {
      await ws.write('src/app.ts', `export class A${String(round).padStart(2, '0')} {}\n`)
      expect(await groups(ws, { path: 'src/app.ts' })).toEqual({ class: [`A${String(round).padStart(2, '0')}`] })
    }
  })
  it('outlines the readable part of a file with syntax errors', async () => {
    await using ws = await bootKernel({
      files: { 'a.ts': 'class A {}\nfunction ( {{{\nclass B {}\n', 'a.sh': 'f() { echo; }\nif then fi ((\n' },
    })
    expect((await groups(ws, { path: 'a.ts' })).class).toContain('A')
    expect((await groups(ws, { path: 'a.sh' })).function).toEqual(['f'])
  })
  it('returns exactly the outline of ast-grep for a large real file', async () => {
    const source = readFileSync(createRequire(import.meta.url).resolve('typescript/lib/typescript.d.ts'))
    await using ws = await bootKernel({ files: { 'index.d.ts': source } })
    const { resolveBinaryPath } = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js')
    const native = JSON.parse(
      execFileSync(
        resolveBinaryPath(),
        ['outline', '--json=stream', '--view', 'expanded', '--items', 'structure', 'index.d.ts'],
        { cwd: ws.root, encoding: 'utf8', maxBuffer: 1e9 },
      ),
    )
    const [file] = (await outline(ws, { path: 'index.d.ts', view: 'full' })).files
    expect(file.items.map((item: any) => [item.kind, item.name, item.signature, item.range])).toEqual(
      native.items.map((item: any) => [item.symbolType, item.name, item.signature, item.range]),
    )
  })
})

describe('unified_search/outline: directory', () => {
  it('outlines a large directory a second time without starting the program', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 700 }, (_, index) => [`m${index}.py`, `def f${index}():\n    pass\n`]),
    )
    await using ws = await bootKernel({ files })
    // A recently changed file is identified by its bytes, so make the files old.
    for (const path of Object.keys(files)) utimesSync(join(ws.root, path), 1e9, 1e9)
    const { resolveBinaryPath } = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js')
    const [program, starts] = [join(ws.home, 'ast-grep'), join(ws.home, 'starts')]
    writeFileSync(program, `#!/bin/sh\necho >>'${starts}'\nexec '${resolveBinaryPath()}' "$@"\n`, { mode: 0o755 })
    process.env['VTCODE_AST_GREP_BIN'] = program
    try {
      const first = await outline(ws, { max_results: 2000 })
      const started = readFileSync(starts, 'utf8').length
      expect(started).toBeGreaterThan(1)
      expect((await outline(ws, { max_results: 2000 })).files).toEqual(first.files)
      expect(readFileSync(starts, 'utf8')).toHaveLength(started)
    } finally {
      delete process.env['VTCODE_AST_GREP_BIN']
    }
  })
  it('outlines a directory file by file in path order, with both engines', async () => {
    await using ws = await bootKernel({ files: project })
    const result = await outline(ws, {})
    expect(result.files.map((file: any) => file.path)).toEqual([
      'm.lua',
      'p.json',
      'run.sh',
      'src/app.ts',
      'src/lib.py',
    ])
    expect(result).toMatchObject({ backend: 'mixed', notices: [] })
    expect(result.files[3].groups).toEqual([
      { kind: 'class', names: ['Café'], members: ['#hidden', 'run'] },
      { kind: 'constant', names: ['LIMIT'], members: [] },
    ])
  })
  it('cuts a directory over the limit and continues at next', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `d${index % 3}/f${String(index).padStart(2, '0')}.ts`,
        `export class C${index} {}\n`,
      ]),
    )
    await using ws = await bootKernel({ files })
    const first = await outline(ws, { max_results: 10 })
    expect(first).toMatchObject({ truncated: true, next: { input: { action: 'outline', path: 'd1' } } })
    expect(first.files).toHaveLength(10)
    expect((await outline(ws, first.next.input)).files).toHaveLength(10)
  })
})

it('names the allowed symbol types and views', async () => {
  await using ws = await bootKernel({ files: project })
  expect(await ws.call('unified_search', { action: 'outline', type: 'klass' })).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_INVALID', message: expect.stringContaining('class') },
  })
  expect(await ws.call('unified_search', { action: 'outline', view: 'tiny' })).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_INVALID', message: expect.stringMatching(/digest.*names.*full/) },
  })
  expect(await ws.call('unified_search', { action: 'outline', match: '(' })).toMatchObject({
    ok: false,
    error: { code: 'VT_SEARCH_PATTERN' },
  })
  expect(await ws.call('unified_search', { action: 'outline', pattern: 'x' })).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_NOT_ALLOWED' },
  })
})

it('infers the action outline from its own fields and other names', async () => {
  await using ws = await bootKernel({ files: project })
  expect(await ws.call('unified_search', { action: 'symbols', path: 'src/app.ts' })).toMatchObject({
    ok: true,
    output: { view: 'digest' },
  })
  expect(await ws.call('unified_search', { path: 'src/app.ts', view: 'names' })).toMatchObject({
    ok: true,
    output: { view: 'names' },
  })
  expect(await ws.call('unified_search', { path: 'src', lang: 'py' })).toMatchObject({
    ok: true,
    output: { files: [{ path: 'src/lib.py' }] },
  })
})
