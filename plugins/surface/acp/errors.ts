import { VtError } from '../../../core/shapes/index.js'
import { redactText } from '../../../core/text/index.js'
import type { Io } from '../../../core/index.js'
import { AgentError } from '../../agent/index.js'
import { printable, say } from '../../lib/terminal/index.js'
import { loadAcpSdk } from './sdk.js'

const INVALID_PARAMS = -32602
const AUTH_REQUIRED = -32000
const INTERNAL = -32603
const RESOURCE_NOT_FOUND = -32002
const REQUEST_CANCELLED = -32800

const createError = (code: number, message: string, data?: object): Error => {
  const { RequestError } = loadAcpSdk()
  return new RequestError(code, message, data)
}

/** Creates the error of params with a wrong field. */
export const invalidParams = (field: string, problem: string): Error =>
  createError(INVALID_PARAMS, `Invalid params: ${field} ${problem}`, { field })
export const sessionNotFound = (id: string): Error =>
  createError(RESOURCE_NOT_FOUND, `Session not found: '${id.slice(0, 128)}'.`, { sessionId: id.slice(0, 128) })
export const requestCancelled = (): Error => createError(REQUEST_CANCELLED, 'Request cancelled')

const ERROR_CODES: Readonly<Record<string, number>> = {
  VT_LLM_AUTH: AUTH_REQUIRED,
  VT_LLM_NO_MODEL: AUTH_REQUIRED,
  VT_SESSION_NOT_FOUND: RESOURCE_NOT_FOUND,
  VT_SESSION_FOREIGN: RESOURCE_NOT_FOUND,
}

/** Creates the error of a failed run. The words may be those of a server. */
export const runFailed = ({ code, message, hint = '' }: { code: string; message: string; hint?: string }): Error =>
  createError(ERROR_CODES[code] ?? INTERNAL, printable(redactText(`${message} ${hint}`.trim())), { code })

/**
 * Converts any error of a handler to one whose text an editor may show. The SDK sends the text of every error to the
 * client, so the text of an unexpected one goes to stderr only.
 */
export function toRequestError(error: unknown, io: Io): Error {
  if (error instanceof AgentError)
    return runFailed({ code: error.code, message: error.message, hint: error.extra.hint ?? '' })
  if (error instanceof VtError) return runFailed(error.problem)
  if (error instanceof loadAcpSdk().RequestError) return error
  say(io, 'error', redactText(error instanceof Error ? (error.stack ?? error.message) : String(error)))
  return createError(INTERNAL, 'Internal error. The log of vtcode on stderr has the details.')
}
