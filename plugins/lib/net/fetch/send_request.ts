import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { resolveAddresses, type Address } from './guard.js'
import { toHost } from './hosts.js'
import type { WebSettings } from './settings.js'

export interface Hop {
  method: string
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
}
export interface HttpAnswer extends AsyncDisposable {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: AsyncIterable<Buffer> & { destroy(): unknown }
}

/**
 * Sends one request over its own connection. The addresses of the host are resolved and checked when connecting, and
 * the connection uses a checked address, so that a name cannot move to another machine in between. Ignores proxies of
 * the environment.
 */
export async function sendRequest(
  url: URL,
  { method, headers, body, signal }: Hop,
  settings: WebSettings,
): Promise<HttpAnswer> {
  const undici = await import('undici')
  const { dispatcher, target, extra } = settings.proxy
    ? await createProxyRoute(undici, url, settings, settings.proxy)
    : createDirectRoute(undici, url, settings)
  const close = async () => void (await dispatcher.destroy().catch(() => {}))
  try {
    const answer = await undici.request(target, {
      dispatcher,
      method: method as Dispatcher.HttpMethod,
      headers: { ...headers, ...extra },
      signal,
      ...(body !== undefined && { body }),
    })
    // Errors of a cancelled body are ignored.
    answer.body.on('error', () => {})
    return { status: answer.statusCode, headers: answer.headers, body: answer.body, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

type Undici = typeof import('undici')
interface Route {
  dispatcher: Dispatcher
  target: URL
  extra: Record<string, string>
}

// The deadline of the call is the only timer: an idle timeout would accept a slow trickle.
const limits = { headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 32_768 }

function createDirectRoute({ Agent, buildConnector }: Undici, url: URL, settings: WebSettings): Route {
  const connect: ReturnType<typeof buildConnector> = (options, callback) => {
    resolveAddresses(toHost(url), settings).then(
      (addresses) => buildConnector({ lookup: createLookup(addresses), timeout: 0, allowH2: false })(options, callback),
      (error: Error) => callback(error, null),
    )
  }
  return { dispatcher: new Agent({ ...limits, connect }), target: url, extra: {} }
}

/**
 * Routes through the configured proxy. The proxy gets the checked address instead of the name, so it cannot resolve
 * another address.
 */
async function createProxyRoute(
  { ProxyAgent }: Undici,
  url: URL,
  settings: WebSettings,
  proxy: string,
): Promise<Route> {
  const host = toHost(url)
  const [first] = await resolveAddresses(host, settings)
  const target = new URL(url)
  target.hostname = first!.family === 6 ? `[${first!.address}]` : first!.address
  const dispatcher = new ProxyAgent({ ...limits, uri: proxy, proxyTunnel: true, requestTls: { servername: host } })
  return { dispatcher, target, extra: { host: url.host } }
}

const createLookup =
  (addresses: Address[]): LookupFunction =>
  (_host, options, done) => {
    if (options.all) done(null, addresses)
    else done(null, addresses[0]!.address, addresses[0]!.family)
  }
