import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { addressesOf, type Address } from './guard.js'
import { hostOf } from './hosts.js'
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
 * One request over a connection of its own. The addresses of the host are looked up and checked where the connection is made, and it goes
 * to what was checked, so that a name cannot mean another machine a moment later. Proxies of the environment are not looked at.
 */
export async function sendRequest(
  url: URL,
  { method, headers, body, signal }: Hop,
  settings: WebSettings,
): Promise<HttpAnswer> {
  const undici = await import('undici')
  const { dispatcher, target, extra } = settings.proxy
    ? await throughProxy(undici, url, settings, settings.proxy)
    : direct(undici, url, settings)
  const close = async () => void (await dispatcher.destroy().catch(() => {}))
  try {
    const answer = await undici.request(target, {
      dispatcher,
      method: method as Dispatcher.HttpMethod,
      headers: { ...headers, ...extra },
      signal,
      ...(body !== undefined && { body }),
    })
    // What the body says after it was given up is nobody's concern.
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

// The deadline of the call is the only clock: one for idle times would let a slow trickle through.
const limits = { headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 32_768 }

function direct({ Agent, buildConnector }: Undici, url: URL, settings: WebSettings): Route {
  const connect: ReturnType<typeof buildConnector> = (options, callback) => {
    addressesOf(hostOf(url), settings).then(
      (addresses) => buildConnector({ lookup: pinned(addresses), timeout: 0, allowH2: false })(options, callback),
      (error: Error) => callback(error, null),
    )
  }
  return { dispatcher: new Agent({ ...limits, connect }), target: url, extra: {} }
}

/** A proxy that the user configured is told the checked address, not the name: it cannot be made to look up another. */
async function throughProxy({ ProxyAgent }: Undici, url: URL, settings: WebSettings, proxy: string): Promise<Route> {
  const host = hostOf(url)
  const [first] = await addressesOf(host, settings)
  const target = new URL(url)
  target.hostname = first!.family === 6 ? `[${first!.address}]` : first!.address
  const dispatcher = new ProxyAgent({ ...limits, uri: proxy, proxyTunnel: true, requestTls: { servername: host } })
  return { dispatcher, target, extra: { host: url.host } }
}

const pinned =
  (addresses: Address[]): LookupFunction =>
  (_host, options, done) => {
    if (options.all) done(null, addresses)
    else done(null, addresses[0]!.address, addresses[0]!.family)
  }
