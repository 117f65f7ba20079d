import { describe, expect, it } from 'vitest'
import { bootKernel, matches } from 'vtcode/test'

const FILES = {
  '.claude/commands/fix.md': 'Fix the issue $ARGUMENTS.\n',
  '.claude/commands/git/commit.md': '---\ndescription: Commits.\nargument-hint: message\n---\nCommit now.\n',
  '.claude/commands/notes.txt': 'no command',
}

describe('commands of .claude/commands', () => {
  it('loads each Markdown file as a prompt that a person calls by name', async () => {
    await using vt = await bootKernel({ files: FILES })
    const found = vt.kernel.inspection.skills().all.filter(({ layer }) => layer === 'workspace')
    expect(
      found.map(({ name, description, prompt, argument_hint }) => [name, description, prompt, argument_hint]),
    ).toEqual([
      ['fix', 'Fix the issue $ARGUMENTS.', true, undefined],
      ['git-commit', 'Commits.', true, 'message'],
    ])
    matches(await vt.call('load_skill', { name: 'git-commit' }), {
      ok: true,
      output: { instructions: 'Commit now.\n' },
    })
  })

  it('gives the name to a skill where both exist', async () => {
    const skill = '---\nname: fix\ndescription: A skill.\n---\nSkill.\n'
    await using vt = await bootKernel({ files: { ...FILES, '.claude/skills/fix/SKILL.md': skill } })
    expect(vt.kernel.inspection.skills().find('fix')?.description).toBe('A skill.')
  })

  it('leaves the folders of Claude Code out where the settings say so', async () => {
    await using vt = await bootKernel({ files: FILES, config: { skills: { claude_folders: false } } })
    expect(vt.kernel.inspection.skills().find('fix')).toBeUndefined()
  })

  it('offers a command of an untrusted workspace only after consent where the settings ask for it', async () => {
    await using vt = await bootKernel({ files: FILES, config: { skills: { workspace: 'trusted' } } })
    expect(vt.kernel.inspection.skills().all.find(({ name }) => name === 'fix')?.state).toBe('untrusted')
  })
})
