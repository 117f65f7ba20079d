import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consentItems, createKernel, homeOf, openTrust } from 'vtcode'
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
const home = () => homeOf({ env: env() })
const files = (all: Record<string, string>): void => {
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(space.root, name)), { recursive: true })
    writeFileSync(join(space.root, name), text)
  }
}
async function survey() {
  const trust = openTrust({ home: home(), workspace: space.root, env: env() })
  return { trust, items: await consentItems({ workspace: space.root, home: home(), user: space.home, env: env(), trust }) }
}
async function agree() {
  const { trust, items } = await survey()
  trust.add(items)
  return items
}
/** What each tool answers, or why it does not. */
async function callEach(tools: readonly string[], config: object): Promise<string[]> {
  const kernel = await createKernel({ workspace: space.root, home: space.home, env: env(), mode: 'full-auto', config: { sandbox: { plugins: 'off' }, ...config } })
  const told: string[] = []
  for (const tool of tools) {
    const result = await kernel.call(tool)
    told.push(result.ok ? String(result.output['said']) : `${result.error.code}: ${result.error.message}`)
  }
  await kernel.close()
  return told
}
/** What the tool `told` answers, or why it does not. */
const call = async (config: object = {}): Promise<string> => (await callEach(['told'], config))[0]!
const manifest = 'name: told\ndescription: Tells.\neffects: [read]\nmodule: ./main.js\n'
const tells = (text: string): string => `export const said = ${JSON.stringify(text)}\nexport default said\n`
const answers = 'export default () => ({ ok: true, output: { said: String(said) } })\n'
const loose = { 'vtcode.config.yaml': 'manifests: [builtin, ./tools]\n', 'tools/told.yaml': manifest }

