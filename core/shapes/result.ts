import { firstLine, problem, texts, VtError, type Extra } from './errors.js'
import { notInJson, toJson } from './json.js'
import { inert, visible, visibleText } from '../text/index.js'
import {
  isObject,
  type ContentBlock,
  type Failure,
  type JsonObject,
  type Notice,
  type Problem,
  type Result,
  type Success,
} from './types.js'

/** A success: `output` is the structured value, `extra.text` what a model reads. */
export function ok<Output extends object = JsonObject>(
  output: Output,
  extra: Omit<Success, 'ok' | 'output'> = {},
): Success<Output> {
  return { ok: true, output, ...extra }
}

/** A failure. Hint and retryable are filled in from core's table or the manifest of the slot where `extra` does not give them. */
export function fail(code: string, message: string, extra: Extra & { notices?: Notice[] } = {}): Failure {
  const { notices, hint, retryable, ...rest } = extra
  const known = texts(code)
  const error = {
    code,
    message,
    hint: hint ?? known?.hint ?? '',
    retryable: retryable ?? known?.retryable ?? false,
    ...rest,
  }
  return { ok: false, error, ...(notices && { notices }) }
}

/** The failure for a thrown error, if the error is a VtError. */
export function failure(error: unknown): Failure | undefined {
  return error instanceof VtError ? { ok: false, error: error.problem } : undefined
}

/** How a clause begins that says how things are, not what to do. */
const isStatement =
  /^(?:An?|Another|Details|Every\w*|Extended|It|Line|More|No|Nobody|Nothing|Only|Other|Some\w*|The|There|They|This|What|Where|Who\w*|['`"{(])(?![\w])/i

/** The refusal of a change, with the sentence for the model's final answer: nothing was done, and what to do next. */
export function notApplied(error: Problem): Problem {
  if (error.details?.['not_applied'] !== undefined) return error
  const next = (error.hint.split(/\.(?: |$)|; |\n/).find((clause) => clause !== '' && !isStatement.test(clause)) ?? '')
    .replace(/^Example: /, 'call ')
    .replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
  const say = `Not applied. ${inert(error.message).replace(/\.$/, '')}${next && `; next action: ${next}`}.`
  return { ...error, details: { ...error.details, not_applied: true, say } }
}

const RESULT_BYTES = 32 * 1_048_576

/** A copy of what a stranger answers, which holds no getters, cycles and functions. Throws VT_CALL_BAD_RESULT, VT_PLUGIN_RESULT. */
export function plainAnswer<T>(plugin: string, answer: T): T {
  try {
    return toJson(answer, { depth: 64, bytes: RESULT_BYTES }) as T
  } catch (error) {
    const number = notInJson(answer)
    if (number !== undefined)
      throw problem('VT_PLUGIN_RESULT', { plugin, problem: `${number}, which JSON cannot hold` })
    const large = error instanceof VtError && error.code === 'VT_INPUT_TOO_LARGE'
    throw problem('VT_CALL_BAD_RESULT', {
      plugin,
      what: large ? `more than ${RESULT_BYTES / 1_048_576} MiB` : `what is no plain JSON data (${firstLine(error)})`,
    })
  }
}

/** Codes of ours that a plugin may use by itself: about what it was given, the files it opens, and its own call. */
const speakable = /^VT_(?:(?:PATH|FILE|INPUT|SECRET|CALL)_|PLUGIN_(?:EFFECT|RESULT)$)/

/** The error that a plugin answers with, where its code is one that it declares, may use or was told; else VT_PLUGIN_FAILED or VT_CALL_FAILED. */
export function strangersError(theirs: Problem, plugin: string, isDeclared: (code: string) => boolean): Problem {
  const { code, message } = theirs
  if (isDeclared(code) || (speakable.test(code) && texts(code))) return theirs
  if (!code.startsWith('VT_'))
    return problem('VT_CALL_FAILED', { plugin, reason: `${code}, a code nobody declares: ${message}` }).problem
  return problem('VT_PLUGIN_FAILED', { plugin, code, reason: message }, { details: { theirs: { ...theirs } } }).problem
}

/** What is wrong with the form of an answer that a stranger made of plain data; nothing where everybody may rely on it. */
export function resultFault(result: unknown): string | undefined {
  if (!isObject(result) || typeof result['ok'] !== 'boolean') return 'what is no result'
  const { ok, output, text, content, notices, error } = result
  if (!isAbsentOr(notices, (list) => isListOf(list, (one) => hasTexts(one, 'code', 'message'))))
    return 'notices of the wrong form'
  if (!ok) {
    const isProblem =
      hasTexts(error, 'code', 'message') &&
      ['string', 'undefined'].includes(typeof error['hint']) &&
      isAbsentOr(error['details'], isObject)
    return isProblem ? undefined : 'a failure without code and message'
  }
  if (typeof output !== 'object' || output === null) return 'a success without output'
  if (!['string', 'undefined'].includes(typeof text)) return 'a text that is not a string'
  return isAbsentOr(content, (list) => isListOf(list, isBlock)) ? undefined : 'content of the wrong form'
}

const isAbsentOr = (value: unknown, check: (value: unknown) => boolean): boolean => value === undefined || check(value)
const isListOf = (value: unknown, check: (one: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(check)
const hasTexts = (value: unknown, ...names: string[]): value is JsonObject =>
  isObject(value) && names.every((name) => typeof value[name] === 'string')

function isBlock(block: unknown): boolean {
  if (!isObject(block)) return false
  const { type, resource } = block
  if (type === 'text') return hasTexts(block, 'text')
  if (type === 'image' || type === 'audio') return hasTexts(block, 'data', 'mimeType')
  if (type === 'resource_link') return hasTexts(block, 'uri', 'name')
  return type === 'resource' && hasTexts(resource, 'uri') && (hasTexts(resource, 'text') || hasTexts(resource, 'blob'))
}

/** A result as it leaves the program: everything that is read as text is visible; what is data stays exact. */
export function visibleResult(result: Result): Result {
  const notices = result.notices?.map(({ code, message }): Notice => ({ code, message: visible(message) }))
  const rest = notices && { notices }
  if (result.ok) {
    const { text, content } = result
    return {
      ...result,
      ...(typeof text === 'string' && { text: visibleText(text) }),
      ...(Array.isArray(content) && { content: content.map(visibleBlock) }),
      ...rest,
    }
  }
  const { error } = result
  const { say } = error.details ?? {}
  const details = typeof say === 'string' && { details: { ...error.details, say: visible(say) } }
  return {
    ...result,
    error: { ...error, message: visible(error.message), hint: visible(error.hint), ...details },
    ...rest,
  }
}

function visibleBlock(shown: ContentBlock): ContentBlock {
  if (shown.type === 'text') return { ...shown, text: visibleText(shown.text) }
  if (shown.type === 'resource_link') return { ...shown, name: visible(shown.name) }
  return shown.type === 'resource' && 'text' in shown.resource
    ? { ...shown, resource: { ...shown.resource, text: visibleText(shown.resource.text) } }
    : shown
}
