import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../../support/inside.js'
import { home, vtcode } from '../../support/peer.js'

const definition = (name: string, more = '', body = 'Do it.') =>
  `---\nname: ${name}\ndescription: The ${name}.\n${more}---\n${body}\n`

describe('vtcode agents', () => {
  it('lists the nearest agent of each name and names the ones that it hides', async () => {
    const at = hold(
      await home(
        { url: 'http://127.0.0.1:1' },
        {
          '.vtcode/agents/a.md': definition('a', 'mode: plan\ntools: []\n'),
          '.claude/agents/a.md': definition('a'),
          '.claude/agents/b.md': definition('b', 'tools: Read\n'),
          '.vtcode/agents/bad.md': 'no front matter',
        },
      ),
    )
    for (const [path, text] of [
      ['.vtcode/agents/b.md', definition('b')],
      ['.claude/agents/c.md', definition('c', 'tools: Read, NoSuch\nmode: ask\n')],
    ] as const) {
      mkdirSync(dirname(join(at.home, path)), { recursive: true })
      writeFileSync(join(at.home, path), text)
    }
    const listed = JSON.parse((await vtcode(at, ['--mode', 'auto', 'agents', 'list', '--json'])).out).agents
    expect(listed.map(({ name, source, mode, trusted }: any) => [name, source, mode, trusted])).toEqual([
      ['a', 'workspace', 'plan', false],
      ['b', 'workspace', 'plan', false],
      ['c', 'user', 'ask', true],
      ['explorer', 'builtin', 'plan', true],
      ['verifier', 'builtin', 'ask', true],
      ['worker', 'builtin', 'auto', true],
    ])
    const { code, out } = await vtcode(at, ['agents', 'check', '--json'])
    const remarks = JSON.parse(out).remarks.map(
      ({ code, severity, file, message }: any) =>
        `${code} ${severity} ${file.split('/').slice(-3).join('/')}: ${message}`,
    )
    expect(code).toBe(1)
    expect(remarks).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^VT_AGENT_DEFINITION error \.vtcode\/agents\/bad\.md: .*---/),
        expect.stringMatching(/^VT_AGENT_DEFINITION warning \.claude\/agents\/a\.md: The agent 'a' is not used: /),
        expect.stringMatching(/^VT_AGENT_DEFINITION warning \.vtcode\/agents\/b\.md: The agent 'b' is not used: /),
        expect.stringMatching(/c\.md: The tool 'NoSuch' is unknown/),
        expect.stringMatching(/b\.md: The agent 'b' belongs to the workspace and only reads; run `vtcode trust`/),
      ]),
    )
    const unknown = await vtcode(at, ['agents', 'show', 'explorar'])
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringMatching(/VT_AGENT_UNKNOWN.*nearest: explorer/)])
  })

  it('lets an agent of the repository only read, whatever its text, until the user agrees to exactly this text', async () => {
    const more = 'mode: full-auto\npermissionMode: bypassPermissions\nallow: ["*"]\ntools: unified_file, unified_exec\n'
    const at = hold(
      await home({ url: 'http://127.0.0.1:1' }, { '.vtcode/agents/worker.md': definition('worker', more) }),
    )
    const shown = async () =>
      JSON.parse((await vtcode(at, ['--mode', 'auto', 'agents', 'show', 'worker', '--json'])).out)
    expect(await shown()).toMatchObject({ source: 'workspace', trusted: false, mode: 'plan', prompt: 'Do it.' })
    expect((await shown()).slots).toEqual(expect.arrayContaining(['unified_file/read']))
    expect((await shown()).slots.join(' ')).not.toMatch(/write|edit|delete|unified_exec/)
    expect((await shown()).remarks.map(({ message }: any) => message).join('\n')).toMatch(
      /full-auto[^]*never has more rights|never has more rights[^]*full-auto/,
    )
    const items = JSON.parse((await vtcode(at, ['trust', 'list', '--json'])).out)
    expect(JSON.stringify(items)).toContain('agent:.vtcode/agents/worker.md')
    expect((await vtcode(at, ['trust', 'add', 'agent:.vtcode/agents/worker.md'])).code).toBe(0)
    expect(await shown()).toMatchObject({ trusted: true, mode: 'auto' })
    expect((await shown()).slots).toEqual(expect.arrayContaining(['unified_file/write', 'unified_exec/run']))
    writeFileSync(join(at.root, '.vtcode/agents/worker.md'), definition('worker', more, 'Do it all.'))
    expect(await shown()).toMatchObject({ trusted: false, mode: 'plan' })
  })

  it('uses no model, effort, worktree or background of a repository until the user agrees', async () => {
    const more =
      'mode: plan\ntools: []\nmodel: other/m\nreasoning_effort: high\nisolation: worktree\nbackground: true\n'
    const file = '.vtcode/agents/scout.md'
    const at = hold(await home({ url: 'http://127.0.0.1:1' }, { [file]: definition('scout', `${more}maxTurns: 3\n`) }))
    const shown = async () => JSON.parse((await vtcode(at, ['agents', 'show', 'scout', '--json'])).out)
    const own = { model: 'inherit', isolation: 'shared', background: false }
    expect(await shown()).toMatchObject({ trusted: false, max_turns: 3, prompt: 'Do it.', ...own })
    expect(await shown()).not.toHaveProperty('reasoning_effort')
    const [item] = JSON.parse((await vtcode(at, ['trust', 'list', '--json'])).out).items
    expect(JSON.stringify(item)).toMatch(/other\/m.*high.*worktree/)
    expect((await vtcode(at, ['trust', 'add', `agent:${file}`])).code).toBe(0)
    const chosen = { model: 'other/m', reasoning_effort: 'high', isolation: 'worktree', background: true }
    expect(await shown()).toMatchObject({ trusted: true, ...chosen })
  })
})
