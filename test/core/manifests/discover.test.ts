import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { loadSettings } from '../../../build/core/config/index.js'
import { discoverManifests } from '../../../build/core/manifests/index.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace()
})
afterEach(() => space[Symbol.asyncDispose]())

const tool = (name: string) => `name: ${name}\nrun: [echo]\neffects: []\n`
const put = (path: string, text: string) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
const atHome = (path: string, text: string) => put(join(space.home, path), text)

/** Finds the manifests under the settings of the files, without the built-in ones. */
async function find(admin = join(space.home, 'etc'), path = process.env['PATH'], config: object = {}) {
  const places = {
    workspace: space.root,
    home: join(space.home, '.vtcode'),
    user: space.home,
    admin,
    env: { PATH: path },
  }
  const loaded = await loadSettings({ ...places, config, isTrusted: () => true })
  const { contributions, invalid, diagnostics } = await discoverManifests({ ...places, loaded })
  return {
    ids: contributions.filter(({ layer }) => layer !== 'builtin').map(({ id, layer }) => `${id} ${layer}`),
    contributions,
    invalid,
    diagnostics,
    said: diagnostics.map(
      ({ code, files }) => `${code} ${files.map((file) => file.replace(space.home, '~').replace(space.root, '.'))}`,
    ),
  }
}

describe('discoverManifests', () => {
  it('finds manifests in all places, in order, with names in byte order', async () => {
    atHome('.vtcode/plugins/zeta/vtcode.yaml', tool('z'))
    atHome('.vtcode/plugins/alpha/vtcode/b.yaml', tool('b'))
    atHome('.vtcode/plugins/alpha/vtcode/a/a.json', '{ "name": "a", "run": ["x"] }')
    atHome('.agents/plugins/agent/vtcode.yml', tool('g'))
    atHome('mine/one.yaml', tool('one'))
    atHome('file.yaml', tool('file'))
    atHome('.vtcode/vtcode.config.yaml', 'manifests: [~/mine, ../file.yaml]')
    await space.write('.vtcode/plugins/theirs/vtcode.json', '{ "name": "t", "run": ["x"] }')
    await space.write('.agents/plugins/more/vtcode.yaml', tool('m'))
    await space.write('tools/Upper.yaml', tool('upper'))
    await space.write('tools/lower.yaml', tool('lower'))
    await space.write('vtcode.config.yaml', 'manifests: [./tools]')
    const { ids, said } = await find()
    expect(ids).toEqual([
      'user:one user',
      'user:file user',
      'workspace:upper workspace',
      'workspace:lower workspace',
      'alpha:a user',
      'alpha:b user',
      'zeta:z user',
      'agent:g user',
      'theirs:t workspace',
      'more:m workspace',
    ])
    expect(said).toEqual([])
  })
  it('skips names that begin with . or _, schema, node_modules, hooks.json and folders over four deep', async () => {
    for (const path of [
      '.hidden.yaml',
      '_draft.yaml',
      'schema/a.yaml',
      'node_modules/a.yaml',
      'a/b/c/d/e.yaml',
      'README.md',
      '_old/a.yaml',
    ])
      await space.write(`tools/${path}`, tool('no'))
    await space.write('tools/a/b/c/yes.yaml', tool('yes'))
    await space.write('.vtcode/plugins/p/vtcode/hooks.json', '{}')
    await space.write('.vtcode/plugins/p/vtcode/a.yaml', tool('a'))
    await space.write('vtcode.config.yaml', 'manifests: [tools]')
    expect((await find()).ids).toEqual(['workspace:yes workspace', 'p:a workspace', 'p:lifecycle_hooks workspace'])
  })
  it('finds packages from the folder of the settings file upwards', async () => {
    await space.write('node_modules/@acme/vtcode-tools/vtcode.yaml', tool('p'))
    await space.write('node_modules/loose/tools/a.yaml', tool('l'))
    await space.write(
      '.vtcode/config.yaml',
      "manifests: ['npm:@acme/vtcode-tools', { from: 'npm:loose' }, 'npm:absent', 'npm:../x']",
    )
    const { ids, diagnostics } = await find()
    expect(ids).toEqual(['vtcode-tools:p workspace', 'workspace:l workspace'])
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "'npm:absent' in `manifests` does not exist.",
      "'npm:../x' in `manifests` does not exist.",
    ])
  })
  it('includes the built-in manifests unless the settings remove them', async () => {
    expect((await find()).contributions.every(({ layer, plugin }) => layer === 'builtin' && plugin === 'builtin')).toBe(
      true,
    )
    atHome('.vtcode/vtcode.config.yaml', "manifests: ['!builtin:*']")
    const { contributions, invalid } = await find()
    expect(contributions).toEqual([])
    expect(new Set(invalid.map(({ state, reason }) => `${state} ${reason}`))).toEqual(
      new Set(["inactive excluded by 'builtin:*' in the settings"]),
    )
  })
})

