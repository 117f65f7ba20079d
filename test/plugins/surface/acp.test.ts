import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { allow, editor } from '../../support/editor.js'
import { call, type Answer } from '../../support/peer.js'

describe('vtcode acp', () => {
  it('answers initialize with its capabilities, and sign-in with a terminal only to editors that have one', async () => {
    const plain = await editor([])
    expect(plain.initialized).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'vtcode' },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      },
      authMethods: [{ id: 'sign-in' }],
    })
    const terminal = await editor([], { capabilities: { auth: { terminal: true } } })
    expect(terminal.initialized.authMethods).toMatchObject([{ id: 'sign-in' }, { type: 'terminal', args: ['--login'] }])
  })

  it('streams an answer, shows the exact change before it asks, and makes it after a yes', async () => {
    const edited = await editor(
      [
        {
          content: 'I will edit.',
          toolCalls: [call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' })],
        },
        { content: 'Done.', usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 } },
      ],
      {
        files: { 'a.txt': 'one\ntwo\n' },
        provider: { profiles: { m: { context_window: 1000, cost: { input: 1000, output: 2000 } } } },
      },
    )
    const { sessionId, modes, configOptions } = await edited.open()
    expect(modes?.currentModeId).toBe('ask')
    expect(configOptions?.map(({ id }) => id)).toEqual(['mode', 'model', 'thought_level'])
    expect(await edited.prompt(sessionId, 'edit it')).toEqual({ stopReason: 'end_turn' })
    expect(edited.textOf()).toBe('I will edit.Done.')
    const path = join(edited.place.root, 'a.txt')
    expect(readFileSync(path, 'utf8')).toBe('one\n2\n')
    const [question] = edited.questions
    const diff = { type: 'diff', path, oldText: 'one\ntwo\n', newText: 'one\n2\n' }
    expect(question.toolCall).toMatchObject({ kind: 'edit', status: 'pending', locations: [{ path, line: 2 }] })
    expect(question.toolCall.content[0]).toEqual(diff)
    const [shown] = edited.kindsOf('tool_call')
    expect(shown).toMatchObject({ toolCallId: question.toolCall.toolCallId, status: 'in_progress', content: [diff] })
    expect(edited.kindsOf('tool_call_update').at(-1)).toMatchObject({ status: 'completed', content: [diff] })
    expect(edited.kindsOf('usage_update').at(-1)).toMatchObject({ used: 150, size: 1000, cost: { currency: 'USD' } })
    expect(edited.kindsOf('session_info_update')[0]).toMatchObject({ title: 'edit it' })
    expect(edited.kindsOf('available_commands_update')[0].availableCommands.map((one: any) => one.name)).toEqual(
      expect.arrayContaining(['compact', 'goal', 'plan', 'review', 'rewind']),
    )
    expect(await edited.end()).toBe(0)
  })

  it('names the exact command and what a lasting yes covers, and counts no answer but an offered one as a yes', async () => {
    const commandOf = (at: number) => `touch made-${at}.txt && echo a-long-word-that-is-shown-whole`
    const answers = [null, {}, allow('yes'), { outcome: { outcome: 'selected' } }, { outcome: 'allow' }]
    const answer = ({ messages }: any): Answer => {
      const [, at] = /^run (\d)$/.exec(messages.at(-1).content) ?? []
      return at === undefined
        ? { content: 'Not applied.' }
        : { toolCalls: [call('unified_exec', { action: 'run', command: commandOf(Number(at)) })] }
    }
    const asked = await editor(Array<typeof answer>(40).fill(answer), {
      settings: { sandbox: { mode: 'off' } },
      permit: () => answers.shift(),
    })
    const { sessionId } = await asked.open()
    for (let at = 0; at < 5; at += 1) await asked.prompt(sessionId, `run ${at}`)
    expect(asked.questions).toHaveLength(5)
    const [{ toolCall, options }] = asked.questions
    expect(toolCall).toMatchObject({ kind: 'execute', title: commandOf(0) })
    expect(JSON.stringify(toolCall.content)).toContain(`$ ${commandOf(0)}`)
    expect(options.map(({ kind }: any) => kind)).toEqual(
      expect.arrayContaining(['allow_once', 'reject_once', 'reject_always']),
    )
    for (const { kind, name } of options) if (kind === 'allow_always') expect(name).toMatch(/touch|echo/)
    expect(readdirSync(asked.place.root).filter((name) => name.startsWith('made'))).toEqual([])
  })

  it('loads, resumes, lists, closes and deletes sessions', async () => {
    const first = await editor(
      [{ toolCalls: [call('unified_search', { action: 'list' })] }, { content: 'Hello.' }, { content: 'Again.' }],
      {
        files: { 'a.txt': 'one\n' },
      },
    )
    const { sessionId } = await first.open()
    await first.prompt(sessionId, 'greet me')
    const { place, agent, updates } = first
    const { sessions } = await agent.request(methods.agent.session.list, { cwd: place.root })
    expect(sessions).toMatchObject([{ sessionId, cwd: place.root, title: 'greet me' }])
    await agent.request(methods.agent.session.close, { sessionId })
    updates.length = 0
    await agent.request(methods.agent.session.load, { sessionId, cwd: place.root, mcpServers: [] })
    expect(updates.map((one) => one.sessionUpdate)).toEqual(
      expect.arrayContaining(['user_message_chunk', 'tool_call', 'tool_call_update', 'agent_message_chunk']),
    )
    expect([first.textOf('user_message_chunk'), first.textOf()]).toEqual(['greet me', 'Hello.'])
    await agent.request(methods.agent.session.close, { sessionId })
    updates.length = 0
    await agent.request(methods.agent.session.resume, { sessionId, cwd: place.root })
    expect(first.textOf('user_message_chunk')).toBe('')
    expect(await first.prompt(sessionId, 'again')).toEqual({ stopReason: 'end_turn' })
    expect(JSON.stringify(first.peer.bodies.at(-1))).toContain('greet me')
    await agent.request(methods.agent.session.delete, { sessionId })
    expect((await agent.request(methods.agent.session.list, {})).sessions).toEqual([])
  })
})
