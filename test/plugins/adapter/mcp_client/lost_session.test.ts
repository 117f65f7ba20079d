import { describe, expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel } from 'vtcode/test'
import { harness, hold, items, scene } from '../../../support/inside.js'
import { call } from '../../../support/peer.js'
import { serve } from '../../../support/server.js'

const tools = [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }]

/** An MCP server with sessions; `forget` makes it refuse the current one with 404. */
async function sessionServer(body: string) {
  let [session, begun, calls] = ['', 0, 0]
  const server = hold(
    await serve((request, response, { body: sent }) => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const { id, method, params } = JSON.parse(sent) as { id?: number; method: string; params: any }
      const json = (result: object, headers = {}) =>
        response
          .writeHead(200, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      if (method === 'server/discover') return response.writeHead(400).end()
      if (method === 'initialize') {
        session = `s${++begun}`
        const result = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'h', version: '1' },
        }
        return json(result, { 'mcp-session-id': session })
      }
      if (request.headers['mcp-session-id'] !== session) return response.writeHead(404).end(body)
      if (id === undefined) return response.writeHead(202).end()
      if (method === 'tools/list') return json({ tools })
      calls += 1
      return json({ content: [{ type: 'text', text: `heard ${params.arguments.text}` }] })
    }),
  )
  return {
    url: `${server.url}/mcp`,
    forget: () => void (session = 'restarted'),
    counts: () => ({ begun, calls }),
  }
}

describe('a session that an MCP server does not know any more', () => {
  it.each([
    ['JSON', JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } })],
    ['text', 'Not Found'],
  ])('begins a new one and makes the call once, after a 404 with %s', async (_, body) => {
    const server = await sessionServer(body)
    const config = {
      automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } },
      mcp: { servers: { h: { type: 'streamable-http', url: server.url } } },
    } as unknown as Config
    await using vt = await bootKernel({ config })
    expect(await vt.call('mcp__h__echo', { text: 'one' })).toMatchObject({ ok: true, text: 'heard one' })
    server.forget()
    expect(await vt.call('mcp__h__echo', { text: 'two' })).toMatchObject({ ok: true, text: 'heard two' })
    expect(server.counts()).toEqual({ begun: 2, calls: 2 })
  })
})

describe('an MCP server that cannot be used', () => {
  it.each([
    ['no such program', { type: 'stdio', command: 'no-such-program-x' }, /tracker/],
    ['exits', { type: 'stdio', command: 'sh', args: ['-c', 'echo TOKEN is not set >&2; exit 1'] }, /TOKEN is not set/],
    ['no listener', { type: 'streamable-http', url: 'http://127.0.0.1:1/mcp' }, /tracker/],
  ])('reports an event once in a run, with the words of the server: %s', async (_, definition, words) => {
    const list = { toolCalls: [call('unified_search', { action: 'list' })] }
    const s = await scene([list, { content: 'Done.' }], {
      boot: { config: { mcp: { servers: { tracker: definition } } } as never },
    })
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    expect(harness(s.events, 'server_unavailable').map(({ message }) => message)).toEqual([
      expect.stringMatching(words),
    ])
    expect(items(s.events, 'tool_output')).toHaveLength(1)
  })
})
