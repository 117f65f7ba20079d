import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../../support/program.js'

// Each row is shaped after a package of the table in docs/compatibility.md.
const manifest = (more: object): string => JSON.stringify({ name: 'odd', version: '1.0.0', ...more })
const command = '---\ndescription: Does it.\n---\nDo it.\n'
const skill = (name: string): string => `---\nname: ${name}\ndescription: The skill ${name}.\n---\nDo it.\n`

it.each<[string, Record<string, string>, string[]]>([
  [
    'lists its commands, agents and skills as objects that only describe them',
    {
      '.claude-plugin/plugin.json': manifest({
        commands: [{ name: 'go', description: 'Goes.' }],
        agents: [{ name: 'helper' }],
        skills: [{ name: 'seas' }],
      }),
      'commands/go.md': command,
      'skills/seas/SKILL.md': skill('seas'),
      'agents/helper.md': command,
    },
    ['odd:go', 'odd:seas'],
  ],
  [
    'names the file of each command',
    {
      '.claude-plugin/plugin.json': manifest({
        commands: { about: { source: './README.md', description: 'Tells.' }, none: { content: 'x' } },
      }),
      'README.md': command,
      'commands/unused.md': command,
    },
    ['odd:about'],
  ],
  [
    'declares an empty list of commands',
    {
      '.claude-plugin/plugin.json': manifest({ commands: [] }),
      'commands/unused.md': command,
      'skills/seas/SKILL.md': skill('seas'),
    },
    ['odd:seas'],
  ],
  [
    'has hooks in a form of its own',
    {
      '.claude-plugin/plugin.json': manifest({ hooks: { PostToolUse: [{ name: 'approve', script: 'approve.py' }] } }),
      'commands/go.md': command,
    },
    ['odd:go'],
  ],
])('adds what is usable of a package that %s', async (_, files, ids) => {
  await using made = await tempWorkspace(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`odd/${path}`, text])),
  )
  expect(await vtcode(made, ['plugins', 'add', 'odd', '--yes'])).toMatchObject({ code: 0, stdout: 'Installed odd.\n' })
  const { skills } = JSON.parse((await vtcode(made, ['skills', 'list', '--json'])).stdout) as {
    skills: { id: string }[]
  }
  expect(
    skills
      .map(({ id }) => id)
      .filter((id) => id.startsWith('odd:'))
      .sort(),
  ).toEqual(ids)
})
