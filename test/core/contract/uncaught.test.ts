import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Diagnostic } from 'vtcode'

const manifest = (name: string, more = 'effects: [read]'): string =>
  `name: ${name}\ndescription: ${name}.\n${more}\nmodule: ./${name}.js\n`
const good = 'export default ({ slot }) => ({ ok: true, output: { slot } })\n'

// One folder with a good plugin among everything that can be wrong with a plugin before it is called.
const files = {
  'good.yaml': manifest('good'),
  'good.js': good,
  'broken_yaml.yaml': 'name: broken_yaml\ndescription: a: b\n',
  'bomb.yaml': `name: bomb\nmeta:\n  a: &a [x]\n${[...'bcdefghi'].map((key, index) => `  ${key}: &${key} [${`*${'abcdefgh'[index]},`.repeat(9)}]`).join('\n')}\n`,
  'twice.yaml': 'name: twice\nname: again\n',
  'polluted.yaml': 'name: polluted\n__proto__: { polluted: true }\n',
  'unknown_key.yaml': manifest('unknown_key', 'effects: [read]\ndescripton: typo'),
  'wrong_type.yaml': manifest('wrong_type', 'effects: read'),
  'no_module.yaml': manifest('no_module'),
  'outside.yaml': 'name: outside\ndescription: x.\neffects: [read]\nmodule: ../../../etc/passwd.js\n',
  'remote.yaml': 'name: remote\ndescription: x.\neffects: [read]\nmodule: data:text/javascript,0\n',
  'throws.yaml': manifest('throws'),
  'throws.js': "throw new Error('on purpose')\n",
  'syntax.yaml': manifest('syntax'),
  'syntax.js': 'export default (\n',
  'hangs.yaml': manifest('hangs'),
  'hangs.js': 'await new Promise((resolve) => setTimeout(resolve, 600_000))\nexport default () => {}\n',
  'nothing.yaml': manifest('nothing'),
  'nothing.js': 'export const other = 1\n',
  'number.yaml': manifest('number'),
  'number.js': 'export default 42\n',
  'nul.yaml': 'name: nul\0\n',
}
let plugins: TempWorkspace
let booted: Booted
beforeAll(async () => {
  plugins = await tempWorkspace(files)
  booted = await bootKernel({ manifests: [plugins.root], config: { plugins: { import_timeout_secs: 4 } } })
})
afterAll(async () => {
  await booted[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})

const about = (name: string): Diagnostic[] =>
  booted.kernel.diagnostics().filter(({ files }) => files.some((file) => file.includes(`/${name}.yaml`)))

describe('broken plugin', () => {
  it.each([
    ['broken_yaml', 'VT_MANIFEST_INVALID'],
    ['bomb', 'VT_MANIFEST_LIMIT'],
    ['twice', 'VT_MANIFEST_INVALID'],
    ['polluted', 'VT_MANIFEST_INVALID'],
    ['unknown_key', 'VT_MANIFEST_INVALID'],
    ['wrong_type', 'VT_MANIFEST_INVALID'],
    ['no_module', 'VT_MANIFEST_PATH'],
    ['outside', 'VT_MANIFEST_PATH'],
    ['remote', 'VT_MANIFEST_PATH'],
    ['nul', 'VT_MANIFEST_LIMIT'],
  ])('reports a broken manifest (%s) by file and code while loading', async (name, code) => {
    expect(about(name).map((diagnostic) => diagnostic.code)).toContain(code)
    expect(booted.kernel.inspection.contributions().find(({ file }) => file.endsWith(`/${name}.yaml`))).toMatchObject({
      state: 'invalid',
    })
    expect((await booted.call(name)).ok).toBe(false)
  })

  it.each([
    ['throws', /on purpose/],
    ['syntax', /./],
    ['hangs', /4 s/],
    ['nothing', /default export/],
    ['number', /number/],
  ])(
    'answers VT_PLUGIN_IMPORT for a broken module (%s) each time, and reports it once by file',
    async (name, message) => {
      expect(about(name)).toEqual([])
      for (let round = 0; round < 2; round += 1) {
        const started = performance.now()
        matches(await booted.call(name), { ok: false, error: { code: 'VT_PLUGIN_IMPORT', retryable: false } })
        expect(performance.now() - started).toBeLessThan(20_000)
      }
      expect(about(name).map(({ code, message: text }) => [code, message.test(text)])).toEqual([
        ['VT_PLUGIN_IMPORT', true],
      ])
    },
  )

  it('keeps other tools answering after broken plugins', async () => {
    matches(await booted.call('good'), { ok: true, output: { slot: 'good' } })
    matches(await booted.call('unified_file', { action: 'read', path: 'missing' }), {
      ok: false,
      error: { code: 'VT_PATH_NOT_FOUND' },
    })
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('accounts for every manifest file of a folder', () => {
    const known = booted.kernel.inspection.contributions().map(({ file }) => file.split('/').at(-1))
    for (const file of Object.keys(files).filter((name) => name.endsWith('.yaml'))) expect(known).toContain(file)
  })
})

describe('slot collision', () => {
  it('reports winner and loser of a claimed slot, and the winner answers', async () => {
    await using two = await tempWorkspace({
      'a.yaml': 'name: first\naction: demo/x\ndescription: First.\neffects: [read]\nmodule: ./a.js\n',
      'b.yaml': 'name: second\naction: demo/x\ndescription: Second.\neffects: [read]\nmodule: ./b.js\n',
      'a.js': 'export default () => ({ ok: true, output: { by: 1 } })\n',
      'b.js': 'export default () => ({ ok: true, output: { by: 2 } })\n',
    })
    await using other = await bootKernel({ manifests: [two.root] })
    const collision = other.kernel.diagnostics().find(({ code }) => code === 'VT_SLOT_COLLISION')
    expect(collision?.message).toMatch(/first and \S*second both serve demo\/x; \S*first comes first/)
    expect(collision?.files.map((file) => file.split('/').at(-1))).toEqual(['a.yaml', 'b.yaml'])
    matches(await other.call('demo', { action: 'x' }), { ok: true, output: { by: 1 } })
  })
})

describe('two plugins with a tool of one name', () => {
  it("loads both plugins and calls the second one by its plugin's name", async () => {
    const hello = (by: number) => ({
      'vtcode.yaml': 'name: hello\ndescription: Says who it is.\neffects: []\nmodule: ./hello.js\n',
      'hello.js': `export default () => ({ ok: true, output: { by: ${by} } })\n`,
    })
    const of = (plugin: string, files: Record<string, string>) =>
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`${plugin}/${name}`, text]))
    await using two = await tempWorkspace({ ...of('alpha-one', hello(1)), ...of('beta', hello(2)) })
    const manifests = ['alpha-one', 'beta'].map((name) => `${two.root}/${name}`)
    await using other = await bootKernel({ manifests })
    matches(await other.call('hello'), { ok: true, output: { by: 1 } })
    matches(await other.call('beta__hello'), { ok: true, output: { by: 2 } })
    expect(
      other.kernel.inspection
        .contributions()
        .filter(({ id }) => id.endsWith(':hello'))
        .map(({ id, state }) => `${id} ${state}`),
    ).toEqual(['alpha-one:hello active', 'beta:hello shadowed'])
    expect(other.kernel.diagnostics().find(({ code }) => code === 'VT_SLOT_COLLISION')?.message).toMatch(
      /alpha-one:hello and beta:hello both serve hello/,
    )
  })
  it('reports an ambiguous bare name in `use` and accepts qualified ones', async () => {
    const read = (by: string) => ({
      'vtcode.yaml': 'name: my_read\naction: unified_file/read\nstage: override\nmodule: ./read.js\n',
      'read.js': `export default () => ({ ok: true, output: { content: '${by}' } })\n`,
    })
    const of = (plugin: string) =>
      Object.fromEntries(Object.entries(read(plugin)).map(([name, text]) => [`${plugin}/${name}`, text]))
    await using two = await tempWorkspace({ ...of('alpha'), ...of('beta') })
    const manifests = ['alpha', 'beta'].map((name) => `${two.root}/${name}`)
    const answer = async (bound: string) => {
      await using other = await bootKernel({
        manifests,
        files: { 'a.txt': 'a' },
        config: { use: { 'unified_file/read': bound } },
      })
      const result = await other.call('unified_file', { action: 'read', path: 'a.txt' })
      return result.ok ? result.output['content'] : result.error.message
    }
    expect(await answer('beta:my_read')).toBe('beta')
    expect(await answer('my_read')).toMatch(/name one of alpha:my_read, beta:my_read/)
    expect(await answer('builtin')).toMatch(/^a/)
  })
})

