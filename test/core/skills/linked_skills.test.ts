import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { bootKernel, matches, type Booted } from 'vtcode/test'

const open: Booted[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((booted) => booted[Symbol.asyncDispose]()))
})
const text = (name: string) => `---\nname: ${name}\ndescription: Use ${name}.\n---\nBody of ${name}.\n`

/** Starts a kernel with these files and links below the workspace (`ws/`) and the home folder (`home/`). */
async function boot(files: Record<string, string>, links: Record<string, string>): Promise<Booted> {
  const booted = await bootKernel({})
  open.push(booted)
  const toPath = (name: string) => name.replace(/^ws(?=\/)/, booted.root).replace(/^home(?=\/)/, booted.home)
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(toPath(name)), { recursive: true })
    await writeFile(toPath(name), content)
  }
  for (const [name, target] of Object.entries(links)) {
    await mkdir(dirname(toPath(name)), { recursive: true })
    await symlink(toPath(target), toPath(name))
  }
  return booted
}
const listFound = ({ kernel }: Booted) => {
  const { all, skipped, diagnostics } = kernel.inspection.skills({ fresh: true })
  return {
    names: all.filter(({ layer }) => layer !== 'builtin').map(({ id }) => id),
    skipped: skipped.map(({ reason }) => reason.replace(/ out of .*/, ' out.')),
    codes: diagnostics.map(({ code }) => code),
  }
}

describe('skills behind links', () => {
  const used: [title: string, files: Record<string, string>, links: Record<string, string>, id: string][] = [
    [
      "a folder of the user's dotfiles",
      { 'home/dotfiles/a/SKILL.md': text('a') },
      { 'home/.claude/skills/a': 'home/dotfiles/a' },
      'user:a',
    ],
    [
      'a SKILL.md that alone is a link, as stow makes it',
      { 'home/dotfiles/a/SKILL.md': text('a') },
      { 'home/.claude/skills/a/SKILL.md': 'home/dotfiles/a/SKILL.md' },
      'user:a',
    ],
    [
      'a store whose folder has another name, as nix makes it',
      { 'home/store/0x1-a/SKILL.md': text('a') },
      { 'home/.agents/skills/a': 'home/store/0x1-a' },
      'user:a',
    ],
    [
      'a store whose file has another name',
      { 'home/store/0x1-file.md': text('a') },
      { 'home/.agents/skills/a/SKILL.md': 'home/store/0x1-file.md' },
      'user:a',
    ],
    [
      "a folder of several skills of the user's team",
      { 'home/team/skills/a/SKILL.md': text('a') },
      { 'home/.vtcode/skills/team': 'home/team/skills' },
      'user:a',
    ],
    [
      'another folder of the repository',
      { 'ws/tools/a/SKILL.md': text('a') },
      { 'ws/.agents/skills/a': '../../tools/a' },
      'workspace:a',
    ],
    [
      'a SKILL.md of another folder of the repository',
      { 'ws/tools/a/SKILL.md': text('a') },
      { 'ws/.agents/skills/a/SKILL.md': '../../../tools/a/SKILL.md' },
      'workspace:a',
    ],
    [
      'a second way to a skill of the repository',
      { 'ws/.agents/skills/a/SKILL.md': text('a') },
      { 'ws/.claude/skills/a': '../../.agents/skills/a' },
      'workspace:a',
    ],
    [
      'a second way to a file of the repository',
      { 'ws/.agents/skills/a/SKILL.md': text('a') },
      { 'ws/.claude/skills/a/SKILL.md': '../../../.agents/skills/a/SKILL.md' },
      'workspace:a',
    ],
  ]
  it.each(used)('uses %s', async (_, files, links, id) => {
    const booted = await boot(files, links)
    expect(listFound(booted)).toEqual({ names: [id], skipped: [], codes: [] })
    matches(await booted.call('load_skill', { name: 'a' }), {
      ok: true,
      output: { name: 'a', instructions: 'Body of a.\n' },
    })
  })

  it('lists the second way to a skill as another place of it', async () => {
    const { kernel, root } = await boot(
      { 'ws/.agents/skills/a/SKILL.md': text('a') },
      { 'ws/.claude/skills/a': '../../.agents/skills/a' },
    )
    expect(kernel.inspection.skills().find('a')?.also_at).toEqual([join(root, '.claude/skills/a')])
  })

  it('loads the resources next to a linked SKILL.md', async () => {
    const booted = await boot(
      { 'home/dotfiles/a/SKILL.md': text('a'), 'home/dotfiles/a/more.md': 'More.' },
      { 'home/.claude/skills/a/SKILL.md': 'home/dotfiles/a/SKILL.md' },
    )
    matches(await booted.call('load_skill', { name: 'a' }), { output: { resources: ['more.md'] } })
    matches(await booted.call('load_skill_resource', { name: 'a', resource: 'more.md' }), { ok: true })
  })

  it('offers no other file of the folder when a link of the user leads to a file of another name', async () => {
    const booted = await boot(
      { 'home/store/0x1-file.md': text('a'), 'home/store/0x2-secret': 'secret' },
      { 'home/.agents/skills/a/SKILL.md': 'home/store/0x1-file.md' },
    )
    matches(await booted.call('load_skill', { name: 'a' }), { output: { resources: [] } })
    matches(await booted.call('load_skill_resource', { name: 'a', resource: '../../../store/0x2-secret' }), {
      ok: false,
    })
  })

  const refused: [title: string, files: Record<string, string>, links: Record<string, string>][] = [
    ['folder', { 'home/out/SKILL.md': text('a') }, { 'ws/.agents/skills/a': 'home/out' }],
    ['file', { 'home/out/SKILL.md': text('a') }, { 'ws/.agents/skills/a/SKILL.md': 'home/out/SKILL.md' }],
    ['file of another name', { 'ws/docs/a.md': text('a') }, { 'ws/.agents/skills/a/SKILL.md': '../../../docs/a.md' }],
  ]
  it.each(refused)('refuses a link of the repository to a %s out of bounds', async (_, files, links) => {
    expect(listFound(await boot(files, links))).toEqual({
      names: [],
      skipped: ['The link leads out.'],
      codes: ['VT_SKILL_INVALID'],
    })
  })

  it('finds each skill once where links lead in a circle', async () => {
    const booted = await boot(
      { 'home/.agents/skills/a/SKILL.md': text('a') },
      { 'home/.agents/skills/round': 'home/.agents/skills', 'home/.agents/skills/self': 'home/.agents/skills/self' },
    )
    expect(listFound(booted)).toEqual({ names: ['user:a'], skipped: [], codes: [] })
  })
})

