import { isObject } from '../../../core/shapes/index.js'
import { redactText, toText } from '../../../core/text/index.js'
import { ok, VtError, type Result } from '../../../core/index.js'
import type { FetchedPage } from '../../lib/net/index.js'
import { resolvePointer } from '../../lib/values/index.js'
import type { HttpSettings } from './settings.js'

/** Returns whether a status matches a list such as `2xx`, `404`. */
export const matchesStatus = (list: readonly string[], status: number): boolean =>
  list.some((rule) => rule === toText(status) || rule === `${toText(status)[0]}xx`)

/** Converts a response to a result. Throws VT_HTTP_STATUS, VT_HTTP_TYPE, or the code that the manifest maps. */
export function toHttpResult(settings: HttpSettings, { status, content_type, text }: FetchedPage): Result {
  const { ok: good, empty, map } = settings.status
  if (matchesStatus(empty, status)) return ok({}, { text: '' })
  if (!matchesStatus(good, status)) throw createStatusError(status, text, map[toText(status)])
  const json = settings.response === 'json' || (settings.response === undefined && /[/+]json$/.test(content_type))
  if (!json) return ok({ status, content_type, text }, { text })
  if (text.trim() === '') return ok({})
  const chosen = resolvePointer(parseJson(text, content_type), settings.select)
  return ok(isObject(chosen) ? chosen : { value: chosen })
}

function parseJson(text: string, type: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const message = `The response (${type}) is not JSON: ${JSON.stringify(redactText(text).slice(0, 200))}.`
    throw new VtError({ code: 'VT_HTTP_TYPE', message, hint: 'Correct `response` of the manifest.', retryable: false })
  }
}

function createStatusError(
  status: number,
  text: string,
  mapped: HttpSettings['status']['map'][string] | undefined,
): VtError {
  const retryable = mapped ? mapped.retryable === true : status === 408 || status === 429 || status >= 500
  return new VtError({
    code: mapped?.code ?? 'VT_HTTP_STATUS',
    message: mapped?.message ?? `The server answered with status ${status}.`,
    hint: mapped ? '' : 'Read details.body, the start of the response.',
    retryable,
    details: { status, body: redactText(text).slice(0, 500) },
  })
}
