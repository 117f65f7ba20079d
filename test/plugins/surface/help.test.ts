import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const surface = { 'lines.yaml': 'name: line_protocol\nkind: surface\nverb: lines\ndescription: Counts its words.\nmodule: ./lines.js\n', 'lines.js': 'export default async (kernel, argv, io) => { io.stdout.write(`${argv.length}\\n`); return 7 }' }

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
