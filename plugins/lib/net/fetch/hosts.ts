import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A host as rules compare it: lower case, without final dots and without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string =>
  url.hostname
    .toLowerCase()
    .replace(/\.+$/, '')
    .replace(/^\[|\]$/g, '')

/** Does a rule name this host? Whole labels: `example.org` is itself, `*.example.org` what lies below it, `*` everything. An address is compared as an address, however either is spelt. */
export function names(rule: string, host: string): boolean {
  const below = rule.startsWith('*.')
  const wanted = rule === '*' ? rule : plainHost(below ? rule.slice(2) : rule)
  if (wanted === '*' || (!below && wanted === host)) return true
  if (isIP(host)) return !below && ruleCovers(rule, host)
  return below && host.endsWith(`.${wanted}`)
}

/** The host of a rule as a URL would spell it: an address in dots and colons, a name in ASCII. */
function plainHost(rule: string): string {
  const bracketed = isIP(rule) === 6 ? `[${rule}]` : rule
  const text = `http://${bracketed}/`
  return /[/?#@\\\s]/.test(rule) || !URL.canParse(text) ? rule.toLowerCase().replace(/\.+$/, '') : hostOf(new URL(text))
}

/** An address as it is reached: one of IPv4 that an IPv6 address carries (mapped, NAT64, 6to4, compatible) is that address, and where none is named, the machine itself answers. */
function reached(address: string): ReturnType<typeof ipaddr.process> {
  const parsed = ipaddr.process(address)
  const bytes = parsed.toByteArray()
  if (bytes.every((byte) => byte === 0)) return ipaddr.parse(parsed.kind() === 'ipv4' ? '127.0.0.1' : '::1')
  if (parsed.kind() === 'ipv4') return parsed
  // Below ::/96 lies also this machine, `::1`.
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

// Where clouds hand their machines keys and settings (AWS, Azure, Google, Alibaba, Oracle, Tencent, Scaleway). One of them looks public, and no exemption is meant for any.
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
/** Does a cloud answer here with what it knows of the machine? */
export const isMetadata = (address: string): boolean =>
  isIP(address) !== 0 && metadata.some((one) => ruleForbids(one, address))

// Names that mean this machine or this network, whatever a resolver says.
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

/** Does a rule name this address, as itself in any spelling or as a network? */
export function ruleCovers(rule: string, address: string): boolean {
  if (rule === '*') return true
  const parsed = reached(address)
  if (ipaddr.isValidCIDR(rule)) {
    const [network, bits] = ipaddr.parseCIDR(rule)
    return [parsed, ipaddr.process(address)].some((one) => network.kind() === one.kind() && one.match(network, bits))
  }
  const named = plainHost(rule)
  return isIP(named) !== 0 && reached(named).toNormalizedString() === parsed.toNormalizedString()
}

/** Does a rule that denies name this address, or one of IPv4 that the network may reach behind it? What is allowed goes by `ruleCovers`: there a guess would open. */
export const ruleForbids = (rule: string, address: string): boolean =>
  [address, ...mayBeCarried(address)].some((one) => ruleCovers(rule, one))

/** The addresses of IPv4 that one of a translator of the own network (RFC 8215) may stand for: how long its prefix is nobody says, so all that RFC 6052 knows count. */
function mayBeCarried(address: string): string[] {
  const bytes = ipaddr.process(address).toByteArray()
  if (bytes.length !== 16 || !ownTranslator.every((byte, at) => bytes[at] === byte)) return []
  return placesOfIpv4.map((places) => places.map((at) => bytes[at]).join('.'))
}
const ownTranslator = [0, 0x64, 0xff, 0x9b, 0, 1]
const placesOfIpv4 = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
]
