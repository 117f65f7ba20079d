import dns from 'node:dns'
import { isIP } from 'node:net'
import { shortenUrl, webFailure } from './failure.js'
import {
  toHost,
  isMetadata,
  isPrivateName,
  isPublic,
  isRuleForHost,
  isRuleForAddress,
  isRuleAgainstAddress,
} from './hosts.js'
import type { WebSettings } from './settings.js'

export interface Address {
  address: string
  family: number
}

/** Parses a URL and checks its text. Throws VT_WEB_URL. */
export function readUrl(text: string, base?: string): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined
  if (!url) throw webFailure('VT_WEB_URL', `'${shortenUrl(text)}' is not a URL.`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const hint = url.protocol === 'file:' ? 'Read files of the workspace with {slot:unified_file/read}.' : ''
    throw webFailure('VT_WEB_URL', `'${shortenUrl(text)}' is not http or https.`, hint ? { hint } : {})
  }
  if (url.username || url.password)
    throw webFailure('VT_WEB_URL', `The URL of ${url.hostname} contains a user name or password.`)
  url.hash = ''
  return url
}

/** Refuses a host by name, port or settings, before any lookup. Throws VT_WEB_BLOCKED. */
export function checkHost(url: URL, settings: WebSettings): void {
  const host = toHost(url)
  if (!settings.enabled) throw createBlockedError(host, 'the settings disable web access', adviseSetting('web.enabled'))
  if (settings.deny_hosts.some((rule) => isRuleForHost(rule, host)))
    throw createBlockedError(host, 'web.deny_hosts names it', adviseSetting('web.deny_hosts'))
  if (settings.allow_hosts && !settings.allow_hosts.some((rule) => isRuleForHost(rule, host))) {
    throw createBlockedError(host, 'web.allow_hosts does not name it', adviseSetting('web.allow_hosts'))
  }
  if (url.port && !isWebPort(Number(url.port))) {
    throw createBlockedError(
      host,
      `port ${url.port} is not a web port`,
      'Use port 80, 443, or one from 1024 on that no other known service uses.',
    )
  }
  if (isPrivateName(host) && !isNamed(host, settings))
    throw createBlockedError(host, 'the name belongs to this machine or its network')
  if (isIP(host)) checkAddress(host, host, settings)
}

/**
 * Resolves the addresses of a host and checks each. Connections use only these addresses. Throws VT_WEB_BLOCKED and
 * errors of the resolver.
 */
export async function resolveAddresses(host: string, settings: WebSettings): Promise<Address[]> {
  const family = isIP(host)
  const addresses = family ? [{ address: host, family }] : await lookUp(host)
  // One private address refuses all of them, because the choice among them is random.
  for (const { address } of addresses) checkAddress(host, address, settings)
  return addresses
}

/** Checks a URL that another program opens. Returns the addresses of its host. Throws as the parts of the check do. */
export async function checkUrl(text: string, settings: WebSettings): Promise<Address[]> {
  const url = readUrl(text)
  checkHost(url, settings)
  return resolveAddresses(toHost(url), settings)
}

/** Calls the current `dns.lookup`, so that a program can install its own resolver as with Node itself. */
function lookUp(host: string): Promise<Address[]> {
  return new Promise((done, refuse) => {
    dns.lookup(host, { all: true, verbatim: true }, (error, addresses) => (error ? refuse(error) : done(addresses)))
  })
}

function checkAddress(host: string, address: string, settings: WebSettings): void {
  if (isMetadata(address))
    throw createBlockedError(
      host,
      `${host === address ? 'the address' : `its address ${address}`} belongs to a metadata service of a cloud`,
    )
  // A name that resolves to a denied address is another spelling of it.
  if (settings.deny_hosts.some((rule) => rule !== '*' && isRuleAgainstAddress(rule, address)))
    throw createBlockedError(host, `web.deny_hosts names its address ${address}`, adviseSetting('web.deny_hosts'))
  if (
    isPublic(address) ||
    isNamed(host, settings) ||
    settings.private_hosts.some((rule) => isRuleForAddress(rule, address))
  )
    return
  throw createBlockedError(
    host,
    host === address ? 'the address is not public' : `its address ${address} is not public`,
  )
}

const isNamed = (host: string, { private_hosts }: WebSettings): boolean =>
  private_hosts.some((rule) => isRuleForHost(rule, host))

const createBlockedError = (host: string, why: string, hint?: string) =>
  webFailure('VT_WEB_BLOCKED', `${shortenUrl(host)} is refused: ${why}.`, hint === undefined ? {} : { hint })
const adviseSetting = (key: string): string =>
  `Waiting does not help; the user can change ${key} in ~/.vtcode/vtcode.config.yaml.`

// Any port above the privileged ones may serve pages, except those of databases and remote shells.
const otherServices = [
  1433, 1521, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4444, 5432, 5672, 5900, 5985, 5986, 6000, 6379,
  6443, 6667, 9042, 9092, 9200, 9300, 10250, 11211, 27017, 50070,
]
const isWebPort = (port: number): boolean =>
  port === 80 || port === 443 || (port >= 1024 && !otherServices.includes(port))
