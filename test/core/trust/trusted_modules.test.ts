import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { listConsentItems, createKernel, resolveHome, openTrust } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { rounds } from '../../support/exec.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace()
})
afterEach(() => {
  vi.unstubAllEnvs()
  return space[Symbol.asyncDispose]()
})

const env = () => ({ PATH: process.env['PATH'], HOME: space.home })
const home = () => resolveHome({ env: env() })
const files = (all: Record<string, string>): void => {
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(space.root, name)), { recursive: true })
    if (text.startsWith('-> ')) symlinkSync(text.slice(3), join(space.root, name))
    else writeFileSync(join(space.root, name), text)
  }
}
async function survey() {
  const trust = openTrust({ home: home(), workspace: space.root, env: env() })
  return {
    trust,
    items: await listConsentItems({ workspace: space.root, home: home(), user: space.home, env: env(), trust }),
  }
}
async function agree() {
  const { trust, items } = await survey()
  trust.add(items)
  return items
}
/** Returns the answer of the tool `told`, or its error. */
async function call(config: object = {}): Promise<string> {
  const all = { sandbox: { plugins: 'off' as const }, ...config }
  const { root: workspace, home } = space
  const kernel = await createKernel({ workspace, home, env: env(), mode: 'full-auto', config: all })
  const result = await kernel.call('told')
  await kernel.close()
  return result.ok ? String(result.output['said']) : `${result.error.code}: ${result.error.message}`
}
const manifest = 'name: told\ndescription: Tells.\neffects: [read]\nmodule: ./main.js\n'
const tells = (text: string): string => `export const said = ${JSON.stringify(text)}\nexport default said\n`
const answers = 'export default () => ({ ok: true, output: { said: String(said) } })\n'
const loose = { 'vtcode.config.yaml': 'manifests: [builtin, ./tools]\n', 'tools/told.yaml': manifest }

const inline = { plugins: { isolate: 'inline' } }
const isolations: [where: string, config: object][] = [
  ['in a process of its own', {}],
  ['in this program', inline],
]

/** The text of a file that code may load; the changed one leaves a mark when it runs. */
function moduleText(file: string, text: string): string {
  const place = JSON.stringify(join(space.home, 'changed'))
  const mark = text === 'changed' ? `import { writeFileSync } from 'node:fs'\nwriteFileSync(${place}, '')\n` : ''
  if (file.endsWith('.txt')) return text
  if (file.endsWith('.json')) return JSON.stringify(text)
  return file.endsWith('.cjs') ? `exports.said = ${JSON.stringify(text)}\n` : `${mark}${tells(text)}`
}

