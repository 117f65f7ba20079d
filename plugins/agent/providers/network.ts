import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Agent } from 'undici'
import { definedOnly } from '../../../core/shapes/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { AgentError, messageOf } from '../base/index.js'
import type { ProviderSource } from './entry.js'

type Fetch = typeof globalThis.fetch

/** The limits of Node's own fetch; a longer wait needs connections of our own. */
const longestOfNode = 300_000
// Of certificates: those that a system trusts are a quarter of a megabyte together.
const mostBytes = 4 * 1024 * 1024

/**
 * What reaches the server of an entry: the fetch that is given, or one with the certificates, the proxy and the time to connect that the
 * entry says. Verification cannot be switched off, and variables such as HTTPS_PROXY say nothing here. Throws VT_CONFIG_INVALID.
 */
export async function networkOf(
  { entry: { name, tls, proxy, timeouts = {} }, from }: ProviderSource,
  base: Fetch,
): Promise<Fetch> {
  const { connect_ms, first_token_ms = 0, idle_ms = 0 } = timeouts
  if (!tls && !proxy && connect_ms === undefined && Math.max(first_token_ms, idle_ms) <= longestOfNode) return base
  const undici = await import('undici')
  const refused = (why: string) =>
    new AgentError('VT_CONFIG_INVALID', `The provider '${name}' cannot be reached as its settings say: ${why}`)
  const pem = (field: 'ca_file' | 'cert_file' | 'key_file') => {
    const path = tls?.[field]
    if (path === undefined) return undefined
    try {
      return readBytes(path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(dirname(from.file), path), {
        limit: mostBytes,
      })
    } catch (error) {
      throw refused(`tls.${field}: ${messageOf(error)}`)
    }
  }
  const [ca, cert, key] = [pem('ca_file'), pem('cert_file'), pem('key_file')]
  const certificates = definedOnly({ ca, cert, key })
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
    throw refused(messageOf(error))
  }
}
