import { describe, expect, it } from 'vitest'
import {
  resolveAddresses,
  checkHost,
  decodeEntities,
  decodeText,
  toHost,
  readUrl,
} from '../../../../build/plugins/lib/net/index.js'
import { fc, runs } from '../../../support/property.js'

type WebSettings = Parameters<typeof checkHost>[1]
const settings = (more: Partial<WebSettings> = {}) =>
  ({ enabled: true, deny_hosts: [], private_hosts: [], ...more }) as unknown as WebSettings
/** Returns whether a URL is refused before a request, or its address at the connection. */
const refused = (url: string, more?: Partial<WebSettings>): boolean => {
  try {
    checkHost(readUrl(url), settings(more))
    return false
  } catch (error) {
    expect(error).toMatchObject({ name: expect.stringContaining('VT_WEB_') })
    return true
  }
}
const octet = fc.nat({ max: 255 })
const dotted = (...parts: fc.Arbitrary<number>[]) => fc.tuple(...parts).map((bytes) => bytes.join('.'))
const is = (value: number) => fc.constant(value)
/** Cloud metadata addresses, which no setting opens; another test covers them. */
const ofClouds = [
  '169.254.169.254',
  '169.254.169.253',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '100.100.100.200',
]
const inside = fc
  .oneof(
    dotted(is(127), octet, octet, octet),
    dotted(is(10), octet, octet, octet),
    dotted(is(172), fc.integer({ min: 16, max: 31 }), octet, octet),
    dotted(is(192), is(168), octet, octet),
    dotted(is(169), is(254), octet, octet),
    dotted(is(100), fc.integer({ min: 64, max: 127 }), octet, octet),
    dotted(is(0), octet, octet, octet),
    dotted(fc.integer({ min: 224, max: 255 }), octet, octet, octet),
  )
  .filter((address) => !ofClouds.includes(address))
const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
const hex = (address: string) =>
  [0, 2]
    .map((at) =>
      address
        .split('.')
        .slice(at, at + 2)
        .map((part) => Number(part).toString(16).padStart(2, '0'))
        .join(''),
    )
    .join(':')
/** Lists the spellings of an address in a URL, also inside an IPv6 address. */
const spellings = (address: string) => [
  address,
  `${address}.`,
  String(numberOf(address)),
  `0x${numberOf(address).toString(16)}`,
  `0${numberOf(address).toString(8)}`,
  address
    .split('.')
    .map((part) => `0x${Number(part).toString(16)}`)
    .join('.'),
  `[::ffff:${address}]`,
  `[::ffff:${hex(address)}]`,
  `[64:ff9b::${hex(address)}]`,
  `[2002:${hex(address)}::1]`,
  `[::${hex(address)}]`,
]

describe('private addresses', () => {
  it('refuses a private address in every spelling and form unless the settings name it', async () => {
    await fc.assert(
      fc.asyncProperty(inside, async (address) => {
        for (const host of spellings(address)) expect([host, refused(`http://${host}/`)]).toEqual([host, true])
        for (const rule of [address, `${address}/32`, `${address}/8`, '*'])
          expect([rule, refused(`http://${address}/`, { private_hosts: [rule] })]).toEqual([rule, false])
        // The rule does not match the neighbour.
        const other = address.replace(/\d+$/, (last) => String(Number(last) ^ 1))
        expect(refused(`http://${address}/`, { private_hosts: [other, `${other}/32`, `[${address}]`, '::/0'] })).toBe(
          true,
        )
        await expect(resolveAddresses(address, settings())).rejects.toMatchObject({ name: 'VT_WEB_BLOCKED' })
      }),
      { numRuns: runs(200) },
    )
    for (const host of [
      '[::1]',
      '[fe80::1]',
      '[fc00::1]',
      '[ff02::1]',
      '[2001:db8::1]',
      '[4000::1]',
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      'printer.local',
      'x.home.arpa',
    ]) {
      expect([host, refused(`http://${host}/`)]).toEqual([host, true])
    }
    for (const host of ['8.8.8.8', '[2606:4700::1111]', 'localhost.example.org', 'local.example.org'])
      expect([host, refused(`http://${host}/`)]).toEqual([host, false])
  })
})

