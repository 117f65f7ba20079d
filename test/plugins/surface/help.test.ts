import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const surface = {
  'lines.yaml': 'name: line_protocol\nkind: surface\nverb: lines\ndescription: Counts its words.\nmodule: ./lines.js\n',
  'lines.js': 'export default async (kernel, argv, io) => { io.stdout.write(`${argv.length}\\n`); return 7 }',
}

it('vtcode help lists the verbs, those of others too, and such a verb gets its words and says the exit code', async () => {
  await using made = await tempWorkspace()
  for (const [file, text] of Object.entries(surface)) await made.write(`../home/mine/${file}`, text)
  const flags = ['-c', `manifests=["builtin","${made.home}/mine"]`]
  for (const argv of [['help'], ['--help']]) {
    const ran = await vtcode(made, [...flags, ...argv])
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}call +Call one tool/m) })
    expect(ran.stdout).toMatch(/^ {2}lines +Counts its words\.$/m)
  }
  expect(await vtcode(made, [...flags, 'lines', 'a', '--json', 'b'])).toMatchObject({ code: 7, stdout: '3\n' })
})

it('vtcode --version says the version', async () => {
  await using made = await tempWorkspace()
  expect((await vtcode(made, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

describe('help', () => {
  const fits = (text: string): void => {
    const lines = text.trimEnd().split('\n')
    expect(lines.length, text).toBeLessThanOrEqual(40)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
  }

  it('of the program and of every verb is one screen, said as `help <verb>` or as `<verb> --help`', async () => {
    await using made = await tempWorkspace()
    const { stdout } = await vtcode(made, ['help'])
    fits(stdout)
    const verbs = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)]
      .map(([, name]) => name!)
      .filter((name) => name !== 'help')
    expect(verbs.length).toBeGreaterThan(20)
    for (const name of verbs) {
      const [one, other] = [await vtcode(made, ['help', name]), await vtcode(made, [name, '--help'])]
      expect([one.code, one.stdout]).toEqual([0, other.stdout])
      expect(one.stdout, name).toContain(`vtcode ${name}`)
      fits(one.stdout)
    }
  })

  it('of every action is one screen with its fields, as `call … --help` and as `tools tool/action`', async () => {
    await using made = await tempWorkspace()
    const { tools } = JSON.parse((await vtcode(made, ['tools', '--json'])).stdout) as {
      tools: { slot: string; tool: string; action?: string; input: { properties?: object } }[]
    }
    for (const { slot, tool, action } of tools) {
      const [one, other] = [
        await vtcode(made, ['call', tool, ...(action ? [action] : []), '--help']),
        await vtcode(made, ['tools', slot, '--text']),
      ]
      expect([one.code, one.stdout], slot).toEqual([0, other.stdout])
      expect(one.stdout).toContain(`vtcode call ${[tool, action].filter(Boolean).join(' ')}`)
      fits(one.stdout)
    }
    const whole = await vtcode(made, ['call', 'unified_file', '--help'])
    expect(whole.stdout).toMatch(/^ {2}read +Reads a file/m)
    fits(whole.stdout)
    expect((await vtcode(made, ['call', 'unified_file', 'read', '--help'])).stdout).toMatch(
      /^ {2}--offset_lines +integer +First line, from 1\.$/m,
    )
  })

  it('of a verb that nobody has names the nearest', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['help', 'exce'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Unknown verb 'exce' (did you mean exec?)"),
    })
  })

  it('in lists is a line a row, and whole with --long', async () => {
    await using made = await tempWorkspace()
    const { stdout } = await vtcode(made, ['tools', '--text'])
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect((await vtcode(made, ['tools', '--long'])).stdout.length).toBeGreaterThan(stdout.length)
  })
})
