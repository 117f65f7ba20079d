import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode, type Ran } from '../../support/program.js'

const skill = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\nBody.\n`
/** Files of a marketplace whose plugins share its root, as anthropics/skills arranges them. */
const FILES = {
  'market/skills/xlsx/SKILL.md': skill('xlsx'),
  'market/skills/docx/SKILL.md': skill('docx'),
  'market/skills/art/SKILL.md': skill('art'),
  'market/packs/deep/one/SKILL.md': skill('one'),
  'market/extra/do-it.md': '---\ndescription: Does it.\n---\nDo it.\n',
  'market/commands/usual.md': '---\ndescription: Usual.\n---\nUsual.\n',
  'market/people/ada.md': '---\nname: ada\ndescription: Reviews.\n---\nReview.\n',
  'market/agents/bob.md': '---\nname: bob\ndescription: Tests.\n---\nTest.\n',
  'market/hooks/hooks.json': JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command: 'true' }] }] } }),
  'market/.mcp.json': JSON.stringify({ mcpServers: { usual: { command: 'true' } } }),
}
async function openMarket(...plugins: object[]): Promise<TempWorkspace> {
  return tempWorkspace({
    ...FILES,
    'market/.claude-plugin/marketplace.json': JSON.stringify({ name: 'market', plugins }),
  })
}
const plugins = (made: TempWorkspace, ...words: string[]): Promise<Ran> => {
  mkdirSync(join(made.home, '.vtcode'), { recursive: true })
  writeFileSync(
    join(made.home, '.vtcode/vtcode.config.json'),
    JSON.stringify({ plugins: { indexes: [join(made.root, 'market')] } }),
  )
  return vtcode(made, ['plugins', ...words])
}
async function listSkills(made: TempWorkspace): Promise<string[]> {
  const { stdout } = await vtcode(made, ['skills', 'list'])
  const { skills } = JSON.parse(stdout) as { skills: { id: string }[] }
  return skills.flatMap(({ id }) => (id.startsWith('builtin:') ? [] : [id.split(':')[1]!])).sort()
}
const entry = (name: string, more: object) => ({ name, source: './', strict: false, ...more })

describe('entries of a marketplace with one root', () => {
  it.each([
    ['skills of the usual folder', { skills: ['./skills/xlsx', './skills/docx'] }, ['docx', 'xlsx']],
    ['one skill', { skills: './skills/art' }, ['art']],
    ['a skill of another folder', { skills: ['./packs/deep/one'] }, ['one']],
    ['a folder of skills', { skills: ['./packs/deep'] }, ['one']],
    ['a command', { commands: ['./extra/do-it.md'] }, ['do-it']],
    ['a folder of commands', { commands: './extra' }, ['do-it']],
    ['a skill out of the root', { skills: ['./skills/art', '../../secret'] }, ['art']],
  ])('adds only what the entry lists: %s', async (_, parts, expected) => {
    await using made = await openMarket(entry('mine', parts), entry('other', { skills: ['./skills/xlsx'] }))
    const { code, stdout, stderr } = await plugins(made, 'add', 'mine', '--yes')
    expect([code, stdout]).toEqual([0, expect.stringContaining('Installed mine.')])
    // Neither the usual hooks nor the usual server of the root is part of the plugin.
    expect(stderr).not.toMatch(/usual|Stop/)
    expect(await listSkills(made)).toEqual(expected)
  })

  it('adds the listed agents, hooks and servers, which the consent shows', async () => {
    await using made = await openMarket(
      entry('mine', {
        agents: ['./people/ada.md'],
        hooks: { Stop: [{ hooks: [{ type: 'command', command: 'echo listed' }] }] },
        mcpServers: { docs: { command: 'docs-server' } },
      }),
    )
    const { code, stderr } = await plugins(made, 'add', 'mine', '--yes')
    expect(code).toBe(0)
    expect(stderr).toContain('docs-server')
    expect(stderr).toContain('echo listed')
    expect(stderr).toContain('ada')
    expect(stderr).not.toContain('bob')
  })

  it('adds the listed parts to those of a plugin without `strict: false`', async () => {
    await using made = await openMarket({ name: 'mine', source: './', skills: ['./packs/deep/one'] })
    await plugins(made, 'add', 'mine', '--yes')
    expect(await listSkills(made)).toEqual(['art', 'docx', 'one', 'usual', 'xlsx'])
  })

  it('keeps to the listed parts when the plugin is updated', async () => {
    await using made = await openMarket(entry('mine', { skills: ['./skills/art'] }))
    await plugins(made, 'add', 'mine', '--yes')
    writeFileSync(join(made.root, 'market/skills/art/more.md'), 'More.')
    expect((await plugins(made, 'update', 'mine', '--yes')).code).toBe(0)
    expect(await listSkills(made)).toEqual(['art'])
    expect(readFileSync(join(made.home, '.vtcode/plugins/mine/skills/art/more.md'), 'utf8')).toBe('More.')
  })

  it('writes nothing through a link in place of the folder of the manifest', async () => {
    await using made = await openMarket()
    const source = join(made.root, 'market/parts')
    mkdirSync(join(source, 'skills/a'), { recursive: true })
    writeFileSync(join(source, 'skills/a/SKILL.md'), skill('a'))
    mkdirSync(join(made.home, 'target'))
    symlinkSync(join(made.home, 'target'), join(source, '.claude-plugin'))
    rmSync(join(made.root, 'market/.claude-plugin/marketplace.json'))
    writeFileSync(
      join(made.root, 'market/.claude-plugin/marketplace.json'),
      JSON.stringify({ plugins: [{ ...entry('mine', { skills: ['./skills/a'] }), source: './parts' }] }),
    )
    const { code, stderr } = await plugins(made, 'add', 'mine', '--yes')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/is not a folder|leads out/)])
    expect(() => readFileSync(join(made.home, 'target/plugin.json'))).toThrow('ENOENT')
  })
})
