import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import {
  readDefaults,
  loadSettings,
  validateConfigFile,
  type SettingsOptions,
} from '../../../build/core/config/index.js'
import { readContract } from '../../../build/core/schema/index.js'
import { collectDefaults } from '../../../build/core/config/index.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace()
})
afterEach(() => space[Symbol.asyncDispose]())

const atHome = (path: string, text: string) => {
  mkdirSync(dirname(join(space.home, path)), { recursive: true })
  writeFileSync(join(space.home, path), text)
}
const user = (text: string, name = 'vtcode.config.yaml') => atHome(`.vtcode/${name}`, text)
const load = (more: Partial<SettingsOptions> = {}) =>
  loadSettings({
    workspace: space.root,
    home: join(space.home, '.vtcode'),
    admin: join(space.home, 'etc'),
    env: { PATH: process.env['PATH'] },
    ...more,
  })
const modeOf = async (more?: Partial<SettingsOptions>) => (await load(more)).settings.policy.mode
const short = (text: string) => text.replaceAll(space.root, '.').replaceAll(space.home, '~')
const failure = async (more?: Partial<SettingsOptions>) => {
  const error = await load(more).then(
    () => undefined,
    (error) => error,
  )
  return [error?.code, short(error?.message ?? ''), ...((error?.problem.details.files as string[]) ?? []).map(short)]
}

describe('loadSettings without files', () => {
  it('returns the frozen defaults of the build, each with an origin', async () => {
    const { settings, origins, diagnostics, files, items } = await load()
    expect(settings).toEqual(collectDefaults(readContract('config.1.json')))
    expect(settings).toEqual(readDefaults())
    expect([Object.isFrozen(settings), Object.isFrozen(settings.policy), diagnostics, files, items]).toEqual([
      true,
      true,
      [],
      [],
      [],
    ])
    expect(origins.find(({ path }) => path === 'policy.mode')).toEqual({
      path: 'policy.mode',
      layer: 'builtin',
      file: 'defaults',
      value: 'ask',
      overridden: [],
    })
  })
  it('applies the mode of the call', async () => {
    const { settings, origins } = await load({ mode: 'plan' })
    expect(settings.policy.mode).toBe('plan')
    expect(origins.find(({ path }) => path === 'policy.mode')).toMatchObject({
      layer: 'call',
      file: 'mode',
      value: 'plan',
    })
  })
  it('applies the default_mode of a verb below all settings', async () => {
    expect(await modeOf({ default_mode: 'auto' })).toBe('auto')
    expect(await modeOf({ default_mode: 'auto', mode: 'plan' })).toBe('plan')
    user('policy: { max_mode: auto }')
    expect(await modeOf({ default_mode: 'auto' })).toBe('auto')
    user('policy: { mode: ask }')
    expect(await modeOf({ default_mode: 'auto' })).toBe('ask')
  })
  it('loads no package from node_modules', () => {
    const script = `const { loadSettings } = await import(${JSON.stringify(join(import.meta.dirname, '../../../build/core/config/index.js'))})
      await loadSettings({ workspace: ${JSON.stringify(space.root)}, home: '/nowhere', env: {}, mode: 'auto' })
      const { createRequire } = await import('node:module')
      console.log(Object.keys(createRequire(import.meta.url).cache).filter((file) => /node_modules/.test(file)).length)`
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).trim()).toBe('0')
  })
})

