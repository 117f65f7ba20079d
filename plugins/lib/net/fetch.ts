import { problem } from '../../../core/shapes/index.js'
import { deadline, version } from '../../../core/system/index.js'
import { raceAbort } from '../base/index.js'
import { one, readResponseBody } from './fetch/body.js'
import { decodeText, isBinaryBody, isPdf, readContentType } from './fetch/charset.js'
import { sendRequest, type HttpAnswer } from './fetch/connect.js'
import { brief, networkFailure, webFailure } from './fetch/failure.js'
import { checkHost, readUrl } from './fetch/guard.js'
import { hostOf } from './fetch/hosts.js'
import { politely } from './fetch/polite.js'
import type { WebSettings } from './fetch/settings.js'

export { networkFailure, webFailure } from './fetch/failure.js'
export { addressesOf, checkHost, readUrl } from './fetch/guard.js'
export { hostOf } from './fetch/hosts.js'
export type { WebSettings } from './fetch/settings.js'

export interface PageRequest {
  url: string
  method?: string
  /** Sent to the first origin; another one gets none of them. */
  headers?: Record<string, string>
  body?: string
  /** Decoded bytes of the body. */
  max_bytes: number
  /** For everything together: look-up, connections, redirects, body. */
  timeout_secs: number
  max_redirects: number
  /** Whether to go on to this URL; a redirect that is not followed is answered as it is, with its target in `location`. */
  follow?: (to: URL, from: URL) => boolean
  /** Whether a body of this status is wanted although it is no success. */
  accepts?: (status: number) => boolean
  /** Told as soon as a server has answered, whatever comes of it. */
  answered?: () => void
}
export interface FetchedPage {
  /** As it was asked for at last. */
  url: URL
  status: number
  content_type: string
  text: string
  /** Decoded bytes that `text` was made of. */
  bytes: number
  truncated: boolean
  /** Seconds or a date, as the server said it. */
  retry_after?: string
  /** Every URL that was left for another, in order. */
  redirects: string[]
  /** The target of a redirect that was not followed. */
  location?: URL
}

/**
 * Fetches one text over http(s). Every hop is checked by name, port and every address it resolves to, and the connection goes to a checked
 * address; no cookies, no credentials but those given, no cache, no proxy of the environment, one deadline.
 * Throws VT_WEB_URL, VT_WEB_BLOCKED, VT_WEB_HTTP, VT_WEB_TYPE, VT_WEB_TOO_LARGE, VT_WEB_REDIRECTS, VT_WEB_NETWORK, VT_WEB_TIMEOUT.
 */
export async function fetchPage(
  request: PageRequest,
  settings: WebSettings,
  signal: AbortSignal,
): Promise<FetchedPage> {
  using limit = deadline(request.timeout_secs * 1000, signal)
  let url = readUrl(request.url)
  try {
    // A look-up of a name goes on after it was given up.
    return await raceAbort(
      limit.signal,
      follow(request, url, settings, limit.signal, (next) => (url = next)),
    )
  } catch (error) {
    if (signal.aborted) throw problem('VT_CALL_ABORTED')
    if (limit.expired)
      throw webFailure('VT_WEB_TIMEOUT', `${hostOf(url)} did not answer in full within ${request.timeout_secs} s.`)
    throw networkFailure(error, hostOf(url))
  }
}