/** How a module may name another file: the text that does, the file, and which files make it work. */
const ways: [name: string, main: string, evil: string, more?: Record<string, string>][] = [
  ['a default import called type', "import type from './m.js'\nconst said = type\n", 'tools/m.js'],
  ['an export after a type without a semicolon', "import said from './m.js'\nexport { said as other } from './m.js'\n", 'tools/m.js'],
  ['a query', "import said from './m.js?1'\n", 'tools/m.js'],
  ['a fragment', "import said from './m.js#x'\n", 'tools/m.js'],
  ['an escape of the language', "import said from './\\u006d.js'\n", 'tools/m.js'],
  ['an escape of an address', "import said from './%6d.js'\n", 'tools/m.js'],
  ['a comment before the name', "import said from/**/'./m.js'\n", 'tools/m.js'],
  ['a name across lines', "import\nsaid\nfrom\n'./m.js'\n", 'tools/m.js'],
  ['import()', "const { said } = await import('./m.js')\n", 'tools/m.js'],
  ['import() of a template', 'const { said } = await import(`./m.js`)\n', 'tools/m.js'],
  ['import() of a sum', "const { said } = await import('./m' + '.js')\n", 'tools/m.js'],
  ['import() of an absolute path', "const { said } = await import(['', ...process.env.VTCODE_WORKSPACE.split('/').slice(1), 'tools', 'm.js'].join('/'))\n", 'tools/m.js'],
  ['createRequire beside the module', "import { createRequire } from 'node:module'\nconst { said } = createRequire(import.meta.url)('./m.js')\n", 'tools/m.js'],
  ['createRequire elsewhere', "import { createRequire } from 'node:module'\nconst { said } = createRequire(process.env.VTCODE_WORKSPACE + '/x.js')('./tools/' + 'm.cjs')\n", 'tools/m.cjs'],
  ['hooks of its own', "import { register } from 'node:module'\nregister('./tools/' + 'm.js', 'file://' + process.env.VTCODE_WORKSPACE + '/')\nconst said = 'agreed'\n", 'tools/m.js'],
  ['data that imports', "const { said } = await import('data:text/javascript,' + encodeURIComponent(`export * from 'file://${process.env.VTCODE_WORKSPACE}/tools/m.js'`))\n", 'tools/m.js'],
  ['a path of our own package in the repository', "import said from 'vtcode/x.js'\n", 'node_modules/vtcode/x.js'],
  ['a package', "import said from 'pack'\n", 'node_modules/pack/index.js', { 'node_modules/pack/package.json': '{ "name": "pack", "type": "module", "main": "index.js" }' }],
  ['a package of a package', "import said from 'pack'\n", 'node_modules/deep/index.js', { 'node_modules/pack/package.json': '{ "name": "pack", "type": "module", "main": "index.js", "dependencies": { "deep": "1" } }', 'node_modules/pack/index.js': "export { default } from 'deep'\n", 'node_modules/deep/package.json': '{ "name": "deep", "type": "module", "main": "index.js" }' }],
  ['an import map of the package', "import said from '#m'\n", 'lib/m.js', { 'package.json': '{ "name": "repo", "type": "module", "imports": { "#m": "./lib/m.js" } }' }],
  ['its own package by name', "import said from 'repo/m'\n", 'lib/m.js', { 'package.json': '{ "name": "repo", "type": "module", "exports": { "./m": { "default": "./lib/m.js" } } }' }],
  ['a pattern of exports', "import said from 'repo/m'\n", 'lib/m.js', { 'package.json': '{ "name": "repo", "type": "module", "exports": { "./*": "./lib/*.js" } }' }],
  ['the folder above', "import said from '../lib/m.js'\n", 'lib/m.js'],
  ['require in a file of the old form', "import m from './old.cjs'\nconst { said } = m\n", 'tools/m.js', { 'tools/old.cjs': "module.exports = require /**/ ('./m' + '.js')\n" }],
  ['JSON', "import said from './m.json' with { type: 'json' }\n", 'tools/m.json'],
  ['a name in other letters', "import said from './M.js'\n", 'tools/M.js'],
  ['the escape %65 of an address', "import said from './%65.js'\n", 'tools/e.js'],
  ['an escape of the ending', "import said from './m%2Ejs?x=1#y'\n", 'tools/m.js'],
  ['an escape of an address within one of the language', "import said from './\\x256d.js'\n", 'tools/m.js'],
  ['a long escape of the language', "import said from './\\u{06d}.js'\n", 'tools/m.js'],
  ['an escaped slash', "import said from '.\\/m.js'\n", 'tools/m.js'],
  ['a name that goes on in the next line', "import said from './\\\nm.js'\n", 'tools/m.js'],
  ['a way over another folder', "import said from './x/../m.js'\n", 'tools/m.js'],
  ['backslashes for slashes', "import said from './x\\\\..\\\\m.js'\n", 'tools/m.js'],
  ['an export of all, of a file that exports all', "import * as all from './n.js'\nconst { said } = all\n", 'tools/m.js', { 'tools/n.js': "export*from'./m.js'" }],
  ['a name beside the default', "import type, { said as from } from './m.js'\nconst said = from\nvoid type\n", 'tools/m.js'],
  ['import() with a comment', "const { said } = await import/**/(/* './n.js' */ './m.js')\n", 'tools/m.js'],
  ['a name after a regular expression with a quote', "const quote = /['\"`]/\nconst { said } = await import('./m.js')\n", 'tools/m.js'],
  ['a tag of a template', "const { said } = await import(String.raw`./m.js`)\n", 'tools/m.js'],
  ['an address made of two', "const { said } = await import(new URL('m.js', import.meta.url).href)\n", 'tools/m.js'],
  ['import.meta.resolve', "const { said } = await import(import.meta.resolve('./m.js'))\n", 'tools/m.js'],
  ['the built-in module asked of the process', "const { said } = process.getBuiltinModule('module').createRequire(process.env.VTCODE_WORKSPACE + '/x.js')('./tools/' + 'm.cjs')\n", 'tools/m.cjs'],
  ['require with an escape', "import m from './old.cjs'\nconst { said } = m\n", 'tools/m.cjs', { 'tools/old.cjs': "module.exports = require('./\\x6d.cjs')\n" }],
  ['a link of the repository', "import said from './link.js'\n", 'tools/m.js'],
  ['require.resolve', "import m from './old.cjs'\nconst { said } = m\n", 'tools/m.cjs', { 'tools/old.cjs': "module.exports = require(require.resolve('./m.cjs'))\n" }],
  ['conditions of exports', "import said from 'repo/m'\n", 'lib/m.js', { 'package.json': '{ "name": "repo", "type": "module", "exports": { "./m": [{ "browser": "./x.js" }, { "node": { "import": "./lib/m.js" } }] } }' }],
  ['a condition of imports that names a package', "import said from '#p'\n", 'node_modules/pack/index.js', { 'package.json': '{ "name": "repo", "type": "module", "imports": { "#p": { "node": "pack" } } }', 'node_modules/pack/package.json': '{ "name": "pack", "type": "module", "main": "index.js" }' }],
  ['a search path for require', "import Module, { createRequire } from 'node:module'\nprocess.env.NODE_PATH = process.env.VTCODE_WORKSPACE + '/tools'\nModule._initPaths()\nconst { said } = createRequire(import.meta.url)(['m', 'cjs'].join('.'))\n", 'tools/m.cjs'],
]