it('reports one bad manifest without stopping the others, and gives every found file a state', async () => {
  await space.write('.vtcode/plugins/p/vtcode/a.yaml', 'name: [')
  await space.write('.vtcode/plugins/p/vtcode/b.yaml', 'name: b\nrunn: [x]\naction: t/b\nstage: override')
  await space.write('.vtcode/plugins/p/vtcode/c.yaml', tool('c'))
  await space.write('.vtcode/plugins/p/vtcode/d.yaml', tool('c'))
  await space.write('.vtcode/plugins/p/vtcode/e.yaml', 'name: e\neffects: []\nmodule: ./gone.js')
  await space.write('.vtcode/plugins/p/vtcode/f.yaml', 'name: f\nkind: policy\nmodule: ./gone.js')
  const { ids, invalid, said } = await find()
  expect(ids).toEqual(['p:c workspace'])
  expect(
    invalid.map(({ id, kind, state, slot, stage }) => [id, kind, state, slot, stage].filter(Boolean).join(' ')),
  ).toEqual([
    'p:a unknown invalid',
    'p:b action invalid t/b override',
    'p:c action invalid c primary',
    'p:e action invalid e primary',
    'p:f policy invalid',
  ])
  expect(said.filter((line) => !line.includes('b.yaml:1'))).toEqual([
    'VT_MANIFEST_INVALID ./.vtcode/plugins/p/vtcode/a.yaml:1:8',
    'VT_MANIFEST_INVALID ./.vtcode/plugins/p/vtcode/b.yaml:2:1',
    'VT_MANIFEST_DUPLICATE ./.vtcode/plugins/p/vtcode/c.yaml,./.vtcode/plugins/p/vtcode/d.yaml',
    'VT_MANIFEST_PATH ./.vtcode/plugins/p/vtcode/e.yaml:3:1',
    'VT_MANIFEST_PATH ./.vtcode/plugins/p/vtcode/f.yaml:3:1',
  ])
})

