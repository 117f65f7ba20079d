import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../../support/program.js'

// Shaped after files of published packages.
const skill = (name: string): string => `---\nname: ${name}\ndescription: The skill ${name}.\n---\nDo it.\n`
const reviewer = {
  'pkg/.claude-plugin/plugin.json': '{ "name": "reviewer", "version": "1.0.0" }',
  'pkg/commands/review.md':
    '---\ndescription: Reviews a change.\nargument-hint: [pr-number] [priority]\n---\nReview $1 with the priority $2: $ARGUMENTS\n',
  'pkg/commands/one.md': '---\ndescription: Takes one.\nargument-hint: [message]\nmodel: opus\n---\nSay $ARGUMENTS\n',
  'pkg/commands/broken.md': '---\ndescription: fine\nname: [broken\n---\nHello\n',
  'pkg/skills/good/SKILL.md': skill('good'),
  'pkg/skills/bad/SKILL.md': 'no front matter\n',
  'pkg/skills/transformers.js/SKILL.md': skill('transformers-js'),
  'pkg/skills/my.tool/SKILL.md': skill('My Tool'),
  'pkg/agents/helper.md': '---\nname: helper\ndescription: Helps.\n---\nYou help.\n',
}

describe('package with a bad file', () => {
  it('adds a package without its bad file, names that file with its line before consent and loads the rest', async () => {
    await using made = await tempWorkspace(reviewer)
    const added = await vtcode(made, ['plugins', 'add', 'pkg', '--yes'])
    expect(added).toMatchObject({ code: 0, stdout: 'Installed reviewer.\n' })
    expect(added.stderr).toMatch(/error commands\/broken\.md:3: Flow sequence/)
    expect(added.stderr).toMatch(/error skills\/bad\/SKILL\.md:1: The file does not begin with a line ---/)
    expect(added.stderr).toMatch(/agent helper {2}Helps\./)
    const { skills } = JSON.parse((await vtcode(made, ['skills', 'list', '--json'])).stdout) as {
      skills: { id: string; argument_hint?: string }[]
    }
    const own = skills.filter(({ id }) => id.startsWith('reviewer:'))
    expect(own.map(({ id }) => id).sort()).toEqual([
      'reviewer:good',
      'reviewer:my-tool',
      'reviewer:one',
      'reviewer:review',
      'reviewer:transformers-js',
    ])
    const doctor = await vtcode(made, ['doctor'])
    expect(doctor.stdout).toMatch(
      /for their authors to fix[^]*VT_SKILL_INVALID[^\n]*\n\s+where\s+\S*reviewer\/commands\/broken\.md:3/,
    )
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringContaining('Nothing to fix.')])
    expect((await vtcode(made, ['call', 'unified_search', 'list'])).stderr).toBe('')
  })

  it('loads the commands of a package with a bad file as prompts with their arguments', async () => {
    await using made = await tempWorkspace(reviewer)
    await vtcode(made, ['plugins', 'add', 'pkg', '--yes'])
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp'],
        cwd: made.root,
        env: surroundings(made),
        stderr: 'ignore',
      }),
    )
    try {
      const { prompts } = await client.listPrompts()
      const hinted = (name: string) => prompts.find((one) => one.name === name)?.arguments?.[0]?.description
      expect([hinted('review'), hinted('one')]).toEqual(['[pr-number] [priority]', '[message]'])
      const filled = await client.getPrompt({ name: 'review', arguments: { arguments: '17 "very high"' } })
      expect((filled.messages[0]!.content as { text: string }).text).toContain(
        'Review 17 with the priority very high: 17 "very high"\n',
      )
    } finally {
      await client.close()
    }
  })

  it('loads the Gemini commands of a package with a bad file and asks for their arguments', async () => {
    await using made = await tempWorkspace({
      'gem/gemini-extension.json': '{ "name": "gem", "version": "1.0.0" }',
      'gem/commands/say.toml': 'prompt = "Say {{args}} aloud."\n',
      'gem/commands/broken.toml': 'prompt = [',
      'gem/commands/plain.toml': 'prompt = "Say nothing."\n',
    })
    const added = await vtcode(made, ['plugins', 'add', 'gem', '--yes'])
    expect([added.code, added.stderr]).toEqual([0, expect.stringMatching(/commands\/broken\.toml cannot be read/)])
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp'],
        cwd: made.root,
        env: surroundings(made),
        stderr: 'ignore',
      }),
    )
    try {
      const { prompts } = await client.listPrompts()
      expect(
        prompts
          .filter(({ name }) => ['say', 'plain', 'broken'].includes(name))
          .map(({ name, arguments: given }) => [name, given?.map((one) => one.name)]),
      ).toEqual(
        expect.arrayContaining([
          ['say', ['arguments']],
          ['plain', undefined],
        ]),
      )
      const { messages } = await client.getPrompt({ name: 'say', arguments: { arguments: 'hello' } })
      expect((messages[0]!.content as { text: string }).text).toContain('Say hello aloud.')
    } finally {
      await client.close()
    }
  })

  it('refuses a package whose only file is bad and names the file', async () => {
    await using made = await tempWorkspace({
      'pkg/.claude-plugin/plugin.json': '{ "name": "p" }',
      'pkg/skills/bad/SKILL.md': 'no front matter\n',
    })
    expect(await vtcode(made, ['plugins', 'add', 'pkg', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nothing of it can be used: skills\/bad\/SKILL\.md:1: The file does not begin/),
    })
  })
})

