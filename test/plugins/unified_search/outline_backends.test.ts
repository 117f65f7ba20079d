import { chmodSync, cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'

afterEach(() => {
  delete process.env['VTCODE_AST_GREP_BIN']
})

type File = { path: string; lang: string; items: { name: string; isExported: boolean }[] }
const outline = async (ws: Booted, input: object): Promise<any> => ws.call('unified_search', { action: 'outline', view: 'full', response_format: 'detailed', max_results: 2000, ...input })
const fallback = [expect.objectContaining({ code: 'VT_SEARCH_FALLBACK', message: expect.stringContaining('tree-sitter outlined') })]

/** Another program in the place of ast-grep. */
function program(ws: Booted, body: string): void {
  const file = join(ws.home, 'ast-grep')
  writeFileSync(file, `#!/bin/bash\n${body}\n`)
  chmodSync(file, 0o755)
  process.env['VTCODE_AST_GREP_BIN'] = file
}

const at = (line: number, column = 0) => ({ line, column })
const sane = { role: 'item', symbolType: 'function', name: 'x', astKind: 'function_declaration', isExported: true, range: { byteOffset: { start: 0, end: 4 }, start: at(0), end: at(0, 4) } }
/** Items that no file of 29 bytes has. */
const absurd: Record<string, object> = {
  'no range': { ...sane, range: undefined },
  'half a range': { ...sane, range: { start: at(0) } },
  'a range of nothing': { ...sane, range: null },
  'lines that no file has': { ...sane, range: { ...sane.range, end: at(1e12) } },
  'lines before the first': { ...sane, range: { ...sane.range, start: at(-1) } },
  'an end before the start': { ...sane, range: { ...sane.range, byteOffset: { start: 4, end: 0 } } },
  'bytes behind the end': { ...sane, range: { ...sane.range, byteOffset: { start: 0, end: 1e6 } } },
  'a number as a name': { ...sane, name: 1 },
  'members without a range': { ...sane, members: [{ role: 'member', symbolType: 'method', name: 'y' }] },
  'members that are none': { ...sane, members: 'y' },
}

describe('an ast-grep', () => {
  it.each([
    ['that knows no outline', 'echo "error: unrecognized subcommand" >&2; exit 2'],
    ['that is killed', 'kill -9 $$'],
    ['that is killed after a part of its answer', 'printf \'{"path":"x\'; kill -SEGV $$'],
    ['that prints nonsense', 'echo "<html>nothing of the kind</html>"'],
    ['that prints other records', 'echo \'{"path":1,"items":{}}\''],
    ['that says nothing', 'exit 0'],
    ...Object.entries(absurd).map(([what, item]) => [`whose items have ${what}`, `for one in "$@"; do [ -f "$one" ] && printf '{"path":"%s","items":[%s]}\\n' "$one" '${JSON.stringify(item)}'; done; exit 0`]),
  ])('%s is never "No symbols": tree-sitter answers, and it is said', async (_, body) => {
    await using ws = await bootKernel({ files: { 'src/a.ts': 'export function hello() {}\n' } })
    program(ws, body)
    for (const path of ['src/a.ts', 'src']) {
      expect(await outline(ws, { path })).toMatchObject({ ok: true, output: { backend: 'tree-sitter', files: [{ path: 'src/a.ts', items: [{ name: 'hello' }] }] }, notices: fallback })
    }
  })
  it('that is not there leaves twelve of its languages to tree-sitter', async () => {
    await using ws = await bootKernel({ files: samples() })
    process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
    const result = await outline(ws, { path: '.', items: 'structure' })
    expect(result).toMatchObject({ ok: true, output: { backend: 'tree-sitter' }, notices: fallback })
    expect(new Set(result.output.files.map(({ lang }: File) => lang))).toEqual(new Set(['C', 'Cpp', 'CSharp', 'Go', 'Java', 'JavaScript', 'Php', 'Python', 'Ruby', 'Rust', 'TypeScript', 'Tsx']))
  })
})

/** A file for each language, with what its outline has to tell apart. */
function samples(): Record<string, string> {
  const folder = new URL('../../fixtures/outline/', import.meta.url)
  return Object.fromEntries(readdirSync(folder).map((name) => [name.replace(/\.txt$/, ''), readFileSync(new URL(name, folder), 'utf8')]))
}

it('both engines name the same: 99 of 100 names of ast-grep are found by tree-sitter, of samples in twelve languages and of published packages', async () => {
  await using ws = await bootKernel({ files: samples() })
  for (const name of ['ajv/lib', 'zod/src', 'yaml/dist', 'tapable/lib', 'picomatch/lib']) cpSync(new URL(`../../../node_modules/${name}`, import.meta.url), join(ws.root, name), { recursive: true, filter: (path) => !/(tests|benchmarks)$/.test(path) })
  const folders = ['.', 'ajv/lib', 'zod/src', 'yaml/dist', 'tapable/lib', 'picomatch/lib']
  const named = async (): Promise<Map<string, string[]>> => {
    const found = new Map<string, string[]>()
    for (const path of folders) {
      const { output } = await outline(ws, { path, items: 'structure' })
      for (const file of output.files as File[]) if (!['Json', 'Markdown'].includes(file.lang)) found.set(file.path, file.items.map(({ name }) => name))
    }
    return found
  }
  const byProgram = await named()
  process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'gone')
  const byParser = await named()
  const lost: string[] = []
  let names = 0
  for (const [path, theirs] of byProgram) {
    // What the caps of one answer left out of the other is no disagreement.
    const ours = byParser.get(path)
    if (!ours) continue
    const left = [...ours]
    // ast-grep calls `export { a }` a module of the name exports.
    for (const name of theirs.filter((one) => one !== 'exports')) {
      names++
      const at = left.indexOf(name)
      if (at < 0) lost.push(`${path}: ${name}`)
      else left.splice(at, 1)
    }
  }
  expect(names).toBeGreaterThan(500)
  expect(lost.length / names, lost.slice(0, 20).join('\n')).toBeLessThan(0.01)
}, 120_000)

it('a directory of CommonJS modules shows what its files hold', async () => {
  await using ws = await bootKernel({ files: { 'lib/a.js': "'use strict'\nfunction build() {}\nmodule.exports = { build }\n", 'lib/b.mjs': 'export function shown() {}\nfunction hidden() {}\n' } })
  const result = await ws.call('unified_search', { action: 'outline', path: 'lib' })
  expect(result).toMatchObject({ ok: true, text: expect.stringMatching(/build[\s\S]*shown/) })
  expect((result as any).text).not.toContain('hidden')
})
