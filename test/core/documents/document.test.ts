import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { limits, parseData, readBytes } from '../../../build/core/documents/index.js'
import { loadDocument } from '../../../build/core/documents/index.js'
import { fc } from '../../support/property.js'

const parse = async (text: string | Uint8Array, file = 'x.yaml') =>
  parseData(typeof text === 'string' ? Buffer.from(text) : text, file)
const value = async (text: string, file?: string) => (await parse(text, file)).value
const failure = async (text: string | Uint8Array, file?: string) => {
  const error = await parse(text, file).then(
    () => undefined,
    (error) => error,
  )
  return [error?.code, error?.problem.message, error?.problem.details.files[0]]
}

describe('YAML documents', () => {
  it('reads YAML 1.2 where YAML 1.1 surprises', async () => {
    expect(await value('a: no\nb: on\nc: 2024-01-01\nd: 1_000\ne: 010\nf: 0x10\ng: ~\nh: 1:30')).toEqual({
      a: 'no',
      b: 'on',
      c: '2024-01-01',
      d: '1_000',
      e: 10,
      f: 16,
      g: null,
      h: '1:30',
    })
  })
  it('treats << as an ordinary key', async () => {
    expect(await value('base: &b { x: 1 }\nuse: { <<: *b }')).toEqual({ base: { x: 1 }, use: { '<<': { x: 1 } } })
  })
  it('follows aliases and freezes the whole result', async () => {
    const { list, more } = (await value('list: &a [1, [2]]\nmore: *a')) as Record<string, unknown[]>
    expect(more).toEqual([1, [2]])
    expect([list, list![1], more].every(Object.isFrozen)).toBe(true)
  })
  it('reads an empty YAML document as null', async () => {
    expect(await value('')).toBe(null)
    expect(await value('# nothing\n')).toBe(null)
  })
  it('drops a byte order mark', async () => {
    expect(await value('\ufeffa: 1')).toEqual({ a: 1 })
  })

  const invalid: [title: string, text: string, place: string][] = [
    ['a duplicate key', 'a: 1\nb: 2\na: 3', ':3:1'],
    ['a second document', 'a: 1\n---\nb: 2', ':2:1'],
    ['a tag that is not of the core schema', 'a: 1\nb: !!binary aGk=', ':2:4'],
    ['a tag of somebody', 'a: !exec x', ':1:4'],
    ['a key that is a number', '1: x', ':1:1'],
    ['a key that is a list', '? [a, b]\n: x', ':1:3'],
    ['infinity', 'a: [1, .inf]', ':1:8'],
    ['not a number', 'a: .nan', ':1:4'],
    ['an unquoted colon', 'description: a: b', ':1:14'],
    ['YAML 1.1', '%YAML 1.1\n---\na: no', ':1:1'],
    ['an unknown alias', 'a: *nobody', ':1:4'],
    ['__proto__', 'a:\n  __proto__: { x: 1 }', ':2:3'],
    ['constructor', '{ "constructor": 1 }', ':1:3'],
    ['prototype', 'prototype: 1', ':1:1'],
    ['an open bracket', 'a: [1', ':1:6'],
  ]
  it.each(invalid)('refuses %s, naming the place', async (_, text, place) => {
    expect(await failure(text)).toEqual(['VT_MANIFEST_INVALID', expect.any(String), `x.yaml${place}`])
  })

  const repeated = `a: &a [${Array(400).fill('x').join()}]\nb: [${Array(limits.aliases).fill('*a').join()}]`
  const excessive: [title: string, text: string | Uint8Array][] = [
    ['more than 256 KiB', `a: ${'x'.repeat(limits.bytes)}`],
    ['a list nested one level too deep', '['.repeat(limits.flow + 1)],
    ['an object nested one level too deep', '{"a":'.repeat(limits.flow + 1)],
    ['one dash too many on a line', '- '.repeat(limits.indent / 2 + 1)],
    ['one question mark too many on a line', '? '.repeat(limits.indent / 2 + 1)],
    ['blocks deeper than 200 columns', Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['values nested more than 32 deep', `a: ${'['.repeat(40)}${']'.repeat(40)}`],
    ['more than 20,000 values by aliases', repeated],
    ['more than 64 aliases', `a: &a x\nb: [${Array(65).fill('*a').join()}]`],
    ['an alias of what contains it', 'a: &a [*a]'],
    ['more than 20,000 values', `[${Array(20_001).fill(1).join()}]`],
    ['a text of more than 64 Ki characters', `a: ${'x'.repeat(limits.text + 1)}`],
    ['bytes that are not UTF-8', Uint8Array.of(0x61, 0x3a, 0x20, 0xff)],
    ['a NUL', 'a: "b\0c"'],
  ]
  it.each(excessive)('refuses %s quickly', async (_, text) => {
    const begun = Date.now()
    expect((await failure(text))[0]).toBe('VT_MANIFEST_LIMIT')
    expect(Date.now() - begun).toBeLessThan(15000)
  })
})

describe('JSON documents', () => {
  it('reads JSON as JSON.parse does', async () => {
    const text = fc.json({ maxDepth: 5 })
    await fc.assert(
      fc.asyncProperty(text, async (text) => {
        fc.pre(!/"(?:__proto__|constructor|prototype)"\s*:/.test(text) && !hasTwins(text))
        expect(await value(text, 'x.json')).toEqual(JSON.parse(text))
      }),
    )
  })
  it.each([
    ['a comment', '{ # no\n"a": 1 }'],
    ['a comma at the end', '{"a": [1,]}'],
    ['single quotes', "{'a': 1}"],
    ['no quotes', '{a: 1}'],
  ])('refuses %s in JSON', async (_, text) => {
    expect((await failure(text, 'x.json'))[0]).toBe('VT_MANIFEST_INVALID')
  })
  it('accepts JSON indented with tabs', async () => {
    expect(await value('{\n\t"a": [\n\t\t1\n\t]\n}', 'x.json')).toEqual({ a: [1] })
  })
  it('finds duplicate keys in JSON', async () => {
    expect((await failure('{"a": 1, "a": 2}', 'x.json'))[0]).toBe('VT_MANIFEST_INVALID')
  })
})

/** Does some object name a key twice? JSON.parse hides it. */
const hasTwins = (text: string): boolean => {
  let keys = 0
  JSON.parse(text, (_, value) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) keys += Object.keys(value).length
    return value
  })
  return keys !== [...text.matchAll(/"(?:[^"\\]|\\.)*"\s*:/g)].length
}

