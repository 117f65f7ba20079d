import { describe, expect, it } from 'vitest'
import { GrowingText, registerSecret, redactText, findSafeEnd } from '../../../build/core/text/index.js'
import { fc, runs } from '../../support/property.js'

const a = (count: number) => 'aB3'.repeat(count).slice(0, count)
const whole = [
  `ghp_${a(36)}`,
  `github_pat_${a(30)}`,
  `glpat-${a(20)}`,
  `sk-${a(24)}`,
  `sk-${'lower-case-only-'.repeat(3)}`,
  `xoxb-${a(12)}`,
  `AIza${a(35)}`,
  `sk_live_${a(20)}`,
  `npm_${a(36)}`,
  `eyJ${a(12)}.eyJ${a(12)}.${a(12)}`,
  'AKIAABCDEFGHIJKLMNOP',
  '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----',
  '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----',
]
const values = ['hunter2 and more', 'hunter', 'e 😀 secret', 'ghp_short of it', 'more\nlines']
values.forEach((value, index) => registerSecret(value, `VALUE_${index}`))

const noise = [
  's',
  'k',
  '-',
  '--',
  '-----',
  '_',
  '.',
  ' ',
  '\n',
  'a',
  'eyJ',
  'task-',
  'hunt',
  '😀',
  '\ud83d',
  'BEGIN ',
  'PRIVATE KEY-----',
  'more',
  'A',
  '3',
  '"',
  '\\n',
]
const piece = fc.oneof(
  fc.constantFrom(...noise),
  fc.constantFrom(...whole, ...values),
  fc.constantFrom(...whole, ...values).chain((secret) => fc.nat(secret.length).map((at) => secret.slice(0, at))),
  fc.constantFrom(...whole, ...values).chain((secret) => fc.nat(secret.length).map((at) => secret.slice(at))),
)
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
const cutAt = (said: string, places: number[]): string[] => {
  const borders = [
    0,
    ...places.map((place) => place % (said.length + 1)).sort((one, other) => one - other),
    said.length,
  ]
  return borders.slice(1).map((to, index) => said.slice(borders[index], to))
}

describe('GrowingText', () => {
  it('redacts a growing text as the whole text, wherever it is cut, and never takes text back', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 12 }), (said, places) => {
        const growing = new GrowingText()
        const clean = redactText(said)
        let told = ''
        for (const part of cutAt(said, places)) {
          growing.add(part)
          const more = growing.take()
          told += more
          expect(
            /[\ud800-\udbff]$/.test(more) && /^[\udc00-\udfff]/.test(clean.slice(told.length)),
            'half of a character',
          ).toBe(false)
          expect(clean.startsWith(told), `${JSON.stringify(told)} is the beginning of ${JSON.stringify(clean)}`).toBe(
            true,
          )
        }
        expect(told + growing.take(true)).toBe(clean)
      }),
      { numRuns: runs(3000) },
    )
  })

  it('redacts text in JSON as the text that it encodes', () => {
    const meant = fc
      .array(
        fc.oneof(
          fc.constantFrom(
            ...whole.slice(0, -1),
            '-----BEGIN PRIVATE KEY-----',
            ...noise,
            '"',
            '\\',
            'n',
            'u0041',
            '\u0001',
            '\t',
          ),
        ),
        { maxLength: 12 },
      )
      .map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(meant, fc.array(fc.nat(), { maxLength: 12 }), (said, places) => {
        const growing = new GrowingText(true)
        let told = ''
        for (const part of cutAt(JSON.stringify({ said }), places)) {
          growing.add(part)
          told += growing.take()
        }
        expect(JSON.parse(told + growing.take(true))).toEqual({ said: redactText(said) })
      }),
      { numRuns: runs(3000) },
    )
  })

  it('passes on at once what cannot be part of a secret', () => {
    for (const said of ['The word ', 'a task', 'task-forcin', 'ask-a', 'one - two', '😀', 'Is this it?', 'skin'])
      expect([said, findSafeEnd(said)]).toEqual([said, said.length])
    for (const [said, at] of [
      ['a s', 2],
      ['is sk-abc', 3],
      ['x.ghp_1', 2],
      ['ask-', 3],
      ['a --', 2],
      ['to hun', 3],
      ['to hunter', 3],
    ] as const)
      expect([said, findSafeEnd(said)]).toEqual([said, at])
  })

  it.each([
    ['one letter', 'Q'],
    ['a secret without end', 'a'],
    ['beginnings of secrets', '.sk-a'],
    ['keys without end', '-----BEGIN PRIVATE KEY-----'],
    ['dashes', '-'],
    ['beginnings of keys', '-----BEGIN '],
    ['beginnings of values', 'hunter2 and hun'],
  ])('finishes in bounded time for an endless stream of %s', (_, part) => {
    const growing = new GrowingText()
    growing.add('sk-')
    for (let at = 0; at < 200_000; at++) {
      growing.add(part)
      if (at % 4 === 0) growing.take()
    }
    expect(growing.take(true)).toBeTypeOf('string')
  })
})
