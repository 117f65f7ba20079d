import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const braces = 'function a() {\n  if (x) {\n}\nfunction b() {}\nclass C { d() {} }\n'
/** Files with a syntax error each, and names that parsed nevertheless. */
const rows: [path: string, text: string, names: string[]][] = [
  [
    'call.ts',
    'export function ok() {}\nexport function broken( {\nexport class After { m() {} }\nexport function tail() {}\n',
    ['ok'],
  ],
  [
    'merge.ts',
    'export function a() {}\n<<<<<<< HEAD\nexport function b() {}\n=======\nexport function c() {}\n>>>>>>> x\nexport class D { e() {} }\n',
    ['a', 'D'],
  ],
  ['open.py', 'def a():\n    x = (1,\n\ndef b():\n    pass\n\nclass C:\n    def d(self): pass\n', ['a', 'C']],
  ['brace.js', braces, ['b', 'C']],
  ['brace.ts', braces, ['b', 'C']],
  ['brace.tsx', braces, ['b', 'C']],
  ['brace.go', 'package main\nfunc a() {\n  if x {\n}\nfunc b() {}\ntype C struct {}\n', ['a']],
  ['Brace.java', 'class A {\n  void a() {\n    if (x) {\n  }\n  void b() {}\n}\nclass C {}\n', ['A', 'C']],
  ['brace.c', 'int a() {\n  if (x) {\n}\nint b() { return 1; }\nstruct C { int x; };\n', ['a']],
  ['brace.cpp', 'int a() {\n  if (x) {\n}\nint b() { return 1; }\nstruct C { int x; };\n', ['a']],
  ['Brace.cs', 'class A {\n  void a() {\n    if (x) {\n  }\n  void b() {}\n}\nclass C {}\n', ['C']],
  ['brace.php', '<?php\nfunction a() {\n  if ($x) {\n}\nfunction b() {}\nclass C {}\n', ['b', 'C']],
  ['brace.kt', 'fun a() {\n  if (x) {\n}\nfun b() {}\nclass C {}\n', ['b', 'C']],
  ['brace.swift', 'func a() {\n  if x {\n}\nfunc b() {}\nclass C {}\n', ['b', 'C']],
  ['end.rb', 'def a\n  if x\n    1\nend\ndef b\nend\nclass C\nend\n', ['b', 'C']],
  ['brace.rs', 'fn a() {\n  if x {\n}\nfn b() {}\nstruct C {}\n', ['b', 'C']],
  ['open.lua', 'function a(\nend\nfunction b() end\n', ['b']],
  ['more.css', 'a { color: }}\n.b { color: red }\n', ['.b']],
]
const files: Files = Object.fromEntries(rows.map(([path, text]) => [path, text]))
const sound: Files = {
  'sound/a.ts': 'export function a(): void {}\n',
  'sound/b.py': 'def b():\n    pass\n',
  'sound/c.rs': 'fn c() {}\n',
  'sound/d.js': '',
  'sound/e.go': 'package main\nfunc e() {}\n',
}

let ws: Booted
beforeAll(async () => {
  ws = await bootKernel({ files: { ...files, ...sound } })
})
afterAll(() => ws[Symbol.asyncDispose]())

const outline = async (path: string): Promise<any> =>
  ws.call('unified_search', { action: 'outline', path, items: 'structure' })
const didNotParse = (path: string) => ({ code: 'VT_SEARCH_PARSE', message: expect.stringContaining(path) })

describe('unified_search/outline: files with syntax errors', () => {
  it.each(rows)('shows what parsed of %s, and states that it did not parse whole', async (path, _, names) => {
    const result = await outline(path)
    expect(result).toMatchObject({ ok: true, notices: expect.arrayContaining([didNotParse(path)]) })
    for (const name of names) expect(result.text).toMatch(new RegExp(`(?:^|[ ,])${name.replace('.', '\\.')}:\\d`, 'm'))
    // The second answer comes from the cache.
    expect(await outline(path)).toMatchObject({ notices: expect.arrayContaining([didNotParse(path)]) })
  })
  it('names all such files of a folder, and none that parsed', async () => {
    const { notices } = await outline('.')
    const text = notices.map(({ message }: any) => message).join('\n')
    for (const [path] of rows) expect(text).toContain(path)
    expect(text).not.toContain('sound/')
    expect(await outline('sound')).toMatchObject({ ok: true })
    expect((await outline('sound')).notices ?? []).toEqual([])
  })
})
