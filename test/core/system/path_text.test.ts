import { describe, expect, it } from 'vitest'
import { decodeName, encodeName, normalizePath } from '../../../build/core/system/index.js'
import { fc, runs } from '../../support/property.js'

const root = '/t/ws'
const normalize = (path: string) => normalizePath(path, [root])
const code = (run: () => unknown): string => {
  try {
    return `ok ${run()}`
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('normalize', () => {
  it.each([
    ['.', '.'],
    ['/t/ws', '.'],
    ['/t/ws/', '.'],
    ['a//b/./c/', 'a/b/c'],
    ['a/../b', 'b'],
    ['/t/ws/a', 'a'],
    ['../ws/a', 'a'],
    ['a..b.txt', 'a..b.txt'],
    ['~', '~'],
    ['~root/$HOME/${HOME}/%VAR%', '~root/$HOME/${HOME}/%VAR%'],
    [' a ', ' a '],
    ['"a"', '"a"'],
    ['C:\\x', 'C:\\x'],
    ['\\\\?\\x', '\\\\?\\x'],
  ])('turns the path %j into %j', (path, expected) => expect(normalize(path)).toBe(expected))

  it.each([
    '..',
    '../out/secret',
    'a/../../out/secret',
    './././../out/secret',
    '/t/out/secret',
    '/etc/passwd',
    '/t/ws-evil',
    '/t/ws ',
    '../ws-evil/x',
    '/',
  ])('refuses the path %j, which leads outside', (path) => expect(code(() => normalize(path))).toBe('VT_PATH_OUTSIDE'))

  it.each([
    '',
    'a.txt\0.png',
    '\0/etc/passwd',
    'x'.repeat(256),
    'x/'.repeat(2049),
    'a/'.repeat(10_000),
    'é'.repeat(128),
    '\ud800',
  ])('refuses an unusable path: %#', (path) => expect(code(() => normalize(path))).toBe('VT_INPUT_INVALID'))

  it('keeps any path inside the root and gives a stable result', () => {
    const name = fc.oneof(
      fc.constantFrom('.', '..', '', 'ws', 'ws-evil', 't', 'out', '\\xff', '\\x5c', '\\x2f..'),
      fc.string({ maxLength: 6 }),
    )
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 8 }),
        fc.constantFrom('', '/', '/t/', '/t/ws', '/t/ws/'),
        (names, start) => {
          const asked = start + names.join('/')
          const answer = code(() => normalize(asked))
          if (!answer.startsWith('ok ')) return ['VT_PATH_OUTSIDE', 'VT_INPUT_INVALID'].includes(answer)
          const path = answer.slice(3)
          expect(path).not.toMatch(/^\/|(^|\/)\.\.?(\/)|\/\/|\/$|(^|\/)\.\.$/)
          expect(normalize(path)).toBe(path)
          return true
        },
      ),
      { numRuns: runs(2000) },
    )
  })
})

describe('names that are not UTF-8', () => {
  it('encodes a name that is not UTF-8 with escapes that decode to its bytes', () => {
    const byte = fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(...Buffer.from('\\x5cféé')))
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 12 }), (bytes) => {
        const name = encodeName(Buffer.from(bytes))
        expect([...Buffer.from(decodeName(name))]).toEqual(bytes)
      }),
      { numRuns: runs(5000) },
    )
  })

  it('decodes no escape of a separator, a dot or an ASCII letter', () => {
    expect(decodeName('\\x2f\\x2e\\x2e\\x41')).toBe('\\x2f\\x2e\\x2e\\x41')
    expect(normalize('\\xc3\\xa9')).toBe('é')
  })
})