it('names the place of a value, or of its nearest parent', async () => {
  const { at } = await parse('a:\n  - b: 1\n    c: 2\nd: &x { e: 3 }\nf: *x')
  expect([at([]), at(['a', 0, 'c']), at(['a', 0, 'nothing']), at(['f', 'e']), at(['nothing'])]).toEqual([
    'x.yaml:1:1',
    'x.yaml:3:5',
    'x.yaml:2:5',
    'x.yaml:4:9',
    'x.yaml:1:1',
  ])
})

describe('document files', () => {
  it('checks where the opened file is located before it reads any byte', async () => {
    await using made = await tempWorkspace({ 'kept/secret.md': 'secret\n', 'plain.md': 'plain\n' })
    symlinkSync('kept', join(made.root, 'way'))
    const judge = (place: string) => {
      if (place.includes('/kept/')) throw new Error(`kept: ${place.split('/').pop()}`)
    }
    expect(readBytes(join(made.root, 'plain.md'), { judge }).toString()).toBe('plain\n')
    expect(() => readBytes(join(made.root, 'way/secret.md'), { judge })).toThrow('kept: secret.md')
    // The link changes between the check of the path and its opening.
    const turned = () => join(made.root, 'way/secret.md')
    expect(() => readBytes(join(made.root, 'plain.md'), { judge, real: turned })).toThrow('kept: secret.md')
  })
  let space: TempWorkspace
  beforeEach(async () => {
    space = await tempWorkspace()
  })
  afterEach(() => space[Symbol.asyncDispose]())

  it('refuses a pipe without waiting', async () => {
    execFileSync('mkfifo', [join(space.root, 'pipe.yaml')])
    await expect(loadDocument(join(space.root, 'pipe.yaml'))).rejects.toMatchObject({ code: 'VT_MANIFEST_INVALID' })
    mkdirSync(join(space.root, 'folder.yaml'))
    await expect(loadDocument(join(space.root, 'folder.yaml'))).rejects.toMatchObject({ code: 'VT_MANIFEST_INVALID' })
  })
  it('follows links to files inside the folder and refuses those outside', async () => {
    await space.write('real.yaml', 'a: 1')
    writeFileSync(join(space.home, 'secret.yaml'), 'a: 2')
    symlinkSync('real.yaml', join(space.root, 'in.yaml'))
    symlinkSync(join(space.home, 'secret.yaml'), join(space.root, 'out.yaml'))
    symlinkSync(space.home, join(space.root, 'away'))
    expect((await loadDocument(join(space.root, 'in.yaml'), space.root)).value).toEqual({ a: 1 })
    await expect(loadDocument(join(space.root, 'out.yaml'), space.root)).rejects.toMatchObject({
      code: 'VT_MANIFEST_INVALID',
    })
    await expect(loadDocument(join(space.root, 'away/secret.yaml'), space.root)).rejects.toMatchObject({
      code: 'VT_MANIFEST_INVALID',
    })
  })
  it('refuses an endless file', async () => {
    await expect(loadDocument('/dev/null')).rejects.toMatchObject({ code: 'VT_MANIFEST_INVALID' })
  })
  it('keeps `$import` as an ordinary key, and reads data files of any name', async () => {
    await space.write('evil.js', 'require("fs").writeFileSync("marker", "")')
    await space.write('a.yaml', '$import: ./evil.js\na: 1')
    await space.write('package.json', '{ "name": "x" }')
    await space.write('empty.yaml', '\n')
    expect((await loadDocument(join(space.root, 'a.yaml'))).value).toEqual({ $import: './evil.js', a: 1 })
    expect((await loadDocument(join(space.root, 'package.json'))).value).toEqual({ name: 'x' })
    expect((await loadDocument(join(space.root, 'empty.yaml'))).value).toBe(null)
    await expect(loadDocument(join(space.root, 'evil.js'))).rejects.toThrow('is not data')
  })
  it('reads a changed file again', async () => {
    await space.write('a.yaml', 'a: 1')
    await loadDocument(join(space.root, 'a.yaml'))
    await space.write('a.yaml', 'a: 2')
    expect((await loadDocument(join(space.root, 'a.yaml'))).value).toEqual({ a: 2 })
  })
})

