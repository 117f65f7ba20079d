import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

it('lists the actions of all tools or of one, as text and as JSON', async () => {
  await using made = await tempWorkspace()
  expect((await vtcode(made, ['tools', '--text'])).stdout).toMatch(
    /^unified_file\n(?: {2}.*\n)* {2}read +read +Reads a file/m,
  )
  const { tools } = JSON.parse((await vtcode(made, ['tools', '--json', 'unified_search'])).stdout)
  expect(tools.map(({ slot }: { slot: string }) => slot)).toContain('unified_search/grep')
  expect(tools.every(({ tool }: { tool: string }) => tool === 'unified_search')).toBe(true)
})

it('lists with vtcode tools --json the tools that hints of errors name', async () => {
  await using made = await tempWorkspace()
  const { stdout } = await vtcode(made, ['tools', '--json'])
  expect(stdout).not.toMatch(/\{(?:slot|tool):/)
  const { tools } = JSON.parse(stdout)
  expect(tools.find(({ slot }: { slot: string }) => slot === 'load_skill').errors.VT_SKILL_UNKNOWN.hint).toBe(
    'Use a name from list_skills.',
  )
})

it('names the known tools for an unknown one', async () => {
  await using made = await tempWorkspace()
  expect(await vtcode(made, ['tools', 'nonsense'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('unified_file'),
  })
})
