import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { install, vtcode } from '../../support/program.js'

const plugin = {
  'vtcode.yaml': 'name: talker\ndescription: Talks.\neffects: [read]\nmodule: ./talker.js\n',
  // The host reads the module's messages at most every 10 ms, so each log line gets a request that is answered later.
  'talker.js': `export default async (call, context) => {
    for (const level of ['debug', 'info', 'warn', 'error']) {
      context.log(level, 'ghp_' + 'a1'.repeat(18) + ' one\\n\\u001b[31mtwo')
      await context.workspace.read('none').catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return { ok: true, output: {} }
  }`,
}
let place: TempWorkspace
beforeAll(async () => {
  place = await tempWorkspace()
  const folder = join(place.home, '.vtcode/plugins/talker')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(plugin)) writeFileSync(join(folder, name), text)
  await install(place.home, folder)
})
afterAll(() => place[Symbol.asyncDispose]())

it('shows log lines of plugins on stderr with --verbose and --log-level, escaped and redacted', async () => {
  const said = async (...flags: string[]) => {
    const { stdout, stderr } = await vtcode(place, [...flags, 'call', 'talker'])
    expect(stdout).not.toContain('two')
    return (
      stderr.match(/^vtcode: \w+: .*: \[redacted:github_token\] one \[31mtwo$/gm)?.map((line) => line.split(': ')[1]) ??
      []
    )
  }
  expect(await said()).toEqual([])
  expect(await said('--verbose')).toEqual(['debug', 'info', 'warn', 'error'])
  expect(await said('--log-level=warn')).toEqual(['warn', 'error'])
  expect(await vtcode(place, ['--log-level', 'loud', 'tools'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Unknown level 'loud'; use one of debug, info, warn, error."),
  })
})

it('applies --allowed-tools and --disallowed-tools to single calls', async () => {
  const code = async (...flags: string[]) => (await vtcode(place, [...flags, 'call', 'talker'])).code
  expect([
    await code(),
    await code('--allowed-tools', 'talker'),
    await code('--allowed-tools', 'unified_file'),
    await code('--disallowed-tools', 'talker'),
  ]).toEqual([0, 0, 1, 1])
  expect((await vtcode(place, ['--allowed-tools', '', 'call', 'talker'])).stderr).toContain(
    '--allowed-tools needs a value.',
  )
})
