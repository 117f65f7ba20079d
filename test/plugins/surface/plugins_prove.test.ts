import fc from 'fast-check'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const text = '{ type: string }'
const tool = (name: string, rest: string) => `name: ${name}\ndescription: Does it.\n${rest}`
const input = (required: string, properties: string) => `input: { required: [${required}], properties: { ${properties} } }\n`

/** Manifests of which every call, or every one of a kind, would fail: file, line and fault, and the fix. */
const wrong: Record<string, { manifest: string; files?: Record<string, string>; line: number; says: RegExp; fix: RegExp }> = {
  undeclared: { manifest: tool('undeclared', `${input('city', `city: ${text}`)}run: [echo, '{ctiy}']\n`), line: 4, says: /run refers to \{ctiy\}, which the input does not declare/, fix: /Write \{city\}/ },
  no_input: { manifest: tool('no_input', "run: [echo, 'hello {name}']\n"), line: 3, says: /\{name\}, which the input does not declare/, fix: /input: \{ required: \[name\], properties: \{ name: \{ type: string \} \} \}/ },
  optional: { manifest: tool('optional', `${input('', `city: ${text}`)}run: [echo, '{city}']\n`), line: 4, says: /\{city\} is optional, and a call without it would fail/, fix: /input\.required.*if: city/ },
  list: { manifest: tool('list', `${input('all', 'all: { type: array, items: { type: string } }')}run: [echo, '{all}']\n`), line: 4, says: /\{all\} is a list/, fix: /'\{all\.\.\.\}'/ },
  code: { manifest: tool('code', `${input('a', `a: ${text}`)}run: [sh, -c, 'echo {a}']\n`), line: 4, says: /code of an interpreter/, fix: /single arguments/ },
  fed: { manifest: tool('fed', `${input('a', `a: ${text}`)}run: [cat]\nstdin: '{b}'\n`), line: 5, says: /stdin refers to \{b\}/, fix: /Write \{a\}|Declare it/ },
  question: { manifest: tool('question', `${input('city', `city: ${text}`)}http: { url: 'https://api.example.org/w?city={city}&units=m' }\n`), line: 4, says: /reference behind the question mark/, fix: /query: \{ city: '\{city\}', units: 'm' \}/ },
  optional_path: { manifest: tool('optional_path', `${input('', `id: ${text}`)}http: { url: 'https://api.example.org/items/{id}' }\n`), line: 4, says: /\{id\} is optional/, fix: /query/ },
  query: { manifest: tool('query', `${input('id', `id: ${text}`)}http:\n  url: https://api.example.org/items\n  query: { q: '{idd}' }\n`), line: 6, says: /http\.query\.q refers to \{idd\}/, fix: /Write \{id\}/ },
  plain: { manifest: tool('plain', "http: { url: 'http://api.example.org/items' }\n"), line: 3, says: /plain http/, fix: /https/ },
  no_server: { manifest: tool('no_server', `effects: [read]\n${input('q', `q: ${text}`)}mcp: { server: nowhere, tool: search }\n`), line: 5, says: /no MCP server 'nowhere'/, fix: /how it is started/ },
  never: { manifest: `action: weather/now\ndescription: Does it.\neffects: [read]\n${input('', `city: ${text}`)}infer:\n  when: { required: [town] }\nmodule: ./right.js\n`, line: 6, says: /can never hold: 'town' is no property of the input/, fix: /Correct the rule/ },
  never_value: { manifest: `action: tides/now\ndescription: Does it.\neffects: [read]\n${input('', 'unit: { enum: [m, ft] }')}infer: { when: { required: [unit], properties: { unit: { const: km } } } }\nmodule: ./right.js\n`, line: 5, says: /can never hold: 'unit' is never "km"/, fix: /Correct the rule/ },
  never_both: { manifest: `action: moons/now\ndescription: Does it.\neffects: [read]\n${input('', `city: ${text}`)}infer: { otherwise: { required: [city], not: { required: [city] } } }\nmodule: ./right.js\n`, line: 5, says: /can never hold: 'city' has to be there and may not be/, fix: /Correct the rule/ },
  alone: { manifest: tool('alone', `effects: [read]\n${input('', `city: ${text}`)}infer: { when: { required: [city] } }\nmodule: ./right.js\n`), line: 5, says: /alone has none/, fix: /action: tool\/action/ },
  pattern: { manifest: tool('pattern', `effects: [read]\ninput: { properties: { a: { type: string, pattern: '(?=x)' } } }\nmodule: ./right.js\n`), line: 4, says: /linear-time/, fix: /VT_SCHEMA_PATTERN/ },
  quoted: { manifest: tool('quoted', `effects: [read]\n${input('n', 'n: { type: integer }')}example: { m: 1 }\nmodule: ./right.js\n`), line: 5, says: /`example` is no call of quoted: Unknown property 'm'/, fix: /Correct `example`/ },
  renamed: { manifest: tool('renamed', `${input('file', 'file: { type: string, format: workspace-path }')}alias: { to: unified_file/read, rename: { file: pth } }\n`), line: 4, says: /'pth' is no property of unified_file\/read/, fix: /Write 'path'/ },
  no_bit: { manifest: tool('no_bit', 'run: [./no_bit.sh]\n'), files: { '../no_bit.sh': '#!/bin/sh\n' }, line: 3, says: /'\.\/no_bit\.sh' is no executable file/, fix: /chmod \+x \.\/no_bit\.sh/ },
  no_file: { manifest: tool('no_file', 'run: [./nowhere.sh]\n'), line: 3, says: /'\.\/nowhere\.sh' does not exist/, fix: /relative to its folder/ },
  windows: { manifest: tool('windows', "run: ['C:\\tools\\x.exe']\n"), line: 3, says: /is a path of Windows/, fix: /with slashes/ },
  our_code: { manifest: tool('our_code', 'effects: [read]\nerrors: { VT_POLICY_DENIED: { message: x } }\nmodule: ./right.js\n'), line: 4, says: /'VT_POLICY_DENIED' is a code of vtcode/, fix: /name of the plugin in capitals/ },
}
const right: Record<string, string> = {
  'vtcode/branch.yaml': tool('branch', `${input('', `city: ${text}, all: { type: array, items: { type: string } }`)}run: [echo, { if: city, then: ['{city}'] }, '{all...}']\n`),
  'vtcode/defaulted.yaml': tool('defaulted', `${input('', 'n: { type: integer, default: 3 }')}run: [echo, '{n}']\n`),
  'vtcode/left_out.yaml': tool('left_out', `${input('', `q: ${text}`)}http: { url: 'https://api.example.org/items', query: { q: '{q}' } }\n`),
  'vtcode/server.yaml': tool('server', "effects: [read]\nmcp: { server: { command: npx, args: [-y, x] }, tool: search }\n"),
  'vtcode/again.yaml': tool('again', 'effects: [read]\nmodule: ./again.js\n'),
  'vtcode/again.js': "export { main as default } from './right.js'\n",
  'vtcode/common.yaml': tool('common', 'effects: [read]\nmodule: ./common.cjs\n'),
  'vtcode/common.cjs': 'module.exports = () => ({ ok: true, output: {} })\n',
  'vtcode/now.yaml': `action: skies/now\ndescription: Does it.\neffects: [read]\n${input('', `city: ${text}`)}infer: { when: { required: [city] } }\nmodule: ./right.js\n`,
  'vtcode/right.js': 'export const main = () => ({ ok: true, output: {} })\nexport default main\n',
}
const manifests = (at: string): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(wrong).flatMap(([name, { manifest, files = {} }]) => [[`${at}/vtcode/${name}.yaml`, manifest], ...Object.entries(files).map(([file, body]) => [`${at}/vtcode/${file}`, body])])),
  ...Object.fromEntries(Object.entries(right).map(([file, body]) => [`${at}/${file}`, body])),
})

