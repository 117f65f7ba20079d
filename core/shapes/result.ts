import { firstLine, problem, renderTexts, VtError, type Extra } from './errors.js'
import { findNonJsonNumber, toJson } from './json.js'
import { escapeTemplates, visible, visibleText } from '../text/index.js'
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

/** Creates a success: `output` is the structured value, `extra.text` the text for a model. */
export function ok<Output extends object = JsonObject>(
  output: Output,
  extra: Omit<Success, 'ok' | 'output'> = {},
): Success<Output> {
  return { ok: true, output, ...extra }
}

/**
 * Creates a failure. Hint and retryable come from core's table or the manifest of the slot unless `extra` gives them.
 */
export function fail(code: string, message: string, extra: Extra & { notices?: Notice[] } = {}): Failure {
  const { notices, hint, retryable, ...rest } = extra
  const known = renderTexts(code)
  const error = {
    code,
    message,
    hint: hint ?? known?.hint ?? '',
    retryable: retryable ?? known?.retryable ?? false,
    ...rest,
  }
  return { ok: false, error, ...(notices && { notices }) }
}

/** Returns the failure for a thrown error, if the error is a VtError. */
export function failure(error: unknown): Failure | undefined {
  return error instanceof VtError ? { ok: false, error: error.problem } : undefined
}

/** The first words of a clause that states a fact instead of an instruction. */
const STATEMENT_PATTERN = new RegExp(
  '^(?:An?|Another|Details|Every\\w*|Extended|It|Line|More|No|Nobody|Nothing|Only|Other|Some\\w*|The|There|They|' +
    'This|What|Where|Who\\w*|[\'`"{(])(?![\\w])',
  'i',
)

/**
 * Marks the refusal of a change, with the sentence for the model's final answer: the change was not applied, and the
 * next step.
 */
export function markNotApplied(error: Problem): Problem {
  if (error.details?.['not_applied'] !== undefined) return error
  const next = (
    error.hint.split(/\.(?: |$)|; |\n/).find((clause) => clause !== '' && !STATEMENT_PATTERN.test(clause)) ?? ''
  )
    .replace(/^Example: /, 'call ')
    .replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
  const say = `Not applied. ${escapeTemplates(error.message).replace(/\.$/, '')}${next && `; next action: ${next}`}.`
  return { ...error, details: { ...error.details, not_applied: true, say } }
}

const RESULT_BYTES = 32 * 1_048_576

/**
 * Copies the answer of a plugin as plain data, without getters, cycles and functions. Throws VT_CALL_BAD_RESULT,
 * VT_PLUGIN_RESULT.
 */
export function copyAnswer<T>(plugin: string, answer: T): T {
  try {
    return toJson(answer, { depth: 64, bytes: RESULT_BYTES }) as T
  } catch (error) {
    const number = findNonJsonNumber(answer)
    if (number !== undefined)
      throw problem('VT_PLUGIN_RESULT', { plugin, problem: `${number}, which JSON cannot hold` })
    const large = error instanceof VtError && error.code === 'VT_INPUT_TOO_LARGE'
    throw problem('VT_CALL_BAD_RESULT', {
      plugin,
      what: large
        ? `more than ${RESULT_BYTES / 1_048_576} MiB`
        : `a value that is not plain JSON data (${firstLine(error)})`,
    })
  }
}

/** Codes of the kernel that a plugin may use itself: about its input, the files that it opens, and its own call. */
const PLUGIN_CODES_PATTERN = /^VT_(?:(?:PATH|FILE|INPUT|SECRET|CALL)_|PLUGIN_(?:EFFECT|RESULT)$)/

/** Returns the error of a plugin if its code is declared or allowed; else VT_PLUGIN_FAILED or VT_CALL_FAILED. */
export function toPluginProblem(theirs: Problem, plugin: string, isDeclared: (code: string) => boolean): Problem {
  const { code, message } = theirs
  if (isDeclared(code) || (PLUGIN_CODES_PATTERN.test(code) && renderTexts(code))) return theirs
  if (!code.startsWith('VT_'))
    return problem('VT_CALL_FAILED', { plugin, reason: `${code}, an undeclared code: ${message}` }).problem
  return problem('VT_PLUGIN_FAILED', { plugin, code, reason: message }, { details: { theirs: { ...theirs } } }).problem
}

/** Returns the fault in the form of a plugin's answer, which is plain data; nothing for a valid form. */
export function findResultFault(result: unknown): string | undefined {
  if (!isObject(result) || typeof result['ok'] !== 'boolean') return 'a value that is not a result'
  const { ok, output, text, content, notices, error } = result
  if (!isAbsentOr(notices, (list) => isListWhere(list, (one) => hasTexts(one, 'code', 'message'))))
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
  return isAbsentOr(content, (list) => isListWhere(list, isBlock)) ? undefined : 'content of the wrong form'
}

const isAbsentOr = (value: unknown, check: (value: unknown) => boolean): boolean => value === undefined || check(value)
const isListWhere = (value: unknown, check: (one: unknown) => boolean): boolean =>
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

/** Returns a result for output: texts are escaped, data stays exact. */
export function toVisibleResult(result: Result): Result {
  const notices = result.notices?.map(({ code, message }): Notice => ({ code, message: visible(message) }))
  const rest = notices && { notices }
  if (result.ok) {
    const { text, content } = result
    return {
      ...result,
      ...(typeof text === 'string' && { text: visibleText(text) }),
      ...(Array.isArray(content) && { content: content.map(toVisibleBlock) }),
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

function toVisibleBlock(shown: ContentBlock): ContentBlock {
  if (shown.type === 'text') return { ...shown, text: visibleText(shown.text) }
  if (shown.type === 'resource_link') return { ...shown, name: visible(shown.name) }
  return shown.type === 'resource' && 'text' in shown.resource
    ? { ...shown, resource: { ...shown.resource, text: visibleText(shown.resource.text) } }
    : shown
}
