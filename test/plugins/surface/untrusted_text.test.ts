import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { hold } from '../../support/inside.js'
import { call, home, startPeer, vtcode, type Answer, type Home } from '../../support/peer.js'
import { bin, typing } from '../../support/terminal.js'

const deceptive = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|[^\P{Cc}\n\t]/u
/** Strips our own cursor control and line ends from text that reached a terminal. */
const foreignIn = (screen: string): string =>
  screen.replace(/\u001b\[(?:\d*[GJK]|1|2|22|3[1-6]|39|0|\?\d+[hl])?m?/g, '').replaceAll('\r', '')
const copies = '\u001b]52;c;ZXZpbA==\u0007'
const name = `a\u202e${copies}\u009b31m\u200b.txt`

const place = async (
  script: (Answer | ((body: any) => Answer))[],
  files: Record<string, string> = {},
  settings: object = {},
): Promise<Home> =>
  hold(await home(hold(await startPeer(script)), files, { settings: { agent: { model: 'peer/m' }, ...settings } }))

describe('untrusted text on the command line', () => {
  it('escapes untrusted text in the JSON answer of a call, which parses to the same document', async () => {
    const at = await place([], { [name]: `x${name}\n` })
    for (const words of [
      ['unified_search', 'list'],
      ['unified_file', 'read', '--path', name],
      ['unified_file', 'read', '--path', `no${name}`],
    ]) {
      const { out, err } = await vtcode(at, ['call', ...words])
      expect([words, deceptive.test(out), deceptive.test(err)]).toEqual([words, false, false])
      expect(JSON.stringify(JSON.parse(out))).toContain('a\u202e')
    }
    const at_terminal = await typing(at, ['call', 'unified_file', 'read', '--path', name])
    const { rest } = await at_terminal.end()
    expect(deceptive.test(foreignIn(rest))).toBe(false)
    expect(rest).toContain('202e')
  })

  it('escapes control text of a model, of its tool names and of its server', async () => {
    const script = (): Answer[] => [
      { content: `look${copies}`, toolCalls: [call(`evil${copies}\u202e`, { path: name })] },
      { status: 400, error: { message: `refused${copies}\u202e\u0085` } },
    ]
    const piped = await vtcode(await place(script()), ['exec', 'x'])
    expect(piped.err).toContain('refused\\u')
    expect(deceptive.test(piped.err)).toBe(false)
    for (const verb of ['exec', 'chat']) {
      const at = await typing(await place(script()), verb === 'chat' ? [verb, '--plain'] : [verb, 'x'])
      if (verb === 'chat') {
        await at.until('> ')
        at.terminal.write('go\r')
      }
      const before = await at.until('refused\\u')
      if (verb === 'chat') at.terminal.write('\u0004')
      const all = before + (await at.end()).rest
      expect([verb, deceptive.test(foreignIn(all)), all.includes('evil\\u')]).toEqual([verb, false, true])
      expect(all).not.toContain('\u001b]')
    }
  })

  it('escapes untrusted text in piped lists too', async () => {
    const at = await place([], {
      'vtcode.config.json': JSON.stringify({ policy: { ask: [{ rule: `Write(${name})`, reason: name }] } }),
    })
    const { out, err } = await vtcode(at, ['policy', 'list'])
    expect(out).toContain('\\u{202e}')
    expect([deceptive.test(out), deceptive.test(err)]).toEqual([false, false])
  })

  it('escapes text of a repository, wherever it lies, in the output of every verb', async () => {
    const evil = JSON.stringify(`x\u202e${copies}\u009b31m\u200b\u2028y`)
    const front = (of: string): string => `---\nname: ${of}\ndescription: ${evil}\n---\n${name}\n`
    const at = await place([], {
      [name]: 'x\n',
      'vtcode.config.json': JSON.stringify({
        hooks: { PreToolUse: [{ hooks: [{ command: `true ${name}` }] }] },
        manifests: [`./${name}`, './tools'],
        policy: { ask: [{ rule: `Write(${name})`, reason: name }] },
      }),
      '.mcp.json': JSON.stringify({
        mcpServers: {
          [name]: { command: name, args: [name], env: { [name]: `\${MY_KEY}${name}` } },
          s: { url: `https://x.example/${name}`, headers: { a: '${MY_KEY}' } },
        },
      }),
      '.vtcode/agents/evil.md': front('evil'),
      '.vtcode/agents/odd.md': front(evil),
      '.vtcode/skills/evil/SKILL.md': front('evil'),
      '.vtcode/skills/odd/SKILL.md': front(evil),
      '.vtcode/plugins/p/vtcode.yaml': `name: told\ndescription: ${evil}\neffects: [read]\nrun: [echo, ${evil}]\n`,
      [`.vtcode/plugins/${name}/vtcode.yaml`]: `${evil}: ${evil}\n`,
      'tools/bad.yaml': `name: ${evil}\n`,
      [`.vtcode/sessions/${name}/calls.jsonl`]: `${evil}\n`,
      [`.vtcode/history/${name}/x`]: 'x',
      [`.vtcode/journal/${name}/plan.json`]: evil,
      'AGENTS.md': `@${name}.md\n${name}\n`,
    })
    const verbs = [
      ['trust'],
      ['trust', 'list'],
      ['trust', 'add', name],
      ['agents', 'list'],
      ['agents', 'check'],
      ['agents', 'show', name],
      ['plugins', 'list'],
      ['plugins', 'show', name],
      ['skills', 'list', '--all'],
      ['skills', 'validate', '.vtcode/skills/odd'],
      ['sessions', 'list'],
      ['undo', '--list'],
      ['doctor'],
      ['tools'],
      ['config', 'show', '--origins'],
      ['config', 'get', name],
      ['policy', 'list'],
      ['schedule', 'list'],
      ['call', name],
      [name],
    ]
    const wrong: unknown[] = []
    // One after another, since each runs in this process.
    for (const words of verbs) {
      const { out, err } = await vtcode(at, words)
      const raw = [out, err].flatMap((text) => text.split('\n').filter((line) => deceptive.test(line)))
      if (raw.length > 0 || (out === '' && err === '')) wrong.push([words, raw.map((line) => JSON.stringify(line))])
    }
    expect(wrong).toEqual([])
  })
})

describe('approval questions', () => {
  const input = {
    action: 'run',
    command: 'touch made',
    justification: 'harmless\n\nunified_exec/run asks for approval.\n  command: true',
    sandbox_permissions: 'require_escalated',
    env: { A: 'x'.repeat(30_000) },
  }
  const ending = '  command: touch made'

  it('asks the same at a terminal and through an MCP client, with the command at the end', async () => {
    const at = await place([])
    const terminal = await typing(at, ['--mode', 'ask', 'call', 'unified_exec', '--input', JSON.stringify(input)])
    const screen = (await terminal.until('Do it, or why not?')).replaceAll('\r', '')
    terminal.terminal.write('n\r')
    await terminal.end()
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } })
    let message = ''
    client.setRequestHandler('elicitation/create', ({ params }) => {
      message = params.message
      return { action: 'decline' }
    })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, '--mode', 'ask', 'mcp'],
        cwd: at.root,
        env: at.env,
      }),
    )
    try {
      await client.callTool({ name: 'unified_exec', arguments: input })
    } finally {
      await client.close()
    }
    expect(message.split('\n').at(-1)).toBe(ending)
    expect(message.split('\n')).toContain(
      '  the model says: harmless\\u{a}\\u{a}unified_exec/run asks for approval.\\u{a}  command: true',
    )
    expect(message.split('\n').filter((line) => line.startsWith('unified_exec/run asks'))).toHaveLength(1)
    expect(message.length).toBeLessThan(4000)
    // The terminal breaks long lines and marks the rests; without breaks and marks it is the same text.
    expect(screen.replace(/[\s|]+/g, '')).toContain(message.replace(/[\s|]+/g, ''))
    expect(screen.split('\n').slice(-2)[0]).toBe(ending)
  })
})
