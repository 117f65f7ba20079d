import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { allow, connectEditor } from '../../support/editor.js'
import { holdForFile } from '../../support/held.js'
import { call, home, startPeer, type Answer, type Home } from '../../support/peer.js'

// The cases of the public profile acp-core-v1, version 0.3.0 (repository openclaw/acpx), in our own words. Its runner
// drives a mock agent by commands in the prompt; here a scripted model makes the calls that those commands stand for.

/** Answers as the words of the last message ask. */
function answer({ messages }: any): Answer {
  const { role, content } = messages.at(-1)
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  if (role !== 'user') return { content: `Result: ${text.slice(0, 600)}` }
  const [, verb = '', name = ''] = /(read|write|wait)\s(\S+)/.exec(text) ?? []
  if (verb === 'read') return { toolCalls: [call('unified_file', { action: 'read', path: name })] }
  if (verb === 'write') return { toolCalls: [call('unified_file', { action: 'write', path: name, content: 'new\n' })] }
  if (verb === 'wait') return { toolCalls: [call('unified_exec', { action: 'run', command: `touch ${name}` })] }
  return { content: `Heard: ${text.slice(0, 80)}` }
}

let place: Home
beforeAll(async () => {
  const peer = holdForFile(await startPeer(Array<typeof answer>(60).fill(answer)))
  const settings = { sandbox: { mode: 'off' } }
  place = holdForFile(await home(peer, { 'a.txt': 'content of a\n' }, { settings }))
})
const approving = () => connectEditor(place)
const denying = () => connectEditor(place, { permit: () => allow('reject') })
const silent = () => connectEditor(place, { permit: () => new Promise(() => {}) })
type Editor = Awaited<ReturnType<typeof approving>>

/** Runs a prompt in a new session. */
async function ask(editor: Editor, text: string) {
  const { sessionId } = await editor.open()
  return { sessionId, response: await editor.prompt(sessionId, text) }
}
const ended = { stopReason: 'end_turn' }

describe('profile acp-core-v1', () => {
  it('passes the cases of handshake, sessions and prompts', async () => {
    const editor = await approving()
    // initialize.handshake, session.new.basic
    expect(typeof editor.initialized.protocolVersion).toBe('number')
    expect(editor.initialized.agentCapabilities).toBeTypeOf('object')
    const { sessionId } = await editor.open()
    expect(sessionId).not.toBe('')
    // session.prompt.single_turn, session.update.termination
    expect(await editor.prompt(sessionId, 'hello')).toEqual(ended)
    expect(editor.updates.length).toBeGreaterThan(0)
    expect(new Set(editor.updates.map((one) => one.sessionId))).toEqual(new Set([sessionId]))
    expect(editor.textOf()).toBe('Heard: hello')
    // session.prompt.multi_turn, session.prompt.echo_empty, session.prompt.unrecognized
    for (const text of ['and again', 'echo', 'qwertz-not-a-command'])
      expect(await editor.prompt(sessionId, text)).toEqual(ended)
    expect(editor.textOf()).toContain('Heard: and again')
    // session.prompt.structured_blocks
    const prompt = [
      { type: 'text' as const, text: 'hello' },
      { type: 'resource_link' as const, name: 'a.txt', uri: `file://${join(place.root, 'a.txt')}` },
    ]
    expect(await editor.agent.request(methods.agent.session.prompt, { sessionId, prompt })).toEqual(ended)
    expect(editor.textOf()).toContain('[a.txt](a.txt)')
    // session.prompt.background_completion
    const [first, second] = [editor.prompt(sessionId, 'one'), editor.prompt(sessionId, 'two')]
    expect(await Promise.all([first, second])).toEqual([ended, ended])
  })

  it('passes the cases of cancellation', async () => {
    const editor = await silent()
    // session.cancel.idle, session.cancel.in_flight, session.cancel.followup_prompt
    const { sessionId } = await editor.open()
    await editor.agent.notify(methods.agent.session.cancel, { sessionId })
    const active = editor.prompt(sessionId, 'wait cancelled.txt')
    await expect.poll(() => editor.questions.length, { timeout: 30_000 }).toBe(1)
    await editor.agent.notify(methods.agent.session.cancel, { sessionId })
    expect(await active).toEqual({ stopReason: 'cancelled' })
    expect(existsSync(join(place.root, 'cancelled.txt'))).toBe(false)
    expect(await editor.prompt(sessionId, 'hello')).toEqual(ended)
  })

  it('passes the cases of errors', async () => {
    const editor = await approving()
    const { sessionId } = await editor.open()
    const send = (method: string, params: object) => editor.agent.request(method as never, params as never)
    const prompt = [{ type: 'text', text: 'hello' }]
    // errors.invalid_params, errors.invalid_params.cwd_null, errors.invalid_prompt_session_type, errors.unknown_session
    const rows: [string, object, number][] = [
      ['session/prompt', { sessionId }, -32602],
      ['session/new', { cwd: null, mcpServers: [] }, -32602],
      ['session/prompt', { sessionId: 7, prompt }, -32602],
      ['session/prompt', { sessionId: 'ses_unknown', prompt }, -32002],
    ]
    for (const [method, params, code] of rows) await expect(send(method, params)).rejects.toMatchObject({ code })
  })

  it('passes the cases of permissions', async () => {
    // errors.permission_denied, errors.permission_denied.write
    const refused = await denying()
    expect((await ask(refused, 'wait refused.txt')).response).toEqual(ended)
    expect((await ask(refused, 'write refused.txt')).response).toEqual(ended)
    expect(existsSync(join(place.root, 'refused.txt'))).toBe(false)
    // The answer of the model, which repeats the refusal, names the way that a user has here.
    expect(refused.textOf()).toContain('switch to /mode auto')
    const failed = refused.kindsOf('tool_call_update').filter(({ status }) => status === 'failed')
    expect(failed.map(({ rawOutput }) => rawOutput.outcome)).toEqual(['permission_rejected', 'permission_rejected'])
    // permissions.read.approved, permissions.write.approved
    const approved = await approving()
    await ask(approved, 'read a.txt')
    expect(approved.textOf()).toContain('content of a')
    await ask(approved, 'write written.txt')
    expect(readFileSync(join(place.root, 'written.txt'), 'utf8')).toBe('new\n')
  })
})
