import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

it('makes real calls over the folder, overrides one action, is refused once, and leaves no file', async () => {
  await using made = await tempWorkspace({
    'src/main.ts': 'export function ignite(engine: string) {\n  return engine\n}\nignite("x")\n',
  })
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('vtcode-tour-'))
  const ran = await vtcode(made, ['tour'])
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ran.stdout).toContain('ignite')
  expect(ran.stdout).toContain('HERE I WOULD LOOK FOR')
  expect(ran.stdout).toContain('VT_PATH_OUTSIDE')
  expect(ran.stdout).not.toContain('\u001b')
  expect(ran.stdout.match(/└ (?:done|refused) {2}[\d.]+ ms/g)!.length).toBeGreaterThanOrEqual(6)
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('vtcode-tour-'))).toEqual(before)
})

it('shows a project of its own where the folder is empty or holds no code', async () => {
  for (const files of [{}, { 'notes.txt': 'x\n' }]) {
    await using made = await tempWorkspace(files)
    const { code, stdout } = await vtcode(made, ['tour'])
    expect(code).toBe(0)
    expect(stdout).toContain(`${made.root} holds no code to show`)
    expect(stdout.match(/└ refused/g)).toHaveLength(1)
    expect(stdout).toMatch(/class: Greeter/)
    expect(stdout).toMatch(/HERE I WOULD LOOK FOR GREETER!/)
  }
})
