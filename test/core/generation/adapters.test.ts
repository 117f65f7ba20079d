import { appendFileSync, cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listConsentItems, createKernel, openTrust, type Config, type Kernel } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { install, vtcode } from '../../support/program.js'

// An adapter as somebody else would write it: it answers with what it was handed, and says who it works for.
const adapter = (more = '') => `name: acme_grpc\nkind: adapter\nkey: grpc\nmodule: ./grpc.js\n${more}`
const module = `export default ({ id, manifest }, { workspace }) => ({ input }) => ({ ok: true, output: { id, asked: manifest.grpc, input, workspace } })\n`
const action = (more = '') =>
  `name: say\ndescription: Say it.\ninput: { required: [text], properties: { text: { type: string } } }\ngrpc: { service: echo.Echo, method: Say, proto: protos/echo.proto }\n${more}`
const folder = { 'acme/grpc.yaml': adapter('effects: [net]\n'), 'acme/grpc.js': module, 'acme/say.yaml': action() }

const boot = (place: TempWorkspace, config: Config = {}) =>
  bootKernel({ config, manifests: [join(place.root, 'acme')] })
const effectsOf = (kernel: Kernel, slot = 'say') =>
  [...(kernel.list().find((one) => one.slot === slot)?.effects ?? ['not there'])].sort()
const remarks = (kernel: Kernel) => kernel.diagnostics().map(({ code, message }) => `${code} ${message}`)