/** These name a file outside of what is agreed to, or by a text that nobody can know: they find nothing. */
const unfound = new Set([
  'import() of a sum', 'import() of an absolute path', 'createRequire elsewhere', 'hooks of its own', 'data that imports',
  'a path of our own package in the repository', 'require in a file of the old form', 'the built-in module asked of the process', 'a search path for require',
])
const inline = { plugins: { isolate: 'inline' } }
// Both places close code by the same loader, so a process is started only for the ways that differ there, and for a sample of the others.
const sampled = ways.filter(([name], at) => unfound.has(name) || at % rounds(16, 1) === 0)
/** These need no other file, so one workspace holds a tool for each of them. */
const together = ways.filter(([name, , , more]) => more === undefined && !unfound.has(name) && name !== 'a link of the repository')
const inside: [where: string, config: object, chosen: typeof ways][] = [['in a process of its own', {}, sampled], ['in this program', inline, ways.filter((way) => !together.includes(way))]]
/** The text of a file that code may load; the changed one leaves a mark when it runs. */
function evilText(evil: string, text: string): string {
  const mark = text === 'changed' ? `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(join(space.home, 'changed'))}, '')\n` : ''
  return evil.endsWith('.json') ? JSON.stringify(text) : evil.endsWith('.cjs') ? `exports.said = ${JSON.stringify(text)}\n` : `${mark}${tells(text)}`
}

describe.each(inside)('code of a workspace %s', (where, config, chosen) => {
  it.each(chosen)('runs with the bytes that were agreed to and no others: %s', async (name, main, evil, more = {}) => {
    vi.stubEnv('VTCODE_WORKSPACE', space.root)
    files({ ...loose, ...more, 'tools/main.js': main + answers, [evil]: evilText(evil, 'agreed') })
    if (name === 'a link of the repository') symlinkSync('m.js', join(space.root, 'tools/link.js'))
    const items = await agree()
    const shown = items.some(({ id, agreed }) => id === 'workspace:told' && agreed !== undefined && evil in agreed.tree.files)
    if (!unfound.has(name)) expect([shown, await call(config)]).toEqual([true, 'agreed'])
    // In this program a `require` made for another place is not seen; what it asks for by name is shown. In a process the call below shows it.
    else if (where === 'in this program' && !shown) expect(await call(config)).toMatch(/^VT_PLUGIN_IMPORT: .*agreed to/s)
    files({ [evil]: evilText(evil, 'changed') })
    expect(await call(config)).toMatch(shown ? /^VT_PLUGIN_UNTRUSTED/ : /^VT_PLUGIN_IMPORT: .*agreed to/s)
    expect(existsSync(join(space.home, 'changed'))).toBe(false)
  })
})