describe('settings files', () => {
  it('merges administrator, user, workspace, local file, environment and call in this order', async () => {
    const said = async () => {
      const { settings, files } = await load()
      return [(settings['output'] as { max_text_bytes: number }).max_text_bytes, files.map(short).at(-1)]
    }
    // Only root can make a file that belongs to root.
    if (process.getuid?.() === 0) {
      atHome('etc/vtcode.config.yaml', 'output: { max_text_bytes: 1 }')
      expect(await said()).toEqual([1, '~/etc/vtcode.config.yaml'])
    }
    user('output: { max_text_bytes: 2 }')
    expect(await said()).toEqual([2, '~/.vtcode/vtcode.config.yaml'])
    await space.write('.vtcode/config.json', '{ "output": { "max_text_bytes": 3 } }')
    expect(await said()).toEqual([3, './.vtcode/config.json'])
    await space.write('.vtcode/config.local.yml', 'output: { max_text_bytes: 4 }')
    expect(await said()).toEqual([4, './.vtcode/config.local.yml'])
    const env = {
      VTCODE__OUTPUT__MAX_TEXT_BYTES: '5',
      VTCODE__EXEC__MAX_SESSIONS: '3',
      VTCODE__POLICY__DENY: '["Read(x)"]',
      VTCODE_HOME: '/x',
    }
    expect((await load({ env })).settings).toMatchObject({
      output: { max_text_bytes: 5 },
      exec: { max_sessions: 3 },
      policy: { deny: ['Read(x)'] },
    })
    expect((await load({ env, config: { output: { max_text_bytes: 6 } } })).settings).toMatchObject({
      output: { max_text_bytes: 6 },
    })
    expect(
      (
        await load({
          env,
          config: [{ output: { max_text_bytes: 6 } }, 'output.max_text_bytes=7', 'exec.max_sessions=2'],
        })
      ).settings,
    ).toMatchObject({ output: { max_text_bytes: 7 }, exec: { max_sessions: 2 } })
  })
  it("reads a file given with the call in place of the workspace's files, with the rights of the user", async () => {
    await space.write('vtcode.config.yaml', 'policy: { mode: plan }')
    await space.write('.vtcode/config.local.yaml', 'policy: { mode: plan }')
    await space.write('other.yaml', 'policy: { mode: full-auto }')
    expect(await modeOf()).toBe('plan')
    expect(await modeOf({ config: join(space.root, 'other.yaml') })).toBe('full-auto')
    expect(await modeOf({ config: [join(space.root, 'other.yaml'), 'policy.mode=auto'] })).toBe('auto')
    expect((await failure({ config: join(space.root, 'gone.yaml') }))[0]).toBe('VT_CONFIG_INVALID')
  })
  it('refuses two settings files where one is expected and names both', async () => {
    await space.write('vtcode.config.yaml', '')
    await space.write('.vtcode/config.json', '{}')
    expect(await failure()).toEqual([
      'VT_CONFIG_AMBIGUOUS',
      'There are 2 settings files, but only one can be used: ./vtcode.config.yaml, ./.vtcode/config.json.',
      './vtcode.config.yaml',
      './.vtcode/config.json',
    ])
  })
  it.each([
    ['.vtcoderc', 'policy:\n  mode: plan', 2],
    ['.vtcoderc.json', '{ "policy": { "mode": "plan" } }', 1],
    ['.vtcoderc.yml', 'policy: { mode: plan }', 1],
    ['.config/vtcoderc', 'policy: { mode: plan }', 1],
    ['.config/vtcoderc.yaml', 'policy: { mode: plan }', 1],
    ['package.json', '{ "name": "x",\n"vtcode": { "policy":\n{ "mode": "plan" } } }', 3],
  ])('reads %s of a workspace, with the origin of each value', async (name, text, line) => {
    await space.write(name, text)
    const { settings, origins } = await load()
    expect(settings.policy.mode).toBe('plan')
    expect(origins.find(({ path }) => path === 'policy.mode')).toMatchObject({
      layer: 'workspace',
      file: join(space.root, name),
      line,
    })
    await space.write('vtcode.config.json', '{}')
    const second = name === 'package.json' ? './package.json#vtcode' : `./${name}`
    expect(await failure()).toEqual(['VT_CONFIG_AMBIGUOUS', expect.any(String), './vtcode.config.json', second])
  })
  it('reports the line of a fault in package.json, and ignores one without settings or in a broken state', async () => {
    await space.write('package.json', '{ "dependencies": { "vtcode": "1" },\n"polcy": 1 }')
    expect((await load()).files).toEqual([])
    await space.write('package.json', '{ "vtcode": { "policy":')
    expect((await load()).files).toEqual([])
    await space.write('package.json', '{ "vtcode":\n{ "polcy": 1 } }')
    expect(await failure()).toEqual([
      'VT_CONFIG_INVALID',
      "./package.json:2:3: Unknown key 'polcy'; did you mean 'policy'?",
      './package.json:2:3',
    ])
    await space.write('package.json', '{ "vtcode": "plan" }')
    expect((await failure())[1]).toMatch(/^.\/package.json:1:3: .* an object is needed/)
  })
  it("reads the user's settings once when the workspace is the home folder", async () => {
    await space.write('.vtcode/config.yaml', 'policy: { mode: plan }')
    expect(await modeOf({ home: join(space.root, '.vtcode') })).toBe('ask')
  })
  it('ignores administrator settings that others may write', async () => {
    atHome('etc/vtcode.config.yaml', 'policy: { mode: plan }')
    chmodSync(join(space.home, 'etc/vtcode.config.yaml'), 0o666)
    const { settings, diagnostics } = await load()
    expect([
      settings.policy.mode,
      diagnostics.map(({ code, severity, files }) => [code, severity, ...files.map(short)]),
    ]).toEqual(['ask', [['VT_CONFIG_FOREIGN', 'warning', expect.stringMatching(/^~\/etc/)]]])
  })
  it('refuses user settings that another user could have written', async () => {
    user('policy: { allow: [exec] }')
    const file = join(space.home, '.vtcode/vtcode.config.yaml')
    for (const path of [file, join(space.home, '.vtcode')]) {
      chmodSync(path, 0o777)
      expect(await failure()).toEqual([
        'VT_CONFIG_EXPOSED',
        expect.stringContaining('everybody can write it'),
        short(path),
      ])
      chmodSync(path, 0o700)
    }
    if (process.getuid?.() === 0) {
      chownSync(file, 65_534, 65_534)
      expect((await failure())[0]).toBe('VT_CONFIG_EXPOSED')
      chownSync(file, 0, 0)
    }
    expect(await modeOf()).toBe('ask')
  })
  it('refuses workspace settings at a link out of the workspace', async () => {
    atHome('secret.yaml', 'policy: { mode: plan }')
    symlinkSync(join(space.home, 'secret.yaml'), join(space.root, 'vtcode.config.yaml'))
    expect((await failure())[0]).toBe('VT_CONFIG_INVALID')
  })
  it('accepts an empty settings file', async () => {
    user('# nothing yet\n')
    await space.write('vtcode.config.yml', '')
    expect(await modeOf()).toBe('ask')
  })
  it('accepts a version and a schema for editors', async () => {
    user('$schema: urn:vtcode:schema:config:1\nversion: 1')
    expect(await modeOf()).toBe('ask')
    user('version: 2')
    expect((await failure())[0]).toBe('VT_CONFIG_INVALID')
  })
})