describe('adapter of a plugin', () => {
  it('serves manifests that carry the key of the adapter', async () => {
    await using place = await tempWorkspace(folder)
    await using vt = await boot(place)
    const output = {
      id: 'call:say',
      asked: { service: 'echo.Echo', method: 'Say', proto: 'protos/echo.proto' },
      input: { text: 'hello' },
      workspace: vt.root,
    }
    matches(await vt.call('say', { text: 'hello' }), { ok: true, output })
    matches(await vt.call('say', {}), { ok: false, error: { code: 'VT_INPUT_MISSING' } })
    expect(remarks(vt.kernel)).toEqual([])
  })

  it('serves manifests in any folder, also in one read before the adapter', async () => {
    await using place = await tempWorkspace({
      'one/say.yaml': action(),
      'two/grpc.yaml': adapter(),
      'two/grpc.js': module,
    })
    await using vt = await bootKernel({ manifests: [join(place.root, 'one'), join(place.root, 'two')] })
    matches(await vt.call('say', { text: 'hello' }), { ok: true })
  })

  it("applies the adapter's effects to every call, to which a manifest can only add", async () => {
    const by = 'effects: [net]\neffects_by: { method: { Say: [ask], Store: [write] } }\n'
    await using place = await tempWorkspace({
      ...folder,
      'acme/grpc.yaml': adapter(by),
      'acme/worse.yaml': action('effects: [exec]\n').replace('name: say', 'name: worse'),
      'acme/less.yaml': action('effects: []\neffectless: {}\n')
        .replace('name: say', 'name: less')
        .replace('method: Say', 'method: constructor'),
    })
    await using vt = await boot(place)
    expect(effectsOf(vt.kernel)).toEqual(['ask', 'net'])
    expect(effectsOf(vt.kernel, 'worse')).toEqual(['ask', 'exec', 'net'])
    expect(effectsOf(vt.kernel, 'less')).toEqual(['net'])
    matches(await vt.kernel.resolve('less', { text: 'x' }), { effects: ['net'] })
  })

  it('leaves effects to the manifest if the adapter declares none, and else assumes the worst', async () => {
    await using place = await tempWorkspace({
      ...folder,
      'acme/grpc.yaml': adapter(),
      'acme/known.yaml': action('effects: [read]\n').replace('name: say', 'name: known'),
    })
    await using vt = await boot(place)
    expect(effectsOf(vt.kernel)).toEqual(['exec', 'net', 'read', 'write'])
    expect(effectsOf(vt.kernel, 'known')).toEqual(['read'])
  })

  it('expands one manifest into several slots, except manifests that name one slot', async () => {
    const expand = `export default Object.assign(main, { expand: (found) => found.map((one) => ({ ...one, id: one.id + '_all', slot: 'all', stage: 'primary', manifest: { ...one.manifest, description: 'All.', effects: [], grpc: { method: 'All' } } })) })\n`
    const whole = 'name: whole\ngrpc: { service: echo.Echo }\n'
    await using place = await tempWorkspace({
      ...folder,
      'acme/grpc.yaml': adapter('effects: []\nexpands: true\none_slot: method\n'),
      'acme/grpc.js': module.replace('export default', 'const main =') + expand,
      'acme/whole.yaml': whole,
    })
    await using vt = await boot(place)
    matches(await vt.call('all', { text: 'x' }), { ok: false, error: { code: 'VT_INPUT_UNKNOWN' } })
    matches(await vt.call('say', { text: 'x' }), { ok: true })
    matches(await vt.call('whole', {}), { ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
  })

  it('rejects an adapter whose key has another meaning in manifests', async () => {
    await using place = await tempWorkspace({
      ...folder,
      'acme/grpc.yaml': adapter().replace('key: grpc', 'key: description'),
    })
    await using vt = await boot(place)
    expect(remarks(vt.kernel)).toContain(
      "VT_MANIFEST_INVALID The key 'description' has a meaning in manifests already. Choose another key.",
    )
    expect(vt.kernel.inspection.contributions().find(({ id }) => id === 'call:acme_grpc')?.state).toBe('invalid')
  })
})

describe('manifest key without an adapter', () => {
  it('rejects a key that no adapter serves', async () => {
    await using place = await tempWorkspace({ 'acme/say.yaml': action() })
    await using vt = await boot(place)
    expect(remarks(vt.kernel).join('\n')).toMatch(/^VT_MANIFEST_INVALID Unknown key 'grpc'; /m)
    expect(vt.kernel.inspection.contributions().find(({ id }) => id === 'call:say')?.state).toBe('invalid')
    matches(await vt.call('say', { text: 'x' }), { ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
  })
  it('names the nearest key when an adapter serves a similar one', async () => {
    await using place = await tempWorkspace({
      ...folder,
      'acme/slip.yaml': action().replace('grpc:', 'grpcc:').replace('name: say', 'name: slip'),
    })
    await using vt = await boot(place)
    expect(remarks(vt.kernel).join('\n')).toContain("VT_MANIFEST_INVALID Unknown key 'grpcc'; did you mean 'grpc'?")
    matches(await vt.call('say', { text: 'x' }), { ok: true })
  })
  it('rejects an adapter key combined with another way to run, or in another kind', async () => {
    await using place = await tempWorkspace({
      ...folder,
      'acme/both.yaml': action("run: ['echo']\n").replace('name: say', 'name: both'),
      'acme/kind.yaml': 'name: shrinks\nkind: compactor\ngrpc: {}\n',
    })
    await using vt = await boot(place)
    const said = remarks(vt.kernel).join('\n')
    expect(said).toContain('VT_MANIFEST_INVALID run and grpc exclude each other.')
    expect(said).toMatch(/VT_MANIFEST_INVALID Unknown key 'grpc'; known: /)
  })
  it('distinguishes a key whose adapter is disabled from an unknown key', async () => {
    await using place = await tempWorkspace(folder)
    await using vt = await boot(place, { plugins: { disable: ['call:acme_grpc'] } } as Config)
    matches(
      vt.kernel.inspection.contributions().find(({ id }) => id === 'call:say'),
      { state: 'inactive', reason: "re:.*an adapter for 'grpc'.*" },
    )
  })
})

/** A folder with these files, and an adapter for `grpc` among the plugins of the user, with what lies in `outside`. */
async function installed(files: Record<string, string>): Promise<TempWorkspace> {
  const place = await tempWorkspace({
    ...files,
    'outside/vtcode/grpc.yaml': adapter('effects: [net]\n'),
    'outside/vtcode/grpc.js': module,
  })
  const target = join(place.home, '.vtcode/plugins/acme')
  mkdirSync(join(target, '..'), { recursive: true })
  cpSync(join(place.root, 'outside'), target, { recursive: true })
  rmSync(join(place.root, 'outside'), { recursive: true })
  await install(place.home, target)
  return place
}

describe('adapter of a workspace', () => {
  it("keeps the key of a user's adapter against one of a workspace, with or without consent", async () => {
    const theirs = {
      'vtcode.config.yaml': 'manifests: [./tools]\n',
      'tools/grpc.yaml': adapter('effects: []\nexpands: true\n'),
      'tools/grpc.js': 'export default () => () => ({ ok: true, output: { taken: true } })\n',
    }
    await using place = await installed({ ...theirs, 'outside/vtcode/say.yaml': action() })
    const options = {
      workspace: place.root,
      home: place.home,
      env: { PATH: process.env['PATH'] },
      mode: 'auto' as const,
    }
    const check = async () => {
      const kernel = await createKernel(options)
      expect(effectsOf(kernel)).toEqual(['net'])
      matches(await kernel.call('say', { text: 'hello' }, { approve: () => true }), {
        ok: true,
        output: { id: 'acme:say' },
      })
      const state = kernel.inspection.contributions().find(({ id }) => id === 'workspace:acme_grpc')?.state
      await kernel.close()
      return state
    }
    const places = { workspace: place.root, home: join(place.home, '.vtcode'), env: {} }
    const trust = openTrust(places)
    expect(await check()).toBe(undefined)
    trust.add(await listConsentItems({ ...places, user: place.home, trust }))
    expect(await check()).toBe('shadowed')
  })
})

describe('consent to adapters', () => {
  const own = {
    'vtcode.config.yaml': 'manifests: [./tools]\n',
    'tools/say.yaml': action('effects: [read]\n'),
    'protos/echo.proto': 'service Echo {}\n',
  }
  const plugin = { '.vtcode/plugins/talk/vtcode/say.yaml': action('effects: [read]\n') }
  const says = async (place: TempWorkspace) => {
    const { ok, error } = JSON.parse(
      (await vtcode(place, ['--mode', 'auto', '-c', 'policy.allow=["say"]', 'call', 'say', '--text', 'hi'])).stdout,
    ) as { ok: boolean; error?: { code: string } }
    return ok ? 'ok' : error!.code
  }

  it("requires consent for a workspace action served by a user's adapter, again after a named file changes", async () => {
    await using guest = await installed(plugin)
    expect(await says(guest)).toBe('VT_PLUGIN_UNTRUSTED')
    await using place = await installed(own)
    const { digest } = JSON.parse((await vtcode(place, ['trust', 'list', '--json'])).stdout) as { digest: string }
    expect((await vtcode(place, ['trust', 'add', '--all', '--digest', digest])).code).toBe(0)
    expect(await says(place)).toBe('ok')
    appendFileSync(join(place.root, 'protos/echo.proto'), '// changed\n')
    expect(await says(place)).toBe('VT_PLUGIN_UNTRUSTED')
  })

  it('shows the instructions for an adapter when a plugin is installed', async () => {
    await using place = await installed({ 'talk/vtcode/say.yaml': action() })
    const { stderr, code } = await vtcode(place, ['plugins', 'add', 'talk', '--yes'])
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`makes the adapter of 'grpc' do {"service":"echo.Echo"`),
    ])
    expect(await says(place)).toBe('ok')
    appendFileSync(join(place.home, '.vtcode/plugins/talk/vtcode/say.yaml'), '# changed\n')
    expect(await says(place)).toBe('VT_PLUGIN_LOCK')
  })

  it('requires consent for an adapter of the workspace and keeps its manifests inactive until then', async () => {
    await using place = await tempWorkspace({
      ...folder,
      '.vtcode/plugins/acme/vtcode/grpc.yaml': adapter(),
      '.vtcode/plugins/acme/vtcode/grpc.js': module,
    })
    const kernel = await createKernel({
      workspace: place.root,
      home: place.home,
      env: { HOME: place.home, PATH: process.env.PATH },
      config: { manifests: [join(place.root, 'acme/say.yaml')] },
    })
    const state = (id: string) => kernel.inspection.contributions().find((one) => one.id === id)?.state
    expect([state('acme:acme_grpc'), state('call:say')]).toEqual(['untrusted', 'inactive'])
    await kernel.close()
  })
})

describe('vtcode plugins validate', () => {
  const example =
    'examples: [{ title: says hello, input: { text: hello }, expect: { ok: true, output: { input: { text: hello } } } }]\n'
  const plugin = {
    'acme/vtcode/grpc.yaml': adapter('effects: [net]\n'),
    'acme/vtcode/grpc.js': module,
    'acme/vtcode/say.yaml': action(example),
  }
  const validate = async (place: TempWorkspace, ...words: string[]) => {
    const { stdout, code } = await vtcode(place, ['plugins', 'validate', ...words, '--json'])
    const { contributions } = JSON.parse(stdout) as {
      contributions: { id: string; errors: string[]; examples: object }[]
    }
    return { code, say: contributions.find(({ id }) => id.endsWith(':say')) }
  }
  it('runs the examples of a plugin with an adapter only with --run', async () => {
    await using place = await tempWorkspace(plugin)
    matches(await validate(place, 'acme'), {
      code: 0,
      say: { errors: [], examples: { passed: 0, failed: 0, not_run: 1 } },
    })
    matches(await validate(place, 'acme', '--run'), {
      code: 0,
      say: { errors: [], examples: { passed: 1, failed: 0 } },
    })
  })
  it('finds installed adapters, and reports an unknown key without one', async () => {
    await using place = await tempWorkspace({ ...plugin, 'talk/vtcode/say.yaml': action(example) })
    const alone = await validate(place, 'talk')
    expect([alone.code, alone.say?.errors.join()]).toEqual([1, expect.stringContaining("Unknown key 'grpc'")])
    await vtcode(place, ['plugins', 'add', 'acme', '--yes'])
    matches(await validate(place, 'talk'), { code: 0, say: { errors: [], examples: { failed: 0, skipped: 1 } } })
  })
})

it('lets an isolated module call what an adapter of its plugin serves, with the rights of both', async () => {
  const caller = `export default async ({ input }, ctx) => ({ ok: true, output: { pid: process.pid, said: (await ctx.call('say', { text: input.text })).output.input } })\n`
  const manifest =
    'name: relay\ndescription: Relay it.\neffects: [net]\ninput: { required: [text], properties: { text: { type: string } } }\nmodule: ./relay.js\n'
  await using place = await tempWorkspace({ ...folder, 'acme/relay.yaml': manifest, 'acme/relay.js': caller })
  await using vt = await boot(place, { plugins: { isolate: 'process' } } as Config)
  const result = await vt.call('relay', { text: 'hello' })
  matches(result, { ok: true, output: { said: { text: 'hello' } } })
  expect((result as unknown as { output: { pid: number } }).output.pid).not.toBe(process.pid)
})
