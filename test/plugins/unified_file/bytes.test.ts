import { isUtf8 } from 'node:buffer'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { fc, runs } from '../../support/property.js'

// A change keeps the encoding, the byte order mark and the line ends of a file, or it is refused before it happens.

let booted: Booted
beforeAll(async () => {
  booted = await bootKernel()
})
afterAll(() => booted[Symbol.asyncDispose]())

let session = 0
/** Writes a file outside of the program. The new session has read nothing. */
const put = (bytes: string | Uint8Array) => {
  writeFileSync(join(booted.root, 'f'), bytes)
  session++
}
const bytes = () => readFileSync(join(booted.root, 'f'))
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const file = async (action: string, input: object): Promise<any> =>
  booted.call('unified_file', { action, path: 'f', ...input }, { session: `session-${session}` })
const patch = async (body: string): Promise<any> =>
  booted.call(
    'apply_patch',
    { input: body.startsWith('---') ? body : `*** Begin Patch\n*** Update File: f\n${body}\n*** End Patch` },
    { session: `session-${session}` },
  )
const ENCODING = { ok: false, error: { code: 'VT_FILE_ENCODING' } }
const BINARY = { ok: false, error: { code: 'VT_FILE_BINARY' } }

/** The bytes of each character in an encoding that Node can only decode. */
const tables = new Map<string, Map<string, Buffer>>()
function encodeAs(label: string, text: string): Buffer {
  let table = tables.get(label)
  if (!table) {
    tables.set(label, (table = new Map()))
    const decoder = new TextDecoder(label)
    for (let lead = 0; lead < 256; lead++) {
      const one = decoder.decode(Uint8Array.of(lead))
      if (!one.includes('\ufffd')) table.set(one, Buffer.of(lead))
    }
    for (let lead = 0x81; lead < 0xff; lead++)
      for (let trail = 0x40; trail < 0xff; trail++) {
        const pair = decoder.decode(Uint8Array.of(lead, trail))
        if (Array.from(pair).length === 1 && !pair.includes('\ufffd') && !table.has(pair))
          table.set(pair, Buffer.of(lead, trail))
      }
  }
  return Buffer.concat(Array.from(text, (char) => table.get(char)!))
}
const utf16 = (text: string, big = false) => {
  const units = Buffer.from(text, 'utf16le')
  return big ? units.swap16() : units
}

/** Encodings with the characters that files in them have, next to ASCII. */
const encodings: Record<string, { encode: (text: string) => Buffer; letters: string[]; bom?: Buffer; label: string }> =
  {
    'UTF-8': { encode: (text) => Buffer.from(text), letters: ['é', '表', '😀'], label: 'utf-8' },
    'UTF-8 with a mark': {
      encode: (text) => Buffer.from(text),
      bom: Buffer.from('\uFEFF'),
      letters: ['é', 'ソ'],
      label: 'utf-8',
    },
    'UTF-16LE': { encode: (text) => utf16(text), bom: Buffer.of(0xff, 0xfe), letters: ['é', '表'], label: 'utf-16le' },
    'UTF-16BE': {
      encode: (text) => utf16(text, true),
      bom: Buffer.of(0xfe, 0xff),
      letters: ['é', '😀'],
      label: 'utf-16be',
    },
    'UTF-16LE without a mark': { encode: (text) => utf16(text), letters: ['é', 'x'], label: 'utf-16le' },
    'Windows-1252': {
      encode: (text) => encodeAs('windows-1252', text),
      letters: ['é', 'ß', 'ü'],
      label: 'windows-1252',
    },
    // The second byte of these characters is an ASCII letter, a backslash or a bar.
    'Shift-JIS': { encode: (text) => encodeAs('shift_jis', text), letters: ['表', 'ソ', 'ポ'], label: 'shift_jis' },
    GBK: { encode: (text) => encodeAs('gbk', text), letters: ['中', '乗', '乻'], label: 'gbk' },
  }
