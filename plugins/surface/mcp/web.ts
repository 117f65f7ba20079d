import type { IncomingMessage, ServerResponse } from 'node:http'
import { waitForDrain } from '../../lib/base/index.js'
import type { RequestObjection } from '../../lib/local_server/index.js'
import { readMessage, type MessageRefusal } from './frames.js'

/** Returns the body of a request, or `undefined` when it is larger than `limit` bytes. */
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

/** A request for the SDK, with its body already parsed. */
export interface WebRequest {
  request: Request
  parsed: { parsedBody?: unknown }
}

/** Converts a request of Node to a web-standard one that aborts when the client leaves, or returns the refusal. */
export function toRequest(
  { headers, method, url }: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
): WebRequest | MessageRefusal {
  const closed = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) closed.abort()
  })
  const list = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  const request = new Request(`http://${headers.host}${url}`, { method: method!, headers: list, signal: closed.signal })
  if (method !== 'POST') return { request, parsed: {} }
  const read = readMessage(body.toString('utf8'))
  return 'message' in read ? { request, parsed: { parsedBody: read.message } } : read
}

/** Time that headers wait for the first bytes of the body, in milliseconds, to send one packet instead of two. */
const HEADER_WAIT_MS = 10

/** Sends a web-standard answer at the speed of the client. */
export async function sendResponse(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (!answer.body) return void response.end()
  const headerTimer = setTimeout(() => response.flushHeaders(), HEADER_WAIT_MS)
  const reader = answer.body.getReader()
  response.on('close', () => void reader.cancel().catch(() => {}))
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    clearTimeout(headerTimer)
    if (response.destroyed) return
    if (!response.write(value)) await waitForDrain(response)
  }
  clearTimeout(headerTimer)
  response.end()
}

/**
 * Sends a refusal as the JSON-RPC error that clients expect. It closes the connection, so that a refused client cannot
 * send the rest of its request and hold a connection that others need.
 */
export function sendRefusal(response: ServerResponse, { status, text, headers }: RequestObjection): void {
  sendError(response, status, { id: null, code: -32000, text }, { connection: 'close', ...headers })
}

/** Sends the error for a body that is no message and keeps the connection open; status 200 if the id is known. */
export const sendMessageError = (response: ServerResponse, refusal: MessageRefusal): void =>
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