async function follow(
  request: PageRequest,
  first: URL,
  settings: WebSettings,
  signal: AbortSignal,
  now: (url: URL) => void,
): Promise<FetchedPage> {
  const redirects: string[] = []
  let { method = 'GET', headers = {}, body } = request
  for (let url = first; ;) {
    const page = await numbered(redirects.length, () => hop(url))
    if (!page.location || (request.follow && !request.follow(page.location, url))) return page
    redirects.push(url.href)
    if (redirects.length > request.max_redirects)
      throw webFailure('VT_WEB_REDIRECTS', `${brief(first.href)} redirects more than ${request.max_redirects} times.`)
    if (redirects.includes(page.location.href))
      throw webFailure('VT_WEB_REDIRECTS', `${brief(first.href)} redirects in a circle.`)
    if (page.location.origin !== url.origin) headers = {}
    if (page.status !== 307 && page.status !== 308) [method, body] = ['GET', undefined]
    else if (body !== undefined && page.location.origin !== url.origin) {
      throw webFailure(
        'VT_WEB_REDIRECTS',
        `${url.host} wants what was sent to it sent to ${page.location.host} as well.`,
      )
    }
    now((url = page.location))
  }

  async function hop(url: URL): Promise<FetchedPage> {
    checkHost(url, settings)
    return politely(hostOf(url), signal, async () => {
      const sent = { ...common(settings), ...headers }
      await using answer = await sendRequest(
        url,
        { method, headers: sent, signal, ...(body !== undefined && { body }) },
        settings,
      )
      request.answered?.()
      return await read(answer, url, redirects, request)
    })
  }
}

/** Puts the number of the hop to what is refused there. */
async function numbered<T>(hop: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { problem: refused } = error as { problem?: { code: string; details?: object } }
    if (refused?.code === 'VT_WEB_BLOCKED' || refused?.code === 'VT_WEB_URL')
      refused.details = { ...refused.details, hop }
    throw error
  }
}

const common = ({ user_agent }: WebSettings): Record<string, string> => ({
  'user-agent': user_agent ?? `vtcode/${version}`,
  accept: 'text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.5',
  'accept-language': 'en,*;q=0.5',
  'accept-encoding': 'gzip, br',
})

async function read(
  answer: HttpAnswer,
  url: URL,
  redirects: string[],
  { max_bytes, accepts }: PageRequest,
): Promise<FetchedPage> {
  const { status, headers } = answer
  const retry_after = one(headers['retry-after'])
  const page = {
    url,
    status,
    content_type: '',
    text: '',
    bytes: 0,
    truncated: false,
    redirects: [...redirects],
    ...(retry_after !== undefined && { retry_after }),
  }
  const location = one(headers['location'])
  if (status >= 300 && status < 400 && location !== undefined) return { ...page, location: readUrl(location, url.href) }
  if (status >= 400 && !accepts?.(status)) throw refused(status, url, retry_after)
  const declared = readContentType(one(headers['content-type']))
  if (declared.type && !isTextType(declared.type)) throw wrongType(url, declared.type, declared.type)
  const { bytes, truncated } = await readResponseBody(answer, max_bytes)
  if (isBinaryBody(bytes, declared))
    throw wrongType(
      url,
      isPdf(bytes) ? 'application/pdf' : declared.type ? `sent as ${declared.type} and binary` : 'binary',
      declared.type,
    )
  const text = decodeText(bytes, declared)
  const content_type =
    declared.type || (/^\s*<(?:!doctype html|html|head|body)\b/i.test(text) ? 'text/html' : 'text/plain')
  return { ...page, content_type, text, bytes: bytes.length, truncated }
}

const isTextType = (type: string): boolean =>
  type.startsWith('text/') ||
  /[/+](?:json|xml|xhtml|x?html|javascript|ecmascript|x-javascript|ndjson|json-seq|jsonl?|yaml|x-yaml|toml)$/.test(type)

function refused(status: number, url: URL, wait: string | undefined): Error {
  const seconds = wait === undefined ? undefined : /^\d{1,6}$/.test(wait) ? Number(wait) : undefined
  const later = [408, 425, 429].includes(status) || status >= 500
  const hint = later && seconds !== undefined ? { hint: `The server asks to wait ${seconds} s.` } : {}
  const details = { status, ...(seconds !== undefined && { retry_after_ms: seconds * 1000 }) }
  return webFailure('VT_WEB_HTTP', `${url.host} answers ${status} to ${brief(url.href)}.`, {
    retryable: later,
    details,
    ...hint,
  })
}

function wrongType(url: URL, is: string, content_type: string): Error {
  const what = is === 'application/pdf' ? 'a PDF (application/pdf)' : is
  return webFailure('VT_WEB_TYPE', `${brief(url.href)} is ${what}, not text.`, { details: { content_type } })
}
