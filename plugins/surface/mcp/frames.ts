import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'

/** The largest line that is read, in bytes. */
export const MAX_FRAME_BYTES = 10 * 1024 * 1024
const EDGE_BYTES = 1024
const NEWLINE = 10

type Id = string | number | null
export interface Receiver {
  message(message: JSONRPCMessage): void
  /** Refuses a text that is no message; `id` is that of the request if known. */
  refuse(id: Id, code: number, text: string): void
}

/**
 * Returns a function that splits a stream into lines and parses each as a message, reading every byte once.
 * A line over the limit is refused and its bytes are dropped as they arrive, so memory stays bounded.
 */
export function createFrameReader({ message, refuse }: Receiver): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  /** State of a line that is too long: whether its request has been answered, and its last bytes. */
  let excess: { answered: boolean; tail: Buffer } | undefined

  function take(part: Buffer): void {
    size += part.length
    if (excess) {
      excess.tail = Buffer.concat([excess.tail, part.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES)
    } else if (size > MAX_FRAME_BYTES) {
      const id = parseIdAtStart(
        Buffer.concat([...parts, part.subarray(0, EDGE_BYTES)])
          .subarray(0, EDGE_BYTES)
          .toString('latin1'),
      )
      excess = {
        answered: id !== null,
        tail: Buffer.concat([
          parts.at(-1)?.subarray(-EDGE_BYTES) ?? Buffer.alloc(0),
          part.subarray(-EDGE_BYTES),
        ]).subarray(-EDGE_BYTES),
      }
      parts = []
      refuse(id, -32600, TOO_LARGE)
    } else {
      parts.push(part)
    }
  }

  function end(): void {
    const id = excess && !excess.answered ? parseIdAtEnd(excess.tail.toString('latin1')) : null
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

const TOO_LARGE = `The message is larger than ${MAX_FRAME_BYTES} bytes; split the call into smaller ones.`

/** The error for a text that is no message; `id` is that of the request if known. */
export interface MessageRefusal {
  id: Id
  code: number
  text: string
}

/** Parses a text as one message, from any transport. */
export function readMessage(text: string): { message: JSONRPCMessage } | MessageRefusal {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { id: null, code: -32700, text: `Parse error: ${(error as Error).message}` }
  }
  const wrong = findProtoArgument(value) ?? findMetaProblem(value)
  if (wrong !== undefined) return { id: readId(value), code: -32602, text: wrong }
  const unknown = findUnknownMember(value)
  if (unknown !== undefined)
    return {
      id: readId(value),
      code: -32600,
      text: `Invalid request: unknown member '${unknown.slice(0, 80)}'; a request has jsonrpc, id, method and params.`,
    }
  return isMessage(value)
    ? { message: value }
    : { id: readId(value), code: -32600, text: 'Invalid request: one JSON-RPC 2.0 message is read at a time.' }
}

/** Returns the error for an argument named `__proto__`, which the SDK would drop without a word. */
function findProtoArgument(value: unknown): string | undefined {
  const { name, arguments: given } =
    (value as { params?: { name?: unknown; arguments?: unknown } } | null)?.params ?? {}
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, '__proto__')) return undefined
  const tool = typeof name === 'string' ? name.slice(0, 80) : 'a call'
  return `Invalid params: unknown property '__proto__' among the arguments of ${tool}; leave it out.`
}

/** Returns the error for an invalid `_meta`, which the SDK would leave without an answer. */
function findMetaProblem(value: unknown): string | undefined {
  const meta = (value as { params?: { _meta?: unknown } } | null)?.params?._meta
  if (meta === undefined || readId(value) === null) return undefined
  const wrong = (name: string, what: string) => `Invalid params: ${name} must be ${what}.`
  if (!isObject(meta)) return wrong('_meta', 'an object')
  const { progressToken: token, [RELATED_TASK]: task } = meta
  if (token !== undefined && typeof token !== 'string' && !Number.isSafeInteger(token))
    return wrong('_meta.progressToken', 'a text or a whole number')
  return task === undefined || (isObject(task) && typeof task['taskId'] === 'string')
    ? undefined
    : wrong(`_meta["${RELATED_TASK}"]`, 'an object with a taskId')
}
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** Returns the name of a member that no request has; the SDK would not answer such a request. */
function findUnknownMember(value: unknown): string | undefined {
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

function readId(value: unknown): Id {
  const id = (value as { id?: unknown } | null)?.id
  return isId(id) ? id : null
}

/** Rejects unsafe integers: two different ids could be read as one, and the SDK answers neither. */
const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id)

/** Returns the id of a message that was not read whole, if it is the first or last member. */
const parseIdAtStart = (head: string): Id =>
  parseId(/^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")\s*,/.exec(head))
const parseIdAtEnd = (tail: string): Id =>
  parseId(/,\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,256}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail))
const parseId = (match: RegExpExecArray | null): Id => (match ? (JSON.parse(match[1]!) as Id) : null)
