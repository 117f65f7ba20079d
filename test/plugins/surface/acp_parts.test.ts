import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { report, says, spawn, speakers } from '../../support/delegation.js'
import { allow, connectEditor, editor } from '../../support/editor.js'
import { hold } from '../../support/held.js'
import { call, home, settingsFor, vtcode } from '../../support/peer.js'

const question = { id: 'color', header: 'Color', question: 'Which color?' }
const ask = {
  toolCalls: [call('request_user_input', { questions: [question] })],
}
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('parts of a conversation in an editor', () => {
  it('shows an agent that does a part as a call, and its question with the exact command', async () => {
    const run = call('unified_exec', { action: 'run', command: 'touch asked.txt' })
    const { url } = await speakers({
      parent: [
        { toolCalls: [spawn('ASK Find out what the file says.', { agent: 'verifier' })] },
        says('All is known.'),
      ],
      ASK: [{ toolCalls: [run] }, report('The check holds.')],
    })
    const place = hold(await home({ url }, {}, { settings: { sandbox: { mode: 'off' } } }))
    const parts = await connectEditor(place)
    const { sessionId } = await parts.open()
    expect(await parts.prompt(sessionId, 'Explore.')).toEqual({ stopReason: 'end_turn' })
    const [shown] = parts.kindsOf('tool_call').filter(({ title }) => title.startsWith('Agent verifier'))
    expect(shown).toMatchObject({ status: 'in_progress', kind: 'think' })
    const ends = parts.kindsOf('tool_call_update').filter(({ toolCallId }) => toolCallId === shown.toolCallId)
    expect(ends.at(-1)).toMatchObject({ status: 'completed', title: 'Agent verifier: The check holds.' })
    const [asked] = parts.questions
    expect(asked.toolCall.title).toBe('touch asked.txt')
    expect(JSON.stringify(asked.toolCall.content)).toContain('verifier')
  })

  it('gives the question of an agent an id of its own after a call that is refused for the session', async () => {
    const run = (command: string) => ({ toolCalls: [call('unified_exec', { action: 'run', command })] })
    const { url } = await speakers({
      parent: [
        run('touch refused.txt'),
        says('Refused.'),
        run('touch refused.txt'),
        { toolCalls: [spawn('ASK Find out what the file says.', { agent: 'verifier' })] },
        says('All is known.'),
      ],
      ASK: [run('touch asked.txt'), report('The check holds.')],
    })
    const place = hold(await home({ url }, {}, { settings: { sandbox: { mode: 'off' } } }))
    const answers = ['never', 'allow']
    const parts = await connectEditor(place, { permit: () => allow(answers.shift()) })
    const { sessionId } = await parts.open()
    expect(await parts.prompt(sessionId, 'Run it.')).toEqual({ stopReason: 'end_turn' })
    // The memory of refused calls is one of a mode.
    await parts.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'auto' })
    expect(await parts.prompt(sessionId, 'Explore.')).toEqual({ stopReason: 'end_turn' })
    const [own, other] = parts.questions.map(({ toolCall }) => toolCall)
    expect([own.title, other.title]).toEqual(['touch refused.txt', 'touch asked.txt'])
    expect(parts.kindsOf('tool_call').map(({ toolCallId }) => toolCallId)).toContain(own.toolCallId)
    expect(other.toolCallId).toMatch(/^approval-/)
  })

  it('asks with a form where the editor has forms, and reports that no user is there where it has none', async () => {
    const forms: any[] = []
    const elicit = (form: any) => {
      forms.push(form)
      return { action: 'accept', content: { color: 'green' } }
    }
    const asking = await editor([ask, { content: 'Green.' }], { elicit })
    const { sessionId } = await asking.open()
    await asking.prompt(sessionId, 'choose')
    expect(forms).toMatchObject([
      { sessionId, mode: 'form', requestedSchema: { properties: { color: { title: 'Color' } } } },
    ])
    expect(asking.peer.bodies[1].messages.at(-1).content).toContain('green')
    const plain = await editor([ask, { content: 'None.' }])
    await plain.prompt((await plain.open()).sessionId, 'choose')
    expect(plain.peer.bodies[1].messages.at(-1).content).toMatch(/^ERROR VT_/)
  })

  it('gives images and embedded texts of a prompt to the model', async () => {
    const given = await editor([{ content: 'Seen.' }], { provider: { profiles: { m: { supports_vision: true } } } })
    const { sessionId } = await given.open()
    const prompt = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image' as const, data: pixel, mimeType: 'image/png' },
      {
        type: 'resource' as const,
        resource: { uri: `file://${join(given.place.root, 'b.txt')}`, text: 'text that\n```\nis embedded' },
      },
    ]
    await given.agent.request(methods.agent.session.prompt, { sessionId, prompt })
    const sent = JSON.stringify(given.peer.bodies[0].messages.at(-1))
    for (const part of ['What is this?', 'data:image/png;base64', 'b.txt:', '````', 'is embedded'])
      expect(sent).toContain(part)
  })

  it('shows a slow start of a server instead of silence', async () => {
    const slow = await editor([{ content: 'One.' }])
    const server = join(slow.place.home, 'slow.mjs')
    // The server never answers, and the start of the session gives up on it.
    writeFileSync(server, 'process.stdin.resume()')
    const servers = { silent: { command: process.execPath, args: [server], startup_timeout_secs: 1, lazy: false } }
    const settings = settingsFor(slow.peer, { settings: { mcp: { servers } } })
    writeFileSync(join(slow.place.home, '.vtcode/vtcode.config.json'), JSON.stringify(settings))
    const shown = await connectEditor(slow.place)
    await shown.prompt((await shown.open()).sessionId, 'hello')
    const titles = [...shown.kindsOf('tool_call'), ...shown.kindsOf('tool_call_update')]
    expect(titles).toMatchObject([
      { title: 'Start MCP servers', status: 'in_progress' },
      { title: 'Start MCP servers', status: 'completed' },
    ])
    const kinds = shown.updates.map((one) => one.sessionUpdate)
    expect(kinds.indexOf('session_info_update')).toBeLessThan(kinds.indexOf('tool_call'))
  })

  it('shows the invisible characters in the words of a model server that fails', async () => {
    const failing = await editor([{ status: 400, error: { message: 'no \u202esuch\u0007 model' } }])
    const { sessionId } = await failing.open()
    await expect(failing.prompt(sessionId, 'hello')).rejects.toMatchObject({
      message: expect.stringContaining('no \\u{202e}such\\u{7} model'),
    })
  })

  it('answers a missing key when a session begins, and signs in once the key is there', async () => {
    const keyless = await editor([], { env: { PEER_API_KEY: '' }, provider: { api_key_env: 'PEER_API_KEY' } })
    const missing = { code: -32000, message: expect.stringContaining('PEER_API_KEY') }
    await expect(keyless.open()).rejects.toMatchObject(missing)
    const signIn = (methodId: string, { agent }: typeof keyless) =>
      agent.request(methods.agent.authenticate, { methodId })
    await expect(signIn('sign-in', keyless)).rejects.toMatchObject(missing)
    await expect(signIn('other', keyless)).rejects.toMatchObject({ code: -32602 })
    const login = await vtcode(keyless.place, ['acp', '--login'], { env: { PEER_API_KEY: '' }, process: true })
    expect(login).toMatchObject({ code: 3, err: expect.stringContaining('PEER_API_KEY') })
    const { place } = keyless
    expect((await vtcode(place, ['acp', '--login'], { process: true })).err).toContain('Signed in.')
    const keyed = await connectEditor(place)
    expect(await signIn('sign-in', keyed as never)).toEqual({})
    expect(await keyed.agent.request(methods.agent.logout, {})).toEqual({})
    expect((await keyed.open()).sessionId).toMatch(/^ses_/)
  })
})
