import type { ChildProcess } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { connect as tcp } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { serveMcp, type Serving } from '../../support/mcp_http.js'
import { vtcode } from '../../support/program.js'

const read = { name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } }
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

const ended = (child: ChildProcess): Promise<number | null> => new Promise((resolve) => child.on('close', resolve))

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}
/** A request with exactly these headers; the Host too is what the test says. */
function ask(
  { port }: Serving,
  headers: Record<string, string>,
  how: { method?: string; path?: string; body?: string | Buffer } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method: how.method ?? 'POST',
      path: how.path ?? '/mcp',
      headers,
      setHost: headers['host'] === undefined,
    })
    request.on('response', (response) => {
      let text = ''
      response
        .on('data', (chunk) => (text += chunk))
        .on('close', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(how.body ?? JSON.stringify(initialize))
  })
}
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

describe('vtcode mcp --http', () => {
  let made: TempWorkspace
  let served: Serving
  const own = () => ({ ...json, authorization: `Bearer ${served.token}` })
  const connect = async (options: ConstructorParameters<typeof Client>[1] = {}) => {
    const client = new Client({ name: 'test', version: '1' }, options)
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${served.port}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${served.token}` } },
    })
    await client.connect(transport)
    return { client, transport }
  }
  beforeAll(async () => {
    made = await tempWorkspace({ 'a.txt': 'hello\n' })
    served = await serveMcp(made)
  })
  afterAll(async () => {
    served.child.kill()
    await made[Symbol.asyncDispose]()
  })

  it.each([[{}], [{ versionNegotiation: { mode: { pin: '2026-07-28' } } }]] as [
    ConstructorParameters<typeof Client>[1],
  ][])('serves the tools to a client of either revision %j', async (options) => {
    const { client } = await connect(options)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('unified_file')
    expect((await client.callTool(read)).content).toEqual([{ type: 'text', text: 'hello\n' }])
    await expect(client.callTool({ name: '__proto__', arguments: {} })).rejects.toMatchObject({ code: -32602 })
    await client.close()
  })

  it('keeps sessions apart, forgets an ended one and rejects a forged one', async () => {
    const [a, b] = await Promise.all([connect(), connect()])
    expect(a.transport.sessionId).toMatch(/^[0-9a-f-]{36}$/)
    expect(a.transport.sessionId).not.toBe(b.transport.sessionId)
    const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} })
    const as = (id: string) =>
      ask(served, { ...own(), 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }, { body: list })
    expect((await as(b.transport.sessionId!)).status).toBe(200)
    const ended = b.transport.sessionId!
    await b.transport.terminateSession()
    expect((await as(ended)).status).toBe(404)
    expect((await as('00000000-0000-4000-8000-000000000000')).status).toBe(404)
    expect((await ask(served, own(), { body: list })).status).toBe(400)
    await Promise.all([a.client.close(), b.client.close()])
  })

  it.each(['evil.example', 'localhost.evil.com', '127.0.0.1.evil.com', '127.0.0.1'])(
    'refuses the Host %s, though all else is right',
    async (host) => {
      expect((await ask(served, { ...own(), host })).status).toBe(403)
    },
  )

  it.each([
    'http://evil.example',
    'null',
    'http://localhost.evil.com',
    'http://127.0.0.1.evil.com',
    'https://localhost',
    '',
  ])('refuses the Origin %j, though all else is right', async (origin) => {
    expect((await ask(served, { ...own(), origin })).status).toBe(403)
  })

  it('accepts its own origin', async () => {
    expect((await ask(served, { ...own(), origin: `http://localhost:${served.port}` })).status).toBe(200)
  })

  it('requires the whole token in the header, and never repeats a wrong one', async () => {
    const wrong = [
      'Bearer wrong',
      `Bearer ${served.token.slice(0, -1)}`,
      `Bearer ${served.token}x`,
      `Basic ${served.token}`,
      served.token,
      '',
    ]
    for (const authorization of wrong)
      expect((await ask(served, { ...json, authorization })).status, authorization).toBe(401)
    expect((await ask(served, json, { path: `/mcp?token=${served.token}&access_token=${served.token}` })).status).toBe(
      401,
    )
    expect(served.stderr().split(served.token)).toHaveLength(2)
    expect(served.stderr()).not.toContain('wrong')
  })

  it('refuses preflights, forms, plain text, upgrades and other paths, and permits no other origin', async () => {
    const origin = `http://localhost:${served.port}`
    const answers = [
      await ask(served, { origin, 'access-control-request-method': 'POST' }, { method: 'OPTIONS', body: '' }),
      await ask(served, { ...own(), 'content-type': 'text/plain' }),
      await ask(served, { ...own(), 'content-type': 'application/x-www-form-urlencoded' }, { body: 'a=b' }),
      await ask(served, own(), { path: '/', method: 'GET', body: '' }),
      await ask(served, own(), { path: '/mcp/../x' }),
      await ask(served, own(), { method: 'PUT' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([405, 415, 415, 404, 404, 405])
    for (const { headers } of answers)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    const upgraded = await new Promise<string>((resolve) => {
      const socket = tcp(served.port, '127.0.0.1', () =>
        socket.write('GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
      )
      let said = ''
      socket.on('data', (chunk) => (said += chunk)).on('close', () => resolve(said))
    })
    expect(upgraded).toMatch(/^HTTP\/1\.1 400/)
  })

  it('refuses what is no plain request with the token, and ends each such connection', async () => {
    const { port, token } = served
    const body = JSON.stringify(initialize)
    const head = (line: string, ...more: string[]): string =>
      [
        line,
        `Host: 127.0.0.1:${port}`,
        'Content-Type: application/json',
        'Accept: application/json, text/event-stream',
        ...more,
      ].join('\r\n')
    const own = `Authorization: Bearer ${token}`
    const length = `Content-Length: ${body.length}`
    const rows: Record<string, string> = {
      'a hundred thousand headers': `${head('POST /mcp HTTP/1.1', own)}\r\n${'a: b\r\n'.repeat(100_000)}\r\n`,
      'one header without an end': `${head('POST /mcp HTTP/1.1', own)}\r\nx: ${'a'.repeat(1_000_000)}`,
      'a target without an end': head(`POST /mcp?${'a'.repeat(1_000_000)} HTTP/1.1`, own),
      'an address of another server as its target': `${head(`POST http://evil.example/mcp HTTP/1.1`, own, length)}\r\n\r\n${body}`,
      'a second Host': `${head('POST /mcp HTTP/1.1', own, length)}\r\n\r\n${body}`.replace(
        'Host:',
        'Host: evil.example\r\nHost:',
      ),
      'a Host with a dot at its end': `${head('POST /mcp HTTP/1.1', own, length)}\r\n\r\n${body}`.replace(
        '127.0.0.1:',
        '127.0.0.1.:',
      ),
      'no Host at all': `POST /mcp HTTP/1.1\r\n${own}\r\n\r\n`,
      'a token in the target': `${head(`POST /mcp?access_token=${token} HTTP/1.1`, length)}\r\n\r\n${body}`,
      'a token in a cookie': `${head('POST /mcp HTTP/1.1', `Cookie: authorization=${token}`, length)}\r\n\r\n${body}`,
      'a token in the target as a name and a word': `${head(`POST http://a:${token}@127.0.0.1:${port}/mcp HTTP/1.1`, length)}\r\n\r\n${body}`,
      'two lengths of one body': `${head('POST /mcp HTTP/1.1', own, length, 'Content-Length: 0')}\r\n\r\n${body}`,
      'a length and chunks': `${head('POST /mcp HTTP/1.1', own, length, 'Transfer-Encoding: chunked')}\r\n\r\n0\r\n\r\n${body}`,
      'an unknown encoding': `${head('POST /mcp HTTP/1.1', own, 'Transfer-Encoding: chunked, gzip')}\r\n\r\n${body}`,
      'a chunk of a size beyond all numbers': `${head('POST /mcp HTTP/1.1', own, 'Transfer-Encoding: chunked')}\r\n\r\nffffffffffffffffff\r\n`,
      'chunks longer than their size': `${head('POST /mcp HTTP/1.1', own, 'Transfer-Encoding: chunked')}\r\n\r\n1;${'a'.repeat(100_000)}\r\n`,
      'a body that is packed': `${head('POST /mcp HTTP/1.1', own, 'Content-Encoding: gzip', 'Content-Length: 5')}\r\n\r\n\x1f\x8b\x08\0\0`,
      CONNECT: head('CONNECT evil.example:443 HTTP/1.1', own, '\r\n'),
      TRACE: head('TRACE /mcp HTTP/1.1', own, '\r\n'),
      'the greeting of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'a greeting of TLS': '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
      'HTTP/0.9': 'GET /mcp\r\n\r\n',
      'a NUL in the target': `${head('POST /mcp\0 HTTP/1.1', own, length)}\r\n\r\n${body}`,
    }
    const said = (bytes: string): Promise<string> =>
      new Promise((resolve) => {
        let text = ''
        const socket = tcp(port, '127.0.0.1', () => socket.end(bytes, 'latin1'))
        socket
          .on('data', (chunk) => (text += chunk))
          .on('error', () => {})
          .on('close', () => resolve(text))
      })
    const answers = await Promise.all(
      Object.entries(rows).map(async ([what, bytes]) => [what, await said(bytes)] as const),
    )
    for (const [what, text] of answers) expect(text, what).toMatch(/^(?:$|HTTP\/1\.1 [45]\d\d )/)
    expect(answers.map(([, text]) => text).join('')).not.toContain(token)
    expect((await ask(served, { ...json, authorization: `Bearer ${token}` })).status).toBe(200)
  })

  it('refuses garbage and bodies over the limit, and answers the next request', async () => {
    expect((await ask(served, own(), { body: 'garbage' })).status).toBe(400)
    const large = await ask(
      served,
      { ...own(), 'content-length': '12000000' },
      { body: Buffer.alloc(12_000_000, 'x') },
    ).catch(() => ({ status: 413 }))
    expect(large.status).toBe(413)
    expect((await ask(served, own())).status).toBe(200)
  })

  it('drains and ends within two seconds when stopped, even with a listening client', async () => {
    await using other = await tempWorkspace({ 'a.txt': 'x' })
    const mine = await serveMcp(other)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${mine.port}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${mine.token}` } },
      }),
    )
    const started = performance.now()
    mine.child.kill('SIGTERM')
    expect(await ended(mine.child)).toBe(130)
    expect(performance.now() - started).toBeLessThan(12500)
    await client.close().catch(() => {})
  })

  it('reads the token from a file without repeating it, and runs without one only on the loopback address', async () => {
    await using other = await tempWorkspace({ token: 'a-token-of-my-own-0123456789\n' })
    const mine = await serveMcp(other, ['--token-file', 'token'])
    expect(mine.stderr()).not.toContain('a-token-of-my-own')
    expect((await ask(mine, { ...json, authorization: 'Bearer a-token-of-my-own-0123456789' })).status).toBe(200)
    mine.child.kill()
    const free = await serveMcp(other, ['--no-token'])
    expect((await ask(free, json)).status).toBe(200)
    free.child.kill()
    expect(await vtcode(other, ['mcp', '--http', '0', '--host', '0.0.0.0', '--no-token'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('loopback'),
    })
    for (const flags of [['--http', 'x'], ['--http', '70000'], ['--nonsense'], ['--http', '--token-file', 'missing']])
      expect((await vtcode(other, ['mcp', ...flags])).code, flags.join(' ')).toBe(2)
  })
})