type Way = [name: string, main: string, file: string, more?: Record<string, string>]
/** Files of the folder with the module. */
const covered: Way[] = [
  ['an import', "import said from './m.js'\n", 'tools/m.js'],
  ['import() of a sum', "const { said } = await import('./m' + '.js')\n", 'tools/m.js'],
  [
    'require in a file of the old form',
    "import m from './old.cjs'\nconst { said } = m\n",
    'tools/m.cjs',
    { 'tools/old.cjs': "module.exports = require('./m.cjs')\n" },
  ],
  ['JSON', "import said from './m.json' with { type: 'json' }\n", 'tools/m.json'],
  ['a link', "import said from './link.js'\n", 'tools/m.js', { 'tools/link.js': '-> m.js' }],
  [
    'a file that no text names',
    "import { readFileSync } from 'node:fs'\nconst said = readFileSync(new URL('./' + ['da', 'ta.txt'].join(''), import.meta.url), 'utf8')\n",
    'tools/data.txt',
  ],
]
const ws = 'process.env.VTCODE_WORKSPACE'
const made = "import { createRequire } from 'node:module'\n"
/** Files elsewhere in the workspace. */
const elsewhere: Way[] = [
  ['the folder above', "import said from '../lib/m.js'\n", 'lib/m.js'],
  ['a link to the folder above', "import said from './link.js'\n", 'lib/m.js', { 'tools/link.js': '-> ../lib/m.js' }],
  [
    'a package',
    "import said from 'pack'\n",
    'node_modules/pack/index.js',
    { 'node_modules/pack/package.json': '{ "name": "pack", "type": "module", "main": "index.js" }' },
  ],
  ['a path of our own package in the repository', "import said from 'vtcode/x.js'\n", 'node_modules/vtcode/x.js'],
  [
    'an import map of the package',
    "import said from '#m'\n",
    'lib/m.js',
    { 'package.json': '{ "name": "repo", "type": "module", "imports": { "#m": "./lib/m.js" } }' },
  ],
  ['import() of an absolute path', `const { said } = await import([${ws}, 'lib', 'm.js'].join('/'))\n`, 'lib/m.js'],
  [
    'data that imports',
    `const { said } = await import('data:text/javascript,' + encodeURIComponent(\`export * from 'file://\${${ws}}/lib/m.js'\`))\n`,
    'lib/m.js',
  ],
]
/** In this program a `require` made for another place, and hooks, are not seen. */
const elsewhereByMeans: Way[] = [
  [
    'createRequire elsewhere',
    `${made}const { said } = createRequire(${ws} + '/x.js')('./lib/' + 'm.cjs')\n`,
    'lib/m.cjs',
  ],
  [
    'hooks of its own',
    `import { register } from 'node:module'\nregister('./lib/' + 'm.js', 'file://' + ${ws} + '/')\nconst said = 'agreed'\n`,
    'lib/m.js',
  ],
  [
    'the built-in module asked of the process',
    `const { said } = process.getBuiltinModule('module').createRequire(${ws} + '/x.js')('./lib/' + 'm.cjs')\n`,
    'lib/m.cjs',
  ],
  [
    'a search path for require',
    `import Module, { createRequire } from 'node:module'\nprocess.env.NODE_PATH = ${ws} + '/lib'\nModule._initPaths()\nconst { said } = createRequire(import.meta.url)(['m', 'cjs'].join('.'))\n`,
    'lib/m.cjs',
  ],
]