it('reports broken parts of an installed package in doctor only, and of a workspace server list at a call', async () => {
  const files = {
    'pkg/.claude-plugin/plugin.json': '{ "name": "half" }',
    'pkg/hooks/hooks.json':
      '{ "hooks": { "PostToolUse": [{ "matcher": "Nothing" }], "Stop": [{ "hooks": [{ "type": "prompt", "prompt": "Done?" }] }] } }',
    'pkg/.mcp.json': '{ "mcpServers": { "odd": { "type": "ws", "url": "wss://x.example" } } }',
    'pkg/skills/good/SKILL.md': skill('good'),
  }
  await using made = await tempWorkspace(files)
  const added = await vtcode(made, ['plugins', 'add', 'pkg', '--yes'])
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringMatching(/server odd needs a command[^]*of type prompt[^]*no model judges/),
  ])
  expect(await vtcode(made, ['call', 'unified_search', 'list'])).toMatchObject({ code: 0, stderr: '' })
  expect(await vtcode(made, ['doctor'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/for their authors[^]*server odd[^]*Nothing to fix\./),
  })
  await using own = await tempWorkspace({ '.mcp.json': files['pkg/.mcp.json'] })
  expect((await vtcode(own, ['call', 'unified_search', 'list'])).stderr).toContain('server odd')
})

it('lists the plugins and sources of a marketplace and reports no broken manifest below it', async () => {
  const plugins = [
    { name: 'reviewer', source: './pkg' },
    { name: 'far', source: { source: 'github', repo: 'acme/far' } },
    { name: 'npm', source: { source: 'npm', package: '@acme/npm' } },
    { name: 'odd', source: 7 },
    'text',
  ]
  const files = Object.fromEntries(Object.entries(reviewer).map(([path, text]) => [`market/${path}`, text]))
  await using made = await tempWorkspace({
    ...files,
    'market/.claude-plugin/marketplace.json': JSON.stringify({ name: 'market', plugins }),
    'market/data.json': '{ "not": "a manifest" }',
  })
  const { code, stderr } = await vtcode(made, ['plugins', 'add', 'market', '--yes'])
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      'This is a marketplace, not a plugin: it offers reviewer (pkg), far (github:acme/far), npm (npm:@acme/npm), odd (no source).',
    ),
  ])
  expect(stderr).not.toMatch(/data\.json|VT_MANIFEST/)
  expect(await vtcode(made, ['plugins', 'add', 'market/pkg', '--yes'])).toMatchObject({
    code: 0,
    stdout: 'Installed reviewer.\n',
  })
})
