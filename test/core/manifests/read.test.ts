import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { compileCatalogue, readManifest } from '../../../build/core/manifests/index.js'

const repository = join(import.meta.dirname, '../../..')
let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace({ 'm.js': 'export default () => undefined', 'lib/n.mjs': '', 'typed.ts': '' })
})
afterEach(() => space[Symbol.asyncDispose]())

async function read(text: string, file = 'a.yaml') {
  await space.write(file, text)
  const reading = await readManifest(join(space.root, file), { layer: 'user', root: space.root })
  return {
    ...reading,
    said: reading.diagnostics.map(
      ({ code, message, files }) => `${code} ${message} ${files.map((at) => at.slice(space.root.length + 1))}`,
    ),
  }
}
const first = async (text: string, file?: string) => (await read(text, file)).said[0]

describe('readManifest', () => {
  it('accepts a manifest of three lines', async () => {
    const { manifest, name, kind, said } = await read('name: hello\ndescription: Say hello.\nrun: [echo, hello]')
    expect({ manifest, name, kind, said }).toEqual({
      manifest: { name: 'hello', description: 'Say hello.', run: ['echo', 'hello'] },
      name: 'hello',
      kind: 'action',
      said: [],
    })
  })
  it('accepts a manifest with every documented field', async () => {
    const { said } = await read(
      `
      $schema: urn:vtcode:schema:manifest:1
      action: demo/all
      version: 1.2.0-rc.1
      vtcode: '>=0.1'
      description: Everything.
      title: All
      requires: { bin: [git], os: [linux], node: '>=20' }
      effects: [read, exec]
      timeout_secs: 30
      concurrency: 2
      isolate: process
      dialect: [classic, omp]
      aliases: [old_name]
      options: { properties: { tags: { type: array, default: [x] } } }
      secrets: { token: { description: A token. } }
      input: { required: [path], properties: { path: { type: string, format: workspace-path, x-aliases: [file] } } }
      output: { type: object }
      detailed: ['matches/*/x']
      errors: { DEMO_GONE: { message: It is gone., hint: Look elsewhere., retryable: true } }
      infer: { synonyms: [everything], when: { required: [path] }, presets: [{ when: {}, set: { a: 1 } }] }
      example: { path: a }
      settings: [output]
      module: ./m.js
      examples: [{ title: x, input: { path: a }, expect: { ok: true } }]
      meta: { mine: true }`.replaceAll('\n      ', '\n'),
    )
    expect(said).toEqual([])
  })
  it.each([
    [
      'policy',
      'name: p\nkind: policy\nslots: ["unified_*/*", "*"]\neffects: [exec]\norder: -10\ninput: { properties: { reason: { type: string } } }\nmodule: ./m.js',
    ],
    ['compactor', 'name: c\nkind: compactor\nshrink: { head_lines: 4 }'],
    ['surface', 'name: s\nkind: surface\nverb: lines\nmodule: ./m.js'],
    ['adapter', 'name: a\nkind: adapter\nkey: run\nmodule: ./m.js'],
  ])('accepts a manifest of the kind %s', async (kind, text) => {
    expect(await read(text)).toMatchObject({ kind, said: [], manifest: { kind } })
  })

  it.each([
    [
      'a mistyped key',
      'name: a\nrun: [x]\nefects: [exec]',
      "VT_MANIFEST_INVALID Unknown key 'efects'; did you mean 'effects'? a.yaml:3:1",
    ],
    [
      'a key of another kind',
      'name: a\nkind: adapter\nkey: run\nmodule: ./m.js\nverb: x',
      /^VT_MANIFEST_INVALID Unknown key 'verb'; known: \$schema, name, .*, key, expands, module.* a\.yaml:5:1$/,
    ],
    [
      'a mistyped key further in',
      'name: a\nrun: [x]\nrequires:\n  bins: [git]',
      "VT_MANIFEST_INVALID Unknown key 'requires.bins'; did you mean 'bin'? a.yaml:4:3",
    ],
    [
      'an unknown kind',
      'name: a\nkind: toolbox',
      /^VT_MANIFEST_INVALID 'kind' is 'toolbox'; allowed: action, policy, compactor, surface, adapter, provider, language_server, job_engine, resource, prompt\. a\.yaml:2:1$/,
    ],
    ['a wrong type', 'name: a\nrun: echo hello', "VT_MANIFEST_INVALID 'run' is text; a list is needed. a.yaml:2:1"],
    ['a bad name', 'name: A b\nrun: [x]', /^VT_MANIFEST_INVALID 'name' is 'A b', which does not match .* a\.yaml:1:1$/],
    ['no name', 'description: x\nrun: [x]', 'VT_MANIFEST_INVALID One of name, action is needed. a.yaml:1:1'],
    [
      'nothing to do',
      'name: a',
      'VT_MANIFEST_INVALID One of module, run, http, mcp, alias, forwards is needed. a.yaml:1:1',
    ],
    [
      'two things to do',
      'name: a\neffects: []\nmodule: ./m.js\nrun: [x]',
      'VT_MANIFEST_INVALID module and run exclude each other. a.yaml:1:1',
    ],
    ['a module without effects', 'name: a\nmodule: ./m.js', "VT_MANIFEST_INVALID 'effects' is missing. a.yaml:1:1"],
    [
      'an unknown effect',
      'name: a\nrun: [x]\neffects: [delete]',
      /'effects\.0' is 'delete'; allowed: read, write, exec, net, ask\. a\.yaml:3:11$/,
    ],
    ['a list', '- a', 'VT_MANIFEST_INVALID The file is a list; an object is needed. a.yaml:1:1'],
    ['an empty file', '', 'VT_MANIFEST_INVALID The file is empty; an object is needed. a.yaml:1:1'],
    [
      'a later version',
      '$schema: urn:vtcode:schema:manifest:2\nname: a',
      'VT_MANIFEST_INVALID Manifest version 2 is not supported. Use version 1. a.yaml:1:1',
    ],
    ['broken YAML', 'name: a\nrun: [x', /^VT_MANIFEST_INVALID .* a\.yaml:2:8$/],
    ['too much', `name: a\nrun: [${'['.repeat(70)}`, /^VT_MANIFEST_LIMIT Nested more than 64 levels deep\. a\.yaml:2$/],
    [
      'a reference elsewhere',
      'name: a\nrun: [x]\ninput: { properties: { a: { $ref: "https://example.org/x" } } }',
      /^VT_SCHEMA_INVALID .*input refers to https:\/\/example\.org\/x; only #\/\$defs.* a\.yaml:3:1$/,
    ],
    [
      'a schema with an id',
      'name: a\nrun: [x]\noutput: { $id: x }',
      /^VT_SCHEMA_INVALID .*output has \$id.* a\.yaml:3:1$/,
    ],
    [
      'too many properties',
      `name: a\nrun: [x]\ninput: { properties: { ${Array.from({ length: 201 }, (_, i) => `p${i}: {}`)} } }`,
      /^VT_SCHEMA_INVALID .*more than 200 properties/,
    ],
  ])('refuses a manifest with %s and names file and line', async (_, text, expected) => {
    const { manifest, said } = await read(text)
    expect(manifest).toBeUndefined()
    if (typeof expected === 'string') expect(said[0]).toBe(expected)
    else expect(said[0]).toMatch(expected)
  })
  it('reports all mistakes of a manifest at once', async () => {
    expect((await read('name: A\nrun: 3\nkindd: action')).said).toHaveLength(3)
  })
  it('reads a manifest in JSON', async () => {
    expect(await first('{ "name": "a",\n  "runn": ["x"] }', 'a.json')).toMatch(/One of module, run/)
    expect((await read('{ "name": "a", "run": ["x"] }', 'a.json')).manifest).toEqual({ name: 'a', run: ['x'] })
  })
})

