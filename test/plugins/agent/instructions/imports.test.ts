import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { harness, scene } from '../../../support/inside.js'

/** Runs an agent on these files and returns its prompt and the sentences about unused files. */
async function prompt(
  files: Record<string, string>,
  {
    home = {},
    links = {},
    deny = [],
  }: { home?: Record<string, string>; links?: Record<string, string>; deny?: string[] } = {},
): Promise<{ text: string; unused: string[]; code: string }> {
  const s = await scene([{ content: 'ok' }], { boot: { files, config: { policy: { deny } } } })
  for (const [name, text] of Object.entries(home)) {
    mkdirSync(dirname(join(s.booted.home, name)), { recursive: true })
    writeFileSync(join(s.booted.home, name), text)
  }
  for (const [name, target] of Object.entries(links))
    symlinkSync(target.replace(/^home(?=\/)/, s.booted.home), join(s.booted.root, name))
  const { outcome_code: code } = await s.run('go')
  const unused = harness(s.events, 'instructions_unused').map(({ message }) => message as string)
  const text = (s.peer.bodies[0]?.messages?.[0].content as string | undefined) ?? ''
  return { code, text: /<instructions[^]*<\/instructions>/.exec(text)?.[0] ?? '', unused }
}

describe('imports of instruction files', () => {
  it('imports files that a line names within its text, in a list and from home', async () => {
    const { text, unused } = await prompt(
      {
        'CLAUDE.md':
          'See @docs/a.md for the style and (@docs/b.md) for tests.\n\n- @docs/c.md\n1. @docs/d.md\n\n@~/.claude/rules/mine.md\n',
        'docs/a.md': 'RULE-A',
        'docs/b.md': 'RULE-B',
        'docs/c.md': 'RULE-C',
        'docs/d.md': 'RULE-D',
      },
      { home: { '.claude/rules/mine.md': 'RULE-MINE, see @../more.md', '.claude/more.md': 'RULE-MORE' } },
    )
    expect(text).toContain('See @docs/a.md for the style and (@docs/b.md) for tests.\n\nRULE-C\nRULE-D\n\nRULE-MINE')
    expect(text).toContain('@docs/a.md:\nRULE-A\n\n@docs/b.md:\nRULE-B')
    expect(text).toContain('RULE-MORE')
    expect(unused).toEqual([])
  })

  it('leaves code, addresses, names of packages and of people alone', async () => {
    const line = 'Use `@docs/a.md`, @types/node, @scope/pkg@1.2.3, me@docs/a.md, @alice and @deprecated.'
    const { text, unused } = await prompt({
      'AGENTS.md': `${line}\n\`\`\`md\nSee @docs/a.md\n\`\`\`\n~~~~\n@docs/a.md\n~~~~\n`,
      'docs/a.md': 'RULE-A',
      'types/node/index.d.ts': '',
    })
    expect(text).toContain(line)
    expect(text).not.toContain('RULE-A')
    expect(unused).toEqual([])
  })

  it('imports a file that two lines name once', async () => {
    const { text } = await prompt({ 'AGENTS.md': 'See @a.md.\nAnd @a.md again.\n', 'a.md': 'RULE-A' })
    expect(text.split('RULE-A')).toHaveLength(2)
  })

  it('reports a file of text that is missing, in the prompt and to the person', async () => {
    const { text, unused } = await prompt({ 'AGENTS.md': 'See @docs/none.md and @~/.claude/CLAUDE.md.\n' })
    expect(text).toContain('(@docs/none.md is not imported: file not found)')
    expect(unused).toEqual([
      '@docs/none.md is not imported: file not found (AGENTS.md)',
      '@~/.claude/CLAUDE.md is not imported: file not found (AGENTS.md)',
    ])
  })

  it('imports nothing secret, whatever the way to it is', async () => {
    const { text, unused } = await prompt(
      {
        'AGENTS.md':
          '@~/.ssh/id_rsa\n@~/.claude/credentials.json\n@~/.claude/../.ssh/key.md\n@~/.claude/link.md\n@.env\n' +
          '@linked.md\n@out.md\n@/dev/zero\nSee @.env and @~/notes.md.\n',
        '.env': 'SECRET-ENV',
      },
      {
        home: {
          '.ssh/id_rsa': 'SECRET-KEY',
          '.ssh/key.md': 'SECRET-MD',
          '.claude/credentials.json': 'SECRET-JSON',
          'notes.md': 'SECRET-NOTES',
        },
        links: { 'linked.md': '.env', 'out.md': 'home/.ssh/id_rsa' },
        deny: ['Read(.env)'],
      },
    )
    expect(text).not.toContain('SECRET')
    expect(text.match(/is not imported: [^)]*/g)).toHaveLength(10)
    expect(unused.length).toBeGreaterThanOrEqual(9)
  })

  it('imports no memory, plan or other file of other programs from home into a repository', async () => {
    const names = ['.claude/projects/a/memory.md', '.codex/memories/b.md', '.gemini/c.md', '.claude/rules/../d.md']
    const { text } = await prompt(
      { 'CLAUDE.md': `${names.map((name) => `@~/${name}\n`).join('')}See @~/.claude/plans/e.md\n` },
      { home: Object.fromEntries([...names, '.claude/d.md', '.claude/plans/e.md'].map((name) => [name, 'SECRET'])) },
    )
    expect(text).not.toContain('SECRET')
    expect(text.match(/is not imported: from home a workspace imports only/g)).toHaveLength(5)
  })

  it('searches the end of a very long name once', async () => {
    const { code } = await prompt({ 'AGENTS.md': `see @${'.'.repeat(300_000)}a` })
    expect(code).not.toBe('success')
  })

  it('ends at a circle of imports, with one sentence', async () => {
    const { text, code } = await prompt({
      'AGENTS.md': 'See @a.md.\n',
      'a.md': '@b.md\n',
      'b.md': 'See @a.md and @AGENTS.md.\n',
    })
    expect(code).toBe('success')
    expect(text.match(/it imports itself/g)).toHaveLength(2)
  })

  it('leaves out a file of 10 MB, and reports its size', async () => {
    const { text, unused, code } = await prompt({
      'AGENTS.md': 'See @big.md.\nREST\n',
      'big.md': 'x'.repeat(10_000_000),
    })
    expect([code, text.includes('REST'), text.length < 2_000]).toEqual(['success', true, true])
    expect(unused).toEqual([expect.stringMatching(/big\.md is not imported: .*10000000 bytes/)])
  })

  it('limits the size of all imports together', async () => {
    const files = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}.md`, `${at}`.repeat(100_000)]))
    const { text } = await prompt({
      'AGENTS.md': Array.from({ length: 9 }, (_, at) => `@f${at}.md\n`).join(''),
      ...files,
    })
    expect(text.length).toBeLessThan(600_000)
  })
})