describe('plugin folders', () => {
  it("lets a user's plugin keep its name and renames one of the workspace", async () => {
    atHome('.vtcode/plugins/acme/vtcode.yaml', tool('mine'))
    await space.write('tools/acme/vtcode.yaml', tool('theirs'))
    await space.write('vtcode.config.yaml', 'manifests: [tools/acme]')
    const { ids, said } = await find()
    expect(ids).toEqual(['acme@workspace:theirs workspace', 'acme:mine user'])
    expect(said).toEqual(['VT_PLUGIN_RENAMED ~/.vtcode/plugins/acme,./tools/acme'])
  })
  it('renames a plugin that takes the name of a layer or has invalid characters', async () => {
    atHome('.vtcode/plugins/builtin/vtcode.yaml', tool('a'))
    atHome('.vtcode/plugins/Ümläut Tools/vtcode.yaml', tool('b'))
    expect((await find()).ids).toEqual(['builtin@user:a user', 'ml-ut-tools:b user'])
  })
  it('reports a plugin folder without a marker or with two', async () => {
    atHome('.vtcode/plugins/none/readme.md', '')
    atHome('.vtcode/plugins/two/vtcode.yaml', tool('a'))
    atHome('.vtcode/plugins/two/vtcode/b.yaml', tool('b'))
    atHome('.vtcode/plugins/file.yaml', tool('c'))
    const { ids, diagnostics } = await find()
    expect(ids).toEqual(['two:a user'])
    expect(diagnostics.map(({ severity, message }) => `${severity} ${message.replace(space.home, '~')}`)).toEqual([
      'warning ~/.vtcode/plugins/none has neither vtcode.yaml nor a folder vtcode, and is not a package of a known format.',
      'warning ~/.vtcode/plugins/two has vtcode.yaml and vtcode; only the first is read.',
    ])
  })
  it('ignores a format file that is a link to an endless device', async () => {
    await space.write('.vtcode/plugins/evil/vtcode.yaml', tool('a'))
    symlinkSync('/dev/null', join(space.root, '.vtcode/plugins/evil/plugin.json'))
    expect((await find()).ids).toEqual(['evil:a workspace'])
  })
  it('refuses a plugin or a manifest that is a link out of its folder', async () => {
    atHome('elsewhere/vtcode.yaml', tool('a'))
    mkdirSync(join(space.root, '.vtcode/plugins'), { recursive: true })
    symlinkSync(join(space.home, 'elsewhere'), join(space.root, '.vtcode/plugins/evil'))
    await space.write('.vtcode/plugins/b/vtcode/real.yaml', tool('b'))
    symlinkSync(join(space.home, 'elsewhere/vtcode.yaml'), join(space.root, '.vtcode/plugins/b/vtcode/link.yaml'))
    const { ids, said } = await find()
    expect(ids).toEqual(['b:b workspace'])
    expect(said).toEqual([
      'VT_MANIFEST_INVALID ./.vtcode/plugins/evil',
      'VT_MANIFEST_INVALID ./.vtcode/plugins/b/vtcode/link.yaml',
    ])
  })
  it('reads plugins of the home folder once when it is the workspace', async () => {
    await space.write('.vtcode/plugins/p/vtcode.yaml', tool('a'))
    const places = { workspace: space.root, home: join(space.root, '.vtcode'), user: space.root, env: {} }
    const { contributions } = await discoverManifests({ ...places, loaded: await loadSettings(places) })
    expect(contributions.filter(({ plugin }) => plugin === 'p').map(({ layer }) => layer)).toEqual(['user'])
  })
})

