import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'

/** The largest line that is read, in bytes. */
export const MAX_FRAME = 10 * 1024 * 1024
const EDGE = 1024
const NEWLINE = 10

type Id = string | number | null
export interface Receiver {
  message(message: JSONRPCMessage): void
  /** What came is no message: `id` is the request's, as far as it can be known. */
  refuse(id: Id, code: number, text: string): void
}

/**
 * Cuts a stream into lines and lines into messages, each byte looked at once. A line over the limit is passed over while it
 * comes in and refused, so that memory stays bounded even when it never ends.
 */
export function readFrames({ message, refuse }: Receiver): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  /** Of a line that is too long: whether its request has been answered, and its last bytes. */
  let excess: { answered: boolean; tail: Buffer } | undefined

  function take(part: Buffer): void {
    size += part.length
    if (excess) {
      excess.tail = Buffer.concat([excess.tail, part.subarray(-EDGE)]).subarray(-EDGE)
    } else if (size > MAX_FRAME) {
      const id = idAtStart(
        Buffer.concat([...parts, part.subarray(0, EDGE)])
          .subarray(0, EDGE)
          .toString('latin1'),
      )
      excess = {
        answered: id !== null,
        tail: Buffer.concat([parts.at(-1)?.subarray(-EDGE) ?? Buffer.alloc(0), part.subarray(-EDGE)]).subarray(-EDGE),
      }
      parts = []
      refuse(id, -32600, TOO_LARGE)
    } else {
      parts.push(part)
    }
  }

  function end(): void {
    const id = excess && !excess.answered ? idAtEnd(excess.tail.toString('latin1')) : null
    if (id !== null) refuse(id, -32600, TOO_LARGE)
    const line = excess ? '' : (parts.length === 1 ? parts[0]! : Buffer.concat(parts, size)).toString('utf8')
    parts = []
    size = 0
    excess = undefined
    if (!/\S/.test(line)) return
    const read = readMessage(line)
    if ('message' in read) message(read.message)
    else refuse(read.id, read.code, read.text)
  }

  return (chunk) => {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, to))
      end()
      from = to + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
  }
}

const TOO_LARGE = `The message is larger than ${MAX_FRAME} bytes; split the call into smaller ones.`

/** Why a text is no message; `id` is the request's, as far as it can be known. */
export interface MessageRefusal {
  id: Id
  code: number
  text: string
}

/** The one message that a text holds, over whatever it came. */
export function readMessage(text: string): { message: JSONRPCMessage } | MessageRefusal {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { id: null, code: -32700, text: `Parse error: ${(error as Error).message}` }
  }
  const wrong = namedInVain(value) ?? metaObjection(value)
  if (wrong !== undefined) return { id: validId(value), code: -32602, text: wrong }
  const strange = strangeMember(value)
  if (strange !== undefined)
    return {
      id: validId(value),
      code: -32600,
      text: `Invalid request: unknown member '${strange.slice(0, 80)}'; a request has jsonrpc, id, method and params.`,
    }
  return isMessage(value)
    ? { message: value }
    : { id: validId(value), code: -32600, text: 'Invalid request: one JSON-RPC 2.0 message is read at a time.' }
}

/** Why a call cannot go on to the library, which would leave out an argument of this name as if nobody had given it. */
function namedInVain(value: unknown): string | undefined {
  const { name, arguments: given } =
    (value as { params?: { name?: unknown; arguments?: unknown } } | null)?.params ?? {}
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, '__proto__')) return undefined
  return `Invalid params: unknown property '__proto__' among the arguments of ${typeof name === 'string' ? name.slice(0, 80) : 'a call'}; leave it out.`
}

/** Why a request cannot be read for its `_meta`; the library would leave it without an answer. */
function metaObjection(value: unknown): string | undefined {
  const meta = (value as { params?: { _meta?: unknown } } | null)?.params?._meta
  if (meta === undefined || validId(value) === null) return undefined
  const wrong = (name: string, what: string) => `Invalid params: ${name} must be ${what}.`
  if (!isObject(meta)) return wrong('_meta', 'an object')
  const { progressToken: token, [TASK]: task } = meta
  if (token !== undefined && typeof token !== 'string' && !Number.isSafeInteger(token))
    return wrong('_meta.progressToken', 'a text or a whole number')
  return task === undefined || (isObject(task) && typeof task['taskId'] === 'string')
    ? undefined
    : wrong(`_meta["${TASK}"]`, 'an object with a taskId')
}
const TASK = 'io.modelcontextprotocol/related-task'

/** What no request has: the library would leave it without an answer. */
function strangeMember(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['method'] !== 'string') return undefined
  for (const name in value)
    if (name !== 'jsonrpc' && name !== 'id' && name !== 'method' && name !== 'params') return name
  return undefined
}

function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { jsonrpc, id, method, params, result, error } = value as Record<string, unknown>
  if (jsonrpc !== '2.0' || (id !== undefined && !isId(id))) return false
  if (method !== undefined)
    return (
      typeof method === 'string' &&
      (params === undefined || (typeof params === 'object' && params !== null && !Array.isArray(params)))
    )
  return id !== undefined && (result === undefined) !== (error === undefined)
}

function validId(value: unknown): Id {
  const id = (value as { id?: unknown } | null)?.id
  return isId(id) ? id : null
}

/** Beyond what is safe, two ids that differ are read as one, and the library answers none. */
const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id)

/** The id of a message that was not read whole, where it is the first or the last thing said. */
const idAtStart = (head: string): Id =>
  idIn(/^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")\s*,/.exec(head))
const idAtEnd = (tail: string): Id =>
  idIn(/,\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail))
const idIn = (match: RegExpExecArray | null): Id => (match ? (JSON.parse(match[1]!) as Id) : null)
