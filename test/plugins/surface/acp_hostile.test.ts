import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { connectEditor, editor, rawEditor } from '../../support/editor.js'
import { call } from '../../support/peer.js'

const read = call('unified_file', { action: 'read', path: 'a.txt' })

const initialize = { method: 'initialize', params: { protocolVersion: 1 } }

describe('unusual input of an editor', () => {
  it('answers lines that are no messages, and lives on', async () => {
    const { line, lines, write, send, place, end } = await rawEditor([{ content: 'Hello.' }])
    for (const text of [
      '{',
      'null',
      '[]',
      '[{"jsonrpc":"2.0","id":1,"method":"initialize"}]',
      '{"jsonrpc":"1.0"}',
      '""',
    ])
      write(text)
    write('')
    send({ id: 'a', ...initialize })
    expect((await line(({ id }) => id === 'a')).result.protocolVersion).toBe(1)
    expect(lines.slice(0, -1).map(({ id, error }) => [id, error.code])).toEqual([
      [null, -32700],
      ...Array.from({ length: 5 }, () => [null, -32600]),
    ])
    send({ id: 2, method: 'session/new', params: { cwd: place.root, mcpServers: [] } })
    expect((await line(({ id }) => id === 2)).result.sessionId).toMatch(/^ses_/)
    expect(await end()).toBe(0)
  })

  it('refuses requests before initialize, unknown methods and wrong params, each with the code of the protocol', async () => {
    const { line, send, place } = await rawEditor([{ content: 'Hello.' }])
    const codeOf = async (id: number | string, message: object) => {
      send({ id, ...message })
      return (await line((one) => one.id === id)).error?.code
    }
    const list = { method: 'session/list', params: {} }
    expect(await codeOf(1, list)).toBe(-32600)
    expect(await codeOf('2', initialize)).toBeUndefined()
    expect(await codeOf(3, { method: 'session/none', params: {} })).toBe(-32601)
    for (const [id, params] of [
      {},
      { cwd: place.root },
      { cwd: 'a', mcpServers: [] },
      { cwd: join(place.root, 'none'), mcpServers: [] },
      { cwd: place.root, mcpServers: [{ type: 'sse', name: 'x', url: 'http://127.0.0.1', headers: [] }] },
    ].entries())
      expect(await codeOf(10 + id, { method: 'session/new', params })).toBe(-32602)
    expect(await codeOf(20, { method: 'session/list', params: { cursor: 'x' } })).toBe(-32602)
    const prompt = [{ type: 'text', text: 'hi' }]
    expect(await codeOf(21, { method: 'session/prompt', params: { sessionId: 'ses_none', prompt } })).toBe(-32002)
    for (const [id, method] of ['session/load', 'session/resume'].entries()) {
      const params = { sessionId: 'ses_../../etc', cwd: place.root, mcpServers: [] }
      expect(await codeOf(30 + id, { method, params })).toBe(-32002)
    }
    send({ id: 40, method: 'session/new', params: { cwd: place.root, mcpServers: [] } })
    const { sessionId } = (await line(({ id }) => id === 40)).result
    for (const [id, one] of [
      [],
      [{ type: 'text', text: ' ' }],
      [{ type: 'audio', data: 'AA==', mimeType: 'audio/wav' }],
      [{ type: 'image', data: 'AA==', mimeType: 'image/tiff' }],
      [{ type: 'resource', resource: { uri: 'file:///x', blob: 'AA==', mimeType: 'application/zip' } }],
    ].entries())
      expect(await codeOf(50 + id, { method: 'session/prompt', params: { sessionId, prompt: one } })).toBe(-32602)
  })

  it('refuses a message over the limit, reads one below it, and lives on', async () => {
    const { line, write, send, place } = await rawEditor([{ content: 'Hello.' }])
    send({ id: 1, ...initialize })
    send({ id: 2, method: 'session/new', params: { cwd: place.root, mcpServers: [] } })
    const { sessionId } = (await line(({ id }) => id === 2)).result
    const message = (id: number, bytes: number) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'session/none', params: { sessionId, text: 'x'.repeat(bytes) } })
    write(message(3, 16 * 1024 * 1024))
    expect((await line(({ id }) => id === 3)).error).toMatchObject({ code: -32600 })
    write(message(4, 15 * 1024 * 1024))
    expect((await line(({ id }) => id === 4)).error).toMatchObject({ code: -32601 })
  })

  it('counts the first of two answers to a question, and ignores answers to questions that it never asked', async () => {
    const edit = call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'two', new_str: '2' })
    const script = [
      { toolCalls: [edit] },
      { content: 'Not applied.' },
      { content: 'Not applied.' },
      { content: 'Ended.' },
    ]
    const { line, send, place, end } = await rawEditor(script, { 'a.txt': 'two\n' })
    send({ id: 'i', ...initialize })
    send({ id: 'n', method: 'session/new', params: { cwd: place.root, mcpServers: [] } })
    const { sessionId } = (await line(({ id }) => id === 'n')).result
    const prompt = [{ type: 'text', text: 'edit it' }]
    send({ id: 'p', method: 'session/prompt', params: { sessionId, prompt } })
    const question = await line(({ method }) => method === 'session/request_permission')
    const answer = (id: unknown, optionId: string) =>
      send({ id, result: { outcome: { outcome: 'selected', optionId } } })
    answer(999, 'allow')
    answer(question.id, 'reject')
    answer(question.id, 'allow')
    expect((await line(({ id }) => id === 'p')).result).toEqual({ stopReason: 'end_turn' })
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('two\n')
    expect(await end()).toBe(0)
  })

  it('ends its runs, its commands and itself when the editor goes away', async () => {
    const command = `node -e "setInterval(() => require('fs').appendFileSync('alive', 'x'), 20)"`
    const gone = await editor([{ toolCalls: [call('unified_exec', { action: 'run', command })] }], {
      settings: { sandbox: { mode: 'off' } },
    })
    const { sessionId } = await gone.open()
    const turn = gone.prompt(sessionId, 'run it').catch(() => {})
    const alive = () => {
      try {
        return readFileSync(join(gone.place.root, 'alive'), 'utf8').length
      } catch {
        return 0
      }
    }
    await expect.poll(alive, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(await gone.end()).toBe(0)
    await turn
    const before = alive()
    await new Promise((resolve) => setImmediate(resolve))
    await expect.poll(() => alive() === before).toBe(true)
  })

  it('hides a session that came with the repository: an editor can neither list, load nor delete it', async () => {
    const author = await editor([{ content: 'Hello.' }])
    const { sessionId } = await author.open()
    await author.prompt(sessionId, 'greet me')
    expect(await author.end()).toBe(0)
    const user = await editor([{ content: 'Hello.' }])
    const { agent, place } = user
    const folder = join('.vtcode/sessions', sessionId)
    cpSync(join(author.place.root, folder), join(place.root, folder), { recursive: true })
    const { session } = methods.agent
    expect((await agent.request(session.list, { cwd: place.root })).sessions).toEqual([])
    const where = { sessionId, cwd: place.root, mcpServers: [] }
    const foreign = { code: -32002, message: expect.stringContaining('is not yours') }
    await expect(agent.request(session.load, where)).rejects.toMatchObject(foreign)
    await expect(agent.request(session.resume, where)).rejects.toMatchObject(foreign)
    // The client of the SDK takes "not found" for a success of a deletion.
    await agent.request(session.delete, { sessionId })
    expect(existsSync(join(place.root, folder, 'messages.jsonl'))).toBe(true)
    expect(user.updates).toEqual([])
  })

  it('reports a folder that was deleted, and lets another program keep its session', async () => {
    const first = await editor([{ content: 'Hello.' }, { toolCalls: [read] }, { content: 'Gone.' }])
    const folder = join(first.place.root, 'sub')
    mkdirSync(folder)
    const { sessionId } = await first.open(folder)
    await first.prompt(sessionId, 'hello')
    const second = await connectEditor(first.place)
    const load = second.agent.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] })
    await expect(load).rejects.toMatchObject({ data: { code: 'VT_SESSION_LOCKED' } })
    rmSync(folder, { recursive: true })
    const outcome = await first.prompt(sessionId, 'read it').then(
      ({ stopReason }) => stopReason,
      ({ code }) => code,
    )
    expect([-32603, 'end_turn']).toContain(outcome)
    expect((await first.open()).sessionId).toMatch(/^ses_/)
  })
})
