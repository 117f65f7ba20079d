import { texts, VtError, type Extra } from './errors.js'
import type { Failure, JsonObject, Notice, Problem, Success } from './types.js'

/** A success: `output` is the structured value, `extra.text` what a model reads. */
export function ok<Output extends object = JsonObject>(output: Output, extra: Omit<Success, 'ok' | 'output'> = {}): Success<Output> {
  return { ok: true, output, ...extra }
}

/** A failure. Hint and retryable are filled in from core's table or the manifest of the slot where `extra` does not give them. */
export function fail(code: string, message: string, extra: Extra & { notices?: Notice[] } = {}): Failure {
  const { notices, hint, retryable, ...rest } = extra
  const known = texts(code)
  const error = { code, message, hint: hint ?? known?.hint ?? '', retryable: retryable ?? known?.retryable ?? false, ...rest }
  return { ok: false, error, ...(notices && { notices }) }
}

/** The failure for a thrown error, if the error is a VtError. */
export function failure(error: unknown): Failure | undefined {
  return error instanceof VtError ? { ok: false, error: error.problem } : undefined
}

/** The refusal of a change, with the sentence for the model's final answer: nothing was done, and what to do next. */
export function notApplied(error: Problem): Problem {
  if (error.details?.['not_applied'] !== undefined) return error
  const [next = ''] = error.hint.split(/\.(?: |$)|; |\n/)
  const say = `Not applied. ${error.message.replace(/\.$/, '')}${next && `; next action: ${next}`}.`
  return { ...error, details: { ...error.details, not_applied: true, say } }
}
