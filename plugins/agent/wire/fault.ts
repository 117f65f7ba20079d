import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { redactText } from '../../../core/text/index.js'
import { findFaultKind } from './server_words.js'

/** An answer that broke off before it was complete. */
export class Cut extends Error {}

/** Cuts a text of a server. Secrets are redacted first, because the cut would leave parts of them. */
export const cutServerText = (text: string, most: number): string => redactText(text).slice(0, most)

/** Describes the end of an answer by an unknown reason. */
export const describeUnknownEnd = (reason: string): string => `the server ended it with '${cutServerText(reason, 80)}'`

/** An error that a server sent within an answer of status 200, with the status that its words mean. */
export class ServerFault extends Error {
  readonly responseBody: string
  constructor(
    message: string,
    readonly statusCode: number,
    error: JsonObject,
  ) {
    super(message)
    this.responseBody = JSON.stringify({ error })
  }
}

/** Statuses for the words with which servers name an error; the first that matches counts. */
const STATUS_WORDS: readonly [RegExp, number][] = [
  [/auth|api_?key|permission|UNAUTHENTICATED/i, 401],
  [/rate|RESOURCE_EXHAUSTED|throttl/i, 429],
  [/overloaded|unavailable|internal|server_error|api_error|timeout|DEADLINE_EXCEEDED/i, 503],
  [/invalid|not_?found|context|too_large|billing/i, 400],
]

/** Creates the fault for an error value; `usual` is the status of an error that names none. */
export function createServerFault(error: unknown, usual: number): ServerFault {
  const fields: JsonObject = isObject(error) ? error : { message: error as string }
  const { code, status, type } = fields
  const message = [fields['message'], fields['msg'], fields['detail'], fields['status_msg']].find(
    (text) => typeof text === 'string' && text !== '',
  )
  const named = [code, status, fields['http_code']].map(Number).find((number) => number >= 400 && number < 600)
  const words = [code, status, type].filter((word) => typeof word === 'string').join(' ')
  const text = typeof message === 'string' ? message : JSON.stringify(error)
  const refused = findFaultKind(400, text) === undefined ? undefined : 400
  const statusCode = named ?? STATUS_WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? refused ?? usual
  return new ServerFault(text, statusCode, { ...fields, message: text })
}

/**
 * Returns the error that an event or document contains; `undefined` for any other. Shapes: `error` (most servers), an
 * object of the type `error` (vLLM, Responses, Anthropic), `base_resp` (MiniMax), `errors`, and a bare message.
 */
export function findServerError(event: JsonObject): unknown {
  const { error, errors, base_resp: base } = event
  if (error !== undefined && error !== null && error !== '' && error !== false) return error
  if (event['object'] === 'error' || event['type'] === 'error') return event
  if (isObject(base) && typeof base['status_code'] === 'number' && base['status_code'] !== 0) return base
  if (Array.isArray(errors) && errors.length > 0) return errors[0]
  const content = ['choices', 'type', 'candidates', 'usage', 'output', 'response', 'usageMetadata']
  const isBare = content.every((name) => event[name] === undefined)
  const bare = [event['message'], event['detail'], event['msg']].find((text) => typeof text === 'string' && text !== '')
  return isBare && bare !== undefined ? event : undefined
}
