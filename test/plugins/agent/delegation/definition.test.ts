import { describe, expect, it } from 'vitest'
import { parseAgent } from '../../../../build/plugins/agent/delegation/index.js'

const read = (head: string, body = 'Do it.') => parseAgent(Buffer.from(`---\n${head}\n---\n${body}\n`))
const base = 'name: a\ndescription: d'

describe('parseAgent', () => {
  it('reads every key of a definition, as a list or separated by commas', () => {
    const { agent, remarks } = read(
      `${base}\ntools: [Read, 'unified_search']\ndisallowedTools: Bash, Write\nmodel: small\nreasoning_effort: high\nmode: auto\nmaxTurns: 7\nbackground: true\nisolation: worktree\nskills: [x]\ninitialPrompt: First.`,
    )
    expect(remarks).toEqual([])
    expect(agent).toEqual({
      name: 'a',
      description: 'd',
      tools: ['Read', 'unified_search'],
      disallowed: ['Bash', 'Write'],
      model: 'small',
      reasoning_effort: 'high',
      mode: 'auto',
      max_turns: 7,
      background: true,
      isolation: 'worktree',
      skills: ['x'],
      initial_prompt: 'First.',
      body: 'Do it.',
    })
    expect(read(base).agent).toEqual({
      name: 'a',
      description: 'd',
      disallowed: [],
      model: 'inherit',
      background: false,
      isolation: 'shared',
      skills: [],
      body: 'Do it.',
    })
    expect(read(`${base}\npermissionMode: acceptEdits\ncolor: blue`)).toMatchObject({
      agent: { mode: 'auto' },
      remarks: [],
    })
  })

  it.each<[string, string, RegExp]>([
    ['a mode that would widen', `${base}\nmode: full-auto`, /^mode 4 .*full-auto.*plan, ask or auto/],
    [
      'rights of Claude Code',
      `${base}\npermissionMode: bypassPermissions`,
      /^permissionMode 4 .*never has more rights/,
    ],
    ['hooks', `${base}\nhooks: {}`, /^hooks 4 .*cannot give rights/],
    ['servers', `${base}\nmcpServers: [x]`, /^mcpServers 4 /],
    ['allow rules', `${base}\nallow: ['*']`, /^allow 4 /],
    ['a key nearly right', `${base}\nmaxturns: 3`, /^maxturns 4 .*nearest: maxTurns/],
    ['a number that is not one', `${base}\nmaxTurns: many`, /^maxTurns 4 .*1 to 1000/],
    ['an isolation that is not one', `${base}\nisolation: vm`, /^isolation 4 .*shared or worktree/],
    ['a tool with a specifier', `${base}\ntools: Bash(git log:*), Read`, /^tools 4 .*whole tools/],
  ])('ignores %s with a warning', (_, head, says) => {
    const { agent, remarks } = read(head)
    expect(remarks).toHaveLength(1)
    const { severity, message, line } = remarks[0]!
    expect(severity).toBe('warning')
    const key = head.split('\n').at(-1)!.split(':')[0]
    expect(`${key} ${line} ${message}`).toMatch(says)
    expect(agent).toMatchObject({ name: 'a' })
    expect(agent!.mode).toBeUndefined()
    if (head.includes('tools:')) expect(agent!.tools).toEqual(['Read'])
  })

  it.each<[string, Buffer, RegExp]>([
    ['without front matter', Buffer.from('Do it.'), /^1 .*---/],
    ['without a name', Buffer.from('---\ndescription: d\n---\nx'), /^1 The agent has no name/],
    [
      'with a name that leads elsewhere',
      Buffer.from('---\nname: ../x\ndescription: d\n---\nx'),
      /^2 Invalid name "\.\.\/x"/,
    ],
    ['without a description', Buffer.from('---\nname: a\n---\nx'), /^1 The agent has no description/],
    [
      'with too long a description',
      Buffer.from(`---\nname: a\ndescription: ${'d'.repeat(1025)}\n---\nx`),
      /^3 The description has 1025 characters; at most 1024/,
    ],
    [
      'with too long a text',
      Buffer.from(`---\n${base}\n---\n${'x'.repeat(32 * 1024 + 1)}`),
      /^2 The text after the front matter has 32769 bytes/,
    ],
    ['that is no text', Buffer.from([0x2d, 0xff, 0xfe]), /^1 The file is not UTF-8/],
  ])('rejects a definition %s', (_, bytes, says) => {
    const { agent, remarks } = parseAgent(bytes)
    expect(agent).toBeUndefined()
    const error = remarks.find(({ severity }) => severity === 'error')!
    expect(`${error.line} ${error.message}`).toMatch(says)
  })
})
