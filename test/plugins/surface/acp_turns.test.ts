import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { allow, editor } from '../../support/editor.js'
import { call, type Answer } from '../../support/peer.js'

const run = (command: string): Answer => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
const sandboxOff = { sandbox: { mode: 'off' } }

describe('turns of an editor', () => {
  it('cancels a turn whose question is never answered, and the turns that wait for it', async () => {
    const asked = await editor([run('touch made.txt'), { content: 'Later.' }], {
      settings: sandboxOff,
      permit: () => new Promise(() => {}),
    })
    const { sessionId } = await asked.open()
    const turns = [asked.prompt(sessionId, 'run it'), asked.prompt(sessionId, 'and this')]
    await expect.poll(() => asked.questions.length, { timeout: 20_000 }).toBe(1)
    await asked.agent.notify(methods.agent.session.cancel, { sessionId })
    expect(await Promise.all(turns)).toEqual([{ stopReason: 'cancelled' }, { stopReason: 'cancelled' }])
    expect(existsSync(join(asked.place.root, 'made.txt'))).toBe(false)
    expect(await asked.prompt(sessionId, 'again')).toEqual({ stopReason: 'end_turn' })
    expect(asked.textOf()).toBe('Later.')
  })

  it('ignores a cancellation that comes before its prompt or names no session', async () => {
    const idle = await editor([{ content: 'Hello.' }])
    const { sessionId } = await idle.open()
    await idle.agent.notify(methods.agent.session.cancel, { sessionId })
    await idle.agent.notify(methods.agent.session.cancel, { sessionId: 'ses_unknown' })
    expect(await idle.prompt(sessionId, 'greet me')).toEqual({ stopReason: 'end_turn' })
    expect(idle.textOf()).toBe('Hello.')
  })

  it('answers a cancelled request with the code of the protocol', async () => {
    const asked = await editor([run('touch made.txt')], { settings: sandboxOff, permit: () => new Promise(() => {}) })
    const { sessionId } = await asked.open()
    const stop = new AbortController()
    const answer = asked.agent.request(
      methods.agent.session.prompt,
      { sessionId, prompt: [{ type: 'text', text: 'run it' }] },
      { cancellationSignal: stop.signal },
    )
    await expect.poll(() => asked.questions.length, { timeout: 20_000 }).toBe(1)
    stop.abort()
    await expect(answer).rejects.toMatchObject({ code: -32800 })
  })

  it('stops the step when the editor answers cancelled, and refuses a call for the session after never', async () => {
    const answers = [{ outcome: { outcome: 'cancelled' } }, allow('never')]
    const repeated = [run('touch b.txt'), { content: 'Not applied.' }, { content: 'Not applied.' }]
    const asked = await editor([run('touch a.txt'), ...repeated], {
      settings: sandboxOff,
      permit: () => answers.shift(),
    })
    const { sessionId } = await asked.open()
    expect(await asked.prompt(sessionId, 'one')).toEqual({ stopReason: 'cancelled' })
    expect(await asked.prompt(sessionId, 'two')).toEqual({ stopReason: 'end_turn' })
    expect(asked.questions).toHaveLength(2)
    expect(['a.txt', 'b.txt'].some((name) => existsSync(join(asked.place.root, name)))).toBe(false)
  })

  it('writes the rule that the option names, and asks no second time', async () => {
    const ruled = await editor([run('touch a.txt'), { content: 'Done.' }, run('touch a.txt'), { content: 'Done.' }], {
      settings: sandboxOff,
      permit: () => allow('rule'),
    })
    const { sessionId } = await ruled.open()
    await ruled.prompt(sessionId, 'one')
    await ruled.prompt(sessionId, 'two')
    expect(ruled.questions).toHaveLength(1)
    const { name } = ruled.questions[0].options.find(({ optionId }: any) => optionId === 'rule')
    expect(name).toBe('Always allow, with the rule Bash(touch a.txt)')
    expect(JSON.stringify(ruled.questions[0].toolCall.content)).toContain('Bash(touch a.txt)')
  })

  it('shows the lines that a call of a loaded session changed, without a change of the present file', async () => {
    const append = call('unified_file', { action: 'write', path: 'a.txt', content: 'two\n', mode: 'append' })
    const made = await editor([{ toolCalls: [append] }, { content: 'Done.' }], { files: { 'a.txt': 'one\n' } })
    const { sessionId } = await made.open()
    await made.prompt(sessionId, 'append')
    const { agent, place, updates } = made
    await agent.request(methods.agent.session.close, { sessionId })
    updates.length = 0
    await agent.request(methods.agent.session.load, { sessionId, cwd: place.root, mcpServers: [] })
    const [shown] = made.kindsOf('tool_call')
    expect(shown.content).toEqual([{ type: 'content', content: { type: 'text', text: '```diff\n+two\n```' } }])
    expect(shown.locations).toEqual([{ path: join(place.root, 'a.txt') }])
  })

  it('shows thoughts, the steps of the task and the output of a command', async () => {
    const items = ['Read', 'Write']
    const shown = await editor(
      [
        { reasoning: 'Let me think.', toolCalls: [call('task_tracker', { action: 'create', title: 'Work', items })] },
        run('echo printed'),
        { toolCalls: [call('task_tracker', { action: 'update', index: 1, status: 'completed' })] },
        { toolCalls: [call('task_tracker', { action: 'update', index: 2, status: 'completed' })] },
        { content: 'Done.' },
      ],
      { settings: sandboxOff },
    )
    const { sessionId } = await shown.open()
    await shown.prompt(sessionId, 'work')
    expect(shown.textOf('agent_thought_chunk')).toBe('Let me think.')
    expect(shown.kindsOf('plan').at(0).entries).toMatchObject([
      { content: 'Read', status: 'pending', priority: 'medium' },
      { content: 'Write' },
    ])
    expect(
      shown
        .kindsOf('plan')
        .at(-1)
        .entries.map(({ status }: any) => status),
    ).toEqual(['completed', 'completed'])
    const echoed = shown.kindsOf('tool_call').find(({ title }) => title === 'echo printed')
    expect(echoed).toMatchObject({ kind: 'execute' })
    const end = shown.kindsOf('tool_call_update').filter(({ toolCallId }) => toolCallId === echoed.toolCallId)
    expect(end.at(-1)).toMatchObject({ status: 'completed', rawOutput: { outcome: 'success', exit_code: 0 } })
    expect(JSON.stringify(end.at(-1).content)).toContain('printed')
  })
})