describe('invalid settings file', () => {
  it.each([
    [
      'with an unknown key and the nearest known one',
      'exec: { shell: sh }\npolcy: { mode: ask }',
      "~/.vtcode/vtcode.config.yaml:2:1: Unknown key 'polcy'; did you mean 'policy'?",
    ],
    [
      'with a key that was renamed',
      'tools:\n  default_policy: ask',
      "~/.vtcode/vtcode.config.yaml:2:3: Unknown key 'tools.default_policy'; use 'policy.mode' instead.",
    ],
    [
      'with a value that is not allowed',
      'policy: { mode: yolo }',
      "~/.vtcode/vtcode.config.yaml:1:11: 'policy.mode' is 'yolo'; allowed: plan, ask, auto, full-auto.",
    ],
    [
      'with a wrong type',
      'exec: { max_sessions: many }',
      "~/.vtcode/vtcode.config.yaml:1:9: 'exec.max_sessions' is text; a whole number is needed.",
    ],
    [
      'with an entry that lacks something',
      'manifests: [{ only: [x] }]',
      "~/.vtcode/vtcode.config.yaml:1:13: 'manifests.0.from' is missing.",
    ],
    ['with $import', '$import: ./x.js', "~/.vtcode/vtcode.config.yaml:1:1: Unknown key '$import'"],
    [
      'with a value of no allowed type',
      'custom_providers: [{ name: a, headers: { x: 7 } }]',
      "~/.vtcode/vtcode.config.yaml:1:42: 'custom_providers.0.headers.x' is 7; text or an object is needed.",
    ],
    [
      'with a mistyped form of a value',
      'custom_providers: [{ name: a, headers: { x: { evn: X } } }]',
      "~/.vtcode/vtcode.config.yaml:1:47: Unknown key 'custom_providers.0.headers.x.evn'; did you mean 'env'?",
    ],
    [
      'with an unknown form of a value',
      'custom_providers: [{ name: a, headers: { x: { vault: X } } }]',
      "~/.vtcode/vtcode.config.yaml:1:47: Unknown key 'custom_providers.0.headers.x.vault'; known: env, file, command, timeout_secs, refresh_secs, keychain, secret, option.",
    ],
    [
      'with a mistake in one of several allowed types',
      'custom_providers: [{ name: a, models: [{ id: m }] }]',
      "~/.vtcode/vtcode.config.yaml:1:40: 'custom_providers.0.models.0' is an object; text is needed.",
    ],
    [
      'with too little of something',
      'use: { hello: [] }',
      "~/.vtcode/vtcode.config.yaml:1:8: 'use.hello' has 0 items, at least 1.",
    ],
    [
      'with a name that cannot be one',
      'custom_providers: [{ name: a, headers: { a b: x } }]',
      "~/.vtcode/vtcode.config.yaml:1:42: 'custom_providers.0.headers.a b' is 'a b', which does not match",
    ],
    [
      'with two providers of one name',
      'custom_providers: [{ name: a, base_url: "http://127.0.0.1" }, { name: a }]',
      "~/.vtcode/vtcode.config.yaml:1:65: 'custom_providers.1.name' is 'a', as in 'custom_providers.0': give each entry a name of its own.",
    ],
    ['that is a list', '- a', '~/.vtcode/vtcode.config.yaml:1:1: The file is a list; an object is needed.'],
    ['that is no YAML', 'a: [', '~/.vtcode/vtcode.config.yaml:1:5: '],
    [
      'with a forbidden key',
      'use: { __proto__: { a: b } }',
      "~/.vtcode/vtcode.config.yaml:1:8: The key '__proto__' is not allowed.",
    ],
  ])('refuses to start on a settings file %s', async (_, text, message) => {
    user(text)
    const [code, said, file] = await failure()
    expect([code, said.slice(0, message.length), file]).toEqual([
      'VT_CONFIG_INVALID',
      message,
      message.slice(0, message.indexOf(': ')),
    ])
  })
  it('reports every mistake of a settings file at once', async () => {
    user('a: 1\nb: 2\nexec: { shell: 3 }')
    expect(((await failure())[1] as string).split('\n')).toHaveLength(3)
  })
  it('refuses a settings file that is a folder, a pipe or unreadable', async () => {
    mkdirSync(join(space.root, 'vtcode.config.yaml'))
    expect((await failure())[0]).toBe('VT_CONFIG_INVALID')
    execFileSync('sh', ['-c', 'rmdir vtcode.config.yaml && mkfifo vtcode.config.yaml'], { cwd: space.root })
    expect((await failure())[0]).toBe('VT_CONFIG_INVALID')
    symlinkSync('gone', join(space.root, 'vtcode.config.json'))
    expect((await failure())[0]).toBe('VT_CONFIG_AMBIGUOUS')
  })
  it('refuses wrong variables and wrong options', async () => {
    expect(await failure({ env: { VTCODE__POLICY__MDOE: 'ask' } })).toEqual([
      'VT_CONFIG_INVALID',
      "VTCODE__POLICY__MDOE: Unknown key 'policy.mdoe'; did you mean 'mode'?",
      'VTCODE__POLICY__MDOE',
    ])
    expect((await failure({ env: { VTCODE____PROTO____X: '1' } }))[0]).toBe('VT_CONFIG_INVALID')
    expect((await failure({ env: { VTCODE__USE__CONSTRUCTOR: 'x' } }))[1]).toBe(
      "VTCODE__USE__CONSTRUCTOR: The key 'constructor' is not allowed.",
    )
    expect((await failure({ config: JSON.parse('{ "__proto__": { "a": 1 } }') }))[1]).toBe(
      "options: The key '__proto__' is not allowed.",
    )
    expect((await failure({ config: { policy: (() => 1) as never } }))[0]).toBe('VT_CONFIG_INVALID')
    expect((await failure({ config: 'policy.mode=yolo' }))[1]).toContain("'policy.mode' is 'yolo'")
  })
})

