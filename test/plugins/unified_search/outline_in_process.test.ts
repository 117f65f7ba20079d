import { cpSync, existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parse } from '@ast-grep/napi'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'

afterEach(() => {
  delete process.env['VTCODE_AST_GREP_BIN']
})

const outline = async (ws: Booted, input: object): Promise<any> =>
  ws.call('unified_search', {
    action: 'outline',
    view: 'full',
    items: 'all',
    response_format: 'detailed',
    max_results: 2000,
    ...input,
  })

/** Returns the outlines made in this process and those made by a named program, which bypasses the library. */
async function bothWays(ws: Booted, path: string): Promise<[any[], any[]]> {
  const inProcess = await outline(ws, { path })
  // A new name avoids the cached outline.
  const program = join(ws.home, 'ast-grep')
  if (!existsSync(program))
    symlinkSync(createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath(), program)
  process.env['VTCODE_AST_GREP_BIN'] = program
  const named = await outline(ws, { path })
  delete process.env['VTCODE_AST_GREP_BIN']
  expect([inProcess.ok, named.ok]).toEqual([true, true])
  return [inProcess.output.files, named.output.files]
}

const typed = `#!/usr/bin/env node
import a, { b as c } from "./a.js"; import type { T } from '../t.js'
import fs = require('fs')
export * from 'x'; export * as y from "y"
export { a, c as d }; export type { T }; export {}
export { a as e }
export default function main() { function inner() {} }
export = a
/** Said of it. */
export interface Shape<T extends { nested: number } = { nested: 1 }> extends Base<{ mixed: string }> {
  readonly area: number; get name(): string; set name(value: string)
  'quoted-name'?: { inner: boolean; deep(): void }
  [index: string]: unknown
  (call: { option: boolean }): void
  new (made: string): Shape
  draw<K>(this: Shape, how?: { color: string }): void
  readonly: boolean; static: 1; async: 2; get: 3; é: number
}
interface Base<T> { base: T }
export type Alias<T> = { [K in keyof T]: T[K] } & { own: string }
type Local = 'é' | "😀"
export enum Level { Low = 1, High = Math.max(Level.Low, 2), 'quoted' = 3, Last }
declare enum Ambient { One }
const enum Small { A }
@decorated({ option() {} }) export class Big<T> extends mixin({ helper() {}, field: 1 })<T> implements Shape {
  #secret = 1; static shared?: string; declare told: number; readonly [Symbol.iterator] = 1
  private constructor(private readonly given: string) { super() }
  public async *run<T>(a: T): AsyncGenerator<T> { const o = { method() {}, get value() { return 1 } }; class Inner { hidden() {} } }
  protected get size() { return 1 }
  private set size(value) {}
  static { const o = { inStatic() {} } }
  abstract
  static
  plain = () => { function deep() {} }
  'quoted'() {} 123() {} async() {} static() {} override toString() { return '' }
  accessor both = 1
  @log() decorated(@param x: string) {}
}
class Plain { constructor(a = { m() {} }) {} }
class Other { constructor(); constructor(a?: string) {} }
export default class {}
export abstract class Abstract { abstract area(): number; protected abstract name: string; run() { function local() {} } }
abstract class Hidden { private constructor() { super() } }
export const one = 1; export const two: number = 2;
export const three = 3
export let four = 4; export let five: string = '5';
export let six: string; export var seven = 7
export const { eight, nine: ten, ...rest } = one;
export const [first, , { second = 2 }] = [], last = 1;
export const fn = () => { class InFunction { m() {} } }
export const long = {
  method() { function inMethod() {} },
};
const plain = 1, arrow = async (x) => x, typed: Map<string, number> = new Map(), { taken, apart }: T = one, fnExpr = function () { function inExpr() {} }
let later: string, counter = 1, pair: [number] = [1], definitely!: string
var old = function () { function inOld() {} }
const { a1, b1 } = (() => { function inPattern() {} })()
if (one) { function inBranch() {} const notTop = 1; interface InBranch { x: 1 } }
describe('é 😀', () => { function helper() {} class Test { m() {} } })
namespace Space.Deep { export const inner = 1; export function f() {} }
export namespace Shown { export interface I { x: 1 } }
declare namespace Told { function g(): void }
declare module 'mod-é' { export function m(): void; interface InModule { x: 1 } }
declare module Old { const x: 1 }
declare global { interface Window { own: string } export function inGlobal(): void }
export declare namespace Both { const x: 1 }
export declare function declared(a: string): void
export declare const value: number, other: string
export declare class DeclaredClass { run(): void; static x: number }
declare function bare(): void; declare let told: string
export function over(a: string): void; export function over(a: unknown): void {}
export async function* generated() {} function* notNamed() {}
export async function waits() {}
@Late({ x: 1 })
export class Late { @dec
  below: string
  readonly
    field = 1
  async
  method() {}
}
export {
  "./x.js" as quoted,
} from "./x.js"; export {
  one,
  two };
export function
  below
  (a: string) {}
export interface
  Spread { x: 1 }
label: for (;;) { class InLoop {} }
`
const plain = `import './side.js'
export { a, b }; export { c } from './c.js'
export { d }
export default class Shown { static x = 1; #y = 2; constructor() {} get z() { return 1 } #run() {} static async *gen() {} 'q'() {} [k]() {} [\`t\`] = 1 }
class Top extends mix({ inMix() {} }) { constructor(a) { super({ inSuper() {} }) } field = { inField() {} } }
function top() { function inner() {} class Inner {} }
if (x) { function inBranch() {} class InBranch {} }
export const one = 1;
export const two = 2
export let three = () => {};
export const { four, five: [six] } = one
export var seven = 7, eight
const nine = 9, ten = () => {}, { eleven } = one, twelve = class { m() {} }
let thirteen, fourteen = 14
var fifteen = 15
function* generated() {}
export function* shown() {}
export async function waits() {}
export default function () {}
module.exports = { method() {} }
`
const jsx =
  'export const View = ({ a }: Props) => <div onClick={() => { function inJsx() {} }}>{a}</div>;\nexport function Other() { return <View a="é" /> }\nexport class Part extends React.Component<{ a: 1 }> { render() { return <p>{this.x}</p> } state = {} }\nconst T = <T,>(x: T) => x\n'
