import { problem } from '../../../core/shapes/index.js'
import { startDeadline, version } from '../../../core/system/index.js'
import { raceAbort } from '../base/index.js'
import { takeFirst, readResponseBody } from './fetch/body.js'
import { decodeText, isBinaryBody, isPdf, parseContentType } from './fetch/charset.js'
import { sendRequest, type HttpAnswer } from './fetch/send_request.js'
import { shortenUrl, networkFailure, webFailure } from './fetch/failure.js'
import { checkHost, readUrl } from './fetch/guard.js'
import { toHost } from './fetch/hosts.js'
import { limitPerHost } from './fetch/host_limit.js'
import type { WebSettings } from './fetch/settings.js'

export { networkFailure, webFailure } from './fetch/failure.js'
export { resolveAddresses, checkHost, readUrl } from './fetch/guard.js'
export { toHost } from './fetch/hosts.js'
export type { WebSettings } from './fetch/settings.js'

export interface PageRequest {
  url: string
  method?: string
  /** Sent to the first origin only. */
  headers?: Record<string, string>
  body?: string
  /** Limit of the body in decoded bytes. */
  max_bytes: number
  /** Limit for name lookup, connections, redirects and body together. */
  timeout_secs: number
  max_redirects: number
  /**
   * Decides whether to follow a redirect to this URL. A redirect that is not followed is returned with its target in
   * `location`.
   */
  follow?: (to: URL, from: URL) => boolean
  /** Decides whether a body with an error status is wanted. */
  accepts?: (status: number) => boolean
  /** Called when a server has answered, whatever the result. */
  onAnswer?: () => void
}
export interface FetchedPage {
  /** URL of the last request. */
  url: URL
  status: number
  content_type: string
  text: string
  /** Number of decoded bytes in `text`. */
  bytes: number
  truncated: boolean
  /** Seconds or a date, unchanged from the server. */
  retry_after?: string
  /** URLs that redirected, in order. */
  redirects: string[]
  /** Target of a redirect that was not followed. */
  location?: URL
}

/**
 * Fetches one text over http(s). Every hop is checked by name, port and every resolved address, and connects to a
 * checked address. Sends no cookies and only the given credentials; uses no cache, no proxy of the environment, and one
 * deadline. Throws VT_WEB_URL, VT_WEB_BLOCKED, VT_WEB_HTTP, VT_WEB_TYPE, VT_WEB_TOO_LARGE, VT_WEB_REDIRECTS,
 * VT_WEB_NETWORK, VT_WEB_TIMEOUT.
 */
export async function fetchPage(
  request: PageRequest,
  settings: WebSettings,
  signal: AbortSignal,
): Promise<FetchedPage> {
  using limit = startDeadline(request.timeout_secs * 1000, signal)
  let url = readUrl(request.url)
  try {
    // A name lookup cannot be cancelled, so the abort wins the race.
    return await raceAbort(
      limit.signal,
      followRedirects(request, url, settings, limit.signal, (next) => (url = next)),
    )
  } catch (error) {
    if (signal.aborted) throw problem('VT_CALL_ABORTED')
    if (limit.expired)
      throw webFailure('VT_WEB_TIMEOUT', `${toHost(url)} did not answer in full within ${request.timeout_secs} s.`)
    throw networkFailure(error, toHost(url))
  }
}

async function followRedirects(
  request: PageRequest,
  first: URL,
  settings: WebSettings,
  signal: AbortSignal,
  now: (url: URL) => void,
): Promise<FetchedPage> {
  const redirects: string[] = []
  let { method = 'GET', headers = {}, body } = request
  for (let url = first; ;) {
    const page = await addHopNumber(redirects.length, () => hop(url))
    if (!page.location || (request.follow && !request.follow(page.location, url))) return page
    redirects.push(url.href)
    if (redirects.length > request.max_redirects)
      throw webFailure(
        'VT_WEB_REDIRECTS',
        `${shortenUrl(first.href)} redirects more than ${request.max_redirects} times.`,
      )
    if (redirects.includes(page.location.href))
      throw webFailure('VT_WEB_REDIRECTS', `${shortenUrl(first.href)} redirects in a loop.`)
    if (page.location.origin !== url.origin) headers = {}
    if (page.status !== 307 && page.status !== 308) [method, body] = ['GET', undefined]
    else if (body !== undefined && page.location.origin !== url.origin) {
      throw webFailure(
        'VT_WEB_REDIRECTS',
        `${url.host} redirects the request body to another host, ${page.location.host}.`,
      )
    }
    now((url = page.location))
  }

  async function hop(url: URL): Promise<FetchedPage> {
    checkHost(url, settings)
    return limitPerHost(toHost(url), signal, async () => {
      const sent = { ...createDefaultHeaders(settings), ...headers }
      await using answer = await sendRequest(
        url,
        { method, headers: sent, signal, ...(body !== undefined && { body }) },
        settings,
      )
      request.onAnswer?.()
      return await readPage(answer, url, redirects, request)
    })
  }
}

/** Adds the number of the hop to a refusal. */
async function addHopNumber<T>(hop: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { problem: refused } = error as { problem?: { code: string; details?: object } }
    if (refused?.code === 'VT_WEB_BLOCKED' || refused?.code === 'VT_WEB_URL')
      refused.details = { ...refused.details, hop }
    throw error
  }
}

const createDefaultHeaders = ({ user_agent }: WebSettings): Record<string, string> => ({
  'user-agent': user_agent ?? `vtcode/${version}`,
  accept: 'text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.5',
  'accept-language': 'en,*;q=0.5',
  'accept-encoding': 'gzip, br',
})

async function readPage(
  answer: HttpAnswer,
  url: URL,
  redirects: string[],
  { max_bytes, accepts }: PageRequest,
): Promise<FetchedPage> {
  const { status, headers } = answer
  const retry_after = takeFirst(headers['retry-after'])
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
  const location = takeFirst(headers['location'])
  if (status >= 300 && status < 400 && location !== undefined) return { ...page, location: readUrl(location, url.href) }
  if (status >= 400 && !accepts?.(status)) throw createStatusError(status, url, retry_after)
  const declared = parseContentType(takeFirst(headers['content-type']))
  if (declared.type && !isTextType(declared.type)) throw createTypeError(url, declared.type, declared.type)
  const { bytes, truncated } = await readResponseBody(answer, max_bytes)
  if (isBinaryBody(bytes, declared))
    throw createTypeError(
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

function createStatusError(status: number, url: URL, wait: string | undefined): Error {
  const seconds = wait === undefined ? undefined : /^\d{1,6}$/.test(wait) ? Number(wait) : undefined
  const later = [408, 425, 429].includes(status) || status >= 500
  const hint = later && seconds !== undefined ? { hint: `The server asks to wait ${seconds} s.` } : {}
  const details = { status, ...(seconds !== undefined && { retry_after_ms: seconds * 1000 }) }
  return webFailure('VT_WEB_HTTP', `${url.host} answers ${status} to ${shortenUrl(url.href)}.`, {
    retryable: later,
    details,
    ...hint,
  })
}

function createTypeError(url: URL, is: string, content_type: string): Error {
  const what = is === 'application/pdf' ? 'a PDF (application/pdf)' : is
  return webFailure('VT_WEB_TYPE', `${shortenUrl(url.href)} is ${what}, not text.`, { details: { content_type } })
}
