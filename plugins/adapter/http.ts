import { problem, VtError, type Adapter, type JsonObject, type AdapterContext } from '../../core/index.js'
import { fetchPage, type FetchedPage, type WebSettings } from '../lib/net/index.js'
import { resolveValue, type ValueScope } from '../lib/values/index.js'
import { composeRequest, requireHeaderText, type ComposedRequest } from './http/compose.js'
import { toHttpResult, matchesStatus } from './http/output.js'
import { createManifestError, parseHttpSettings, isSafe, type HttpSettings } from './http/settings.js'

const MAX_WAIT_SECS = 10

/**
 * Turns a manifest with `http` into a handler that sends one request to one origin. Secrets are resolved when it is
 * sent.
 */
const http: Adapter = (contribution, adapterContext) => {
  const settings = parseHttpSettings(contribution)
  const web = toWebSettings(settings, adapterContext)
  return async (call, context) => {
    const request = composeRequest(settings, call.input)
    requireSafe(request.url, settings)
    await authorize(request, settings, {
      contribution,
      adapterContext,
      field: 'http',
      input: call.input,
      signal: context.signal,
    })
    const page = await send(request, settings, web, context.signal).catch((error: unknown) => {
      throw toHttpError(error, call.slot, settings)
    })
    return toHttpResult(settings, page)
  }
}
http.render = (contribution, input) => {
  const { method, url, headers, body } = composeRequest(parseHttpSettings(contribution), input)
  const json = headers['content-type'] === 'application/json' && body !== undefined
  return {
    request: {
      method,
      url: url.href,
      headers,
      ...(body !== undefined && { body: json ? (JSON.parse(body) as unknown) : body }),
    },
  }
}
export default http

function requireSafe(url: URL, settings: HttpSettings): void {
  if (!isSafe(url, settings))
    throw createManifestError(
      `${url.origin} uses plain http. Set \`network: { http: true }\` in a manifest of your own to allow it.`,
    )
}

/** Returns the settings of the fetcher for one manifest. Hosts that the user denies stay denied. */
function toWebSettings(
  { network, redirects, timeout_secs, max_response_bytes }: HttpSettings,
  { settings }: AdapterContext,
): WebSettings {
  return {
    ...settings.web,
    enabled: true,
    private_hosts: network.private ? ['*'] : [],
    fetch: { max_bytes: max_response_bytes, timeout_secs, max_redirects: redirects },
  }
}

async function authorize(
  { url, headers }: ComposedRequest,
  { query, headers: declared, auth }: HttpSettings,
  asking: ValueScope,
): Promise<void> {
  const listTypedValues = (values: JsonObject) =>
    Object.entries(values).filter(([, value]) => typeof value === 'object')
  for (const [name, value] of listTypedValues(query)) {
    const text = await resolveValue(value, { ...asking, field: `http.query.${name}` })
    if (text !== undefined) url.searchParams.append(name, text)
  }
  for (const [name, value] of listTypedValues(declared)) {
    const text = await resolveValue(value, { ...asking, field: `http.headers.${name}` })
    if (text !== undefined) headers[name.toLowerCase()] = requireHeaderText(name, text)
  }
  if (!auth) return
  const secret = await resolveValue(auth.type === 'basic' ? auth.password : auth.value, {
    ...asking,
    field: `http.auth.${auth.type === 'basic' ? 'password' : 'value'}`,
  })
  if (secret === undefined) return
  if (auth.type === 'bearer') headers['authorization'] = requireHeaderText('authorization', `Bearer ${secret}`)
  else if (auth.type === 'basic')
    headers['authorization'] = `Basic ${Buffer.from(`${auth.username ?? ''}:${secret}`).toString('base64')}`
  else if (auth.name === undefined) throw createManifestError(`http.auth of type ${auth.type} needs a name.`)
  else if (auth.type === 'header') headers[auth.name.toLowerCase()] = requireHeaderText(auth.name, secret)
  else url.searchParams.set(auth.name, secret)
}

async function send(
  { method, url, headers, body }: ComposedRequest,
  settings: HttpSettings,
  web: WebSettings,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { timeout_secs, max_response_bytes, redirects, retry } = settings
  const deadline = Date.now() + timeout_secs * 1000
  const attempts = method === 'GET' || method === 'HEAD' ? retry.attempts : 0
  for (let attempt = 0; ; attempt++) {
    const left = (deadline - Date.now()) / 1000
    const page = await fetchPage(
      {
        url: url.href,
        method,
        headers: { accept: 'application/json, text/*;q=0.9, */*;q=0.1', ...headers },
        max_bytes: max_response_bytes,
        timeout_secs: Math.max(left, 0.001),
        max_redirects: redirects,
        follow: (to, from) => to.origin === from.origin,
        accepts: () => true,
        ...(body !== undefined && { body }),
      },
      web,
      signal,
    )
    const wait = Number(page.retry_after ?? attempt + 1)
    if (attempt >= attempts || !retry.on.includes(page.status) || !(wait <= MAX_WAIT_SECS) || wait >= left)
      return checkPage(page, settings)
    await pause(wait * 1000, signal)
  }
}

function checkPage(page: FetchedPage, { max_response_bytes, status }: HttpSettings): FetchedPage {
  if (page.location)
    throw createHttpError(
      'VT_HTTP_REDIRECT',
      `${page.url.host} sends the request on to ${page.location.origin}, another origin.`,
    )
  if (page.truncated && matchesStatus(status.ok, page.status))
    throw createHttpError('VT_HTTP_SIZE', `The answer is larger than ${max_response_bytes} bytes.`)
  return page
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}

const HTTP_CODES: Record<string, string> = {
  VT_WEB_BLOCKED: 'VT_HTTP_BLOCKED',
  VT_WEB_REDIRECTS: 'VT_HTTP_REDIRECT',
  VT_WEB_URL: 'VT_HTTP_REDIRECT',
  VT_WEB_TYPE: 'VT_HTTP_TYPE',
  VT_WEB_TOO_LARGE: 'VT_HTTP_SIZE',
  VT_WEB_NETWORK: 'VT_HTTP_NETWORK',
  VT_WEB_HTTP: 'VT_HTTP_STATUS',
}

/** Converts a failure of the fetcher to the codes of HTTP tools. */
function toHttpError(error: unknown, slot: string, { timeout_secs }: HttpSettings): unknown {
  if (!(error instanceof VtError)) return error
  if (error.code === 'VT_WEB_TIMEOUT') return problem('VT_CALL_TIMEOUT', { slot, seconds: timeout_secs })
  const code = HTTP_CODES[error.code]
  return code === undefined ? error : createHttpError(code, error.message, error.problem.details)
}

const createHttpError = (code: string, message: string, details?: JsonObject): VtError =>
  new VtError({ code, message, hint: '', retryable: code === 'VT_HTTP_NETWORK', ...(details && { details }) })