const page = `<!doctype html>\n<html id="root">\n<body ID="not" class=x><p id='é 😀  two' id=bare>a <b id=inner>c</b></p><br id="void"><div id=""></div><p id=x id="quoted">\n</p>
<script id="code">let a = '<p id="no">'</script><script id=bare2></script><style id="look">.a { }</style><img id="closed" /></body>\n</html>\n`
const styles = `@import "x"; :root { --a: 1 }\n.a, #b > p:hover { color: red; &:focus { x: y } @media (x) { .inRule { a: b } } }\n@media (min-width: 1px) {\n  .é { a: b }\n  @supports (display: grid) { .deep, .two { c: d } }\n}
@supports (a: b) { .s { c: d } }\n@keyframes turn { from { a: b } to { c: d } }\n@layer base { .layered { a: b } @media print { .lost { a: b } } }\n@font-face { font-family: "x" }\n`

it('outlines scripts, pages and style sheets in process like ast-grep and tree-sitter, in every range and member', async () => {
  const folder = new URL('../../fixtures/outline/', import.meta.url)
  const samples = Object.fromEntries(
    readdirSync(folder).map((name) => [
      `samples/${name.replace(/\.txt$/, '')}`,
      readFileSync(new URL(name, folder), 'utf8'),
    ]),
  )
  await using ws = await bootKernel({
    files: {
      ...samples,
      'a.ts': typed,
      'crlf.ts': typed.replaceAll('\n', '\r\n'),
      'b.js': plain,
      'c.tsx': jsx,
      'd.html': page,
      'e.css': styles,
      'f.html': '<p id="open">\n<li id=a><li id=b>\n',
      'bom.ts': '\ufeffexport const a = 1\n',
      'bom.css': '\ufeff.a { b: c }\n',
      'empty.ts': '',
      'empty.css': '',
    },
  })
  // Only files that parse are outlined in this process.
  for (const [lang, text] of [
    ['TypeScript', typed],
    ['JavaScript', plain],
    ['Tsx', jsx],
    ['Html', page],
    ['Css', styles],
  ] as const)
    expect(
      parse(lang, text)
        .root()
        .find({ rule: { kind: 'ERROR' } })
        ?.text() ?? '',
      lang,
    ).toBe('')
  const [inProcess, named] = await bothWays(ws, '.')
  expect(inProcess.map(({ path }) => path)).toEqual(named.map(({ path }) => path))
  for (const [index, file] of inProcess.entries()) expect(file, file.path).toEqual(named[index])
  expect(inProcess.find(({ path }) => path === 'a.ts').items.length).toBeGreaterThan(60)
})

