import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { serve } from '../../../support/server.js'
import { harness, hold, scene } from '../../../support/inside.js'
import { formats, type Format } from '../../../support/peer.js'

const events = { 'content-type': 'text/event-stream' }
const word =
  'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"word "},"finish_reason":null}]}\n\n'
const end = 'data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

/** Makes an agent whose model server always answers like this. */
async function against(
  answer: (response: ServerResponse) => unknown,
  provider: object = {},
  format: Format = 'openai-chat',
) {
  const server = hold(await serve((_, response) => answer(response)))
  const s = await scene([], { url: server.url, format, provider: { retries: { request: 1, stream: 1 }, ...provider } })
  return { s, server }
}

describe('endless server answers', () => {
  it.each(formats)('stops a compressed answer of one endless line for good over %s', async (format) => {
    const bomb = gzipSync(`data: ${'x'.repeat(17 * 1024 * 1024)}`)
    const { s, server } = await against(
      (response) => response.writeHead(200, { ...events, 'content-encoding': 'gzip' }).end(bomb),
      {},
      format,
    )
    expect((await s.run()).error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: 'The answer is larger than any answer of a model: more than 16 MiB in one line.',
    })
    expect(server.seen.length).toBe(1)
  })

  it('makes none of the calls of an endless answer', async () => {
    const call = (index: number) =>
      `data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":${index},"id":"c${index}","type":"function","function":{"name":"unified_file","arguments":"{\\"action\\":\\"write\\",\\"path\\":\\"a\\",\\"content\\":\\"x\\"}"}}]},"finish_reason":null}]}\n\n`
    const { s, server } = await against((response) =>
      response
        .writeHead(200, events)
        .end(Array.from({ length: 600 }, (_, index) => call(index)).join('') + end.replace('"stop"', '"tool_calls"')),
    )
    expect((await s.run()).error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: expect.stringMatching(/^The answer is larger than any answer of a model: 513 calls/),
    })
    expect(server.seen.length).toBe(1)
    expect(await s.booted.read('a')).toBeUndefined()
  })

  it('uses the HTTP status of an endless refusal', async () => {
    const bomb = gzipSync('x'.repeat(17 * 1024 * 1024))
    const { s } = await against((response) => response.writeHead(403, { 'content-encoding': 'gzip' }).end(bomb))
    expect((await s.run()).error).toMatchObject({
      code: 'VT_LLM_AUTH',
      message: expect.stringMatching(/^The model server answered 403: .{0,200}$/),
    })
  })

  it('ends an answer that comes word by word at the total timeout', async () => {
    const { s } = await against(
      (response) => {
        response.writeHead(200, events)
        const timer = setInterval(() => response.write(word), 20)
        response.on('close', () => clearInterval(timer))
      },
      { timeouts: { total_ms: 700 } },
    )
    expect((await s.run()).error).toMatchObject({
      code: 'VT_LLM_TIMEOUT',
      message: 'The model server: no complete answer for 700 ms.',
    })
  })
})

it('reports an HTML page as an answer and sends the request once', async () => {
  const { s, server } = await against((response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Sign in to the network.</html>'),
  )
  expect((await s.run()).error).toMatchObject({
    code: 'VT_LLM_REQUEST',
    message: expect.stringContaining('answers with a page'),
    hint: expect.stringContaining('base_url'),
  })
  expect(server.seen.length).toBe(1)
})

it.each([
  ['{"message":"Not in this region"}', 'Not in this region'],
  ['{"detail":"Not in this region"}', 'Not in this region'],
  ['{"error":"Not in this region"}', 'Not in this region'],
  ['{"reasons":["region"]}', '{"reasons":["region"]}'],
  ['No such route\n', 'No such route'],
  ['null', 'null'],
  ['<html><title>403</title>', 'Forbidden'],
  ['', 'Forbidden'],
])('reports a refusal of a gateway in its own words: %s', async (body, says) => {
  const { s } = await against((response) => response.writeHead(403).end(body))
  expect((await s.run()).error).toMatchObject({
    code: 'VT_LLM_AUTH',
    message: `The model server answered 403: ${says}`,
  })
})

it('reports an error inside an answer with the message of the server', async () => {
  const { s } = await against((response) =>
    response.writeHead(200, events).end('data: {"error":{"message":"The cluster is on fire.","code":529}}\n\n'),
  )
  expect((await s.run()).error).toMatchObject({
    code: 'VT_LLM_REQUEST',
    message: 'The model server answered 529: The cluster is on fire.',
  })
  expect(harness(s.events, 'model_retry').length).toBe(1)
})

it('reports a server that speaks no HTTP and sends the request once', async () => {
  // The server keeps the connection, as SSH does; a close with an unread request would be a reset.
  const sockets: Socket[] = []
  const greeter = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {}).write('SSH-2.0-OpenSSH_9.9\r\n')
  })
  await new Promise<void>((resolve) => greeter.listen(0, '127.0.0.1', resolve))
  const s = await scene([], { url: `http://127.0.0.1:${(greeter.address() as AddressInfo).port}` })
  expect((await s.run()).error).toMatchObject({
    code: 'VT_LLM_REQUEST',
    message: expect.stringContaining('its answer is not valid HTTP'),
  })
  expect(s.waits).toEqual([])
  for (const socket of sockets) socket.destroy()
  greeter.close()
})

it('accepts timeouts longer than timers can wait and never fires them', async () => {
  const ages = 10 ** 12
  const { s } = await against((response) => response.writeHead(200, events).end(word + end), {
    timeouts: { first_token_ms: ages, idle_ms: ages, total_ms: ages, connect_ms: ages },
  })
  expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'word ' })
})

it('ends an incomplete connection at its timeout and names the stage', async () => {
  // Accepts and sends nothing, so the handshake never ends.
  const silent = createServer((socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const began = Date.now()
  const s = await scene([], {
    url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    provider: { timeouts: { connect_ms: 300 }, retries: { request: 1 } },
  })
  expect((await s.run()).error).toMatchObject({
    code: 'VT_LLM_REQUEST',
    message: expect.stringContaining('no connection in time'),
  })
  expect(harness(s.events, 'model_retry').map(({ error_category }) => error_category)).toEqual(['connect'])
  // Far below the default timeout.
  expect(Date.now() - began).toBeLessThan(25_000)
  silent.close()
})
