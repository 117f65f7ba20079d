import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createKernel, type KernelOptions } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { install, vtcode } from '../../support/program.js'

async function modeOf(how: Partial<KernelOptions>): Promise<string> {
  await using place = await tempWorkspace()
  const kernel = await createKernel({
    workspace: place.root,
    home: place.home,
    env: { HOME: place.home, PATH: process.env.PATH },
    ...how,
  })
  await kernel.close()
  return kernel.settings.policy.mode
}

describe('mode of a built-in verb', () => {
  it('starts a built-in verb in the mode of its manifest', async () => {
    expect(await Promise.all(['mcp', 'exec', 'ask', 'call', 'constructor'].map((verb) => modeOf({ verb })))).toEqual([
      'auto',
      'auto',
      'plan',
      'ask',
      'ask',
    ])
  })
  it('prefers the mode of settings and caller over the default_mode of a built-in verb', async () => {
    expect(await modeOf({ verb: 'exec', config: { policy: { mode: 'plan' } } })).toBe('plan')
    expect(await modeOf({ verb: 'exec', mode: 'ask' })).toBe('ask')
  })
  it("prefers the mode of a built-in verb over the settings, and the caller's mode over both", async () => {
    expect(await modeOf({ verb: 'ask', config: { policy: { mode: 'auto' } } })).toBe('plan')
    expect(await modeOf({ verb: 'ask', mode: 'auto' })).toBe('auto')
  })
})

const verb = (more: string, name = 'greet') =>
  `name: ${name}\nkind: surface\nverb: ${name}\ndescription: Says the mode.\nmodule: ./greet.js\n${more}`
const module = `export default (kernel, argv, io) => {
  const remarks = kernel.diagnostics().filter(({ code }) => code === 'VT_CONFIG_LOOSENS').map(({ message }) => message)
  io.stdout.write([kernel.settings.policy.mode, ...remarks].join(' '))
  return 0
}\n`

/** Runs the verb of a plugin in the user's folder and returns its output. */
async function ofUser(more: string, settings = '', words: string[] = []): Promise<string> {
  await using place = await tempWorkspace()
  const folder = join(place.home, '.vtcode/plugins/acme')
  mkdirSync(join(folder, 'vtcode'), { recursive: true })
  writeFileSync(join(folder, 'vtcode/greet.yaml'), verb(more))
  writeFileSync(join(folder, 'vtcode/greet.js'), module)
  await install(place.home, folder)
  if (settings) writeFileSync(join(place.home, '.vtcode/vtcode.config.yaml'), settings)
  const { stdout, stderr } = await vtcode(place, [...words, 'greet'])
  return stdout || stderr
}

describe("mode of a verb of a user's plugin", () => {
  it("applies the default_mode of a user's plugin below all settings", async () => {
    expect(await ofUser('default_mode: auto\n')).toBe('auto')
    expect(await ofUser('default_mode: auto\n', 'policy: { mode: plan }\n')).toBe('plan')
    expect(await ofUser('default_mode: auto\n', '', ['--mode', 'plan'])).toBe('plan')
  })
  it("lets the mode of a user's plugin only tighten", async () => {
    expect(await ofUser('mode: plan\n', 'policy: { mode: auto }\n')).toBe('plan')
    expect(await ofUser('mode: plan\n', '', ['--mode', 'auto'])).toBe('auto')
    expect(await ofUser('mode: auto\n', 'policy: { mode: plan }\n')).toBe(
      `plan A workspace may only tighten 'mode'; "auto" was ignored.`,
    )
  })
  it('rejects full-auto as default_mode of a plugin', async () => {
    await using place = await tempWorkspace({ 'greet.yaml': verb('default_mode: full-auto\n'), 'greet.js': module })
    const { stdout, code } = await vtcode(place, ['plugins', 'validate', 'greet.yaml'])
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining("'default_mode' is 'full-auto'; allowed: plan, ask, auto"),
    ])
  })
})

/** Runs the verb of a trusted plugin in the workspace and returns its output. */
async function ofWorkspace(more: string, { name = 'greet', settings = '', own = '' } = {}): Promise<string> {
  await using place = await tempWorkspace({
    '.vtcode/plugins/acme/vtcode/greet.yaml': verb(more, name),
    '.vtcode/plugins/acme/vtcode/greet.js': module,
    ...(settings && { 'vtcode.config.yaml': settings }),
  })
  mkdirSync(join(place.home, '.vtcode'))
  if (own) writeFileSync(join(place.home, '.vtcode/vtcode.config.yaml'), own)
  await trustAll(place)
  const { stdout, stderr } = await vtcode(place, [name])
  return stdout || stderr
}
async function trustAll(place: TempWorkspace): Promise<void> {
  const { digest } = JSON.parse((await vtcode(place, ['trust', 'list', '--json'])).stdout) as { digest: string }
  expect((await vtcode(place, ['trust', 'add', '--all', '--digest', digest])).code).toBe(0)
}

describe('mode of a verb of a workspace plugin', () => {
  it("starts a workspace verb in no looser mode than the user's settings give", async () => {
    expect(await ofWorkspace('default_mode: auto\n')).toBe(
      `ask A workspace may only tighten 'default_mode'; "auto" was ignored.`,
    )
    expect(await ofWorkspace('mode: auto\n')).toBe(`ask A workspace may only tighten 'mode'; "auto" was ignored.`)
    expect(await ofWorkspace('mode: auto\n', { own: 'policy: { mode: auto }\n' })).toBe('auto')
  })
  it('lets a workspace verb start in a stricter mode', async () => {
    expect(await ofWorkspace('mode: plan\n', { own: 'policy: { mode: auto }\n' })).toBe('plan')
    expect(await ofWorkspace('default_mode: plan\n')).toBe('plan')
  })
  it('denies a workspace verb the mode of the built-in verb that it replaces', async () => {
    expect(await ofWorkspace('', { name: 'exec', own: "plugins: { disable: ['builtin:exec'] }\n" })).toBe('ask')
  })
  it("keeps a built-in verb when the workspace's settings disable it", async () => {
    expect(await ofWorkspace('', { name: 'exec', settings: "plugins: { disable: ['builtin:exec'] }\n" })).toContain(
      'The task is empty',
    )
  })
})
