import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods, type RequestError } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { editor } from '../../support/editor.js'
import { call } from '../../support/peer.js'

describe('options and commands of an editor', () => {
  it('changes mode, model and thought level, keeps the conversation, and refuses unknown values', async () => {
    const chosen = await editor([{ content: 'One.' }, { content: 'Two.' }], { provider: { models: ['m', 'n'] } })
    const { sessionId } = await chosen.open()
    const set = (configId: string, value: string) =>
      chosen.agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value })
    await chosen.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'plan' })
    expect(chosen.kindsOf('current_mode_update')).toMatchObject([{ currentModeId: 'plan' }])
    await chosen.prompt(sessionId, 'first')
    const { configOptions } = await set('model', 'peer/n')
    expect(configOptions).toMatchObject([{ currentValue: 'plan' }, { currentValue: 'peer/n' }, {}])
    await set('thought_level', 'high')
    await set('mode', 'auto')
    await chosen.prompt(sessionId, 'second')
    const body = chosen.peer.bodies.at(-1)
    expect(body).toMatchObject({ model: 'n', reasoning_effort: 'high' })
    expect(JSON.stringify(body.messages)).toContain('first')
    for (const [id, value] of [
      ['mode', 'wild'],
      ['model', 'peer/none'],
      ['thought_level', 'deep'],
      ['other', 'x'],
    ] as const)
      await expect(set(id, value)).rejects.toMatchObject({ code: -32602 })
    await expect(set('mode', 'wild')).rejects.toThrow('value must be one of plan, ask, auto')
    await expect(chosen.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'wild' })).rejects.toThrow(
      'must be one of plan, ask, auto',
    )
  })

  it('runs commands of the conversation without the model, and rewinds files and conversation', async () => {
    const edit = call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'one', new_str: '1' })
    const told = await editor([{ toolCalls: [edit] }, { content: 'Done.' }, { content: 'Fresh.' }], {
      files: { 'a.txt': 'one\n' },
    })
    const { sessionId } = await told.open()
    await told.prompt(sessionId, 'edit it')
    const asked = told.peer.bodies.length
    for (const text of ['/tasks', '/agents', '/goal', '/nothing-like-this', '/rewind'])
      await told.prompt(sessionId, text)
    for (const part of ['no steps', 'There is no goal', 'Unknown command /nothing-like-this', '1. edit it'])
      expect(told.textOf()).toContain(part)
    await told.prompt(sessionId, '/mode wild')
    await told.prompt(sessionId, '/mode auto')
    expect(told.textOf()).toMatch(/The modes are plan, ask, auto\.auto$/)
    expect(told.kindsOf('current_mode_update')).toMatchObject([{ currentModeId: 'auto' }])
    await told.prompt(sessionId, '/rewind 1')
    expect(told.textOf()).toContain('Back before turn 1.')
    expect(told.peer.bodies).toHaveLength(asked)
    expect(readFileSync(join(told.place.root, 'a.txt'), 'utf8')).toBe('one\n')
    await told.prompt(sessionId, 'what now')
    expect(JSON.stringify(told.peer.bodies.at(-1).messages)).not.toContain('edit it')
  })

  it('maps refusals, limits and failures to the reasons and codes of the protocol, without secrets', async () => {
    const ended = await editor([
      { content: 'Half', finishReason: 'length' },
      { content: '', finishReason: 'content_filter' },
      { error: { message: 'bad key-of-the-peer-0123' }, status: 400 },
      { error: { message: 'no' }, status: 401 },
    ])
    const { sessionId } = await ended.open()
    expect(await ended.prompt(sessionId, 'one')).toEqual({ stopReason: 'max_tokens' })
    expect(await ended.prompt(sessionId, 'two')).toEqual({ stopReason: 'refusal' })
    const failure: RequestError = await ended.prompt(sessionId, 'three').then(
      () => expect.fail('a failed turn is an error'),
      (error) => error,
    )
    expect(failure).toMatchObject({ code: -32603, data: { code: 'VT_LLM_REQUEST' } })
    expect(failure.message).not.toContain('key-of-the-peer-0123')
    await expect(ended.prompt(sessionId, 'four')).rejects.toMatchObject({ code: -32000 })
  })
})
