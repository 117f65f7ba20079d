import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A host as rules compare it: lower case, without the final dot and without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.toLowerCase().replace(/\.$/, '').replace(/^\[|\]$/g, '')

/** Does a rule name this host? Whole labels: `example.org` is itself, `*.example.org` what lies below it, `*` everything. */
export function names(rule: string, host: string): boolean {
  const wanted = rule.toLowerCase().replace(/\.$/, '')
  return wanted === '*' || wanted === host || (!isIP(host) && wanted.startsWith('*.') && host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1)
}

// Names that mean this machine or this network, whatever a resolver says.
const privateNames = ['localhost', '*.localhost', 'local', '*.local', 'internal', '*.internal', 'home.arpa', '*.home.arpa', '*.test']
export const isPrivateName = (host: string): boolean => privateNames.some((rule) => names(rule, host))

/**
 * Is this address one of the public internet? Only global unicast is: not loopback, private or shared networks, links, multicast,
 * documentation and reserved ranges, and none of the forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo).
 */
export function isPublic(address: string): boolean {
  if (!isIP(address)) return false
  const parsed = ipaddr.process(address)
  // Outside 2000::/3 nothing is routed, whatever a table of known ranges has forgotten.
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || (parsed.toByteArray()[0]! & 0xe0) === 0x20)
}

/** Does a rule of `private_hosts` name this address, as itself or as a network? */
export function ruleCovers(rule: string, address: string): boolean {
  if (rule === '*') return true
  const parsed = ipaddr.process(address)
  if (ipaddr.isValidCIDR(rule)) {
    const [network, bits] = ipaddr.parseCIDR(rule)
    return network.kind() === parsed.kind() && parsed.match(network, bits)
  }
  return ipaddr.isValid(rule) && ipaddr.process(rule).toNormalizedString() === parsed.toNormalizedString()
}