it('outlines scripts in a larger directory, which the program reads, as in process', async () => {
  const scripts = { 'a.ts': typed, 'b.js': plain, 'c.tsx': jsx }
  const padding = `/*${' '.repeat(120_000)}*/`
  const more = Array.from({ length: 3 }, (_, at) => [`z${at}.ts`, `${padding}\nexport const z${at} = 1\n`])
  await using small = await bootKernel({ files: scripts })
  await using large = await bootKernel({ files: { ...scripts, 'o.md': '# +1\n', ...Object.fromEntries(more) } })
  const { output: inProcess } = await outline(small, { path: '.' })
  const { output: byProgram } = await outline(large, { path: '.' })
  for (const [index, file] of inProcess.files.entries()) expect(byProgram.files[index], file.path).toEqual(file)
  // The marker of the built-in rules has no meaning in other languages.
  expect(byProgram.files[3].items[0].name).toBe('+1')
})

it('lists each name of a destructured value at its own line, without the rest of the statement', async () => {
  const names = Array.from({ length: 2_000 }, (_, at) => `name${at}`)
  await using ws = await bootKernel({ files: { 'a.ts': `export const {\n${names.join(',\n')}\n} = value\n` } })
  const { items } = (await outline(ws, { path: 'a.ts' })).output.files[0]
  const expected = names.map((name, at) => [name, name, at + 2])
  expect(items.map((item: any) => [item.name, item.signature, item.line_number])).toEqual(expected)
})

it.each(['ajv/lib', 'commander/lib', 'vite/types', ...rounds<string[]>([], ['zod/src/v4/core', 'undici/lib'])])(
  'outlines published sources, %s, in process like the program',
  async (name) => {
    await using ws = await bootKernel()
    cpSync(join(import.meta.dirname, '../../../node_modules', name), join(ws.root, 'lib'), { recursive: true })
    const [inProcess, named] = await bothWays(ws, 'lib')
    expect(inProcess.length).toBeGreaterThan(5)
    for (const [index, file] of inProcess.entries()) expect(file, file.path).toEqual(named[index])
  },
)

it('names default exports without a name, and entries of an export list that are renamed', async () => {
  await using ws = await bootKernel({
    files: {
      'a.ts': 'export default class {\n  run(): void {}\n}\nconst x = 1\nexport { x as y }\n',
      'b.ts': 'export default function () {}\n',
      'c.js': 'export default () => 1\nexport { a as b } from "a"\n',
      'd.mjs': 'export default function* () {}\n',
    },
  })
  const [inProcess, named] = await bothWays(ws, '.')
  expect(inProcess).toEqual(named)
  const names = inProcess.map(({ items }) =>
    items.map(({ kind, name, members }: any) => [kind, name, ...members.map((member: any) => member.name)]),
  )
  expect(names).toEqual([
    [
      ['class', 'default', 'run'],
      ['constant', 'x'],
      ['constant', 'y'],
    ],
    [['function', 'default']],
    [
      ['function', 'default'],
      ['module', '"a"'],
    ],
    [['function', 'default']],
  ])
})

