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

it('lists each package with its state, also one with skills only, an invalid one and one without usable parts', async () => {
  const codex = JSON.stringify({ name: 'apps', apps: './apps.json' })
  const agent = JSON.stringify({ $schema: 'https://agent-plugins.org/schemas/9.9.9/none.json', name: 'bad' })
  await using made = await tempWorkspace({
    'vtcode.config.yaml': 'manifests: [builtin, ./pi-package]\n',
    'pi-package/package.json': '{ "name": "x", "pi": { "skills": ["skills"] } }',
    'pi-package/skills/greet/SKILL.md': '---\nname: greet\ndescription: Greets.\n---\nSay hello.\n',
    '../home/.vtcode/plugins/apps/.codex-plugin/plugin.json': codex,
    '../home/.vtcode/plugins/bad/plugin.json': agent,
  })
  await vtcode(made, ['trust', 'add', 'vtcode.config.yaml#manifests'])
  const { plugins } = JSON.parse((await vtcode(made, ['plugins', 'list', '--json'])).stdout)
  expect(Object.fromEntries(plugins.map((one: { name: string }) => [one.name, one]))).toMatchObject({
    'pi-package': { format: 'pi', state: 'active', contributions: 0, skills: 1 },
    apps: { format: 'Codex', state: 'inactive', reason: expect.stringContaining("'apps'") },
    bad: { state: 'invalid', reason: expect.stringContaining("'$schema'") },
  })
  const text = (await vtcode(made, ['plugins', 'list'])).stdout
  for (const row of [
    /^pi-package +plugin +active +1 skill /m,
    /^apps +plugin +inactive .*'apps'/m,
    /^bad +plugin +invalid /m,
  ])
    expect(text).toMatch(row)
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
