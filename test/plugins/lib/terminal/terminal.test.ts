import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import {
  CallUsageError,
  formatColumns,
  toOneLine,
  createPaint,
  printable,
  readInput,
  takeTool,
} from '../../../../build/plugins/lib/terminal/index.js'
import { fc } from '../../../support/property.js'

describe('terminal output', () => {
  it('escapes characters that move, hide or recolour, and keeps plain text unchanged', () => {
    const hostile = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|[^\P{Cc}\n\t]/u
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom(
          '\u001b[31m',
          '\r',
          '\u0007',
          '\u202e',
          '\u200b',
          '\ufeff',
          '\u009b',
          '\u2028',
          '\n',
          '\t',
          'a',
          'é',
          '😀',
          '\\',
        ),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
    })
    fc.assert(
      fc.property(text, (text) => {
        expect(hostile.test(printable(text))).toBe(false)
        expect(toOneLine(text)).not.toMatch(/[\n\t]|^\s|\s$/)
        if (!hostile.test(text)) expect(printable(text)).toBe(text)
        else expect(printable(text).length).toBeGreaterThan(text.length)
      }),
    )
  })
  it('aligns columns after the widest cell before them', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 4 })
          .chain((count) =>
            fc.array(fc.array(cell, { minLength: count, maxLength: count }), { minLength: 1, maxLength: 6 }),
          ),
        (rows) => {
          const lines = formatColumns(rows).split('\n').slice(0, -1)
          expect(lines.map((line) => line.split(/ {2,}/))).toEqual(rows)
          const starts = lines.map((line) => Array.from(line.matchAll(/(?<=^|  )\S/g), ({ index }) => index))
          expect(starts).toEqual(lines.map(() => starts[0]))
        },
      ),
    )
  })
  it.each([
    ['中文', 4],
    ['한글', 4],
    ['ｶﾅ', 2],
    ['Ａ', 2],
    ['e\u0301', 1],
    ['🙂', 2],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['ü', 1],
  ])('gives %s the columns of a terminal', (name, width) => {
    expect(
      formatColumns([
        [name, 'x'],
        ['123456', 'y'],
      ]),
    ).toBe(`${name}${' '.repeat(6 - width)}  x\n123456  y\n`)
  })
  it('uses colors only at a terminal whose user wants them', () => {
    const red = (isTTY: boolean, env = {}) => createPaint({ isTTY }, env).red('x')
    expect([red(true), red(false), red(true, { NO_COLOR: '1' }), red(true, { TERM: 'dumb' })]).toEqual([
      '\u001b[31mx\u001b[39m',
      'x',
      'x',
      'x',
    ])
  })
})

describe('command line calls', () => {
  const io = (stdin = '') =>
    ({ stdin: Readable.from([Buffer.from(stdin)]) }) as unknown as Parameters<typeof readInput>[1]

  it('sets every field by either way of writing a value, or all fields as JSON', async () => {
    const name = fc.constantFrom('a', 'b_c', 'input', 'constructor')
    const value = fc
      .string({ unit: fc.constantFrom('x', ' ', '=', '-', '{', '"', '\n'), minLength: 1 })
      .filter((text) => !text.startsWith('--') && !text.trimStart().startsWith('{') && text !== '-')
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, fc.oneof(value, fc.array(value, { minLength: 2, maxLength: 3 })), {
          noNullPrototype: true,
        }),
        fc.boolean(),
        fc.option(fc.constantFrom('read', 'x/y'), { nil: undefined }),
        async (fields, attached, action) => {
          const words = Object.entries(fields).flatMap(([key, said]) =>
            [said].flat().flatMap((text) => (attached ? [`--${key}=${text}`] : [`--${key}`, text])),
          )
          const whole = { ...(action !== undefined && { action }), ...fields }
          expect(await readInput([...(action === undefined ? [] : [action]), ...words], io())).toEqual(whole)
          expect(await readInput(['--input', JSON.stringify(whole)], io())).toEqual(whole)
          expect(await readInput(['--input', '-'], io(JSON.stringify(whole)))).toEqual(whole)
        },
      ),
    )
    expect(await readInput(['--flag', '--other'], io())).toEqual({ flag: true, other: true })
  })
  it('reports a malformed call as an error of usage', async () => {
    for (const words of [
      ['a', 'b'],
      ['--'],
      ['--a', 'b', 'c'],
      ['--input', '{'],
      ['--input', '{"a":1'],
      ['-x', '--', 'y'],
    ])
      await expect(readInput(words, io())).rejects.toBeInstanceOf(CallUsageError)
    for (const text of ['[]', 'null', '1', ''])
      await expect(readInput(['--input', '-'], io(text))).rejects.toBeInstanceOf(CallUsageError)
    for (const words of [[], ['--flag', 'tool']]) expect(() => takeTool(words)).toThrow(CallUsageError)
    const rest = ['tool', 'action']
    expect([takeTool(rest), rest]).toEqual(['tool', ['action']])
  })
})