describe('what cannot work in a manifest', () => {
  it('is found by validate before any call, each with file, line and the fix, and what works is left alone', async () => {
    await using made = await tempWorkspace(manifests('p'))
    const { code, stdout } = await vtcode(made, ['plugins', 'validate', 'p', '--json'])
    expect(code).toBe(1)
    const rows = (JSON.parse(stdout) as { contributions: { id: string; errors: string[] }[] }).contributions
    const found = new Map(rows.map(({ id, errors }) => [id.replace(/^p:/, ''), errors]))
    for (const [name, { line, says, fix }] of Object.entries(wrong)) {
      const id = /^action: (\w+)\/(\w+)/m.exec(wrong[name]!.manifest)?.slice(1).join('_') ?? name
      expect(found.get(id), name).toEqual([expect.stringMatching(new RegExp(`^vtcode/${name}\\.yaml:${line}:`))])
      expect(found.get(id)![0]).toMatch(says)
      expect(found.get(id)![0]).toMatch(fix)
    }
    for (const id of ['branch', 'defaulted', 'left_out', 'server', 'again', 'common', 'skies_now']) expect(found.get(id), id).toEqual([])
  })
  it('is found by doctor, with an example that fails, and an MCP server of the settings is known', async () => {
    await using made = await tempWorkspace({
      ...manifests('home/p'),
      'home/p/vtcode/known.yaml': tool('known', `effects: [read]\nmcp: { server: notes, tool: search }\n${input('q', `q: ${text}`)}`),
      'home/p/vtcode/bad_example.yaml': tool('bad_example', `effects: [read]\nmodule: ./right.js\n${input('q', `q: ${text}`)}examples:\n  - { input: { q: 1, r: 2 }, expect: { ok: true } }\n`),
      'settings.yaml': "manifests: [builtin, ./home/p]\nmcp: { servers: { notes: { command: 'false', enabled: false } } }\n",
    })
    const { code, stdout } = await vtcode(made, ['-c', 'settings.yaml', 'doctor', '--json'])
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; message: string; hint: string; files: string[] }[] }
    expect(code).toBe(1)
    for (const [name, { line, says, fix }] of Object.entries(wrong)) {
      const one = diagnostics.find(({ files: [file = ''] }) => file.startsWith(join(made.root, `home/p/vtcode/${name}.yaml:${line}:`)))
      expect(one, name).toMatchObject({ code: 'VT_MANIFEST_INVALID', message: expect.stringMatching(says), hint: expect.stringMatching(fix) })
    }
    const about = (name: string) => diagnostics.filter(({ files: [file = ''] }) => file.includes(`/${name}.yaml:`))
    expect(about('known')).toEqual([])
    expect(about('bad_example')).toMatchObject([{ code: 'VT_MANIFEST_EXAMPLE', message: expect.stringMatching(/Example 1 is no call of bad_example: Unknown property 'r'/), files: [expect.stringMatching(/bad_example\.yaml:7:/)] }])
  })
})

