import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { fc, runs } from '../../support/property.js'

// Characters that are not shown appear as escapes; an edit or a patch may give the escapes back.

let booted: Booted
beforeAll(async () => {
  booted = await bootKernel()
})
afterAll(() => booted[Symbol.asyncDispose]())

let session = 0
const put = (text: string) => {
  writeFileSync(join(booted.root, 'f'), text)
  session++
}
const content = () => readFileSync(join(booted.root, 'f'), 'utf8')
const file = async (action: string, input: object = {}): Promise<any> =>
  booted.call('unified_file', { action, path: 'f', ...input }, { session: `session-${session}` })
const patch = async (lines: string): Promise<any> =>
  booted.call(
    'apply_patch',
    { input: `*** Begin Patch\n*** Update File: f\n@@\n${lines}\n*** End Patch` },
    { session: `session-${session}` },
  )

/** A line of each kind of character that is not shown, with the escape of the character. */
const lines: [kind: string, line: string, escape: string][] = [
  ['a mark of direction', 'שלום\u200f עולם', '\\u{200f}'],
  ['a change of direction', 'a \u202e b', '\\u{202e}'],
  ['an isolate', 'a \u2066b\u2069 c', '\\u{2066}'],
  ['a soft hyphen', 'co\u00adoperate', '\\u{ad}'],
  ['a line separator', 'const x = "a\u2028b";', '\\u{2028}'],
  ['a zero-width space', 'a\u200bb', '\\u{200b}'],
  ['a joiner of words', 'a\u2060b', '\\u{2060}'],
  ['a byte order mark within', 'a\ufeffb', '\\u{feff}'],
  ['a form feed', 'int a; \f', '\\u{c}'],
  ['an escape', 'echo "\x1b[31mred"', '\\u{1b}'],
  ['a lone carriage return', 'a\rb', '\\u{d}'],
  ['a NUL', 'a\0b', '\\u{0}'],
  ['a control of C1', 'a\u0085b', '\\u{85}'],
  ['a tag', '\u{1F3F4}\u{E0067}\u{E007F} ok', '\\u{e0067}'],
  ['a variation selector', 'a\ufe0fb', '\\u{fe0f}'],
  ['a filler', 'a\u3164b', '\\u{3164}'],
]

describe('text with invisible characters', () => {
  it.each(lines)('accepts the shown text in an edit and a patch, with %s', async (kind, line, escape) => {
    put(`one\n${line}\nend\n`)
    const read = await file('read', kind === 'a NUL' ? { offset_bytes: 0 } : {})
    expect(read).toMatchObject({ ok: true })
    const shown = kind === 'a NUL' ? line.replace('\0', escape) : read.text.split('\n')[1]!
    expect(shown).toContain(escape)
    if (kind !== 'a NUL') expect(read.text).toContain(`${escape} stands for U+`)
    expect(await file('edit', { old_str: shown, new_str: `${shown} // x` })).toMatchObject({ ok: true })
    expect(content()).toBe(`one\n${line} // x\nend\n`)
    if (kind === 'a NUL') return
    expect(await patch(` one\n-${shown} // x\n+new ${shown}`)).toMatchObject({ ok: true })
    expect(content()).toBe(`one\nnew ${line}\nend\n`)
    expect(await patch(` new ${shown}\n-end\n+END`)).toMatchObject({ ok: true })
    expect(content()).toBe(`one\nnew ${line}\nEND\n`)
  })
  it('keeps escapes that are letters of the file as letters', async () => {
    put('const mark = "\\u{200f}"\n')
    expect(await file('read')).toMatchObject({ text: 'const mark = "\\u{200f}"\n' })
    expect(await file('edit', { old_str: 'mark = "\\u{200f}"', new_str: 'm = "\\u{200f}\\u{ad}"' })).toMatchObject({
      ok: true,
    })
    expect(content()).toBe('const m = "\\u{200f}\\u{ad}"\n')
  })

  it('restores each escape of a line that has the letters and the character', async () => {
    put('"\\u{200f}" is \u200f\n')
    const edit = { old_str: '"\\u{200f}" is \\u{200f}', new_str: 'x "\\u{200f}" is \\u{200f}!' }
    expect(await file('edit', edit)).toMatchObject({ ok: true })
    expect(content()).toBe('x "\\u{200f}" is \u200f!\n')
  })

  it('names at most eight kinds of characters, and none of a text without them', async () => {
    put('a\r\nb\tc\n')
    expect(await file('read')).toMatchObject({ text: 'a\nb\tc\n' })
    put('\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061')
    const { text } = await file('read')
    expect(text.match(/stands for/g)).toHaveLength(8)
    expect(text).toMatch(/, …; an edit or a patch may give these escapes\]$/)
  })

  it('reports that an empty file has no text', async () => {
    put('')
    for (const range of [{}, { offset_lines: 1 }, { offset_bytes: 0 }])
      expect(await file('read', range)).toMatchObject({
        output: { content: '' },
        text: '[no text: the file has 0 bytes]',
      })
    put('\ufeff')
    expect(await file('read')).toMatchObject({ text: '[no text: the file has 3 bytes]' })
  })

  it('accepts any shown text in an edit and keeps its characters', async () => {
    const piece = fc.constantFrom(
      'a',
      'é',
      ' ',
      '\n',
      '\r\n',
      '\u200f',
      '\u00ad',
      '\x1b',
      '\\u{200f}',
      '\\u{61}',
      '{',
      '\\',
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 10 }),
        fc.array(piece, { maxLength: 10 }),
        async (before, after) => {
          put(`${before.join('')}<here>${after.join('')}`)
          const { text } = await file('read')
          const shown = text.replace(/\n?\[invisible characters: [^\n]*$/, '')
          const [head, tail] = shown.split('<here>') as [string, string]
          const edited = await file('edit', { old_str: shown, new_str: `${head}there${tail}` })
          expect(edited).toMatchObject({ ok: true })
          // Only line ends of a mixed text may be others.
          const flat = (whole: string) => whole.replaceAll('\r\n', '\n')
          expect(flat(content())).toBe(flat(`${before.join('')}there${after.join('')}`))
        },
      ),
      { numRuns: runs(rounds(30, 1000)) },
    )
  })
})