describe('entries of `manifests`', () => {
  it('selects manifests with only and except, and passes options on', async () => {
    for (const name of ['grep_a', 'grep_b', 'list']) await space.write(`tools/${name}.yaml`, tool(name))
    await space.write(
      'vtcode.config.yaml',
      "manifests: [{ from: tools, only: ['workspace:grep_*'], except: ['*_b'], options: { depth: 3 } }]",
    )
    const { ids, invalid, contributions } = await find()
    expect(ids).toEqual(['workspace:grep_a workspace'])
    expect(contributions.find(({ layer }) => layer === 'workspace')?.options).toEqual({ depth: 3 })
    expect(invalid.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'workspace:grep_b inactive',
      'workspace:list inactive',
    ])
  })
  it('refuses an entry of the workspace that leads outside', async () => {
    atHome('mine/a.yaml', tool('a'))
    symlinkSync(join(space.home, 'mine'), join(space.root, 'link'))
    await space.write('vtcode.config.yaml', 'manifests: [~/mine, ../home/mine, link]')
    const { ids, said } = await find()
    expect(ids).toEqual([])
    expect(said).toEqual(['VT_MANIFEST_OUTSIDE .', 'VT_MANIFEST_OUTSIDE .', 'VT_MANIFEST_OUTSIDE .'])
  })
  it('reports a missing entry, and refuses to start if a required one is broken or missing', async () => {
    await space.write('tools/a.yaml', 'name: [')
    await space.write('vtcode.config.yaml', 'manifests: [gone]')
    expect((await find()).said).toEqual(['VT_MANIFEST_MISSING .'])
    await space.write('vtcode.config.yaml', 'manifests: [{ from: gone, required: true }]')
    await expect(find()).rejects.toMatchObject({ code: 'VT_RELOAD_REFUSED' })
    await space.write('vtcode.config.yaml', 'manifests: [{ from: tools, required: true }]')
    await expect(find()).rejects.toMatchObject({
      code: 'VT_RELOAD_REFUSED',
      message: expect.stringContaining('workspace:a'),
    })
  })
  it('removes manifests with !, but no policy and no override of the user for a workspace', async () => {
    atHome('.vtcode/plugins/own/vtcode/p.yaml', 'name: p\nkind: policy\nrules: {}')
    atHome('.vtcode/plugins/own/vtcode/o.yaml', 'name: o\naction: t/a\nstage: override\nrun: [x]')
    atHome('.vtcode/plugins/own/vtcode/a.yaml', tool('a'))
    await space.write('vtcode.config.yaml', "manifests: ['!own:*']")
    expect((await find()).ids).toEqual(['own:o user', 'own:p user'])
    await space.write('vtcode.config.yaml', "plugins: { disable: ['own:*'] }")
    expect((await find()).ids).toEqual(['own:o user', 'own:p user'])
    atHome('.vtcode/vtcode.config.yaml', "plugins: { disable: ['own:*'] }")
    await space.write('vtcode.config.yaml', '')
    expect((await find()).ids).toEqual([])
  })
  it('limits a removal to the layer that asked for it, and reports what a workspace could not remove', async () => {
    for (const name of ['own', 'more'])
      atHome(`.vtcode/plugins/${name}/vtcode/p.yaml`, 'name: p\nkind: policy\nrules: {}')
    atHome('.vtcode/vtcode.config.yaml', "plugins: { disable: ['own:p'] }")
    for (const said of [
      "plugins: { disable: ['more:*', '*:p', 'builtin:permission'] }",
      "manifests: ['!more:*', '!*:p', '!builtin:permission']",
    ]) {
      await space.write('vtcode.config.yaml', said)
      expect(await find()).toMatchObject({
        ids: ['more:p user'],
        said: ['VT_PLUGIN_KEPT ./vtcode.config.yaml'],
        diagnostics: [{ severity: 'warning', message: expect.stringMatching(/'more:\*'.*more:p/) }],
      })
      // A setting that the user adds for one run gives the workspace no rights.
      const { contributions } = await find(undefined, undefined, { plugins: { disable: ['nothing:x'] } })
      expect(contributions.map(({ id }) => id)).toEqual(expect.arrayContaining(['more:p', 'builtin:permission']))
    }
  })
})

it('disables all plugins for a user, and those of the workspace for a workspace', async () => {
  atHome('.vtcode/plugins/own/vtcode.yaml', tool('a'))
  await space.write('.vtcode/plugins/theirs/vtcode.yaml', tool('b'))
  await space.write('vtcode.config.yaml', 'plugins: { workspace: "off" }')
  expect((await find()).ids).toEqual(['own:a user'])
  // Plugins of the user guard them: a repository does not switch them off.
  await space.write('vtcode.config.yaml', 'plugins: { enabled: false }')
  expect((await find()).ids).toEqual(['own:a user', 'theirs:b workspace'])
  atHome('.vtcode/vtcode.config.yaml', 'plugins: { enabled: false }')
  expect((await find()).ids).toEqual([])
})

