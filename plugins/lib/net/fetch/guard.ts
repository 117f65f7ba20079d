import dns from 'node:dns'
import { isIP } from 'node:net'
import { brief, webFailure } from './failure.js'
import { hostOf, isMetadata, isPrivateName, isPublic, names, ruleCovers, ruleForbids } from './hosts.js'
import type { WebSettings } from './settings.js'

export interface Address {
  address: string
  family: number
}

/** A URL that may be asked for as far as its text goes. Throws VT_WEB_URL. */
export function readUrl(text: string, base?: string): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined
  if (!url) throw webFailure('VT_WEB_URL', `'${brief(text)}' is not a URL.`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const hint = url.protocol === 'file:' ? 'Read files of the workspace with {slot:unified_file/read}.' : ''
    throw webFailure('VT_WEB_URL', `'${brief(text)}' is not http or https.`, hint ? { hint } : {})
  }
  if (url.username || url.password)
    throw webFailure('VT_WEB_URL', `The URL of ${url.hostname} holds a user name or password.`)
  url.hash = ''
  return url
}

/** Refuses a host by its name, port or the rules of the settings, before anything is looked up. Throws VT_WEB_BLOCKED. */
export function checkHost(url: URL, settings: WebSettings): void {
  const host = hostOf(url)
  if (!settings.enabled) throw blocked(host, 'the settings switch the web off', changeable('web.enabled'))
  if (settings.deny_hosts.some((rule) => names(rule, host)))
    throw blocked(host, 'web.deny_hosts names it', changeable('web.deny_hosts'))
  if (settings.allow_hosts && !settings.allow_hosts.some((rule) => names(rule, host))) {
    throw blocked(host, 'web.allow_hosts does not name it', changeable('web.allow_hosts'))
  }
  if (url.port && !servesWeb(Number(url.port))) {
    throw blocked(
      host,
      `port ${url.port} is not one of web servers`,
      'Ports 80, 443 and those from 1024 on that no other known service uses are asked.',
    )
  }
  if (isPrivateName(host) && !isNamed(host, settings)) throw blocked(host, 'it names this machine or its network')
  if (isIP(host)) checkAddress(host, host, settings)
}

/** The addresses of a host, each of them allowed; a connection goes to one of these and nowhere else. Throws VT_WEB_BLOCKED and what the resolver says. */
export async function addressesOf(host: string, settings: WebSettings): Promise<Address[]> {
  const family = isIP(host)
  const addresses = family ? [{ address: host, family }] : await resolve(host)
  // One private answer among public ones refuses them all: which one is taken would be chance.
  for (const { address } of addresses) checkAddress(host, address, settings)
  return addresses
}

/** Asks `dns.lookup`, found at the time of the call: a program that installs a resolver of its own there is heard, as by Node itself. */
function resolve(host: string): Promise<Address[]> {
  return new Promise((done, refuse) => {
    dns.lookup(host, { all: true, verbatim: true }, (error, addresses) => (error ? refuse(error) : done(addresses)))
  })
}

function checkAddress(host: string, address: string, settings: WebSettings): void {
  if (isMetadata(address))
    throw blocked(
      host,
      `${host === address ? 'the address' : `its address ${address}`} is that of a cloud's metadata, which nothing here may ask`,
    )
  // A name that leads to a denied address is another spelling of it.
  if (settings.deny_hosts.some((rule) => rule !== '*' && ruleForbids(rule, address)))
    throw blocked(host, `web.deny_hosts names its address ${address}`, changeable('web.deny_hosts'))
  if (isPublic(address) || isNamed(host, settings) || settings.private_hosts.some((rule) => ruleCovers(rule, address)))
    return
  throw blocked(host, host === address ? 'the address is not public' : `its address ${address} is not public`)
}

const isNamed = (host: string, { private_hosts }: WebSettings): boolean =>
  private_hosts.some((rule) => names(rule, host))

const blocked = (host: string, why: string, hint?: string) =>
  webFailure('VT_WEB_BLOCKED', `${brief(host)} is refused: ${why}.`, hint === undefined ? {} : { hint })
const changeable = (key: string): string =>
  `Waiting does not help; the user can change ${key} in ~/.vtcode/vtcode.config.yaml.`

// Above the privileged ports anybody may serve pages, but not where databases and remote shells listen.
const otherServices = [
  1433, 1521, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4444, 5432, 5672, 5900, 5985, 5986, 6000, 6379,
  6443, 6667, 9042, 9092, 9200, 9300, 10250, 11211, 27017, 50070,
]
const servesWeb = (port: number): boolean =>
  port === 80 || port === 443 || (port >= 1024 && !otherServices.includes(port))
