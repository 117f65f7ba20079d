import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { mcpServer } from '../../../support/mcp_http.js'

const automation = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } }
const boot = (server: object): Promise<Booted> =>
  bootKernel({ config: { automation, mcp: { servers: { s: server } } } as Config })
const mebi = 1_048_576
const block = Buffer.alloc(mebi, 'a')

/** Writes the given number of MiB as fast as the client reads them, until it stops reading. */
async function pour(
  response: ServerResponse,
  mebibytes: number,
  sent: { bytes: number },
  head: string,
  foot: string,
): Promise<void> {
  response.on('error', () => {}).setMaxListeners(0)
  response.write(head)
  for (let n = 0; n < mebibytes && !response.destroyed; n++) {
    sent.bytes += mebi
    if (!response.write(block))
      await new Promise<void>((resolve) => (response.once('drain', resolve), response.once('close', resolve)))
  }
  if (!response.destroyed) response.end(foot)
}

it.each(['json', 'sse', 'gzip', 'list', 'pages'] as const)(
  'cuts off a server over HTTP that sends endlessly by %s at 32 MiB',
  async (how) => {
    const sent = { bytes: 0 }
    let listed = 0
    await using server = await mcpServer(({ id, method, response, json }) => {
      const head = `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`
      if (method === 'tools/list' && how === 'pages') {
        listed++
        sent.bytes += 4 * mebi
        return json({
          tools: [{ name: `t${listed}`, description: 'a'.repeat(4 * mebi), inputSchema: { type: 'object' } }],
          nextCursor: `c${listed}`,
        })
      }
      if (method === 'tools/list' && how === 'list')
        return pour(
          response.writeHead(200, { 'content-type': 'application/json' }),
          400,
          sent,
          `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"echo","description":"`,
          '"}]}}',
        )
      if (method === 'tools/list') return json({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
      if (method !== 'tools/call')
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } }))
      if (how === 'gzip') {
        const text = Buffer.concat([Buffer.from(head), Buffer.alloc(33 * mebi, 'a'), Buffer.from('"}]}}')])
        return void response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync(text, { level: 1 }))
      }
      const type = how === 'sse' ? 'text/event-stream' : 'application/json'
      return pour(
        response.writeHead(200, { 'content-type': type }),
        400,
        sent,
        how === 'sse' ? `event: message\ndata: ${head}` : head,
        `"}]}}${how === 'sse' ? '\n\n' : ''}`,
      )
    })
    await using vt = await boot({ url: `${server.url}/mcp` })
    if (how === 'list' || how === 'pages')
      expect(vt.kernel.diagnostics().find(({ code }) => code === 'VT_MCP_START')?.message).toMatch(/32 MiB/)
    else
      expect(await vt.call('mcp__s__echo', {})).toMatchObject({
        ok: false,
        error: { message: expect.stringContaining('32 MiB') },
      })
    // Data in the buffers between client and server is counted too.
    if (how !== 'gzip') expect(sent.bytes).toBeLessThan(96 * mebi)
    expect(await vt.call('unified_search', { action: 'list' })).toMatchObject({ ok: true })
  },
)

it('accepts a long stream of small events as an answer within the limit', async () => {
  await using server = await mcpServer(async ({ id, method, response, json }) => {
    if (method === 'tools/list') return json({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let n = 0; n < 40; n++) {
      const event = `event: message\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'a'.repeat(mebi) } })}\r\n\r\n`
      if (!response.write(event)) await new Promise((resolve) => response.once('drain', resolve))
    }
    response.end(
      `event: message\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } })}\r\n\r\n`,
    )
  })
  await using vt = await boot({ url: `${server.url}/mcp` })
  expect(await vt.call('mcp__s__echo', {})).toMatchObject({ ok: true, text: 'done' })
})

const hostile = fileURLToPath(new URL('../../../fixtures/mcp/storm.mjs', import.meta.url))

it('cuts off a server on pipes that sends an endless line or endless pages of a list', async () => {
  for (const how of ['line', 'pages']) {
    await using vt = await boot({ command: process.execPath, args: [hostile, how], startup_timeout_secs: 60 })
    if (how === 'pages')
      expect(vt.kernel.diagnostics().find(({ code }) => code === 'VT_MCP_START')?.message).toMatch(/32 MiB/)
    else expect(await vt.call('mcp__s__echo', {})).toMatchObject({ ok: false })
    expect(await vt.call('unified_search', { action: 'list' })).toMatchObject({ ok: true })
  }
})

it('reads the list a few times during a storm of changed lists and serves other calls meanwhile', async () => {
  await using place = await tempWorkspace({})
  await using vt = await boot({ command: process.execPath, args: [hostile, 'storm', join(place.root, 'lists')] })
  let generations = 0
  vt.kernel.inspection.onReload(() => void generations++)
  await vt.call('mcp__s__echo', {})
  const began = performance.now()
  for (let n = 0; n < 20; n++)
    expect(await vt.call('unified_search', { action: 'list', page: n + 1 })).toMatchObject({ ok: true })
  const asked = (await place.read('lists'))?.split('\n').length ?? 0
  // One list at once, and one for all changes of each second after it.
  const seconds = Math.ceil((performance.now() - began) / 1000) + 2
  expect(asked).toBeLessThanOrEqual(seconds + 3)
  expect(generations).toBeLessThanOrEqual(seconds + 3)
})

it('drops a link to a file, alone and inside an embedded resource', async () => {
  await using vt = await boot({ command: process.execPath, args: [hostile, 'links'] })
  const answer = await vt.call('mcp__s__echo', {})
  expect(answer).toMatchObject({
    ok: true,
    text: expect.stringContaining('embedded text'),
    content: [{ type: 'resource_link', uri: 'https://example.org/page' }],
  })
  expect(JSON.stringify(answer)).not.toMatch(/file:|\/etc\//i)
})