describe('requirements of a manifest', () => {
  const needy = (name: string, more: string) =>
    space.write(`.vtcode/plugins/${name}/vtcode.yaml`, `${tool(name)}${more}`)
  const unmet = async () => {
    const { ids, diagnostics } = await find()
    return {
      ids: ids.map((id) => id.split(':')[0]),
      said: diagnostics.map(({ code, severity, message }) => `${code} ${severity} ${message}`),
    }
  }
  it('changes nothing for requirements that are met', async () => {
    await needy(
      'all',
      `vtcode: '>=0.0.1'\nrequires: { os: [${process.platform}], arch: [${process.arch}], node: '>=20', bin: [sh], plugins: [other] }`,
    )
    await needy('other', '')
    expect(await unmet()).toEqual({ ids: ['all', 'other'], said: [] })
  })
  it.each([
    ["vtcode: '>=99'", /^VT_PLUGIN_ENGINE warning p:p works with vtcode >=99; this is \d/],
    ['requires: { os: [win32] }', /^VT_PLUGIN_REQUIRES warning p:p needs win32; this is (?:linux|darwin)\./],
    ['requires: { arch: [pdp11] }', /needs pdp11; this is /],
    ["requires: { node: '<18' }", /needs Node <18; this is \d/],
    ['requires: { bin: [sh, no-such-program, nor-this] }', /needs the program no-such-program, the program nor-this\./],
    ['requires: { plugins: [gone] }', /needs the plugin gone\./],
  ])('leaves a manifest inactive for the unmet requirement %s', async (more, message) => {
    await needy('p', more)
    const { ids, said } = await unmet()
    expect([ids, said.length]).toEqual([[], 1])
    expect(said[0]).toMatch(message)
    expect((await find()).invalid.at(-1)).toMatchObject({ id: 'p:p', state: 'inactive', slot: 'p' })
  })
  it('follows requirements on plugins, and treats missing or circular ones as unmet', async () => {
    await needy('a', 'requires: { plugins: [b] }')
    await needy('b', 'requires: { plugins: [gone] }')
    await needy('c', 'requires: { plugins: [d] }')
    await needy('d', 'requires: { plugins: [c] }')
    await needy('e', 'requires: { plugins: [f] }')
    await needy('f', '')
    expect((await unmet()).ids).toEqual(['e', 'f'])
  })
  it('searches required programs only outside the workspace', async () => {
    await space.write('bin/mine', '#!/bin/sh')
    chmodSync(join(space.root, 'bin/mine'), 0o755)
    await needy('p', 'requires: { bin: [mine] }')
    expect((await find(undefined, `${join(space.root, 'bin')}:.:bin`)).ids).toEqual([])
    atHome('bin/mine', '#!/bin/sh')
    chmodSync(join(space.home, 'bin/mine'), 0o755)
    expect((await find(undefined, join(space.home, 'bin'))).ids).toEqual(['p:p workspace'])
  })
  it('marks a policy with unmet requirements as invalid', async () => {
    atHome('.vtcode/plugins/p/vtcode.yaml', "name: p\nkind: policy\nrules: {}\nvtcode: '>=99'")
    expect((await find()).invalid).toMatchObject([{ id: 'p:p', kind: 'policy', state: 'invalid' }])
  })
})

describe('administrator folder', () => {
  const root = process.getuid?.() === 0
  it.runIf(root)('reads an administrator folder that root owns and others cannot write', async () => {
    atHome('etc/plugins/managed/vtcode.yaml', tool('a'))
    expect((await find()).ids).toEqual(['managed:a admin'])
  })
  it('ignores an administrator folder that others may write', async () => {
    atHome('etc/plugins/managed/vtcode.yaml', tool('a'))
    chmodSync(join(space.home, 'etc/plugins'), 0o777)
    const { ids, said } = await find()
    expect([ids, said]).toEqual([[], ['VT_CONFIG_FOREIGN ~/etc/plugins']])
  })
})
