import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect as tcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { serveMcp } from '../../support/mcp_http.js'

let made: TempWorkspace
let child: ChildProcess
let url: URL
let authorization: string
const sockets: Socket[] = []
beforeAll(async () => {
  made = await tempWorkspace({ 'a.txt': 'hello\n' })
  ;({ child, url, authorization } = await serveMcp(made))
})
afterAll(async () => {
  sockets.forEach((socket) => socket.destroy())
  child.kill()
  await made[Symbol.asyncDispose]()
})

const post = (body: string, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  })
/** A session of the earlier revision, as a client begins it. */
async function begin(): Promise<Record<string, string>> {
  const begun = await post(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    }),
  )
  await begun.text()
  const own = { 'mcp-session-id': begun.headers.get('mcp-session-id')!, 'mcp-protocol-version': '2025-11-25' }
  await (await post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), own)).text()
  return own
}
const call = (args: string, id = '7') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"unified_file","arguments":${args}}}`
const names = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe('a client over HTTP', () => {
  it('reports an argument that a library would drop, in either revision', async () => {
    const named = '{"action":"read","path":"a.txt","__proto__":{"path":"b.txt"}}'
    const modern = call(named).replace('"arguments"', `"_meta":${JSON.stringify(names)},"arguments"`)
    for (const answer of [
      await post(call(named), await begin()),
      await post(modern, {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'unified_file',
      }),
    ]) {
      expect(await answer.json()).toMatchObject({
        id: 7,
        error: { code: -32602, message: expect.stringContaining("'__proto__'") },
      })
    }
    // An equal name further inside is input of the caller, and is refused as unknown.
    expect(
      await (await post(call('{"action":"read","path":"a.txt","x":{"__proto__":{}}}'), await begin())).text(),
    ).toContain('VT_INPUT_UNKNOWN')
  })

  it('ends the longest unused session to make room, and none whose answer is being read', async () => {
    const [first, streaming] = [await begin(), await begin()]
    const listening = new AbortController()
    const stream = await fetch(url, {
      headers: { authorization, accept: 'text/event-stream', ...streaming },
      signal: listening.signal,
    })
    expect(stream.status).toBe(200)
    const left = await begin()
    const list = async (own: Record<string, string>) =>
      (await post('{"jsonrpc":"2.0","id":2,"method":"tools/list"}', own)).status
    expect(await list(first)).toBe(200)
    for (let more = 0; more < 64; more += 1) {
      await begin()
      if (more % 20 === 0) expect(await list(first)).toBe(200)
    }
    expect([await list(first), await list(streaming), await list(left)]).toEqual([200, 200, 404])
    listening.abort()
  })

  it.each([
    [
      'several messages at once',
      `[${call('{"action":"read","path":"a.txt"}', '1')},${call('{"action":"read","path":"a.txt"}', '2')}]`,
    ],
    ['none', '[]'],
    ['a hundred calls under one id', `[${Array(100).fill(call('{"action":"read","path":"a.txt"}')).join()}]`],
    ['an id that is none', call('{"action":"read","path":"a.txt"}', '1.5')],
    ['a text', '"tools/call"'],
    ['deep nesting', `${'['.repeat(2_000)}${']'.repeat(2_000)}`],
  ])('refuses a body that is not one message: %s', async (_, body) => {
    const own = await begin()
    const answer = await post(body, own)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ id: null, error: { code: -32600 } })
    expect(await (await post(call('{"action":"read","path":"a.txt"}'), own)).text()).toContain('hello')
  })

  it('leaves no trace by which another client could take its session', async () => {
    const own = await begin()
    await (await post(call('{"action":"write","path":"b.txt","content":"x"}'), own)).text()
    const sessions = join(made.root, '.vtcode/sessions')
    await expect.poll(() => readdirSync(sessions).filter((name) => name.startsWith('mcp-')).length).toBeGreaterThan(0)
    expect(readdirSync(sessions).join()).not.toContain(own['mcp-session-id'])
    const seen = await post(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 9,
        method: 'tools/call',
        params: { name: 'unified_exec', arguments: { action: 'run', command: 'ls -aR .vtcode' } },
      }),
      await begin(),
    )
    expect(await seen.text()).not.toContain(own['mcp-session-id'])
  })
})

describe('HTTP clients without the token', () => {
  it('refuses more of them than there are places, and serves the next client', async () => {
    const begun = `POST /mcp HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
    const refused = Array.from({ length: 1_100 }, () => {
      const socket = tcp(Number(url.port), '127.0.0.1', () => socket.write(begun))
      sockets.push(socket.on('error', () => {}))
      return Promise.race([once(socket, 'data'), once(socket, 'close')])
    })
    await Promise.all(refused)
    expect(await (await post(call('{"action":"read","path":"a.txt"}'), await begin())).text()).toContain('hello')
  })
})
