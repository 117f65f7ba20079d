import { deflateSync, inflateSync } from 'node:zlib'
import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { jpeg, jpegPicture, pdf, pointsPicture } from '../../support/pdf.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel()
})
afterEach(() => booted[Symbol.asyncDispose]())

const put = (path: string, content: string | Uint8Array) => writeFileSync(join(booted.root, path), content)
const read = (input: object): Promise<any> =>
  booted.call('unified_file', { action: 'read', path: 'a.pdf', response_format: 'detailed', ...input })
/** Returns what a model reads of a PDF. */
const textOf = async (input: object): Promise<string> =>
  ((await booted.call('unified_file', { path: 'a.pdf', action: 'read', ...input })) as { text: string }).text
const error = async (input: object) => (await read(input)).error

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `This is the text of page ${index + 1}.\nIt has a (second) line.`)

describe('unified_file/read: PDF', () => {
  it('reads a PDF as the text of its pages with their number', async () => {
    put('a.pdf', pdf(numbered(3)))
    const { output, content } = await read({})
    expect(output).toMatchObject({
      content_kind: 'pdf',
      page_count: 3,
      start_page: 1,
      end_page: 3,
      has_more: false,
      truncated: false,
    })
    expect(output.content).toBe(
      numbered(3)
        .map((page, index) => `[page ${index + 1} of 3]\n${page}\n`)
        .join(''),
    )
    expect([await textOf({}), content]).toEqual([output.content, undefined])
  })

  it('reads a PDF by pages, at most twenty at a time, and names the next call', async () => {
    put('a.pdf', pdf(numbered(30)))
    expect((await read({ pages: '7' })).output).toMatchObject({
      start_page: 7,
      end_page: 7,
      content: `[page 7 of 30]\n${numbered(7)[6]}\n`,
      truncated: false,
      next: { input: { pages: '8-27' } },
    })
    expect((await read({ pages: '2-3' })).output).toMatchObject({ start_page: 2, end_page: 3, has_more: true })
    expect((await read({ pages: '28-' })).output).toMatchObject({
      start_page: 28,
      end_page: 30,
      has_more: false,
      truncated: false,
    })
    const { output } = await read({ pages: '1-30' })
    expect(output).toMatchObject({
      end_page: 20,
      truncated: true,
      next: { tool: 'unified_file', input: { path: 'a.pdf', pages: '21-30' } },
    })
    expect((await textOf({})).endsWith('[pages 1-20 of 30; next pages=21-30]')).toBe(true)
    expect((await booted.call('unified_file', output.next.input)).ok).toBe(true)
  })

  it('stops a long PDF at the end of a page and cuts an endless page', async () => {
    const long = Array.from(
      { length: 300 },
      (_, index) => `Line ${index} of a page that is rather long, as such pages are.`,
    ).join('\n')
    put('a.pdf', pdf([long, long, long, long, long]))
    expect((await read({})).output).toMatchObject({
      start_page: 1,
      end_page: 2,
      truncated: false,
      has_more: true,
      next: { input: { pages: '3-5' } },
    })
    put('a.pdf', pdf([Array.from({ length: 3000 }, () => 'x'.repeat(100)).join('\n')]))
    expect((await read({})).output.content).toMatch(/x\n\[the page continues for \d+ characters\]\n$/)
  })

  it('returns the pictures of a scanned PDF: JPEG data unchanged, raw pixels as PNG', async () => {
    put('a.pdf', pdf([jpegPicture, 'A page of text between two that are scanned.', pointsPicture]))
    const { output, content } = await read({})
    expect(content).toMatchObject([
      { type: 'image', mimeType: 'image/jpeg' },
      { type: 'image', mimeType: 'image/png' },
    ])
    expect(Buffer.from(content[0].data, 'base64').equals(jpeg)).toBe(true)
    const png = Buffer.from(content[1].data, 'base64')
    expect([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(['PNG', 2, 2])
    expect([...inflateSync(png.subarray(png.indexOf('IDAT') + 4, png.indexOf('IEND') - 8))]).toEqual([
      0, 255, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255,
    ])
    expect(output.content).toContain(`[page 1 of 3]\n[image/jpeg, ${jpeg.length} bytes]\n[page 2 of 3]\nA page of text`)
  })

  it('shows the bytes of a PDF for a byte range', async () => {
    put('a.pdf', pdf(numbered(1)))
    expect((await read({ offset_bytes: 0, page_size_bytes: 8 })).output).toMatchObject({
      content: '%PDF-1.4',
      content_kind: 'text',
    })
    expect(await error({ pages: '1', offset_bytes: 0 })).toMatchObject({ code: 'VT_INPUT_CONFLICT' })
  })

  it('refuses a file that is no PDF, broken, encrypted or too large, with the reason', async () => {
    expect(await error({ pages: '1', path: 'none.pdf' })).toMatchObject({ code: 'VT_PATH_NOT_FOUND' })
    put('a.pdf', 'just text\n')
    expect(await error({ pages: '1' })).toMatchObject({
      code: 'VT_FILE_PDF',
      message: "'a.pdf' has no pages: it is not a PDF.",
    })
    expect((await read({})).output).toMatchObject({ content: 'just text\n' })
    put('a.pdf', '%PDF-1.7\nand then nothing that makes sense')
    expect(await error({})).toMatchObject({
      code: 'VT_FILE_PDF',
      message: expect.stringMatching(/^'a\.pdf' cannot be read as a PDF: it is broken \(/),
    })
    put(
      'a.pdf',
      pdf(
        numbered(2),
        `/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >> /ID [<0123> <0123>]`,
      ),
    )
    expect(await error({})).toMatchObject({
      code: 'VT_FILE_PDF',
      message: "'a.pdf' cannot be read as a PDF: it is encrypted and needs a password.",
    })
    const large = openSync(join(booted.root, 'a.pdf'), 'w')
    writeSync(large, '%PDF-1.7\n')
    ftruncateSync(large, 500 * 1024 * 1024)
    closeSync(large)
    expect(await error({})).toMatchObject({
      code: 'VT_FILE_PDF',
      message: "'a.pdf' cannot be read as a PDF: it has 524288000 bytes, and at most 33554432 are read.",
    })
    put('a.pdf', pdf(numbered(2)))
    expect(await error({ pages: '3-4' })).toMatchObject({
      code: 'VT_FILE_OFFSET',
      details: { page_count: 2 },
      next: { input: { pages: '1-2' } },
    })
    for (const pages of ['0', '5-2', '0-3']) expect(await error({ pages })).toMatchObject({ code: 'VT_INPUT_INVALID' })
    for (const pages of ['x', '', '1,2', '-3'])
      expect(await error({ pages })).toMatchObject({ code: expect.stringMatching(/^VT_INPUT_/) })
  })

  it('refuses a PDF that takes more memory than allowed and reads the next PDF', async () => {
    const large = deflateSync(Buffer.alloc(120_000_000, ' '), { level: 1 })
    put('large.pdf', pdf([{ content: large, dictionary: '/Filter /FlateDecode' }]))
    let most = 0
    const before = process.memoryUsage.rss()
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss() - before)), 5)
    expect(await error({ path: 'large.pdf' })).toMatchObject({ code: 'VT_FILE_PDF' })
    clearInterval(watch)
    expect(most).toBeLessThan(120_000_000)
    put(
      'a.pdf',
      pdf([
        {
          dictionary:
            '/Type /XObject /Subtype /Image /Width 4000 /Height 4000 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode',
          data: deflateSync(Buffer.alloc(12)),
        },
      ]),
    )
    expect((await read({})).output?.content ?? 'refused').toMatch(/cannot be shown|no text|refused/)
    put('a.pdf', pdf(numbered(1)))
    expect((await read({})).output).toMatchObject({ page_count: 1 })
  })
})

describe('unified_file/read: image', () => {
  it('recognises an image by its bytes, not by its name', async () => {
    put('a.png', 'just text\n')
    expect(await read({ path: 'a.png' })).toMatchObject({ output: { content: 'just text\n' } })
    put('a.png', Buffer.from('\x89PNX\r\n\x1a\n\0\0', 'latin1'))
    expect(await error({ path: 'a.png' })).toMatchObject({ code: 'VT_FILE_IMAGE' })
    put('a.txt', jpeg)
    expect(await read({ path: 'a.txt' })).toMatchObject({
      output: { content_kind: 'image' },
      content: [{ type: 'image', mimeType: 'image/jpeg' }],
    })
  })
})