it('leaves files that do not parse, are not text or are large to the program and the parser', async () => {
  const large = Array.from({ length: 9_000 }, (_, at) => `export function name${at}(): void {}`).join('\n')
  await using ws = await bootKernel({
    files: {
      'bad.ts': 'class A {}\nfunction ( {{{\nclass B {}\n',
      'large.ts': large,
      'good.ts': 'export const a = 1\n',
      'bad.css': '.a { b: c }\n}}} .d {\n',
      'deep.html': '<div>'.repeat(700),
    },
  })
  writeFileSync(join(ws.root, 'bytes.ts'), Buffer.from('export const \xe9 = 1\n', 'latin1'))
  const [inProcess, named] = await bothWays(ws, '.')
  expect(inProcess).toEqual(named)
  expect(inProcess.map(({ path }) => path)).toEqual(['bad.css', 'bad.ts', 'good.ts'])
  const [[whole], [other]] = await bothWays(ws, 'large.ts')
  expect(whole).toEqual(other)
  expect(whole.items.length).toBeGreaterThan(1_000)
})

it('leaves deeply nested files to the program: patterns, style rules, one line of many members', async () => {
  const deep = `export const ${'['.repeat(500)}b${']'.repeat(500)} = x\n`
  const line = `class A {${Array.from({ length: 2000 }, (_, at) => `m${at}() {};`).join('')}}`
  await using ws = await bootKernel({
    files: {
      'deep.ts': `${deep}export const c = 1\n`,
      'deep.css': `${'@media x{a{}'.repeat(400)}${'}'.repeat(400)}`,
      'line.js': line,
    },
  })
  expect(await outline(ws, { path: 'deep.ts' })).toMatchObject({ ok: true, output: { backend: 'ast-grep' } })
  expect(await outline(ws, { path: 'deep.css' })).toMatchObject({
    ok: true,
    output: { backend: 'tree-sitter', files: [{ items: [{ name: '@media x' }] }] },
  })
  expect((await outline(ws, { path: 'line.js' })).output.files[0].items[0].members).toHaveLength(2000)
})

it('keeps only the outline of a page in memory, not the text of its elements', async () => {
  const page = `${Array.from({ length: 20 }, (_, at) => `<div id="section-number-${at}">\n`).join('')}${'<p>some words</p>\n'.repeat(1500)}${'</div>\n'.repeat(20)}`
  await using ws = await bootKernel({
    files: Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`pages/${at}.html`, page.replace('words', `words ${at}`)]),
    ),
  })
  const used = (): number => {
    setFlagsFromString('--expose-gc')
    ;(runInNewContext('globalThis.gc') as () => void)()
    setFlagsFromString('--no-expose-gc')
    return process.memoryUsage().heapUsed
  }
  await outline(ws, { path: 'pages/0.html' })
  const before = used()
  expect((await outline(ws, { path: 'pages', view: 'names' })).output.files).toHaveLength(60)
  // The texts of the elements would be 30 MB.
  expect(used() - before).toBeLessThan(10_000_000)
})

it('stops the outline of a directory at the answer limit and continues at next', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 500 }, (_, at) => [
      `d${Math.floor(at / 100)}/m${String(at).padStart(3, '0')}.${at % 7 === 0 ? 'py' : 'ts'}`,
      Array.from({ length: 9 }, (_, item) =>
        at % 7 === 0 ? `def f${at}_${item}(): pass\n` : `export function f${at}_${item}() {}\n`,
      ).join(''),
    ]),
  )
  await using ws = await bootKernel({ files })
  const first = await outline(ws, { path: '.', view: 'names' })
  expect(first).toMatchObject({ ok: true, output: { truncated: true, next: { input: { path: 'd3' } } } })
  expect(first.output.files).toHaveLength(223)
  expect((await outline(ws, { path: 'd3', view: 'names' })).output.files[0].path).toBe('d3/m300.ts')
})

it('outlines a directory with more files than one batch whole, each file once and in order', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`m${String(at).padStart(4, '0')}.ts`, `export const name${at} = 1\n`]),
  )
  await using ws = await bootKernel({ files })
  for (let round = 0; round < 2; round++) {
    const { output } = await outline(ws, { path: '.', items: 'auto', view: 'names' })
    expect(output.files.map(({ path, groups }: any) => [path, groups[0].names])).toEqual(
      Object.keys(files).map((path, at) => [path, [`name${at}`]]),
    )
    expect(output).toMatchObject({ truncated: false, total_symbols: 1_000 })
  }
})
