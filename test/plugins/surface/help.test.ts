import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const surface = {
  'lines.yaml': 'name: line_protocol\nkind: surface\nverb: lines\ndescription: Counts its words.\nmodule: ./lines.js\n',
  'lines.js': 'export default async (kernel, argv, io) => { io.stdout.write(`${argv.length}\\n`); return 7 }',
}

it('lists verbs of plugins in vtcode help, passes words to such a verb and returns its exit code', async () => {
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

it('prints the version with vtcode --version', async () => {
  await using made = await tempWorkspace()
  expect((await vtcode(made, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

describe('help', () => {
  const fits = (text: string): void => {
    const lines = text.trimEnd().split('\n')
    expect(lines.length, text).toBeLessThanOrEqual(40)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
  }

  it('prints one screen for the program and each verb, by `help <verb>` or `<verb> --help`', async () => {
    await using made = await tempWorkspace()
    const { stdout } = await vtcode(made, ['help'])
    fits(stdout)
    const verbs = [...stdout.matchAll(/^ {2}([a-z]+(?:, [a-z]+)*) {2,}/gm)]
      .flatMap(([, names]) => names!.split(', '))
      .filter((name) => name !== 'help')
    expect(verbs.length).toBeGreaterThan(30)
    for (const name of verbs) {
      const [one, other] = [await vtcode(made, ['help', name]), await vtcode(made, [name, '--help'])]
      expect([one.code, one.stdout]).toEqual([0, other.stdout])
      expect(one.stdout, name).toContain(`vtcode ${name}`)
      fits(one.stdout)
    }
  })

  it('prints one screen for each action with its fields, by `call … --help` or `tools tool/action`', async () => {
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

  it('names the nearest verb for an unknown one', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['help', 'exce'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Unknown verb 'exce' (did you mean exec?)"),
    })
  })

  it('prints one line for each row of a list, and whole rows with --long', async () => {
    await using made = await tempWorkspace()
    const { stdout } = await vtcode(made, ['tools', '--text'])
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect((await vtcode(made, ['tools', '--long'])).stdout.length).toBeGreaterThan(stdout.length)
  })
})
