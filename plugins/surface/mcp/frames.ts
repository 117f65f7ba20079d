import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { isObject } from '../../../core/shapes/index.js'
import { createMessageSplitter, type RequestId } from '../../lib/frames/index.js'

/** The largest line that is read, in bytes. */
export const MAX_FRAME_BYTES = 10 * 1024 * 1024
type Id = RequestId
export interface Receiver {
  message(message: JSONRPCMessage): void
  /** Refuses a text that is no message; `id` is that of the request if known. */
  refuse(id: Id, code: number, text: string): void
}

/** Returns a function that splits a stream into lines and parses each as a message; see `createMessageSplitter`. */
export const createFrameReader = ({ message, refuse }: Receiver): ((chunk: Buffer) => void) =>
  createMessageSplitter(MAX_FRAME_BYTES, {
    line(text) {
      const read = readMessage(text)
      if ('message' in read) message(read.message)
      else refuse(read.id, read.code, read.text)
    },
    refuse: (id) => refuse(id, -32600, TOO_LARGE),
  })

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
