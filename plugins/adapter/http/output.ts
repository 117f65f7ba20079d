import { isObject } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import { ok, VtError, type Result } from '../../../core/index.js'
import type { FetchedPage } from '../../lib/net/index.js'
import { pointed } from '../../lib/values/index.js'
import type { HttpSettings } from './settings.js'

/** Is a status among `2xx`, `404` and the like? */
export const statusIn = (list: readonly string[], status: number): boolean =>
  list.some((rule) => rule === toText(status) || rule === `${toText(status)[0]}xx`)

/** The result an answer stands for. Throws VT_HTTP_STATUS, VT_HTTP_TYPE, or the code that the manifest maps. */
export function httpResult(settings: HttpSettings, { status, content_type, text }: FetchedPage): Result {
  const { ok: good, empty, map } = settings.status
  if (statusIn(empty, status)) return ok({}, { text: '' })
  if (!statusIn(good, status)) throw failed(status, text, map[toText(status)])
  const json = settings.response === 'json' || (settings.response === undefined && /[/+]json$/.test(content_type))
  if (!json) return ok({ status, content_type, text }, { text })
  if (text.trim() === '') return ok({})
  const chosen = pointed(parsed(text, content_type), settings.select)
  return ok(isObject(chosen) ? chosen : { value: chosen })
}

function parsed(text: string, type: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const message = `The answer (${type}) is not JSON: ${JSON.stringify(text.slice(0, 200))}.`
    throw new VtError({ code: 'VT_HTTP_TYPE', message, hint: 'Correct `response` of the manifest.', retryable: false })
  }
}

function failed(status: number, text: string, mapped: HttpSettings['status']['map'][string] | undefined): VtError {
  const retryable = mapped ? mapped.retryable === true : status === 408 || status === 429 || status >= 500
  return new VtError({
    code: mapped?.code ?? 'VT_HTTP_STATUS',
    message: mapped?.message ?? `The server answers ${status}.`,
    hint: mapped ? '' : 'details.body shows how its answer begins.',
    retryable,
    details: { status, body: text.slice(0, 500) },
  })
}
