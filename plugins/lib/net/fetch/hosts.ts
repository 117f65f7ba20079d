import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns the host in the form that rules compare: lower case, without final dots and without the brackets of an IPv6
 * address.
 */
export const toHost = (url: URL): string =>
  url.hostname
    .toLowerCase()
    .replace(/\.+$/, '')
    .replace(/^\[|\]$/g, '')

/**
 * Checks whether a rule covers a host. `example.org` covers itself, `*.example.org` all names below it, `*` everything.
 * Addresses are compared as addresses, in any spelling.
 */
export function isRuleForHost(rule: string, host: string): boolean {
  const coversSubdomains = rule.startsWith('*.')
  const ruleHost = rule === '*' ? rule : normalizeHost(coversSubdomains ? rule.slice(2) : rule)
  if (ruleHost === '*' || (!coversSubdomains && ruleHost === host)) return true
  if (isIP(host)) return !coversSubdomains && isRuleForAddress(rule, host)
  return coversSubdomains && host.endsWith(`.${ruleHost}`)
}

/** Normalizes the host of a rule as a URL would spell it: an address in dots and colons, a name in ASCII. */
function normalizeHost(rule: string): string {
  const bracketed = isIP(rule) === 6 ? `[${rule}]` : rule
  const text = `http://${bracketed}/`
  return /[/?#@\\\s]/.test(rule) || !URL.canParse(text) ? rule.toLowerCase().replace(/\.+$/, '') : toHost(new URL(text))
}

/**
 * Returns the address that a connection reaches. An IPv6 address that carries an IPv4 address (mapped, NAT64, 6to4,
 * compatible) reaches that IPv4 address; the unspecified address reaches this machine.
 */
function toReachedAddress(address: string): ReturnType<typeof ipaddr.process> {
  const parsed = ipaddr.process(address)
  const bytes = parsed.toByteArray()
  if (bytes.every((byte) => byte === 0)) return ipaddr.parse(parsed.kind() === 'ipv4' ? '127.0.0.1' : '::1')
  if (parsed.kind() === 'ipv4') return parsed
  // `::1` also lies below ::/96.
  const compatible = bytes.slice(0, 12).every((byte) => byte === 0) && bytes[12] !== 0
  const carried = compatible
    ? { at: 12 }
    : carriers.find(({ prefix }) => prefix.every((byte, at) => bytes[at] === byte))
  return carried ? ipaddr.fromByteArray(bytes.slice(carried.at, carried.at + 4)) : parsed
}
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0)
const carriers = [
  { prefix: [0, 0x64, 0xff, 0x9b, ...zeros(8)], at: 12 },
  { prefix: [0x20, 0x02], at: 2 },
  { prefix: [...zeros(8), 0xff, 0xff, 0, 0], at: 12 },
]

// Metadata services of clouds (AWS, Azure, Google, Alibaba, Oracle, Tencent, Scaleway) give out keys and settings. One
// address looks public, and no exemption applies to any.
const metadata = [
  '169.254.169.254',
  '169.254.169.253',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::253',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:42::42',
]
/** Checks whether an address belongs to a metadata service of a cloud. */
export const isMetadata = (address: string): boolean =>
  isIP(address) !== 0 && metadata.some((one) => isRuleAgainstAddress(one, address))

// Names of this machine or network, whatever a resolver returns.
const privateNames = [
  'localhost',
  '*.localhost',
  'local',
  '*.local',
  'internal',
  '*.internal',
  'home.arpa',
  '*.home.arpa',
  '*.test',
]
export const isPrivateName = (host: string): boolean => privateNames.some((rule) => isRuleForHost(rule, host))

/**
 * Checks whether an address is public. Only global unicast is: not loopback, private or shared networks, links,
 * multicast, documentation and reserved ranges, and no form that carries an IPv4 address (mapped, NAT64, 6to4, Teredo).
 */
export function isPublic(address: string): boolean {
  if (!isIP(address)) return false
  const parsed = ipaddr.process(address)
  // Only addresses in 2000::/3 are routed; a table of known ranges may have gaps.
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || (parsed.toByteArray()[0]! & 0xe0) === 0x20)
}

/** Checks whether a rule covers an address, as the address in any spelling or as a network. */
export function isRuleForAddress(rule: string, address: string): boolean {
  if (rule === '*') return true
  const parsed = toReachedAddress(address)
  if (ipaddr.isValidCIDR(rule)) {
    const [network, bits] = ipaddr.parseCIDR(rule)
    return [parsed, ipaddr.process(address)].some((one) => network.kind() === one.kind() && one.match(network, bits))
  }
  const ruleHost = normalizeHost(rule)
  return isIP(ruleHost) !== 0 && toReachedAddress(ruleHost).toNormalizedString() === parsed.toNormalizedString()
}

/**
 * Checks whether a denying rule covers an address, or an IPv4 address reachable through it. Allowing rules use
 * `isRuleForAddress`, because a guess would allow too much.
 */
export const isRuleAgainstAddress = (rule: string, address: string): boolean =>
  [address, ...listEmbeddedIpv4(address)].some((one) => isRuleForAddress(rule, one))

/**
 * Returns the IPv4 addresses that a local translator address (RFC 8215) may carry. Its prefix length is unknown, so all
 * lengths of RFC 6052 count.
 */
function listEmbeddedIpv4(address: string): string[] {
  const bytes = ipaddr.process(address).toByteArray()
  if (bytes.length !== 16 || !ownTranslator.every((byte, at) => bytes[at] === byte)) return []
  return IPV4_POSITIONS.map((places) => places.map((at) => bytes[at]).join('.'))
}
const ownTranslator = [0, 0x64, 0xff, 0x9b, 0, 1]
const IPV4_POSITIONS = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
]