describe("links of the user's folders into the workspace", () => {
  const body = text('demo')
  const boots = (links: Record<string, string>) => boot({ 'ws/skills/demo/SKILL.md': body }, links)
  const ways: [title: string, links: Record<string, string>][] = [
    ['the folder of a skill', { 'home/.claude/skills/demo': 'ws/skills/demo' }],
    ['the file of a skill', { 'home/.claude/skills/demo/SKILL.md': 'ws/skills/demo/SKILL.md' }],
    ['the folder of all skills', { 'home/.agents/skills': 'ws/skills' }],
    ['the folder above all skills', { 'home/.vtcode/skills/team': 'ws/skills' }],
  ]
  it.each(ways)('counts them as skills of the workspace for %s', async (_, links) => {
    const booted = await boots(links)
    expect(listFound(booted).names).toEqual(['workspace:demo'])
    const { all } = booted.kernel.inspection.skills()
    expect(all.find(({ name }) => name === 'demo')).toMatchObject({ layer: 'workspace', scope: 'workspace' })
  })

  it.each(ways)('adds no tools without consent for %s', async (_, links) => {
    const booted = await boots(links)
    const manifest = 'name: hello\ndescription: Says hello.\neffects: [read]\nmodule: ./hello.js\n'
    await writeFile(join(booted.root, 'skills/demo/vtcode.yaml'), manifest)
    await writeFile(
      join(booted.root, 'skills/demo/hello.js'),
      'export default async () => ({ ok: true, output: {} })\n',
    )
    matches(await booted.call('load_skill', { name: 'demo' }), { ok: true, output: { tools_added: [] } })
    matches(await booted.call('hello', {}), { ok: false })
  })

  it('leaves out a skill whose text is a file of another name', async () => {
    const booted = await boot({ 'ws/docs/demo.md': body }, { 'home/.claude/skills/demo/SKILL.md': 'ws/docs/demo.md' })
    expect(listFound(booted)).toMatchObject({ names: [], codes: ['VT_SKILL_INVALID'] })
  })
})