describe('module of the workspace', () => {
  it('runs no module of the workspace until the workspace is trusted', async () => {
    await using kernel = await bootKernel({
      files: {
        '.vtcode/plugins/acme/vtcode.yaml': 'name: acme_tool\ndescription: x.\neffects: [read]\nmodule: ./tool.js\n',
        '.vtcode/plugins/acme/tool.js':
          'globalThis.untrustedRan = true\nexport default () => ({ ok: true, output: {} })\n',
      },
    })
    matches(await kernel.call('acme_tool'), { ok: false, error: { code: 'VT_PLUGIN_UNTRUSTED' } })
    expect((globalThis as { untrustedRan?: boolean }).untrustedRan).toBeUndefined()
    expect(kernel.kernel.list().map(({ slot }) => slot)).not.toContain('acme_tool')
  })
})

describe('override of one action', () => {
  it('replaces one action with a four-line manifest and a function', async () => {
    await using acme = await tempWorkspace({
      'acme_read.yaml': 'name: acme_read\naction: unified_file/read\nstage: override\nmodule: ./acme_read.js\n',
      'acme_read.js':
        "import { ok } from 'vtcode'\nexport default ({ input }) => ok({ path: input.path, content: 'mine' })\n",
    })
    await using kernel = await bootKernel({ files: { 'a.txt': 'theirs' }, manifests: [acme.root] })
    matches(await kernel.call('unified_file', { action: 'read', path: 'a.txt' }), {
      ok: true,
      output: { content: 'mine' },
    })
    matches(await kernel.call('unified_file', { action: 'read', path: '../a.txt' }), {
      ok: false,
      error: { code: 'VT_PATH_OUTSIDE' },
    })
    expect(kernel.kernel.diagnostics().map(({ code }) => code)).toContain('VT_SLOT_OVERRIDDEN')
  })
})
