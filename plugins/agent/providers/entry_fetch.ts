import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Agent } from 'undici'
import { omitUndefined } from '../../../core/shapes/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { AgentError, toErrorMessage } from '../base/index.js'
import type { ProviderSource } from './entry.js'

type Fetch = typeof globalThis.fetch

/** Longest timeout of Node's fetch in milliseconds; longer ones need a dispatcher. */
const MAX_NODE_TIMEOUT_MS = 300_000
// Bytes of a certificate file: the system's roots have a quarter of a megabyte together.
const MAX_PEM_BYTES = 4 * 1024 * 1024

/**
 * Creates the fetch of an entry: the given fetch, or a fetch with the certificates, proxy and connect timeout of the
 * entry. Verification cannot be disabled, and variables such as HTTPS_PROXY have no effect. Throws VT_CONFIG_INVALID.
 */
export async function createFetch(
  { entry: { name, tls, proxy, timeouts = {} }, from }: ProviderSource,
  base: Fetch,
): Promise<Fetch> {
  const { connect_ms, first_token_ms = 0, idle_ms = 0 } = timeouts
  if (!tls && !proxy && connect_ms === undefined && Math.max(first_token_ms, idle_ms) <= MAX_NODE_TIMEOUT_MS)
    return base
  const undici = await import('undici')
  const createFault = (why: string) =>
    new AgentError('VT_CONFIG_INVALID', `The provider '${name}' cannot be reached as its settings say: ${why}`)
  const readPem = (field: 'ca_file' | 'cert_file' | 'key_file') => {
    const path = tls?.[field]
    if (path === undefined) return undefined
    try {
      return readBytes(path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(dirname(from.file), path), {
        limit: MAX_PEM_BYTES,
      })
    } catch (error) {
      throw createFault(`tls.${field}: ${toErrorMessage(error)}`)
    }
  }
  const [ca, cert, key] = [readPem('ca_file'), readPem('cert_file'), readPem('key_file')]
  const certificates = omitUndefined({ ca, cert, key })
  const connect = { ...certificates, timeout: connect_ms ?? 30_000 }
  const limits: Agent.Options = { headersTimeout: 0, bodyTimeout: 0 }
  try {
    const dispatcher = proxy
      ? new undici.ProxyAgent({
          ...limits,
          uri: proxy,
          proxyTunnel: true,
          connect: { timeout: connect.timeout },
          requestTls: connect,
          proxyTls: connect,
        })
      : new undici.Agent({ ...limits, connect })
    return (url, init) =>
      undici.fetch(url as string, { ...(init as object), dispatcher }) as unknown as ReturnType<Fetch>
  } catch (error) {
    throw createFault(toErrorMessage(error))
  }
}
