import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { serve } from '../../../support/server.js'

const automation = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } }
const boot = (server: object): Promise<Booted> =>
  bootKernel({ config: { automation, mcp: { servers: { s: server } } } as Config })
const deep = '['.repeat(2_000) + ']'.repeat(2_000)
const echo = { name: 'echo', inputSchema: { type: 'object' } }

/** A server on pipes: `calls` is what it does when it is called, `tools` the list that it offers. */
const program = (calls: string, tools = JSON.stringify([echo])) => `
const say = (text) => process.stdout.write(text + '\\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const ok = (result) => say(JSON.stringify({ jsonrpc: '2.0', id, result }))
  if (method === 'initialize') ok({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })
  else if (method === 'tools/list') ok({ tools: ${tools} })
  else if (method === 'tools/call') { ${calls} }
})
`
const onPipes = async (calls: string, tools?: string) => {
  const place = await tempWorkspace({ 'server.cjs': program(calls, tools) })
  return { place, server: { command: process.execPath, args: [`${place.root}/server.cjs`], tool_timeout_secs: 4 } }
}

it('closes the connection of a server on pipes whose message cannot be read and serves other calls', async () => {
  const { place, server } = await onPipes(`say('null')`)
  await using _place = place
  await using vt = await boot(server)
  expect(await vt.call('mcp__s__echo', {})).toMatchObject({
    ok: false,
    error: { code: 'VT_MCP_DISCONNECTED', message: expect.stringContaining('cannot be read') },
  })
  expect(await vt.call('unified_search', { action: 'list' })).toMatchObject({ ok: true })
})

it('closes the connection of a server of the 2024 transport that sends deeply nested data', async () => {
  let stream: ServerResponse | undefined
  const web = createServer(async (request, response) => {
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void stream.write('event: endpoint\ndata: /messages\n\n')
    }
    let body = ''
    for await (const chunk of request) body += String(chunk)
    response.writeHead(202).end()
    const { id, method, params } = JSON.parse(body) as {
      id?: number
      method: string
      params: { protocolVersion: string }
    }
    const ok = (result: string) =>
      void stream!.write(`event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`)
    if (method === 'initialize')
      ok(
        JSON.stringify({
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        }),
      )
    if (method === 'tools/list') ok(JSON.stringify({ tools: [echo] }))
    if (method === 'tools/call') ok(`{"content":[],"structuredContent":{"a":${deep}}}`)
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  await using vt = await boot({
    type: 'sse',
    url: `http://127.0.0.1:${(web.address() as AddressInfo).port}/sse`,
    tool_timeout_secs: 4,
  })
  expect(await vt.call('mcp__s__echo', {})).toMatchObject({ ok: false })
  expect(await vt.call('unified_search', { action: 'list' })).toMatchObject({ ok: true })
  web.closeAllConnections()
  web.close()
})

it.each([['sse'], ['streamable-http']])(
  'sends no header of the settings and no request to the origin that a server by %s redirects to',
  async (type) => {
    const asked: unknown[] = []
    const listen = async (server: ReturnType<typeof createServer>) => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }
    const other = createServer(({ headers }, response) => {
      asked.push(headers['x-api-key'])
      response.writeHead(404).end()
    })
    const away = await listen(other)
    const web = createServer((_, response) => void response.writeHead(307, { location: `${away}/sse` }).end())
    await using vt = await boot({
      type,
      url: `${await listen(web)}/sse`,
      headers: { 'x-api-key': 'k-12345678' },
      startup_timeout_secs: 5,
    })
    expect(await vt.call('mcp__s__echo', {})).toMatchObject({ ok: false })
    expect(asked).toEqual([])
    for (const server of [web, other]) server.close()
  },
)

it.each([['sse'], ['streamable-http']])(
  'reopens a stream that a server by %s ends at once no more than once a second',
  async (type) => {
    await using server = await serve((request, response, { body }) => {
      if (request.method === 'GET')
        return response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`retry: 0\n\n${type === 'sse' ? 'event: endpoint\ndata: /mcp\n\n' : ''}`)
      const { id, method } = JSON.parse(body) as { id?: number; method: string }
      if (id === undefined) return response.writeHead(202).end()
      const result =
        method === 'initialize'
          ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
          : method === 'tools/list'
            ? { tools: [echo] }
            : { content: [] }
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    const began = performance.now()
    await using vt = await boot({ type, url: `${server.url}/mcp`, lazy: false, startup_timeout_secs: 2 })
    expect(await vt.call('mcp__s__echo', {})).toMatchObject({ ok: type !== 'sse' })
    const opened = () => server.seen.filter(({ method }) => method === 'GET').length
    while (performance.now() - began < 2_000 || (opened() < 3 && performance.now() - began < 30_000))
      expect(await vt.call('unified_search', { action: 'list' })).toMatchObject({ ok: true })
    expect(opened()).toBeGreaterThan(2)
    expect(opened()).toBeLessThanOrEqual(8 + Math.ceil((performance.now() - began) / 1000) + 1)
  },
)

it('buffers no answers without limit for a server on pipes that asks and does not read', async () => {
  // The server reports how many of its questions were read before it was ended.
  const { place, server } = await onPipes(`
    process.stdin.pause()
    let asked = 0
    const more = () => {
      while (asked < 400000) if (!process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(1000) + asked++, method: 'roots/list' }) + '\\n')) return void process.stdout.once('drain', more)
    }
    setInterval(() => require('node:fs').writeFileSync(__dirname + '/asked', String(asked)), 100)
    more()`)
  await using _place = place
  await using vt = await boot(server)
  expect(await vt.call('mcp__s__echo', {})).toMatchObject({ ok: false, error: { code: 'VT_CALL_TIMEOUT' } })
  const asked = Number(await place.read('asked'))
  expect(asked).toBeGreaterThan(10)
  expect(asked).toBeLessThan(4_000)
})

it('offers no tool of a server with more tools than the limit and lists one that is at the limit', async () => {
  const list = (count: number) =>
    `Array.from({ length: ${count} }, (_, n) => ({ name: 't' + n, inputSchema: { type: 'object' } }))`
  const many = await onPipes('ok({ content: [] })', list(2_001))
  const most = await onPipes('ok({ content: [] })', list(2_000))
  await using _many = many.place
  await using _most = most.place
  await using vt = await bootKernel({
    config: { automation, mcp: { servers: { many: many.server, most: most.server } } } as Config,
  })
  expect(vt.kernel.diagnostics().find(({ code }) => code === 'VT_MCP_START')?.message).toMatch(/many.*2001 tools.*2000/)
  // A glob in the list of full-auto matches none of them.
  expect(vt.kernel.diagnostics().map(({ code }) => code)).not.toContain('VT_POLICY_ONE_SPELLING')
  for (const tool of ['t0', 't1999']) expect(await vt.call(`mcp__most__${tool}`, {})).toMatchObject({ ok: true })
  expect(await vt.call('mcp__many__t0', {})).toMatchObject({ ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
})
