import type { IncomingMessage, ServerResponse } from 'node:http'
import { waitForDrain } from '../../lib/base/index.js'
import type { RequestObjection } from '../../lib/page/index.js'
import { readMessage, type MessageRefusal } from './frames.js'

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

/** A request as the SDK takes it: what its body says is read once, by us, as over pipes. */
export interface WebRequest {
  request: Request
  parsed: { parsedBody?: unknown }
}

/** Node's request as a web-standard one, aborted when the client goes away; or why its body is no message. */
export function toRequest(
  { headers, method, url }: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
): WebRequest | MessageRefusal {
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  const list = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  const request = new Request(`http://${headers.host}${url}`, { method: method!, headers: list, signal: gone.signal })
  if (method !== 'POST') return { request, parsed: {} }
  const read = readMessage(body.toString('utf8'))
  return 'message' in read ? { request, parsed: { parsedBody: read.message } } : read
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
    if (!response.write(value)) await waitForDrain(response)
  }
  clearTimeout(alone)
  response.end()
}

/**
 * An answer of our own, as the JSON-RPC error that clients expect. It ends the connection: whoever is refused sends the rest of what they began
 * to nobody, and holds no place that others need.
 */
export function sendRefusal(response: ServerResponse, { status, text, headers }: RequestObjection): void {
  sendError(response, status, { id: null, code: -32000, text }, { connection: 'close', ...headers })
}

/** That a request whose sender may send others holds no message: an error of that request where its id is known. */
export const sendUnread = (response: ServerResponse, refusal: MessageRefusal): void =>
  sendError(response, refusal.id === null ? 400 : 200, refusal)

function sendError(
  response: ServerResponse,
  status: number,
  { id, code, text }: MessageRefusal,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: text } })}\n`)
}