const lineEnds: Record<string, string[]> = { LF: ['\n'], CRLF: ['\r\n'], mixed: ['\n', '\r\n'] }

describe('unified_file/edit: the bytes outside of an edit', () => {
  it('keeps them in files of 8 encodings and 3 kinds of line ends, or refuses the edit and changes nothing', async () => {
    const shape = fc.record({
      encoding: fc.constantFrom(...Object.keys(encodings)),
      ends: fc.constantFrom(...Object.keys(lineEnds)),
      lines: fc.array(fc.array(fc.nat(30), { maxLength: 8 }), { minLength: 1, maxLength: 8 }),
      last: fc.boolean(),
      from: fc.nat(80),
      length: fc.integer({ min: 1, max: 30 }),
      added: fc.array(fc.nat(30), { maxLength: 6 }),
    })
    let applied = 0
    await fc.assert(
      fc.asyncProperty(shape, async ({ encoding, ends, lines, last, from, length, added }) => {
        const { encode, letters, bom = Buffer.alloc(0), label } = encodings[encoding]!
        const kinds = lineEnds[ends]!
        const alphabet = [...'aAz09\\| =', ...letters]
        const write = (choices: number[]) => choices.map((one) => alphabet[one % alphabet.length]).join('')
        const whole = lines.map((line, at) => write(line) + kinds[at % kinds.length]!).join('') + (last ? 'end' : '')
        const chars = Array.from(whole)
        const start = from % chars.length
        const old = chars.slice(start, start + length).join('')
        const [head, tail] = [chars.slice(0, start).join(''), chars.slice(start + length).join('')]
        fc.pre(!old.endsWith('\r') && !head.endsWith('\r'))
        const before = Buffer.concat([bom, encode(whole)])
        put(before)
        const result = await file('edit', { old_str: old, new_str: write(added) })
        if (!result.ok) {
          expect(bytes().equals(before)).toBe(true)
          return
        }
        applied++
        const after = bytes()
        const [first, end] = [Buffer.concat([bom, encode(head)]), encode(tail)]
        expect(after.subarray(0, first.length).equals(first)).toBe(true)
        expect(after.subarray(after.length - end.length).equals(end)).toBe(true)
        // A file without any other character is UTF-8.
        const now = isUtf8(before) ? 'utf-8' : label
        const middle = after.subarray(first.length, after.length - end.length)
        expect(new TextDecoder(now, { ignoreBOM: true, fatal: true }).decode(middle)).toBe(write(added))
      }),
      { numRuns: runs(rounds(60, 2000)) },
    )
    expect(applied).toBeGreaterThan(0)
  })

  it('refuses text that is not ASCII in a file of another encoding, and takes ASCII', async () => {
    put(latin1('caf\xe9\nsize = 1\n'))
    expect(await file('edit', { old_str: 'size', new_str: 'größe' })).toMatchObject(ENCODING)
    expect(await patch('@@\n-size = 1\n+größe = 1')).toMatchObject(ENCODING)
    expect(await file('write', { mode: 'append', content: 'thé\n' })).toMatchObject(ENCODING)
    expect(await file('write', { mode: 'overwrite', content: 'thé\n' })).toMatchObject(ENCODING)
    expect(bytes()).toEqual(latin1('caf\xe9\nsize = 1\n'))
    expect(await file('edit', { old_str: 'size = 1', new_str: 'size = 2' })).toMatchObject({ ok: true })
    expect(await patch('@@\n-size = 2\n+size = 3')).toMatchObject({ ok: true })
    expect(await file('write', { mode: 'append', content: 'end\n' })).toMatchObject({ ok: true })
    expect(bytes()).toEqual(latin1('caf\xe9\nsize = 3\nend\n'))
  })

  it('refuses to begin in the middle of a character of two bytes', async () => {
    // The second byte of the first character is a backslash.
    put(Buffer.of(0x95, 0x5c, 0x20, 0x5c, 0x0a))
    expect(await file('edit', { old_str: '\\ ', new_str: '/' })).toMatchObject(ENCODING)
    expect(await file('edit', { old_str: ' \\', new_str: ' /' })).toMatchObject({ ok: true })
    expect(bytes()).toEqual(Buffer.of(0x95, 0x5c, 0x20, 0x2f, 0x0a))
  })

  it('takes text that is not ASCII in UTF-8 with a damaged byte', async () => {
    put(Buffer.concat([Buffer.from('größe, 表示\n'), Buffer.of(0xe9, 0x0a)]))
    expect(await file('edit', { old_str: 'größe', new_str: 'Größe' })).toMatchObject({ ok: true })
    expect(bytes()).toEqual(Buffer.concat([Buffer.from('Größe, 表示\n'), Buffer.of(0xe9, 0x0a)]))
    const refused = await file('edit', { old_str: '\ufffd', new_str: 'x' })
    expect(refused.error).toMatchObject({ code: 'VT_EDIT_NOT_FOUND', hint: expect.stringContaining('U+FFFD') })
  })

  it('refuses UTF-16 and UTF-32 without a mark of UTF-16, and keeps a text with single NUL bytes', async () => {
    const unmarked = Buffer.from('name = 1\n名前 = 2\n', 'utf16le')
    for (const raw of [unmarked, Buffer.from(unmarked).swap16(), Buffer.from('\xff\xfe\0\0a\0\0\0b\0\0\0', 'latin1')]) {
      put(raw)
      expect(await file('edit', { old_str: 'a', new_str: 'xy' })).toMatchObject(BINARY)
      for (const mode of ['append', 'overwrite'])
        expect(await file('write', { mode, content: 'x' })).toMatchObject(BINARY)
      expect(bytes()).toEqual(raw)
    }
    put(`${'a line of text\n'.repeat(20)}one \0 byte\n`)
    expect(await file('edit', { old_str: 'one', new_str: 'a' })).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe(`${'a line of text\n'.repeat(20)}a \0 byte\n`)
  })
})