describe('module of a manifest', () => {
  const at = (module: string) =>
    first(`name: a\naction: x/y\nstage: override\nmodule: ${JSON.stringify(module)}`, 'sub/a.yaml')
  it.each(['../m.js', '../lib/n.mjs', '../typed.ts', '../typed.js'])('accepts the module path %s', async (module) => {
    expect(await at(module)).toBeUndefined()
  })
  it.each([
    ['../../../etc/m.js', 'leads out of the folder of its plugin'],
    ['/etc/m.js', 'is an absolute path'],
    ['C:\\m.js', 'is an absolute path'],
    ['\\\\host\\m.js', 'is an absolute path'],
    ['file:///etc/m.js', 'is a URL'],
    ['data:text/javascript,0', 'is a URL'],
    ['https://example.org/m.js', 'is a URL'],
    ['node:fs', 'is a URL'],
    ['../m', 'is not a JavaScript or TypeScript file'],
    ['../m.json', 'is not a JavaScript or TypeScript file'],
    ['./gone.js', 'does not exist'],
    ['../folder.js', 'does not exist'],
    ['../link.js', 'is a link out of the folder of its plugin'],
  ])('refuses the module path %s', async (module, why) => {
    writeFileSync(join(space.home, 'evil.js'), '')
    symlinkSync(join(space.home, 'evil.js'), join(space.root, 'link.js'))
    mkdirSync(join(space.root, 'folder.js'))
    expect(await at(module)).toBe(`VT_MANIFEST_PATH The module '${module}' ${why}. sub/a.yaml:4:1`)
  })
})

it('strips invisible characters from texts for models, reports that, and keeps other texts', async () => {
  const { manifest, said } = await read(
    'name: a\ndescription: "a\\u200bb\\u202ec\\u001b[1m\\nd"\nrun: [printf, "\\u001b[1m"]\ninput: { properties: { p: { type: string, description: "x\\u2066y" } } }',
  )
  expect(manifest).toMatchObject({
    description: 'abc[1m\nd',
    run: ['printf', '\u001b[1m'],
    input: { properties: { p: { description: 'xy' } } },
  })
  expect(said).toEqual([expect.stringMatching(/^VT_TEXT_CLEANED .* of a\. a\.yaml$/)])
})

describe('built-in catalogue', () => {
  const folder = join(repository, 'manifests')
  it('contains every manifest of the folder, without output schemas', async () => {
    const catalogue = JSON.parse(readFileSync(join(repository, 'dist/manifests/_catalogue.json'), 'utf8')) as {
      file: string
      manifest: unknown
    }[]
    const files = (readdirSync(folder, { recursive: true }) as string[]).filter((file) => /\.ya?ml$/.test(file)).sort()
    expect(catalogue.map(({ file }) => file).sort()).toEqual(files)
    for (const { file, manifest } of catalogue) {
      const { output: _, ...rest } = parse(readFileSync(join(folder, file), 'utf8'))
      expect(manifest, file).toEqual(rest)
    }
  })
  it('fails to build from a broken manifest and names file and line', async () => {
    await space.write('manifests/good.yaml', 'name: good\nrun: [x]')
    await space.write('manifests/deep/bad.yaml', 'name: bad\nrunn: [x]')
    await expect(compileCatalogue(join(space.root, 'manifests'))).rejects.toThrow(
      /deep\/bad\.yaml:2:1: Unknown key 'runn'/,
    )
    rmSync(join(space.root, 'manifests/deep'), { recursive: true })
    expect(await compileCatalogue(join(space.root, 'manifests'))).toEqual([
      { file: 'good.yaml', manifest: { name: 'good', run: ['x'] } },
    ])
  })
})
