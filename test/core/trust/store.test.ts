import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { loadSettings } from '../../../build/core/config/index.js'
import {
  computeDigest,
  toTrustItem,
  toConfigItem,
  toValueItem,
  openTrust,
  readTreeDigest,
  createTreeReader,
} from '../../../build/core/trust/index.js'
import { discoverManifests } from '../../../build/core/manifests/index.js'
import { listConsentItems } from '../../../build/core/generation/index.js'

let space: TempWorkspace
let home: string
beforeEach(async () => {
  space = await tempWorkspace()
  home = join(space.home, '.vtcode')
})
afterEach(() => space[Symbol.asyncDispose]())

const open = (more: { workspace?: string; env?: Record<string, string> } = {}) =>
  openTrust({ home, workspace: space.root, env: {}, ...more })
const item = (digest = 'd1', id = 'plugin:p') => ({ id, title: 'A plugin', files: [], digest })
const store = () => join(home, 'trust.json')

describe('trust store', () => {
  it('remembers exactly the trusted items, in a file of the user alone', () => {
    expect(open().isTrusted(item())).toBe(false)
    open().add([item(), item('d2', 'a#use')])
    expect(open().isTrusted(item())).toBe(true)
    expect(open().isTrusted(item('other'))).toBe(false)
    expect(open().isTrusted(item('d1', 'plugin:q'))).toBe(false)
    expect(statSync(store()).mode & 0o777).toBe(0o600)
    expect(statSync(home).mode & 0o777).toBe(0o700)
    expect(open().list()).toEqual([
      { id: 'plugin:p', title: 'A plugin', digest: 'd1', at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
      { id: 'a#use', title: 'A plugin', digest: 'd2', at: expect.any(String) },
    ])
  })
  it('logs every grant and revocation before it takes effect', () => {
    const audit = join(space.home, 'logs/consents.jsonl')
    const trust = openTrust({ home, workspace: space.root, env: {}, audit })
    const account = () =>
      readFileSync(audit, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>)
    trust.add([item(), item('d2', 'b')])
    trust.add([item('d3')])
    trust.revoke(['b'])
    expect(account().map(({ event, id, digest }) => [event, id, digest])).toEqual([
      ['granted', 'plugin:p', 'd1'],
      ['granted', 'b', 'd2'],
      ['granted', 'plugin:p', 'd3'],
      ['revoked', 'b', 'd2'],
    ])
    expect(account()[0]).toMatchObject({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      workspace: space.root,
      title: 'A plugin',
    })
    expect(statSync(audit).mode & 0o777).toBe(0o600)
    rmSync(audit)
    symlinkSync(join(space.root, 'elsewhere'), audit)
    expect(() => trust.add([item('d4', 'c')])).toThrow(
      expect.objectContaining({
        code: 'VT_TRUST_STORE',
        message: expect.stringContaining('trust.audit_log cannot be written'),
      }),
    )
    expect([trust, open()].map((one) => one.isTrusted(item('d4', 'c')))).toEqual([false, false])
  })
  it('forgets one item or all on request', () => {
    const trust = open()
    trust.add([item(), item('d2', 'b')])
    trust.revoke(['b'])
    expect([trust.isTrusted(item()), open().isTrusted(item('d2', 'b'))]).toEqual([true, false])
    trust.revoke()
    expect(open().list()).toEqual([])
  })
  it('grants nothing to a parent, a child, a copy or a new folder at the path', async () => {
    await space.write('sub/a', '')
    open().add([item()])
    expect(open({ workspace: join(space.root, 'sub') }).isTrusted(item())).toBe(false)
    expect(open({ workspace: dirname(space.root) }).isTrusted(item())).toBe(false)
    symlinkSync(space.root, `${space.root}-link`)
    expect(open({ workspace: `${space.root}-link` }).isTrusted(item())).toBe(true)
    renameSync(space.root, `${space.root}-away`)
    mkdirSync(space.root)
    expect(open().isTrusted(item())).toBe(false)
    expect(open({ workspace: `${space.root}-away` }).isTrusted(item())).toBe(false)
  })
  it('grants nothing to a worktree of a trusted repository or a path with a trusted prefix', async () => {
    const long = join(space.root, 'x'.repeat(120), 'y'.repeat(120))
    for (const folder of [long, `${long}-evil`, join(space.root, 'clone')])
      mkdirSync(join(folder, '.git'), { recursive: true })
    writeFileSync(join(space.root, 'clone/.git/commondir'), `${long}/.git\n`)
    open({ workspace: long }).add([item()])
    expect(['', '-evil'].map((end) => open({ workspace: `${long}${end}` }).isTrusted(item()))).toEqual([true, false])
    expect(open({ workspace: join(space.root, 'clone') }).isTrusted(item())).toBe(false)
  })
  it('keeps the trust of other workspaces', () => {
    const other = join(space.home, 'other')
    mkdirSync(other)
    open({ workspace: other }).add([item()])
    open().add([item('d2')])
    expect([open({ workspace: other }).isTrusted(item()), open().isTrusted(item('d2'))]).toEqual([true, true])
  })
  it('writes the store as a whole and ignores a draft of a killed program', () => {
    open().add([item()])
    writeFileSync(`${store()}.${process.pid}`, '{ "ver')
    open().add([item('d2', 'b')])
    expect(execFileSync('ls', [home], { encoding: 'utf8' }).trim()).toBe('trust.json')
    expect(open().list()).toHaveLength(2)
  })

  const spoil: [why: string, how: () => void][] = [
    ['its group may write it', () => chmodSync(store(), 0o620)],
    ['everybody may write it', () => chmodSync(store(), 0o602)],
    ['everybody may write it', () => chmodSync(home, 0o707)],
    ['it is not a regular file', () => (rmSync(store()), symlinkSync('/etc/passwd', store()))],
    ['it is not a trust store of version 1', () => writeFileSync(store(), '{ "version": 2 }')],
    ['Expected', () => writeFileSync(store(), '{ "version"')],
    ['it is not a trust store of version 1', () => writeFileSync(store(), 'null')],
  ]
  it.each(spoil)('grants nothing from an unreliable trust store: %s', (why, how) => {
    open().add([item()])
    how()
    const trust = open()
    expect(trust.isTrusted(item())).toBe(false)
    expect(trust.fault).toMatchObject({ code: 'VT_TRUST_STORE', message: expect.stringMatching(why.slice(0, 12)) })
    expect(() => trust.add([item('d2')])).toThrow()
  })
  it.runIf(process.getuid?.() === 0)('grants nothing from the trust store of another user', () => {
    open().add([item()])
    execFileSync('chown', ['65534', store()])
    expect(open().fault).toMatchObject({ code: 'VT_TRUST_STORE', message: expect.stringContaining('another user') })
  })
  it('refuses a trust store inside the workspace', async () => {
    const inside = { home: join(space.root, '.vtcode'), workspace: space.root, env: {} }
    expect(() => openTrust(inside).add([item()])).toThrow(expect.objectContaining({ code: 'VT_TRUST_STORE' }))
    mkdirSync(home, { recursive: true })
    open().add([item()])
    const theirs = JSON.parse(readFileSync(store(), 'utf8'))
    await space.write('.vtcode/trust.json', JSON.stringify(theirs))
    expect(openTrust(inside).fault).toMatchObject({
      code: 'VT_TRUST_STORE',
      message: expect.stringContaining('below the workspace'),
    })
    expect(openTrust(inside).isTrusted(item())).toBe(false)
  })
  it('refuses a grant from a program that vtcode started', () => {
    expect(() => open({ env: { VTCODE: '1' } }).add([item()])).toThrow(
      expect.objectContaining({ code: 'VT_TRUST_REFUSED' }),
    )
    expect(open().list()).toEqual([])
  })
})

describe('VTCODE_TRUST', () => {
  it('trusts exactly the items whose common digest VTCODE_TRUST holds', () => {
    const items = [item('d1', 'a'), item('d2', 'b')]
    open().add([item('d3', 'c')])
    const trust = open({ env: { VTCODE_TRUST: computeDigest(items) } })
    expect(trust.isTrusted(items[0]!)).toBe(false)
    trust.accept(items.toReversed())
    expect([...items, item('d3', 'c')].map((one) => trust.isTrusted(one))).toEqual([true, true, false])
  })
  it('grants nothing when VTCODE_TRUST is the digest of other items', () => {
    const trust = open({ env: { VTCODE_TRUST: computeDigest([item('d1', 'a')]) } })
    trust.accept([item('d1', 'a'), item('d2', 'b')])
    expect(trust.isTrusted(item('d1', 'a'))).toBe(false)
  })
})

describe('digest of consent items', () => {
  const config = () => toConfigItem(join(space.root, 'vtcode.config.ts'), space.root)
  const changes = async <T>(of: () => T, edit: () => unknown): Promise<boolean> => {
    const before = JSON.stringify(of())
    await edit()
    return JSON.stringify(of()) !== before
  }
  it('covers relative imports of settings in code, also of files that appear later', async () => {
    await space.write(
      'vtcode.config.ts',
      `import type { X } from 'types-only'\nimport a from './a.js'\nexport * from "./b"\nconst c = await import('./c.mjs').catch(() => {})\nexport default {}`,
    )
    await space.write('a.ts', 'import "./deep/d.js"')
    await space.write('b/index.ts', '')
    await space.write('deep/d.js', 'require("./e.json")')
    await space.write('deep/x.js', '')
    await space.write('deep/e.json', '{}')
    await space.write('unrelated.ts', '')
    const files = config().files.map((file) => file.slice(space.root.length + 1))
    expect(files).toEqual(['a.ts', 'b/index.ts', 'deep/d.js', 'deep/e.json', 'vtcode.config.ts'])
    for (const file of ['vtcode.config.ts', 'a.ts', 'b/index.ts', 'deep/d.js', 'deep/e.json']) {
      expect(
        await changes(
          () => config().digest,
          () => space.write(file, `${readFileSync(join(space.root, file), 'utf8')} `),
        ),
        file,
      ).toBe(true)
    }
    expect(
      await changes(
        () => config().digest,
        () => space.write('c.mjs', ''),
      ),
    ).toBe(true)
    expect(
      await changes(
        () => config().digest,
        () => space.write('a.js', ''),
      ),
    ).toBe(true)
    expect(
      await changes(
        () => config().digest,
        () => space.write('unrelated.ts', 'x'),
      ),
    ).toBe(false)
  })
  it('covers at most 100 imported files of settings, and none outside the workspace', async () => {
    const names = ['../out.js', './link.js', ...Array.from({ length: 120 }, (_, i) => `./f${i}.js`)]
    await space.write('vtcode.config.ts', names.map((name) => `import "${name}"`).join('\n'))
    for (let i = 0; i < 120; i++) await space.write(`f${i}.js`, '')
    await space.write('../out.js', '')
    symlinkSync('../out.js', join(space.root, 'link.js'))
    const files = config().files.map((file) => file.slice(space.root.length + 1))
    expect([files.length, files.filter((file) => !/^f\d+\.js$/.test(file))]).toEqual([100, ['vtcode.config.ts']])
  })
  it('ignores the order of keys in a value, and covers files that its words name', async () => {
    await space.write('run.sh', 'a')
    const of = (value: unknown) => toValueItem(join(space.root, 'vtcode.config.yaml'), 'hooks', value, space.root)
    expect(of({ a: 1, b: [{ d: 1, c: 2 }] })).toEqual(of({ b: [{ c: 2, d: 1 }], a: 1 }))
    expect(of({ a: 1 }).digest).not.toBe(of({ a: 2 }).digest)
    expect(of([{ command: 'sh ./run.sh --fast' }])).toMatchObject({
      id: 'vtcode.config.yaml#hooks',
      files: [join(space.root, 'run.sh')],
    })
    expect(
      await changes(
        () => of([{ command: 'sh ./run.sh' }]).digest,
        () => space.write('run.sh', 'b'),
      ),
    ).toBe(true)
  })
  it('covers names, contents and links of a folder, but not times and modes', async () => {
    await space.write('p/a.js', '1')
    await space.write('p/sub/b.js', '2')
    await space.write('p/.git/HEAD', '')
    symlinkSync('a.js', join(space.root, 'p/link'))
    const tree = () => readTreeDigest(join(space.root, 'p'))
    expect(tree()).toMatch(/^tree1:sha256-[A-Za-z0-9+/]{43}=$/)
    expect(await changes(tree, () => space.write('p/.git/HEAD', 'x'))).toBe(false)
    expect(await changes(tree, () => chmodSync(join(space.root, 'p/a.js'), 0o755))).toBe(false)
    expect(await changes(tree, () => space.write('p/sub/b.js', '3'))).toBe(true)
    expect(await changes(tree, () => space.write('p/new.txt', ''))).toBe(true)
    expect(
      await changes(
        tree,
        () => (rmSync(join(space.root, 'p/link')), symlinkSync('sub/b.js', join(space.root, 'p/link'))),
      ),
    ).toBe(true)
  })
  it('equals the `tree1` digest computed by other means', async () => {
    await space.write('p/b', 'B')
    await space.write('p/a/z', 'Z')
    symlinkSync('b', join(space.root, 'p/a-link'))
    const script =
      'printf "%s\\0%s\\0%s\\n" l a-link $(printf %s b | sha256sum | cut -c1-64) f a/z $(sha256sum < a/z | cut -c1-64) f b $(sha256sum < b | cut -c1-64) | openssl dgst -sha256 -binary | base64'
    expect(readTreeDigest(join(space.root, 'p'))).toBe(
      `tree1:sha256-${execFileSync('sh', ['-c', script], { cwd: join(space.root, 'p'), encoding: 'utf8' }).trim()}`,
    )
  })
  it('refuses pipes and names that differ only in case', async () => {
    await space.write('p/Read', '')
    await space.write('p/read', '')
    expect(() => readTreeDigest(join(space.root, 'p'))).toThrow(expect.objectContaining({ code: 'VT_MANIFEST_LIMIT' }))
    rmSync(join(space.root, 'p/Read'))
    execFileSync('mkfifo', [join(space.root, 'p/pipe')])
    expect(() => readTreeDigest(join(space.root, 'p'))).toThrow(expect.objectContaining({ code: 'VT_MANIFEST_LIMIT' }))
  })
})

describe('contribution of a workspace', () => {
  const found = async () => {
    const places = { workspace: space.root, home, user: space.home, env: {} }
    const loaded = await loadSettings({ ...places, isTrusted: () => true })
    return (await discoverManifests({ ...places, loaded })).contributions.filter(({ layer }) => layer === 'workspace')
  }
  it("covers a plugin's folder, and for a loose manifest the folder of its module or its files", async () => {
    await space.write('.vtcode/plugins/p/vtcode/a.yaml', 'name: a\nrun: [x]')
    await space.write('.vtcode/plugins/p/vtcode/b.yaml', 'name: b\nrun: [x]')
    await space.write('vtcode.config.yaml', 'manifests: [tools]')
    await space.write('tools/m.yaml', 'name: m\neffects: []\nmodule: ./m.js')
    await space.write('tools/m.js', 'import "./n.js"')
    await space.write('tools/n.js', '')
    await space.write('tools/r.yaml', 'name: r\nrun: [sh, scripts/r.sh]')
    await space.write('scripts/r.sh', '')
    const items = (await found()).map((one) => toTrustItem(one, space.root, createTreeReader()))
    expect(items.map(({ id, files }) => [id, ...files.map((file) => file.slice(space.root.length + 1))])).toEqual([
      ['workspace:m', 'tools'],
      ['workspace:r', 'scripts/r.sh', 'tools/r.yaml'],
      ['plugin:p', '.vtcode/plugins/p'],
      ['plugin:p', '.vtcode/plugins/p'],
    ])
    const trust = open()
    trust.add(items)
    const states = async () => (await found()).map((one) => open().listTrusted([one]).has(one))
    expect(await states()).toEqual([true, true, true, true])
    await space.write('tools/n.js', 'evil')
    await space.write('.vtcode/plugins/p/readme.md', 'new')
    expect(await states()).toEqual([false, true, false, false])
  })
  it('reads the folder of a plugin once, however many manifests it has', async () => {
    await space.write('.vtcode/plugins/p/readme.md', 'old')
    const folder = `${space.root}/.vtcode/plugins/p`
    const tree = createTreeReader()
    const before = tree(folder)
    await space.write('.vtcode/plugins/p/readme.md', 'new')
    expect([tree(folder) === before, createTreeReader()(folder) === before]).toEqual([true, false])
    const absent = () => tree(`${folder}/absent`)
    expect(
      [absent, absent].map((look) => {
        try {
          return look()
        } catch (error) {
          return (error as NodeJS.ErrnoException).code
        }
      }),
    ).toEqual(['ENOENT', 'ENOENT'])
  })
  it('refuses a manifest that was read before the consented change of its file', async () => {
    const put = (program: string) =>
      space.write('.vtcode/plugins/p/vtcode.yaml', `name: p\neffects: []\nrun: [${program}]\n`)
    await put('evil')
    const [earlier] = await found()
    await put('good')
    const trust = open()
    const [later] = await found()
    trust.add([toTrustItem(later!, space.root, createTreeReader())])
    expect(trust.listTrusted([later!]).has(later!)).toBe(true)
    expect(trust.listTrusted([earlier!]).has(earlier!)).toBe(false)
  })

  it('keeps a contribution inactive until it is trusted, and again after one changed byte', async () => {
    await space.write(
      '.vtcode/plugins/p/vtcode.yaml',
      'name: hello_there\ndescription: Says hello.\neffects: []\nmodule: ./hello.js',
    )
    const module =
      "import { writeFileSync } from 'node:fs'; import { ok } from 'vtcode'; writeFileSync(new URL('./marker', import.meta.url), ''); export default () => ok({ said: 'hello' })"
    await space.write('.vtcode/plugins/p/hello.js', module)
    const call = async (env: Record<string, string> = {}) => {
      const kernel = await createKernel({
        workspace: space.root,
        home: space.home,
        env: { PATH: process.env['PATH'], ...env },
        mode: 'full-auto',
        config: { sandbox: { plugins: 'off' } },
      })
      const result = await kernel.call('hello_there')
      await kernel.close()
      return result.ok ? result.output : result.error.code
    }
    expect(await call()).toBe('VT_PLUGIN_UNTRUSTED')
    expect(await space.read('.vtcode/plugins/p/marker')).toBeUndefined()

    const items = await listConsentItems({ workspace: space.root, home, user: space.home, env: {}, trust: open() })
    expect(items.map(({ id }) => id)).toEqual(['plugin:p'])
    expect(await call({ VTCODE_TRUST: 'f'.repeat(64) })).toBe('VT_PLUGIN_UNTRUSTED')
    expect(await call({ VTCODE_TRUST: computeDigest(items) })).toEqual({ said: 'hello' })
    open().add(items)
    // The module wrote into the copy that was loaded: the trusted folder is unchanged, and so is the next copy.
    expect(await space.read('.vtcode/plugins/p/marker')).toBeUndefined()
    expect(await call()).toEqual({ said: 'hello' })
    await space.write('.vtcode/plugins/p/marker', '')
    expect(await call()).toBe('VT_PLUGIN_UNTRUSTED')
    rmSync(join(space.root, '.vtcode/plugins/p/marker'))
    expect(await call()).toEqual({ said: 'hello' })
    await space.write('.vtcode/plugins/p/hello.js', `${module} `)
    expect(await call()).toBe('VT_PLUGIN_UNTRUSTED')
  })
  it('lists everything that needs consent without running any of it', async () => {
    await space.write(
      'vtcode.config.ts',
      'import { writeFileSync } from "node:fs"; writeFileSync("marker", ""); export default {}',
    )
    await space.write('.vtcode/config.local.yaml', 'manifests: [../tools]\nuse: { a/b: x }')
    await space.write('tools/r.yaml', 'name: r\nrun: [sh]')
    await space.write('tools/p.yaml', 'name: p\nkind: policy\nrules: {}')
    const items = await listConsentItems({ workspace: space.root, home, user: space.home, env: {}, trust: open() })
    expect(items.map(({ id }) => id)).toEqual([
      'vtcode.config.ts',
      '.vtcode/config.local.yaml#manifests',
      '.vtcode/config.local.yaml#use',
      'workspace:r',
    ])
    expect(await space.read('marker')).toBeUndefined()
  })
})