describe('unified_file/write: an existing file', () => {
  it('keeps its encoding and byte order mark when it is overwritten or appended to', async () => {
    const forms: [bom: Buffer, encode: (text: string) => Buffer][] = [
      [Buffer.from('\uFEFF'), (text) => Buffer.from(text)],
      [Buffer.of(0xff, 0xfe), (text) => utf16(text)],
      [Buffer.of(0xfe, 0xff), (text) => utf16(text, true)],
    ]
    for (const [bom, encode] of forms) {
      put(Buffer.concat([bom, encode('old\r\n')]))
      expect(await file('write', { mode: 'overwrite', content: 'né 表\nb\n' })).toMatchObject({ ok: true })
      expect(bytes()).toEqual(Buffer.concat([bom, encode('né 表\r\nb\r\n')]))
      expect(await file('write', { mode: 'append', content: 'é\n' })).toMatchObject({ ok: true })
      expect(bytes()).toEqual(Buffer.concat([bom, encode('né 表\r\nb\r\né\r\n')]))
      expect(await file('write', { mode: 'overwrite', content: '\uFEFFx' })).toMatchObject({ ok: true })
      expect(bytes()).toEqual(Buffer.concat([bom, encode('x')]))
    }
  })

  it('keeps its line ends, in a mixed file those of each line', async () => {
    put('a\r\nb\r\n')
    expect(await file('write', { mode: 'append', content: 'c\n' })).not.toHaveProperty('notices')
    expect(bytes().toString()).toBe('a\r\nb\r\nc\r\n')
    expect(await file('write', { mode: 'overwrite', content: 'a\nx\nc\n' })).not.toHaveProperty('notices')
    expect(bytes().toString()).toBe('a\r\nx\r\nc\r\n')
    put('a\nb\r\nc\n')
    expect(await file('write', { mode: 'overwrite', content: 'a\nb\nnew\nc\nend' })).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe('a\nb\r\nnew\r\nc\nend')
  })

  it('keeps encoding, mark and line ends for any content that is written, appended or patched', async () => {
    const shape = fc.record({
      encoding: fc.constantFrom(...Object.keys(encodings)),
      ends: fc.constantFrom('LF', 'CRLF'),
      lines: fc.array(fc.array(fc.nat(30), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 }),
      last: fc.boolean(),
      added: fc.array(fc.array(fc.nat(30), { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      how: fc.constantFrom('overwrite', 'append', 'patch'),
    })
    let applied = 0
    await fc.assert(
      fc.asyncProperty(shape, async ({ encoding, ends, lines, last, added, how }) => {
        const { encode, letters, bom = Buffer.alloc(0), label } = encodings[encoding]!
        const [end] = lineEnds[ends]!
        const alphabet = [...'aAz09=(', ...letters]
        const toLine = (choices: number[]) => choices.map((one) => alphabet[one % alphabet.length]).join('')
        // The first line has the letters of the encoding, and the last one is unique.
        const old = [letters.join(''), ...lines.map(toLine), 'unique']
        const before = Buffer.concat([bom, encode(old.join(end) + (last ? end! : ''))])
        put(before)
        const text = added.map(toLine)
        const result =
          how === 'patch'
            ? await patch(`@@\n-unique\n${text.map((line) => `+${line}`).join('\n')}`)
            : await file('write', { mode: how, content: `${text.join('\n')}\n` })
        if (!result.ok) {
          expect(bytes().equals(before)).toBe(true)
          return
        }
        applied++
        const after = bytes()
        expect(after.subarray(0, bom.length).equals(bom)).toBe(true)
        const decoder = new TextDecoder(label, { ignoreBOM: true, fatal: true })
        const now = decoder.decode(after.subarray(bom.length))
        const whole = {
          overwrite: [...text, ''].join(end),
          append: old.join(end) + (last ? end! : '') + [...text, ''].join(end),
          patch: [...old.slice(0, -1), ...text].join(end) + (last ? end! : ''),
        }
        // A file that becomes ASCII only may have been in any encoding.
        expect(now).toBe(whole[how as keyof typeof whole])
      }),
      { numRuns: runs(rounds(50, 1500)) },
    )
    expect(applied).toBeGreaterThan(0)
  })

  it('takes line ends that the content itself has, and reports the change', async () => {
    put('a\nb\n')
    expect(await file('write', { mode: 'overwrite', content: 'a\r\nb\r\n' })).toMatchObject({
      notices: [{ code: 'VT_FILE_EOL_CHANGED', message: "'f' had LF line ends; it has CRLF now." }],
    })
    expect(bytes().toString()).toBe('a\r\nb\r\n')
  })

  it('writes text over a binary file only after its deletion', async () => {
    put(Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01', 'latin1'))
    const refused = await file('write', { mode: 'overwrite', content: 'x' })
    expect(refused.error).toMatchObject({ code: 'VT_FILE_BINARY', hint: expect.stringContaining('delete') })
    expect(await file('delete', {})).toMatchObject({ ok: true })
    expect(await file('write', { mode: 'overwrite', content: 'x' })).toMatchObject({ ok: true })
  })
})

describe('apply_patch: the end of a file', () => {
  it('adds no line end to a file without one, unless the patch says so', async () => {
    put('a\nb')
    expect(await patch('@@\n a\n-b\n+c')).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe('a\nc')
    expect(await patch('@@\n+d')).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe('a\nc\nd')
    const diff = '--- a/f\n+++ b/f\n@@ -3 +3 @@\n-d\n\\ No newline at end of file\n+e\n'
    expect(await patch(diff)).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe('a\nc\ne\n')
    expect(await patch('@@\n c\n-e\n+f')).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe('a\nc\nf\n')
  })

  it('keeps a byte order mark and the line ends of the lines around', async () => {
    put('\uFEFFa\r\nb\r\nc')
    expect(await patch('@@\n-a\n+A\n b\n-c\n+C')).toMatchObject({ ok: true })
    expect(bytes().toString()).toBe('\uFEFFA\r\nb\r\nC')
  })
})
