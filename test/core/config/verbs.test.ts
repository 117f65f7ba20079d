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

describe('a verb of ours', () => {
  it('works in the mode that its manifest says', async () => {
    expect(await Promise.all(['mcp', 'exec', 'ask', 'call', 'constructor'].map((verb) => modeOf({ verb })))).toEqual([
      'auto',
      'auto',
      'plan',
      'ask',
      'ask',
    ])
  })
  it('works, with a default_mode, as the settings and the caller say where they say anything', async () => {
    expect(await modeOf({ verb: 'exec', config: { policy: { mode: 'plan' } } })).toBe('plan')
    expect(await modeOf({ verb: 'exec', mode: 'ask' })).toBe('ask')
  })
  it('works, with a mode, in none but this, whatever the settings say, unless the caller says another', async () => {
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

/** What the verb of a plugin in the user's folder says. */
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

describe('the verb of a plugin of the user', () => {
  it('may bring a default_mode, below all settings', async () => {
    expect(await ofUser('default_mode: auto\n')).toBe('auto')
    expect(await ofUser('default_mode: auto\n', 'policy: { mode: plan }\n')).toBe('plan')
    expect(await ofUser('default_mode: auto\n', '', ['--mode', 'plan'])).toBe('plan')
  })
  it('only tightens by its mode', async () => {
    expect(await ofUser('mode: plan\n', 'policy: { mode: auto }\n')).toBe('plan')
    expect(await ofUser('mode: plan\n', '', ['--mode', 'auto'])).toBe('auto')
    expect(await ofUser('mode: auto\n', 'policy: { mode: plan }\n')).toBe(
      `plan 'mode' of a workspace may only tighten; "auto" was ignored.`,
    )
  })
  it('never works in full-auto of its own accord', async () => {
    await using place = await tempWorkspace({ 'greet.yaml': verb('default_mode: full-auto\n'), 'greet.js': module })
    const { stdout, code } = await vtcode(place, ['plugins', 'validate', 'greet.yaml'])
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining("'default_mode' is 'full-auto'; allowed: plan, ask, auto"),
    ])
  })
})

/** What the verb of a trusted plugin in the workspace says. */
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

describe('the verb of a plugin of the workspace', () => {
  it('starts in no looser mode than the settings of the user give', async () => {
    expect(await ofWorkspace('default_mode: auto\n')).toBe(
      `ask 'default_mode' of a workspace may only tighten; "auto" was ignored.`,
    )
    expect(await ofWorkspace('mode: auto\n')).toBe(`ask 'mode' of a workspace may only tighten; "auto" was ignored.`)
    expect(await ofWorkspace('mode: auto\n', { own: 'policy: { mode: auto }\n' })).toBe('auto')
  })
  it('may start in a stricter one', async () => {
    expect(await ofWorkspace('mode: plan\n', { own: 'policy: { mode: auto }\n' })).toBe('plan')
    expect(await ofWorkspace('default_mode: plan\n')).toBe('plan')
  })
  it('does not get the mode of ours whose place it takes', async () => {
    expect(await ofWorkspace('', { name: 'exec', own: "plugins: { disable: ['builtin:exec'] }\n" })).toBe('ask')
  })
  it('takes the place of none of ours by the settings of the workspace', async () => {
    expect(await ofWorkspace('', { name: 'exec', settings: "plugins: { disable: ['builtin:exec'] }\n" })).toContain(
      'Say what to do',
    )
  })
})
