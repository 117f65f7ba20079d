import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

it('lists every manifest with one state and its reason in vtcode plugins list', async () => {
  await using made = await tempWorkspace({
    'vtcode.config.yaml': 'manifests: [builtin, ./tools]\n',
    'tools/broken.yaml': 'kind: nonsense\n',
  })
  const { contributions } = JSON.parse((await vtcode(made, ['plugins', 'list', '--json'])).stdout)
  expect(contributions.find(({ verb }: { verb?: string }) => verb === 'plugins')).toMatchObject({
    state: 'active',
    layer: 'builtin',
  })
  const text = (await vtcode(made, ['plugins', 'list'])).stdout.trimEnd().split('\n')
  expect(text).toHaveLength(contributions.length + 1)
})

it('prints usage for vtcode plugins without a sub-command', async () => {
  await using made = await tempWorkspace()
  expect(await vtcode(made, ['plugins'])).toMatchObject({ code: 2, stderr: expect.stringContaining('validate') })
  expect(await vtcode(made, ['plugins', 'lst'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Unknown sub-command 'lst' (did you mean list?); known: list, show,"),
  })
  expect((await vtcode(made, ['plugins', 'list', '--nonsense'])).code).toBe(2)
})