describe('settings in code', () => {
  const code = `import { defineConfig } from 'vtcode'
    import type { Config } from 'somewhere'
    import { mode } from './mode.js'
    enum Level { Low = 3 }
    const extra: Partial<Config> = { exec: { max_sessions: Level.Low } }
    export default defineConfig({ policy: { mode }, ...extra })`
  const mode = 'export const mode = "plan" as const'

  it('runs user settings in TypeScript or JavaScript inside the program', async () => {
    user(code, 'vtcode.config.ts')
    user(mode, 'mode.ts')
    expect((await load()).settings).toMatchObject({ policy: { mode: 'plan' }, exec: { max_sessions: 3 } })
  })
  it('calls settings that are a function with folder, environment and mode', async () => {
    user('export default async ({ cwd, env, mode }) => ({ $schema: [cwd, env.X, mode].join() })', 'vtcode.config.mjs')
    expect((await load({ env: { X: 'y' }, mode: 'auto' })).settings).toMatchObject({ $schema: `${space.root},y,auto` })
  })
  it('loads settings in code again each time and writes no file', async () => {
    user('export default { policy: { mode: "plan" } }', 'vtcode.config.ts')
    expect(await modeOf()).toBe('plan')
    user('export default { policy: { mode: "auto" } }', 'vtcode.config.ts')
    expect(await modeOf()).toBe('auto')
    expect(execFileSync('ls', [join(space.home, '.vtcode')], { encoding: 'utf8' }).trim()).toBe('vtcode.config.ts')
  })
  it('takes what a CommonJS file of the user exports', async () => {
    user('module.exports = { policy: { mode: "plan" } }', 'vtcode.config.cjs')
    expect(await modeOf()).toBe('plan')
  })
  it.each([
    ['throws', 'throw new Error("boom")', 'boom'],
    ['has no default export', 'export const a = 1', 'it has no default export'],
    ['gives what JSON cannot say', 'export default { hooks: () => 1 }', 'JSON has no function'],
    ['does not fit', 'export default { polcy: {} }', "did you mean 'policy'"],
    ['does not parse', 'export default {', ''],
  ])('refuses to start when the settings code of the user %s', async (_, text, message) => {
    user(text, 'vtcode.config.ts')
    const [code, said, file] = await failure()
    expect([code, file]).toEqual(['VT_CONFIG_INVALID', '~/.vtcode/vtcode.config.ts'])
    expect(said).toContain(message)
  })

  it('ignores workspace settings in code until they are trusted', async () => {
    await space.write(
      'vtcode.config.ts',
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(space.root, 'marker'))}, ''); export default { policy: { mode: 'plan' } }`,
    )
    await space.write('.vtcode/config.local.yaml', 'output: { max_text_bytes: 99 }')
    const { settings, diagnostics, items, files } = await load()
    expect(settings).toMatchObject({ policy: { mode: 'ask' }, output: { max_text_bytes: 99 } })
    expect(diagnostics.map(({ code, severity, files }) => [code, severity, ...files.map(short)])).toEqual([
      ['VT_CONFIG_UNTRUSTED', 'warning', './vtcode.config.ts'],
    ])
    expect([items.map(({ id }) => id), files.map(short), existsSync(join(space.root, 'marker'))]).toEqual([
      ['vtcode.config.ts'],
      ['./.vtcode/config.local.yaml'],
      false,
    ])
  })
  it('runs trusted workspace settings in a separate process, where they may only tighten', async () => {
    await space.write('vtcode.config.ts', `${code}\nconsole.log('noise')`)
    await space.write('mode.ts', mode)
    const trusted = () => true
    expect((await load({ isTrusted: trusted })).settings).toMatchObject({
      policy: { mode: 'plan' },
      exec: { max_sessions: 3 },
    })
    await space.write(
      'vtcode.config.ts',
      'export default ({ env }) => ({ policy: { mode: "full-auto" }, $schema: String([env.SECRET, process.env.SECRET, env.VTCODE, process.pid]) })',
    )
    const { settings, diagnostics } = await load({
      isTrusted: trusted,
      env: { PATH: process.env['PATH'], SECRET: 'x' },
    })
    expect(settings.policy.mode).toBe('ask')
    expect(settings['$schema']).toMatch(/^,,1,\d+$/)
    expect(settings['$schema']).not.toContain(String(process.pid))
    expect(diagnostics.map(({ code }) => code)).toEqual(['VT_CONFIG_LOOSENS'])
  })
  it.each([
    ['ends its process', 'process.exit(0)', 'ended its process'],
    ['throws', 'throw new Error("boom")', 'boom'],
    [
      'imports a package',
      'import "left-pad"; export default {}',
      "Cannot find module 'left-pad'; settings of a workspace can import vtcode, node: modules, and files",
    ],
  ])('refuses to start when the settings code of a trusted workspace %s', async (_, text, message) => {
    await space.write('vtcode.config.mjs', text)
    const [code, said] = await failure({ isTrusted: () => true })
    expect(code).toBe('VT_CONFIG_INVALID')
    expect(said).toContain(message)
  })
  it('ends trusted workspace settings that never finish, with the programs they started', async () => {
    await space.write(
      'vtcode.config.mjs',
      `import { spawn } from 'node:child_process'; spawn('/bin/sh', ['-c', 'echo $$ > pid; exec sleep 600']); await new Promise(() => setInterval(() => {}, 1000))`,
    )
    expect(await failure({ isTrusted: () => true, timeoutMs: 5_000 })).toEqual([
      'VT_CONFIG_INVALID',
      './vtcode.config.mjs: it did not finish within 5 s.',
      './vtcode.config.mjs',
    ])
    const pid = Number(readFileSync(join(space.root, 'pid'), 'utf8'))
    // A container without an init process keeps the ended ones as zombies.
    const running = () => existsSync(`/proc/${pid}`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    await expect.poll(running).toBe(false)
  })
})

describe('settings that exceed the rights of a workspace', () => {
  it('ignores workspace settings that need more rights, and reports file and line', async () => {
    user('policy: { mode: auto }')
    await space.write('vtcode.config.yaml', 'policy:\n  mode: full-auto\n  allow: [Bash]\nuse: { a/b: c }')
    const { settings, diagnostics, items } = await load()
    expect(settings).toMatchObject({ policy: { mode: 'auto', allow: [] }, use: {} })
    expect(diagnostics.map(({ code, files }) => [code, ...files.map(short)])).toEqual([
      ['VT_CONFIG_LOOSENS', './vtcode.config.yaml:2'],
      ['VT_CONFIG_OWN_ONLY', './vtcode.config.yaml:3'],
      ['VT_CONFIG_CONSENT', './vtcode.config.yaml:4'],
    ])
    expect(items.map(({ id }) => id)).toEqual(['vtcode.config.yaml#use'])
  })
  it('applies a workspace setting once its exact value is trusted', async () => {
    await space.write('vtcode.config.yaml', 'use: { a/b: c }')
    const digest = (await load()).items[0]?.digest
    const trusted = (_: string, given: string) => given === digest
    expect((await load({ isTrusted: trusted })).settings.use).toEqual({ 'a/b': 'c' })
    await space.write('vtcode.config.yaml', 'use: { a/b: d }')
    expect((await load({ isTrusted: trusted })).settings.use).toEqual({})
  })
})

describe('validateConfigFile', () => {
  it('reports mistakes of one file by line, and nothing for a valid file', async () => {
    await space.write('right.yaml', 'policy: { mode: full-auto, allow: [Bash] }')
    await space.write('wrong.yaml', 'policy:\n  mod: auto')
    await space.write('right.ts', 'export default { policy: { mode: "plan" as const } }')
    expect(await validateConfigFile(join(space.root, 'right.yaml'))).toEqual([])
    expect(await validateConfigFile(join(space.root, 'right.ts'))).toEqual([])
    expect(await validateConfigFile(join(space.root, 'wrong.yaml'))).toMatchObject([
      { code: 'VT_CONFIG_INVALID', severity: 'error', files: [join(space.root, 'wrong.yaml:2:3')] },
    ])
    expect(await validateConfigFile(join(space.root, 'gone.yaml'))).toMatchObject([{ code: 'VT_CONFIG_INVALID' }])
  })
})