describe('host rules', () => {
  it('matches whole labels, so that a longer or shorter name differs', () => {
    const label = fc.stringMatching(/^[a-z]{1,4}$/)
    fc.assert(
      fc.property(label, label, label, (a, b, c) => {
        const denied = (rule: string, host: string) => refused(`https://${host}/`, { deny_hosts: [rule] })
        const site = `${b}.${c}x`
        expect([site, `${site}.`, site.toUpperCase()].map((host) => denied(site.toUpperCase(), host))).toEqual([
          true,
          true,
          true,
        ])
        expect([`${a}.${site}`, `${a}${site}`, `${c}x`].map((host) => denied(site, host))).toEqual([
          false,
          false,
          false,
        ])
        expect([`${a}.${site}`, `${a}.${a}.${site}`].map((host) => denied(`*.${site}`, host))).toEqual([true, true])
        expect([site, `${a}${site}`, `${site}.${a}`].map((host) => denied(`*.${site}`, host))).toEqual([
          false,
          false,
          false,
        ])
        // Denials stay, whatever is allowed.
        expect(refused(`https://${site}/`, { allow_hosts: ['*'], deny_hosts: [site] })).toBe(true)
        expect(refused(`https://${site}/`, { allow_hosts: [`*.${site}`] })).toBe(true)
      }),
    )
    expect(toHost(new URL('http://[2606:4700::1111]:8080/'))).toBe('2606:4700::1111')
  })
  it('denies an address in every spelling and for every name', async () => {
    const address = fc
      .tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 1, max: 254 })))
      .map((bytes) => bytes.join('.'))
    fc.assert(
      fc.property(address, fc.nat({ max: 10 }), fc.nat({ max: 10 }), (one, rule, host) => {
        const all = spellings(one)
        const said = all[rule]!.replace(/^\[|\]$/g, '')
        // An exemption for private addresses lifts no denial.
        for (const more of [{}, { private_hosts: ['*'] }])
          expect([said, all[host], refused(`http://${all[host]}/`, { deny_hosts: [said], ...more })]).toEqual([
            said,
            all[host],
            true,
          ])
        expect(refused(`http://${all[host]}/`, { deny_hosts: [`${one}/24`], private_hosts: ['*'] })).toBe(true)
      }),
      { numRuns: runs(300) },
    )
    for (const host of ['denied.example..', 'DENIED.example.', 'denied.example'])
      expect([host, refused(`http://${host}/`, { deny_hosts: ['denied.example'] })]).toEqual([host, true])
    expect(refused('http://xn--exmple-cua.org/', { deny_hosts: ['exämple.org'] })).toBe(true)
    expect(refused('http://8.8.8.8/', { deny_hosts: ['8.8.8.9', '9.9.9.0/24', '2001:db8::/32'] })).toBe(false)
    await expect(
      resolveAddresses('localhost', settings({ deny_hosts: ['127.0.0.0/8', '::1'], private_hosts: ['*'] })),
    ).rejects.toMatchObject({ name: 'VT_WEB_BLOCKED' })
  })
  it('denies an address translated by NAT64 of the local network, whatever its prefix length', () => {
    const forms = [
      '[64:ff9b:1:a00:0:500::]',
      '[64:ff9b:1:a:0:5::]',
      '[64:ff9b:1::a:0:500:0]',
      '[64:ff9b:1::a00:5]',
      '[64:ff9b:1:ffff::a00:5]',
    ]
    for (const host of forms)
      for (const rule of ['10.0.0.5', '10.0.0.0/24', '64:ff9b:1::/48'])
        expect([host, rule, refused(`http://${host}/`, { deny_hosts: [rule], private_hosts: ['*'] })]).toEqual([
          host,
          rule,
          true,
        ])
    for (const host of ['[64:ff9b:1::a9fe:a9fe]', '[64:ff9b:1:a9fe:a9:fe00::]'])
      expect([host, refused(`http://${host}/`, { private_hosts: ['*'] })]).toEqual([host, true])
    // The rule opens nothing here: 10.0.0.5 may be another machine in the translated network.
    expect(forms.map((host) => refused(`http://${host}/`, { private_hosts: ['10.0.0.5'] }))).toEqual(
      forms.map(() => true),
    )
    expect(refused('http://[64:ff9b:1::a00:6]/', { deny_hosts: ['10.0.0.5'], private_hosts: ['*'] })).toBe(false)
  })
  it('denies this machine for unspecified addresses too', () => {
    const denied = (rule: string) => (host: string) =>
      refused(`http://${host}:8080/`, { deny_hosts: [rule], private_hosts: ['*'] })
    for (const host of ['0.0.0.0', '0', '0x0', '000.0', '0.0.0.0.', '[::ffff:0.0.0.0]', '[::ffff:0:0]'])
      for (const rule of ['127.0.0.1', '127.0.0.0/8', '0.0.0.0'])
        expect([host, rule, denied(rule)(host)]).toEqual([host, rule, true])
    for (const host of ['[::]', '[0:0::0]', '[::0.0.0.0]'])
      for (const rule of ['::1', '::', '::/127']) expect([host, rule, denied(rule)(host)]).toEqual([host, rule, true])
    expect(['127.0.0.1', '[::1]', '[::]'].map(denied('10.0.0.0/8'))).toEqual([false, false, false])
  })
  it('opens no cloud metadata address', async () => {
    const clouds = [
      '169.254.169.254',
      '169.254.170.2',
      '168.63.129.16',
      '100.100.100.200',
      '192.0.0.192',
      '[fd00:ec2::254]',
      '[fd20:ce::254]',
    ]
    for (const host of clouds.flatMap((one) => (one.startsWith('[') ? [one] : spellings(one)))) {
      for (const private_hosts of [[], ['*'], [host.replace(/^\[|\]$/g, '')], ['168.0.0.0/8', '169.254.0.0/16']])
        expect([host, refused(`http://${host}/`, { private_hosts })]).toEqual([host, true])
      await expect(
        resolveAddresses(host.replace(/^\[|\]$/g, ''), settings({ private_hosts: ['*'] })),
      ).rejects.toBeDefined()
    }
    expect(refused('http://168.63.129.17/')).toBe(false)
  })
  it('allows ports of web servers only', () => {
    expect([80, 443, 8080, 3000].map((port) => refused(`https://example.org:${port}/`))).toEqual([
      false,
      false,
      false,
      false,
    ])
    expect([22, 25, 1, 3306, 6379, 27017].map((port) => refused(`https://example.org:${port}/`))).toEqual([
      true,
      true,
      true,
      true,
      true,
      true,
    ])
  })
})

