import { describe, expect, it } from 'vitest'
import {
  comparePaths,
  countCodePoints,
  cut,
  cutAtCodePoint,
  decodeBytes,
  encode,
  excerpt,
  takeFirstByPath,
  sortByPath,
  detectTextForm,
  trimEndChars,
} from '../../../../build/plugins/lib/base/index.js'
import { fc, runs } from '../../../support/property.js'

const text = fc.string({ unit: fc.constantFrom('a', 'é', '技', '😀', ' '), maxLength: 60 })
const points = (text: string): number => Array.from(text).length

describe('excerpt', () => {
  it('contains the requested place within the limit and marks where the line continues', () => {
    fc.assert(
      fc.property(text.filter(Boolean), fc.nat({ max: 59 }), fc.integer({ min: 10, max: 70 }), (line, at, limit) => {
        const chars = Array.from(line)
        const index = at % chars.length
        const offset = Buffer.byteLength(chars.slice(0, index).join(''))
        const { text, cut } = excerpt(Buffer.from(line), offset, limit, { front: false, back: false })
        expect(points(text)).toBeLessThanOrEqual(limit)
        expect(cut).toBe(chars.length > limit)
        const shown = text.replace(/^…/, '').replace(/…$/, '')
        expect(line).toContain(shown)
        // The shown text begins after the omitted front and covers the place.
        const before = text.startsWith('…') ? index - Math.floor(limit / 5) : 0
        expect(chars.slice(before, before + points(shown)).join('')).toBe(shown)
        expect(before <= index && index < before + points(shown)).toBe(true)
        expect(text.endsWith('…')).toBe(before + points(shown) < chars.length)
      }),
      { numRuns: runs(500) },
    )
  })
  it('keeps characters whole when bytes come from the middle of a line', () => {
    fc.assert(
      fc.property(text, fc.nat({ max: 100 }), fc.nat({ max: 100 }), (line, from, length) => {
        const bytes = Buffer.from(line).subarray(from, from + length)
        fc.pre(bytes.length > 4)
        expect(excerpt(bytes, Math.floor(bytes.length / 2), 200, { front: true, back: true }).text).not.toContain(
          '\ufffd',
        )
      }),
    )
  })
  it('counts code points, not units or bytes', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 70 }), (line, limit) => {
        const short = cut(line, limit)
        expect(countCodePoints(Buffer.from(line))).toBe(points(line))
        expect(short).toEqual(
          points(line) <= limit
            ? { text: line, cut: false }
            : {
                text: `${Array.from(line)
                  .slice(0, limit - 1)
                  .join('')}…`,
                cut: true,
              },
        )
      }),
    )
  })
})

describe('text encoding', () => {
  const encoding = fc.constantFrom('utf-8' as const, 'utf-16le' as const, 'utf-16be' as const)

  it('decodes bytes to the written text and reports bytes that are no text', () => {
    fc.assert(
      fc.property(text, encoding, fc.uint8Array({ maxLength: 12 }), (said, encoding, noise) => {
        expect(decodeBytes(encode(said, encoding), encoding)).toEqual({ text: said, lossy: false })
        const { text, lossy } = decodeBytes(Buffer.from(noise), encoding)
        expect(encode(text, encoding).equals(Buffer.from(noise))).toBe(!lossy)
      }),
      { numRuns: runs(500) },
    )
    const form = (...bytes: number[]) => detectTextForm(Buffer.from(bytes))
    expect([form(0xff, 0xfe, 0x61, 0), form(0xfe, 0xff, 0, 0x61), form(0xef, 0xbb, 0xbf), form(0x61, 0)]).toEqual([
      { encoding: 'utf-16le', bom: 2, binary: false },
      { encoding: 'utf-16be', bom: 2, binary: false },
      { encoding: 'utf-8', bom: 3, binary: false },
      { encoding: 'utf-8', bom: 0, binary: true },
    ])
  })
  it('cuts between characters as late as possible, so that pages add up to the whole', () => {
    fc.assert(
      fc.property(text.filter(Boolean), encoding, fc.integer({ min: 4, max: 20 }), (said, encoding, length) => {
        const pages: Buffer[] = []
        for (let rest = encode(said, encoding); rest.length > 0; rest = rest.subarray(pages.at(-1)!.length)) {
          const page = cutAtCodePoint(rest, length, encoding)
          expect(page.length).toBeLessThanOrEqual(length)
          expect(page.length).toBeGreaterThan(Math.min(rest.length, length) - 4)
          pages.push(page)
        }
        expect(pages.map((page) => decodeBytes(page, encoding)).every(({ lossy }) => !lossy)).toBe(true)
        expect(pages.map((page) => decodeBytes(page, encoding).text).join('')).toBe(said)
      }),
    )
  })
})

describe('path order', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b', 'a b', 'a-b', 'A', 'a.b', 'é', '!'), { minLength: 1, maxLength: 4 })
    .map((names) => names.join('/'))
  const bySegment = (a: string, b: string): number => {
    const [one, other] = [a.split('/'), b.split('/')]
    const at = one.findIndex((name, index) => name !== other[index])
    if (at < 0) return one.length - other.length
    return other[at] === undefined ? 1 : one[at]! < other[at] ? -1 : 1
  }

  it('sorts paths by segment in every implementation', () => {
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 40 }), fc.integer({ min: 1, max: 8 }), (paths, wanted) => {
        // A file has nothing inside it.
        const files = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`)))
        const sorted = [...files].sort(bySegment)
        expect([...files].sort(comparePaths)).toEqual(sorted)
        expect(sortByPath(files, (path) => path)).toEqual(sorted)
        expect(takeFirstByPath(files, (path) => path, wanted).slice(0, wanted)).toEqual(sorted.slice(0, wanted))
      }),
      { numRuns: runs(500) },
    )
  })
})

it('removes characters from the end of a text only', () => {
  expect(trimEndChars('a \t b \t ', ' \t')).toBe('a \t b')
  expect(trimEndChars('a\r\n\n', '\n')).toBe('a\r')
  expect(trimEndChars('   ', ' ')).toBe('')
  expect(trimEndChars('', ' ')).toBe('')
  // A regular expression would take half a minute.
  expect(trimEndChars(`${' '.repeat(1_000_000)}x`, ' ')).toHaveLength(1_000_001)
})
