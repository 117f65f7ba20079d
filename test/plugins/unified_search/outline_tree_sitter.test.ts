import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'

const outline = async ({ call }: Booted, input: object): Promise<any> => {
  const result = await call('unified_search', { action: 'outline', ...input })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return { ...result.output, notices: (result.notices ?? []).map((notice) => notice.code), text: result.text }
}
const PARSE_LIMIT_MS = 300
/** A page of ordinary elements whose parse takes longer than the limit. */
const longPage = '<p class="a">some <b>words</b></p>\n'.repeat(150_000)
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
  'notes.sql': 'create table t (a int);\n',
  'plain.txt': 'no language\n',
}

afterEach(() => {
  delete process.env['VTCODE_AST_GREP_BIN']
})

describe('unified_search/outline by tree-sitter', () => {
  it('serves languages without ast-grep rules by tree-sitter', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await outline(ws, { path: 'run.sh' })).toMatchObject({ backend: 'tree-sitter', files: [{ lang: 'Bash' }] })
    expect(await groups(ws, { path: 'run.sh' })).toEqual({ variable: ['X'], function: ['main'] })
    expect(await groups(ws, { path: 'm.lua' })).toEqual({ variable: ['M'], function: ['M.a', 'b'] })
    expect(await groups(ws, { path: 'p.json' })).toEqual({ key: ['name', 'scripts', '.build', '.test'] })
    const [item] = (await outline(ws, { path: 'p.json', view: 'full', match: 'scripts' })).files[0].items
    expect(item.range).toEqual({
      byteOffset: { start: 13, end: 47 },
      start: { line: 0, column: 12 },
      end: { line: 0, column: 46 },
    })
  })
  it('serves markup, style and configuration languages by tree-sitter', async () => {
    await using ws = await bootKernel({
      files: {
        'a.html': '<div id="main"><p class="x" id=inner>t</p></div>',
        'a.css': '.a, #b { color: red }\n@media (x) { .d { e: f } }\n',
        'a.yaml': 'top:\n  below: 1\n"quoted key": 2\n',
        'a.toml': 'key = 1\n[table.sub]\ninner = 2\n[[list]]\n',
        'a.ex': 'defmodule A.B do\n  def pub(x), do: x\n  defp priv(x) when x do\n    x\n  end\nend\n',
        'a.scala': 'object O { def f = 1 }\ntrait T\ncase class D(x: Int)\n',
        'a.dart': 'class A {\n  int _hidden = 1;\n  A();\n  int run() => 1;\n}\nenum E { one }\nvoid main() {}\n',
        'a.hs': 'module M where\ndata T = A Int | B\nclass C a where\n  c :: a -> Int\nf :: Int -> Int\nf x = x\n',
        'a.nix': '{ pkgs }:\nlet v = 1; in {\n  name = "a";\n  build = { inputs = []; };\n}\n',
        'a.tf': 'variable "region" {\n  default = "eu"\n}\nkey = 1\n',
      },
    })
    expect(await groups(ws, { path: 'a.html' })).toEqual({ object: ['main', 'inner'] })
    expect(await groups(ws, { path: 'a.css' })).toEqual({ class: ['.a, #b'], namespace: ['@media (x)', '..d'] })
    expect(await groups(ws, { path: 'a.yaml' })).toEqual({ key: ['top', 'quoted key', '.below'] })
    expect(await groups(ws, { path: 'a.toml' })).toEqual({
      key: ['key'],
      object: ['table.sub', '.inner'],
      array: ['list'],
    })
    expect(await groups(ws, { path: 'a.ex' })).toEqual({ module: ['A.B', '.pub', '.priv'] })
    expect(await groups(ws, { path: 'a.ex', pub_members: true })).toEqual({ module: ['A.B', '.pub'] })
    expect(await groups(ws, { path: 'a.scala' })).toEqual({ object: ['O', '.f'], interface: ['T'], class: ['D'] })
    expect(await groups(ws, { path: 'a.dart' })).toEqual({
      class: ['A', '._hidden', '.A', '.run'],
      enum: ['E', '.one'],
      function: ['main'],
    })
    expect(await groups(ws, { path: 'a.dart', pub_members: true, type: 'class' })).toEqual({
      class: ['A', '.A', '.run'],
    })
    expect(await groups(ws, { path: 'a.hs' })).toEqual({
      module: ['M'],
      struct: ['T', '.A', '.B'],
      interface: ['C', '.c'],
      function: ['f'],
    })
    expect(await groups(ws, { path: 'a.nix' })).toEqual({ variable: ['v'], key: ['name', 'build', '.inputs'] })
    expect(await groups(ws, { path: 'a.tf' })).toEqual({ object: ['variable "region"', '.default'], key: ['key'] })
  })
  it('serves contract, component and hardware languages by tree-sitter', async () => {
    await using ws = await bootKernel({
      files: {
        'a.sol':
          'import "./b.sol";\nlibrary L { function f() internal {} }\nenum E { A }\nuint constant MAX = 1;\ncontract Token is I {\n  uint256 public total;\n  event Sent(address a);\n  constructor() {}\n  function g() external {}\n}\n',
        'a.zig':
          'const std = @import("std");\npub const Point = struct {\n  x: i32,\n  pub fn len(self: Point) i32 { return self.x; }\n};\nconst E = enum { a };\nvar counter: u32 = 0;\nfn hidden() void {}\npub fn main() !void {}\n',
        'a.vue':
          '<template>\n  <div id="app">é</div>\n</template>\n<script setup lang="ts">\nimport { ref } from "vue"\nconst a = ref(1)\nfunction go() {}\n</script>\n<script>\nexport const b = 2\n</script>\n<style scoped>.a { color: red }</style>\n',
        'a.svelte':
          '<script lang="ts">\n  import { ref } from "x"\n  export let name: string = "é"\n  function go(a: number): void {}\n</script>\n\n{#if name.length < 3 && name}\n  <p id="app" on:click={() => go(1)}>Hello {name}!</p>\n{:else}\n  <Other {name} />\n{/if}\n{#each [1] as one (one)}<li>{one}</li>{/each}\n\n<style>p { color: red }</style>\n',
      },
    })
    expect(await groups(ws, { path: 'a.sol' })).toEqual({
      module: ['L', '.f'],
      enum: ['E', '.A'],
      constant: ['MAX'],
      class: ['Token', '.total', '.Sent', '.constructor', '.g'],
    })
    expect(await groups(ws, { path: 'a.zig', items: 'structure' })).toEqual({
      struct: ['Point', '.x', '.len'],
      enum: ['E', '.a'],
      variable: ['counter'],
      function: ['hidden', 'main'],
    })
    expect(await groups(ws, { path: 'a.zig', items: 'exports' })).toEqual({
      struct: ['Point', '.x', '.len'],
      function: ['main'],
    })
    const items = (await outline(ws, { path: 'a.vue', view: 'full' })).files[0].items.map(
      ({ name, line_number }: any) => [name, line_number],
    )
    expect(items).toEqual([
      ['template', 1],
      ['script', 4],
      ['a', 6],
      ['go', 7],
      ['script', 9],
      ['b', 10],
      ['style', 12],
    ])
    const svelte = (await outline(ws, { path: 'a.svelte', view: 'full' })).files[0].items.map(
      ({ name, line_number }: any) => [name, line_number],
    )
    expect(svelte).toEqual(
      expect.arrayContaining([
        ['script', 1],
        ['name', 3],
        ['go', 4],
        ['style', 14],
      ]),
    )
  })
  it('names an unsupported language in a notice', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await outline(ws, { path: 'notes.sql' })).toMatchObject({
      files: [],
      truncated: false,
      notices: ['VT_OUTLINE_UNSUPPORTED'],
    })
    expect(await outline(ws, { path: 'plain.txt' })).toMatchObject({ files: [], notices: ['VT_OUTLINE_UNSUPPORTED'] })
  })
  it('refuses an unsupported language and names the supported ones', async () => {
    await using ws = await bootKernel()
    for (const lang of ['sql', 'graphql', 'protobuf', 'dockerfile', 'ocaml']) {
      const refused = await ws.call('unified_search', { action: 'outline', lang })
      expect(refused, lang).toMatchObject({
        ok: false,
        error: {
          code: 'VT_SEARCH_ENGINE_MISSING',
          message: expect.stringMatching(new RegExp(`'${lang}'.*known: typescript .*solidity.*vue zig`)),
        },
      })
    }
    expect(await ws.call('unified_search', { action: 'outline', lang: 'klingon' })).toMatchObject({
      ok: false,
      error: { code: 'VT_SEARCH_ENGINE_MISSING', message: expect.stringMatching(/klingon.*typescript.*lua/) },
    })
  })
  it('names a language whose grammar cannot be loaded and outlines the others', async () => {
    await using ws = await bootKernel({
      files: { 'a.hcl': 'a = 1\n', 'a.lua': 'function f() end\n', 'a.nix': '{ a = 1; }\n', 'a.toml': 'k = 1\n' },
    })
    // A copy of the program in which one grammar is cut short, one is something else and one is gone.
    const root = join(import.meta.dirname, '../../..')
    for (const name of ['dist', 'package.json'])
      cpSync(join(root, name), join(ws.home, 'copy', name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(ws.home, 'copy/node_modules'))
    const grammars = join(ws.home, 'copy/dist/plugins/unified_search/outline_tree_sitter')
    truncateSync(join(grammars, 'hcl.wasm.br'), 5_000)
    writeFileSync(join(grammars, 'nix.wasm.br'), brotliCompressSync('no wasm'))
    rmSync(join(grammars, 'toml.wasm.br'))
    for (const program of [undefined, '/nonexistent/ast-grep']) {
      const env = { PATH: process.env['PATH'], HOME: ws.home, ...(program && { VTCODE_AST_GREP_BIN: program }) }
      const call = (path: string) => {
        const { stdout } = spawnSync(
          process.execPath,
          [
            join(ws.home, 'copy/dist/core/bin.js'),
            'call',
            '--workspace',
            ws.root,
            'unified_search',
            '--input',
            JSON.stringify({ action: 'outline', path, items: 'all' }),
          ],
          { env, encoding: 'utf8' },
        )
        return JSON.parse(stdout)
      }
      expect(call('.')).toMatchObject({
        ok: true,
        output: { files: [{ path: 'a.lua' }] },
        notices: [{ code: 'VT_OUTLINE_UNSUPPORTED', message: expect.stringMatching(/Hcl.*Nix.*Toml/i) }],
      })
    }
  })
  it('ends a parse that takes too long, blocks no other work and still outlines the other files', async () => {
    await using ws = await bootKernel({
      timeouts: { parse: PARSE_LIMIT_MS },
      files: { 'a.html': longPage, 'b.lua': 'function f() end\n', 'c.json': '{"key": 1}' },
    })
    let turns = 0
    const ticking = setInterval(() => turns++, 10)
    try {
      expect(await ws.call('unified_search', { action: 'outline', path: 'a.html' })).toMatchObject({
        ok: false,
        error: { code: 'VT_INPUT_TOO_LARGE', hint: expect.stringContaining('grep'), retryable: false },
      })
      expect(turns).toBeGreaterThan(2)
      expect(await outline(ws, { items: 'all' })).toMatchObject({
        files: [{ path: 'b.lua' }, { path: 'c.json' }],
        notices: ['VT_SEARCH_SKIPPED'],
      })
    } finally {
      clearInterval(ticking)
    }
  })
  it('stops a parse when its call is aborted', async () => {
    await using ws = await bootKernel({ files: { 'a.html': longPage, 'b.lua': 'function f() end\n' } })
    const abort = new AbortController()
    const call = ws.call('unified_search', { action: 'outline', path: 'a.html' }, { signal: abort.signal })
    setTimeout(() => abort.abort(), 50)
    expect(await call).toMatchObject({ ok: false, error: { code: 'VT_CALL_ABORTED' } })
    expect(await groups(ws, { path: 'b.lua' })).toEqual({ function: ['f'] })
  })
  it('counts bytes and code points correctly on one long line full of accents', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `é😀${'x'.repeat(index % 7)}${index}`)
    const text = `{${names.map((name) => `"${name}":1`).join(',')}}`
    await using ws = await bootKernel({ files: { 'a.json': text } })
    const [{ items }] = (await outline(ws, { path: 'a.json', view: 'full' })).files
    expect(items.map((item: any) => item.name)).toEqual(names)
    for (const {
      range: { byteOffset, start, end },
      name,
    } of items) {
      expect(Buffer.from(text).subarray(byteOffset.start, byteOffset.end).toString()).toBe(`"${name}":1`)
      expect(Array.from(text).slice(start.column, end.column).join('')).toBe(`"${name}":1`)
    }
  })
  it('serves its own languages when ast-grep is missing', async () => {
    process.env['VTCODE_AST_GREP_BIN'] = '/nonexistent/ast-grep'
    await using ws = await bootKernel({ files: { ...project, 'k.kt': 'fun f() {}\n' } })
    expect(await outline(ws, {})).toMatchObject({
      backend: 'tree-sitter',
      notices: ['VT_SEARCH_FALLBACK', 'VT_OUTLINE_UNSUPPORTED'],
    })
    expect(await ws.call('unified_search', { action: 'outline', path: 'k.kt' })).toMatchObject({
      ok: false,
      error: { code: 'VT_SEARCH_ENGINE_MISSING' },
    })
  })
})