describe.each(isolations)('code of a workspace %s', (where, config) => {
  const put = (main: string, file: string, text: string, more: Record<string, string> = {}): void =>
    files({ ...loose, 'tools/main.js': main + answers, [file]: moduleText(file, text), ...more })
  it.each(covered)("runs only the trusted bytes of the plugin's folder: %s", async (_, main, file, more) => {
    put(main, file, 'agreed', more)
    await agree()
    expect(await call(config)).toBe('agreed')
    put(main, file, 'changed')
    expect(await call(config)).toMatch(/^VT_PLUGIN_UNTRUSTED/)
    expect(existsSync(join(space.home, 'changed'))).toBe(false)
  })
  const outside = where === 'in this program' ? elsewhere : [...elsewhere, ...elsewhereByMeans]
  it.each(outside)('refuses a module from another folder: %s', async (_, main, file, more) => {
    vi.stubEnv('VTCODE_WORKSPACE', space.root)
    put(main, file, 'changed', more)
    await agree()
    expect(await call(config)).toMatch(
      /^VT_PLUGIN_IMPORT: .*(?:agreed files do not contain|among the files that you agreed to|#m.*not defined)/s,
    )
    expect(existsSync(join(space.home, 'changed'))).toBe(false)
  })
  it.each(['', '.vtcode/'])('trusts a module next to the settings with the files that it names: %s', async (folder) => {
    const put = (name: string, text: string) => files({ [`${folder}${name}`]: text })
    files({ [folder === '' ? 'vtcode.config.yaml' : '.vtcode/config.yaml']: 'manifests: [builtin, ./told.yaml]\n' })
    put('told.yaml', manifest)
    put('main.js', `import said from './m.js'\n${answers}`)
    put('m.js', "export { default } from './lib/n.js'\n")
    put('lib/n.js', tells('agreed'))
    put('other.js', '')
    const item = (await agree()).find(({ id }) => id === 'workspace:told')!
    const names = ['lib/n.js', 'm.js', 'main.js', 'told.yaml'].map((name) => `${folder}${name}`)
    expect(Object.keys(item.agreed!.tree.files).sort()).toEqual(names)
    expect(await call(config)).toBe('agreed')
    put('other.js', '1')
    expect(await call(config)).toBe('agreed')
    put('lib/n.js', tells('changed'))
    expect(await call(config)).toMatch(/^VT_PLUGIN_UNTRUSTED/)
    put('main.js', `const { said } = await import('./' + 'other.js')\n${answers}`)
    await agree()
    expect(await call(config)).toMatch(/^VT_PLUGIN_IMPORT: .*agreed files do not contain/s)
  })
})

describe('workspace modules', () => {
  it.each([
    [
      'where it has nothing but types to leave out',
      "const by: string = import.meta.url.includes('?v=') ? 'Node' : 'the compiler'\n",
      (process.features as { typescript?: unknown }).typescript ? 'Node' : 'the compiler',
    ],
    ['with an enum', "enum By { it = 'the compiler' }\nconst by = By.it\n", 'the compiler'],
    [
      'with a type imported as a value',
      "import { Handler } from 'vtcode'\nconst by: ReturnType<Handler> | string = 'the compiler'\n",
      'the compiler',
    ],
    [
      'with a `require` of its own',
      "const { sep } = require('node:path')\nconst by: string = sep === '/' ? 'the compiler' : ''\n",
      'the compiler',
    ],
  ])(
    'loads TypeScript with Node in a separate process if it can, and with the compiler elsewhere: %s',
    async (_, text, expected) => {
      files({ ...loose, 'tools/main.ts': `${text}const said = by\n${answers}` })
      await agree()
      expect(await call()).toBe(expected)
      expect(await call(inline)).toBe('the compiler')
    },
  )
  it.each([
    ['a type and a value in one import', "import { type T, said } from './m.ts'\nconst t: T = said\nvoid t\n"],
    ['a name without its ending', "import said from './m'\n"],
    ['the ending that it would have in JavaScript', "import said from './m.js'\n"],
    ['import = require', "import m = require('./m.ts')\nconst { said } = m\n"],
  ])('covers a TypeScript file by any import that names it: %s', async (_, main) => {
    const module = (said: string): string => `${tells(said)}export type T = unknown\n`
    files({ ...loose, 'tools/main.ts': main + answers, 'tools/m.ts': module('agreed') })
    await agree()
    expect([await call(), await call(inline)]).toEqual(['agreed', 'agreed'])
    files({ 'tools/m.ts': module('changed') })
    expect(await call(inline)).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it.each([
    ['by a sum', "const { said } = await import('../lib/' + ['e', 'ts'].join('.'))\n"],
    [
      'by an absolute path',
      "const { said } = await import(process.env.VTCODE_WORKSPACE + '/lib/' + ['e', 'ts'].join('.'))\n",
    ],
    [
      'by a made require',
      "import { createRequire } from 'node:module'\nconst { said } = createRequire(process.env.VTCODE_WORKSPACE + '/')('./lib/' + ['e', 'ts'].join('.'))\n",
    ],
  ])('refuses a TypeScript import from outside the folder: %s', async (_, main) => {
    files({ ...loose, 'tools/main.ts': main + answers, 'lib/e.ts': tells('changed') })
    await agree()
    expect(await call()).toMatch(/^VT_PLUGIN_IMPORT/)
  })
  it('ignores a package.json that consent does not cover', async () => {
    files({
      ...loose,
      'package.json': '{ "type": "commonjs" }',
      'tools/main.js': 'module.exports = () => ({ ok: true, output: { said: "agreed" } })\n',
    })
    await agree()
    expect(await call()).toBe('agreed')
    files({ 'package.json': '{ "type": "module" }' })
    expect(await call()).toBe('agreed')
  })
  it('refuses code whose folder has a link out of the workspace', async () => {
    writeFileSync(join(space.home, 'out.js'), tells('changed'))
    files({ ...loose, 'tools/main.js': `import said from './link.js'\n${answers}` })
    symlinkSync(join(space.home, 'out.js'), join(space.root, 'tools/link.js'))
    await agree()
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it('runs a plugin from a copy of its folder alone', async () => {
    const plugin = (main: string) =>
      files({
        '.vtcode/plugins/p/vtcode.yaml': manifest,
        '.vtcode/plugins/p/main.js': main + answers,
        '.vtcode/plugins/lib/m.js': tells('changed'),
        '.vtcode/plugins/p/.git/m.js': tells('changed'),
      })
    for (const name of ['../lib/m.js', './.git/m.js']) {
      plugin(`import said from '${name}'\n`)
      await agree()
      expect(await call(), name).toMatch(/^VT_PLUGIN_IMPORT: .*agreed files do not contain/s)
    }
    plugin("const said = 'agreed'\n")
    symlinkSync('../lib', join(space.root, '.vtcode/plugins/p/out'))
    await agree()
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it('loads the bytes that were checked, although the file is replaced meanwhile', async () => {
    files({ ...loose, 'tools/main.js': `const said = 'agreed'\n${answers}` })
    await agree()
    const file = join(space.root, 'tools/main.js')
    const [good, evil] = [readFileSync(file, 'utf8'), `const said = 'changed'\n${answers}`]
    const said = new Set<string>()
    const flip = setInterval(() => writeFileSync(file, readFileSync(file, 'utf8') === good ? evil : good), 1)
    for (let round = 0; round < rounds(6, 15); round++)
      said.add((await call(round % 2 ? inline : {})).replace(/:.*/s, ''))
    clearInterval(flip)
    expect(said).not.toContain('changed')
  })
})

describe('workspace settings in code', () => {
  const settings = async () => {
    const kernel = await createKernel({ workspace: space.root, home: space.home, env: env() })
    const found = kernel.diagnostics().map(({ code }) => code)
    await kernel.close()
    return { found, marks: ['agreed', 'changed'].filter((name) => existsSync(join(space.root, name))) }
  }
  const marks = (name: string): string =>
    `import { writeFileSync } from 'node:fs'\nwriteFileSync('${name}', '')\nexport default {}\n`
  it.each([
    ['a default import called type', "import type from './m.js'"],
    ['a comment', "import type/**/from/**/'./m.js'"],
    ['an export of a name', "export type B = 1\nexport { default as type } from './m.js'\nconst type = 0"],
  ])('runs settings only with trusted imports: %s', async (_, line) => {
    files({ 'vtcode.config.ts': `${line}\nvoid type\nexport default {}\n`, 'm.ts': marks('agreed') })
    await agree()
    expect(await settings()).toEqual({ found: [], marks: ['agreed'] })
    files({ 'm.ts': marks('changed') })
    expect(await settings()).toEqual({
      // Settings in code may guard calls, so calls are asked about until a new consent.
      found: ['VT_CONFIG_UNTRUSTED', 'VT_PLUGIN_UNTRUSTED'],
      marks: ['agreed'],
    })
  })
  it.each([
    ['an absolute path', "process.cwd() + '/' + ['e', 'mjs'].join('.')"],
    [
      'a way up',
      "['..', '..', '..', '..', '..', '..', '..', '..', '..', '..', process.cwd().slice(1), 'e.mjs'].join('/')",
    ],
    ['a name in node_modules', "['pa', 'ck'].join('')"],
    ['a file that they name in parts', "'./' + 'e.mjs'"],
  ])('refuses computed imports of settings: %s', async (_, name) => {
    files({
      'vtcode.config.ts': `await import(${name})\nexport default {}\n`,
      'e.mjs': marks('changed'),
      'node_modules/pack/package.json': '{ "main": "i.mjs" }',
      'node_modules/pack/i.mjs': marks('changed'),
    })
    await agree()
    await expect(settings()).rejects.toThrow(expect.objectContaining({ code: 'VT_CONFIG_INVALID' }))
    expect(existsSync(join(space.root, 'changed'))).toBe(false)
  })
})