describe('code of a workspace', () => {
  it('in this program runs with the bytes that were agreed to and no others, however a module names another file', async () => {
    vi.stubEnv('VTCODE_WORKSPACE', space.root)
    const tools = together.map((_, at) => `told_${at}`)
    files({ 'vtcode.config.yaml': 'manifests: [builtin, ./tools]\n' })
    together.forEach(([, main, evil], at) => files({ [`tools/told_${at}.yaml`]: manifest.replace('told', tools[at]!).replace('main', `main_${at}`), [`tools/main_${at}.js`]: main + answers, [evil]: evilText(evil, 'agreed') }))
    const items = await agree()
    const shown = together.filter(([, , evil], at) => items.some(({ id, agreed }) => id === `workspace:${tools[at]}` && agreed !== undefined && evil in agreed.tree.files))
    expect(shown).toEqual(together)
    const names = together.map(([name]) => name)
    const told = async (): Promise<(readonly [name: string, answer: string])[]> => (await callEach(tools, inline)).map((answer, at) => [names[at]!, answer] as const)
    expect(await told()).toEqual(names.map((name) => [name, 'agreed']))
    for (const [, , evil] of together) files({ [evil]: evilText(evil, 'changed') })
    expect(await told()).toEqual(names.map((name) => [name, expect.stringMatching(/^VT_PLUGIN_UNTRUSTED/)]))
    expect(existsSync(join(space.home, 'changed'))).toBe(false)
  })
  it('in TypeScript is closed in the same way', async () => {
    files({ ...loose, 'tools/main.ts': `import type { T } from './types.js'\nimport said from './m.js'\nconst kept: T = said\n${answers}`, 'tools/m.ts': tells('agreed'), 'tools/types.ts': 'export type T = string\n' })
    const told = (await agree()).find(({ id }) => id === 'workspace:told')!
    expect(Object.keys(told.agreed!.tree.files).sort()).toEqual(['tools/m.ts', 'tools/main.ts', 'tools/told.yaml'])
    expect(await call()).toBe('agreed')
    files({ 'tools/types.ts': 'export type T = unknown\n' })
    expect(await call()).toBe('agreed')
    files({ 'tools/m.ts': tells('changed') })
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it.each([
    ['where it has nothing but types to leave out', "const by: string = import.meta.url.includes('?v=') ? 'Node' : 'the compiler'\n", (process.features as { typescript?: unknown }).typescript ? 'Node' : 'the compiler'],
    ['with an enum', "enum By { it = 'the compiler' }\nconst by = By.it\n", 'the compiler'],
    ['with a type imported as a value', "import { Handler } from 'vtcode'\nconst by: ReturnType<Handler> | string = 'the compiler'\n", 'the compiler'],
    ['with a `require` of its own', "const { sep } = require('node:path')\nconst by: string = sep === '/' ? 'the compiler' : ''\n", 'the compiler'],
  ])('in TypeScript is loaded by Node itself if it can, in a process of its own, and is compiled elsewhere: %s', async (_, text, expected) => {
    files({ ...loose, 'tools/main.ts': `${text}const said = by\n${answers}` })
    await agree()
    expect(await call()).toBe(expected)
    expect(await call(inline)).toBe('the compiler')
  })
  it.each([
    ['an `export type` line without a semicolon', "export type A = 1\nimport said from './m.ts'\n"],
    ['the same before an export of all', "export type A = 1\nexport * from './m.ts'\nimport { said } from './m.ts'\n"],
    ['a type and a value in one import', "import { type T, said } from './m.ts'\nconst t: T = said\nvoid t\n"],
    ['a type that is called from', "import type from from './m.ts'\nimport said from './m.ts'\nconst t: typeof from = said\nvoid t\n"],
    ['an export of types before one of values', "export type { T } from './m.ts'\nexport { said as other } from './m.ts'\nimport * as all from './m.ts'\nconst { said } = all\n"],
    ['a name without its ending', "import said from './m'\n"],
    ['the ending that it would have in JavaScript', "import said from './m.js'\n"],
    ['import = require', "import m = require('./m.ts')\nconst { said } = m\n"],
    ['an angle bracket before it', "const n = <string>'x'\nconst { said } = await import('./m.ts')\nvoid n\n"],
  ])('in TypeScript is covered by whatever names it: %s', async (_, main) => {
    const module = (said: string): string => `${tells(said)}export type T = unknown\n`
    files({ ...loose, 'tools/main.ts': main + answers, 'tools/m.ts': module('agreed') })
    const told = (await agree()).find(({ id }) => id === 'workspace:told')!
    expect([Object.keys(told.agreed!.tree.files).includes('tools/m.ts'), await call(inline)]).toEqual([true, 'agreed'])
    files({ 'tools/m.ts': module('changed') })
    expect(await call(inline)).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it.each([
    ['by a sum', "const { said } = await import('./' + ['e', 'ts'].join('.'))\n"],
    ['by an absolute path', "const { said } = await import(process.env.VTCODE_WORKSPACE + '/tools/' + ['e', 'ts'].join('.'))\n"],
    ['by a made require', "import { createRequire } from 'node:module'\nconst { said } = createRequire(process.env.VTCODE_WORKSPACE + '/')('./tools/' + ['e', 'ts'].join('.'))\n"],
  ])('in TypeScript finds nothing outside: %s', async (_, main) => {
    files({ ...loose, 'tools/main.ts': main + answers, 'tools/e.ts': tells('changed') })
    await agree()
    expect(await call()).toMatch(/^VT_PLUGIN_IMPORT/)
  })
  it('reads the files beside it that it names, from where they were agreed to', async () => {
    files({ ...loose, 'tools/main.js': `import { readFileSync } from 'node:fs'\nconst said = readFileSync(new URL('./data.txt', import.meta.url), 'utf8')\n${answers}`, 'tools/data.txt': 'agreed' })
    await agree()
    expect(await call()).toBe('agreed')
    files({ 'tools/data.txt': 'changed' })
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it('is a module or not by the package.json that was agreed to', async () => {
    files({ ...loose, 'package.json': '{ "type": "commonjs" }', 'tools/main.js': 'module.exports = () => ({ ok: true, output: { said: "agreed" } })\n' })
    await agree()
    expect(await call()).toBe('agreed')
    files({ 'package.json': '{ "type": "module" }' })
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it('keeps packages that a package manager links, and refuses links out of the workspace', async () => {
    files({ ...loose, 'tools/main.js': `import said from 'pack'\n${answers}`, 'node_modules/.store/pack@1/node_modules/pack/package.json': '{ "name": "pack", "type": "module", "main": "i.js", "dependencies": { "deep": "1" } }', 'node_modules/.store/pack@1/node_modules/pack/i.js': "export { default } from 'deep'\n", 'node_modules/.store/pack@1/node_modules/deep/package.json': '{ "type": "module", "main": "i.js" }', 'node_modules/.store/pack@1/node_modules/deep/i.js': tells('agreed') })
    symlinkSync('.store/pack@1/node_modules/pack', join(space.root, 'node_modules/pack'))
    await agree()
    expect(await call()).toBe('agreed')
    files({ 'node_modules/.store/pack@1/node_modules/deep/i.js': tells('changed') })
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
    writeFileSync(join(space.home, 'out.js'), tells('changed'))
    files({ 'tools/main.js': `import said from './link.js'\n${answers}` })
    symlinkSync(join(space.home, 'out.js'), join(space.root, 'tools/link.js'))
    await agree()
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it('of a plugin runs from a copy of its folder, which ends at the folder', async () => {
    const plugin = (main: string) => files({ '.vtcode/plugins/p/vtcode.yaml': manifest, '.vtcode/plugins/p/main.js': main + answers, '.vtcode/plugins/lib/m.js': tells('changed'), '.vtcode/plugins/p/.git/m.js': tells('changed') })
    for (const name of ['../lib/m.js', './.git/m.js']) {
      plugin(`import said from '${name}'\n`)
      await agree()
      expect(await call(), name).toMatch(/^VT_PLUGIN_IMPORT: .*agreed to/s)
    }
    plugin("const said = 'agreed'\n")
    symlinkSync('../lib', join(space.root, '.vtcode/plugins/p/out'))
    await agree()
    expect(await call()).toMatch(/^VT_PLUGIN_UNTRUSTED/)
  })
  it('is loaded with the bytes that were judged, although the file is replaced at once', async () => {
    files({ ...loose, 'tools/main.js': `const said = 'agreed'\n${answers}` })
    await agree()
    const file = join(space.root, 'tools/main.js')
    const [good, evil] = [readFileSync(file, 'utf8'), `const said = 'changed'\n${answers}`]
    const said = new Set<string>()
    const flip = setInterval(() => writeFileSync(file, readFileSync(file, 'utf8') === good ? evil : good), 1)
    for (let round = 0; round < rounds(6, 15); round++) said.add((await call(round % 2 ? inline : {})).replace(/:.*/s, ''))
    clearInterval(flip)
    expect(said).not.toContain('changed')
  })
})

describe('settings of a workspace in code', () => {
  const settings = async () => {
    const kernel = await createKernel({ workspace: space.root, home: space.home, env: env() })
    const found = kernel.diagnostics().map(({ code }) => code)
    await kernel.close()
    return { found, marks: ['agreed', 'changed'].filter((name) => existsSync(join(space.root, name))) }
  }
  const marks = (name: string): string => `import { writeFileSync } from 'node:fs'\nwriteFileSync('${name}', '')\nexport default {}\n`
  it.each([
    ['a default import called type', "import type from './m.js'"],
    ['an escape of the language', "import type from './\\u006d.js'"],
    ['a comment', "import type/**/from/**/'./m.js'"],
    ['an export of a name', "export type B = 1\nexport { default as type } from './m.js'\nconst type = 0"],
  ])('run with what was agreed to alone: %s', async (_, line) => {
    files({ 'vtcode.config.ts': `${line}\nvoid type\nexport default {}\n`, 'm.ts': marks('agreed') })
    await agree()
    expect(await settings()).toEqual({ found: [], marks: ['agreed'] })
    files({ 'm.ts': marks('changed') })
    expect(await settings()).toEqual({ found: ['VT_CONFIG_UNTRUSTED'], marks: ['agreed'] })
  })
  it.each([
    ['an absolute path', "process.cwd() + '/' + ['e', 'mjs'].join('.')"],
    ['a way up', "['..', '..', '..', '..', '..', '..', '..', '..', '..', '..', process.cwd().slice(1), 'e.mjs'].join('/')"],
    ['a name in node_modules', "['pa', 'ck'].join('')"],
  ])('do not find what they compute: %s', async (_, name) => {
    files({ 'vtcode.config.ts': `await import(${name})\nexport default {}\n`, 'e.mjs': marks('changed'), 'node_modules/pack/package.json': '{ "main": "i.mjs" }', 'node_modules/pack/i.mjs': marks('changed') })
    await agree()
    await expect(settings()).rejects.toThrow(expect.objectContaining({ code: 'VT_CONFIG_INVALID' }))
    expect(existsSync(join(space.root, 'changed'))).toBe(false)
  })
})
