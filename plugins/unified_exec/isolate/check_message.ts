import { RESULT_LIMITS } from '../code/result_limits.js'
import type { IsolateMessage } from './protocol.js'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => Number.isSafeInteger(value)
const isJson: Check = (value) => {
  try {
    return typeof value === 'string' && JSON.parse(value) !== undefined
  } catch {
    return false
  }
}
const isResult: Check = (value) =>
  isJson(value) &&
  (value as string).length <= RESULT_LIMITS.bytes &&
  isWithin(JSON.parse(value as string), RESULT_LIMITS.levels + 1)
const isWithin = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => isWithin(part, levels - 1)))
const isOneOf =
  (...names: string[]): Check =>
  (value) =>
    names.includes(value as string)
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const asked = { id: isNumber, line: isNumber }
/** The fields of each request. */
const REQUESTS: Record<string, Record<string, Check>> = {
  call: { ...asked, tool: isText, input: isText },
  store: { ...asked, action: isOneOf('get', 'set', 'list', 'delete'), key: isText, value: isOptional(isJson) },
  agent: { ...asked, input: isText },
  tools: { ...asked, query: isText },
  print: { stream: isOneOf('stdout', 'stderr'), text: isText },
}

const ended = { unawaited: isOptional(isNumber), unprinted: isOptional(isNumber) }
/** The fields of each end. */
const ENDS: Record<string, Record<string, Check>> = {
  done: {
    ...ended,
    result: isOptional(isResult),
    kinds: isOptional(isListOf(isText)),
    shown: isOptional(isListOf(isNumber)),
    unshown: isOptional(isText),
  },
  failed: { ...ended, text: isText, line: isNumber },
  invalid: { text: isText },
  broken: { text: isText },
  unsettled: {},
}

/** Returns what is wrong with a message of a thread: a script can write each of its fields. */
export function findMessageFault(message: IsolateMessage): string | undefined {
  if ('ready' in message) return undefined
  if ('request' in message) return findFault(message.request, 'op', REQUESTS)
  return findFault(message, 'end', ENDS)
}

function findFault(message: object, kind: string, all: Record<string, Record<string, Check>>): string | undefined {
  const given = message as Record<string, unknown>
  const name = given[kind]
  const fields = typeof name === 'string' && Object.hasOwn(all, name) ? all[name] : undefined
  if (fields === undefined) return `the script sent a message with an unknown '${kind}'`
  const wrong = Object.entries(fields).find(([field, check]) => !check(given[field]))
  return wrong && `the script sent a message '${String(name)}' with an invalid '${wrong[0]}'`
}