describe('start in a folder with traps for cosmiconfig', () => {
  const touch = 'require("node:fs").writeFileSync("marker", "")'
  const module = 'import fs from "node:fs"; fs.writeFileSync("marker", ""); export default {}'
  it.each<[trap: string, files: Record<string, string>]>([
    ['.config/config.js', { '.config/config.js': touch, 'package.json': '{ "type": "commonjs" }' }],
    ['.config/config.cjs', { '.config/config.cjs': touch }],
    ['.config/config.mjs', { '.config/config.mjs': module }],
    ['.config/config.ts', { '.config/config.ts': module }],
    [
      '.config/config.yaml with more places',
      { '.config/config.yaml': 'cosmiconfig: { searchPlaces: [evil.js] }', 'evil.js': touch },
    ],
    ['.config/config.json that imports', { '.config/config.json': '{ "$import": "../evil.js" }', 'evil.js': touch }],
    [
      'package.json with more places',
      {
        'package.json': '{ "cosmiconfig": { "searchPlaces": ["evil.js"] } }',
        'evil.js': touch,
      },
    ],
    [
      'a package of the program’s name',
      {
        'node_modules/vtcode/index.js': touch,
        'node_modules/yaml/index.js': touch,
        'node_modules/cosmiconfig/index.js': touch,
      },
    ],
  ])('starts without running %s', async (_, files) => {
    const space = await tempWorkspace({ 'vtcode.config.yaml': 'policy: { mode: plan }', ...files })
    expect(await start(space)).toBe(`${space.root} plan`)
    expect(await space.read('marker')).toBe(undefined)
    await space[Symbol.asyncDispose]()
  })
  it.each<[place: string, text: string, starts: boolean]>([
    ['.vtcoderc.js', touch, true],
    ['.vtcoderc.ts', module, true],
    ['vtcode.config.cjs', touch, true],
    ['.config/vtcoderc.js', touch, true],
    ['.vtcoderc', '$import: ./evil.js', false],
    ['.config/vtcoderc.json', '{ "$import": "../evil.js" }', false],
    ['package.json', '{ "$import": "./evil.js", "vtcode": { "$import": "./evil.js" } }', false],
  ])('runs no code of %s without consent', async (place, text, starts) => {
    const space = await tempWorkspace({ [place]: text, 'evil.js': touch })
    const started = start(space)
    if (starts) expect(await started).toBe(`${space.root} ask`)
    else await expect(started).rejects.toThrow("Unknown key '$import'")
    expect(await space.read('marker')).toBe(undefined)
    await space[Symbol.asyncDispose]()
  })

  async function start(space: TempWorkspace): Promise<string> {
    const script = `import { createKernel } from ${JSON.stringify(join(import.meta.dirname, '../../../dist/core/index.js'))}
      const kernel = await createKernel({ home: ${JSON.stringify(space.home)}, env: { PATH: process.env.PATH } })
      console.log(kernel.workspace, kernel.settings.policy.mode)
      await kernel.close()`
    return execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: space.root,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  }
})
