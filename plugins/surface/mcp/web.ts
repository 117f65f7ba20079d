import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestObjection } from './guard.js'

/** The body of a request; `undefined` when it is larger than `limit` bytes, of which no more are kept. */
export async function readRequestBody(message: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (Number(message.headers['content-length'] ?? 0) > limit) return undefined
  const parts: Buffer[] = []
  let size = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length
    if (size > limit) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts, size)
}

/** A request as the SDK takes it: what its body says is read once, by us, where it is JSON at all. */
export interface WebRequest {
  request: Request
  parsed: { parsedBody?: unknown }
}

/** Node's request as a web-standard one, aborted when the client goes away. */
export function toRequest({ headers, method, url }: IncomingMessage, response: ServerResponse, body: Buffer): WebRequest {
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  const list = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one): [string, string] => [name, one]))
  const parsed = method === 'POST' ? parse(body) : {}
  // A body that is no JSON is left to the SDK, which says so.
  const content = method === 'POST' && !('parsedBody' in parsed) ? { body: new Uint8Array(body) } : {}
  return { request: new Request(`http://${headers.host}${url}`, { method: method!, headers: list, signal: gone.signal, ...content }), parsed }
}

function parse(body: Buffer): WebRequest['parsed'] {
  try {
    return { parsedBody: JSON.parse(body.toString('utf8')) }
  } catch {
    return {}
  }
}

/** How long the headers of an answer wait for its first bytes, in milliseconds: one packet instead of two. */
const TOGETHER = 10

/** Sends a web-standard answer, as fast as the client reads it. */
export async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (!answer.body) return void response.end()
  const alone = setTimeout(() => response.flushHeaders(), TOGETHER)
  const reader = answer.body.getReader()
  response.on('close', () => void reader.cancel().catch(() => {}))
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    clearTimeout(alone)
    if (response.destroyed) return
    if (!response.write(value)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  clearTimeout(alone)
  response.end()
}

/** An answer of our own, as the JSON-RPC error that clients expect. */
export function sendRefusal(response: ServerResponse, { status, text, headers }: RequestObjection): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: text } })}\n`)
}