const names = ['city', 'count', 'all', 'flag']
const property = fc.constantFrom({ type: 'string' }, { type: 'integer' }, { type: 'boolean' }, { type: 'array', items: { type: 'string' } }, { type: 'string', default: 'x' }, { type: 'object', properties: { a: { type: 'string' } } }, { type: 'string', pattern: '^a' }, { type: 'string', pattern: '(?=a)' })
const pieceOf = (name: fc.Arbitrary<string>) =>
  fc.oneof(fc.constant('word'), name.map((one) => `{${one}}`), name.map((one) => `{${one}...}`), fc.tuple(name, name).map(([a, b]) => ({ if: a, then: [`--x={${b}}`] })), name.map((one) => ({ json: one })), name.map((one) => ({ each: one, args: ['{item}'] })))
const wayOf = (name: fc.Arbitrary<string>) =>
  fc.oneof(
    fc.array(pieceOf(name), { maxLength: 3 }).map((rest) => ({ run: ['echo', ...rest] })),
    fc.tuple(fc.oneof(fc.constantFrom('', '?q={city}', '/x?q=1'), name.map((one) => `/{${one}}`)), fc.dictionary(fc.constantFrom('q', 'r'), name.map((one) => `{${one}}`), { maxKeys: 2 })).map(([path, query]) => ({ http: { url: `https://api.example.org/v1${path}`, query } })),
  )
const values: Record<string, unknown> = { string: 'abc', integer: 3, boolean: true, array: ['a', 'b'], object: { a: 'b' } }
/** Most refer to what they declare and give what they require, as people do; some do not. */
const candidate = fc.dictionary(fc.constantFrom(...names), property, { minKeys: 1, maxKeys: 4 }).chain((properties) => {
  const own = Object.keys(properties)
  const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...own) }, { weight: 1, arbitrary: fc.constantFrom(...names) })
  return fc.record({ required: fc.oneof(fc.constant(own), fc.subarray(own)), way: wayOf(name), given: fc.oneof({ weight: 4, arbitrary: fc.constant(own) }, { weight: 1, arbitrary: fc.subarray(names) }) }).map(({ required, way, given }) => ({
    description: 'Does it.',
    input: { properties, required },
    ...way,
    example: Object.fromEntries(given.map((one) => [one, values[properties[one]?.type ?? 'string']])),
  }))
})

describe('a manifest that validates', () => {
  it('never answers VT_MANIFEST_*, VT_INPUT_* or VT_SCHEMA_* to its own example', async () => {
    let sound = 0
    await fc.assert(fc.asyncProperty(fc.array(candidate, { minLength: 40, maxLength: 40 }), async (all) => {
      await using made = await tempWorkspace(Object.fromEntries(all.map((one, n) => [`p/vtcode/t${n}.json`, JSON.stringify({ name: `t${n}`, ...one })])))
      await using booted = await bootKernel({ manifests: [join(made.root, 'p')] })
      const faulty = new Set((await booted.kernel.prove()).flatMap(({ files }) => files.map((file) => /\/(t\d+)\.json/.exec(file)![1]!)))
      const active = booted.kernel.contributions().filter(({ id, state }) => /:t\d+$/.test(id) && state === 'active').map(({ slot }) => slot!)
      for (const slot of active.filter((one) => !faulty.has(one))) {
        sound++
        const { example } = all[Number(slot.slice(1))]!
        const explained = await booted.kernel.explain(slot, example)
        expect({ slot, manifest: all[Number(slot.slice(1))], verdict: explained.verdict, reason: explained.reason }).toMatchObject({ verdict: 'run' })
        if (!('run' in all[Number(slot.slice(1))]!)) continue
        const result = await booted.call(slot, example)
        expect(result.ok ? '' : result.error.code).not.toMatch(/^VT_(?:MANIFEST|INPUT|SCHEMA|COMMAND)_/)
      }
    }), { numRuns: 6, endOnFailure: true })
    expect(sound).toBeGreaterThan(30)
  })
})