describe('page decoding', () => {
  it('decodes a page by byte order mark, header or the document itself', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', 'ß', ' ', '<', '\n'), maxLength: 40 })
    fc.assert(
      fc.property(text, (said) => {
        const utf16 = Buffer.from(said, 'utf16le')
        const swapped = Buffer.from(utf16).swap16()
        const html = (charset: string) => `<meta charset="${charset}">${said}`
        expect(
          decodeText(Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]), { type: 'text/html', charset: 'windows-1252' }),
        ).toBe(said)
        expect(decodeText(Buffer.concat([Buffer.from([0xfe, 0xff]), swapped]), { type: 'text/plain' })).toBe(said)
        expect(decodeText(Buffer.from(said, 'latin1'), { type: 'text/plain', charset: 'iso-8859-1' })).toBe(said)
        expect(decodeText(Buffer.from(html('latin1'), 'latin1'), { type: 'text/html' })).toBe(html('latin1'))
        expect(decodeText(Buffer.from(said), { type: 'text/plain', charset: 'no-such-charset' })).toBe(said)
        // A charset in a text without markup is part of the text.
        expect(decodeText(Buffer.from(html('utf-16')), { type: 'text/plain' })).toBe(html('utf-16'))
      }),
    )
  })
  it('keeps every whole character when the page is cut within one', () => {
    const bytes = Buffer.from('aé😀')
    for (let end = 0; end <= bytes.length; end++)
      expect('aé😀'.startsWith(decodeText(bytes.subarray(0, end), { type: 'text/plain' }))).toBe(true)
  })
})

it('decodes character references once and never to half a character', () => {
  const written = (text: string) =>
    Array.from(text, (char, index) =>
      index % 2 ? `&#x${char.codePointAt(0)!.toString(16)};` : `&#${char.codePointAt(0)};`,
    ).join('')
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '&', '<', ';', '#', 'é', '😀') }), (text) => {
      expect(decodeEntities(written(text))).toBe(text)
    }),
  )
  expect(decodeEntities('&amp;lt; &#0; &#xD800; &#1114112; &nothing; &constructor; &lt')).toBe(
    '&lt; \ufffd \ufffd \ufffd &nothing; &constructor; &lt',
  )
})
