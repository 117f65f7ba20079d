import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { createKernel, type Kernel } from 'vtcode'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { gif, jpeg, png, webp } from '../../support/images.js'
import { hostileTree, pathCases, type HostileTree } from '../../support/paths.js'
import { fc, runs } from '../../support/property.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel()
})
afterEach(() => booted[Symbol.asyncDispose]())

const put = (path: string, content: string | Uint8Array) => writeFileSync(join(booted.root, path), content)
const read = (input: object) => booted.call('unified_file', { action: 'read', ...input })
/** The output of a call that must succeed. */
const output = async (input: object): Promise<any> => {
  const result = await read(input)
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.output
}
const error = async (input: object): Promise<any> => {
  const result = await read(input)
  return result.ok ? result : result.error
}
/** Follows `next` to the end and joins the pieces. */
const all = async (input: object): Promise<string> => {
  let joined = ''
  for (let next: any = { input }; next;) {
    const page = await output(next.input)
    joined += page.content
    next = page.next
  }
  return joined
}

describe('unified_file/read: lines', () => {
  it('returns lines with their exact ends', async () => {
    put('mixed', 'a\r\nb\n\rc\r\n\nlast')
    expect(await output({ path: 'mixed' })).toMatchObject({
      content: 'a\r\nb\n\rc\r\n\nlast',
      total_lines: 5,
      has_more: false,
      truncated: false,
    })
    expect(await output({ path: 'mixed', offset_lines: 3, page_size_lines: 1 })).toMatchObject({
      content: '\rc\r\n',
      start_line: 3,
      end_line: 3,
    })
    expect((await output({ path: 'mixed', offset_lines: 5 })).content).toBe('last')
  })

  it('counts lines as line ends, plus one for text after the last', async () => {
    const cases: [string, number][] = [
      ['', 0],
      ['\n', 1],
      ['a', 1],
      ['a\n', 1],
      ['a\nb', 2],
      ['\n\n', 2],
      // The mark of the encoding is no text.
      ['\uFEFF', 0],
      ['\uFEFFa', 1],
      ['\r', 1],
    ]
    for (const [text, lines] of cases) {
      put('f', text)
      expect((await output({ path: 'f' })).total_lines, JSON.stringify(text)).toBe(lines)
    }
    expect(await output({ path: 'f', offset_lines: 1 })).toMatchObject({ content: '\r' })
  })

  it('stops at end_line and continues from there', async () => {
    put('f', '1\n2\n3\n4\n5\n')
    const page = await output({ path: 'f', offset_lines: 2, end_line: 3 })
    expect(page).toMatchObject({ content: '2\n3\n', has_more: true, truncated: false })
    expect(page.next.input).toEqual({ action: 'read', path: 'f', offset_lines: 4, page_size_lines: 2 })
    expect((await output({ path: 'f', end_line: 99 })).content).toBe('1\n2\n3\n4\n5\n')
  })

  it('returns 400 lines at a time from an offset, and all without one', async () => {
    put('f', 'x\n'.repeat(1000))
    expect(await output({ path: 'f' })).toMatchObject({ end_line: 1000, has_more: false })
    expect(await output({ path: 'f', offset_lines: 101 })).toMatchObject({
      start_line: 101,
      end_line: 500,
      has_more: true,
    })
  })

  it('counts the lines of a Latin-1 file whole, also where bytes look like parts of characters', async () => {
    const bytes = Buffer.from('caf\u00e9 \u00bf\u00a9Qu\u00e9? \u00b5\u00c3\u00a9', 'latin1')
    put('f', bytes)
    for (const page_size_bytes of [1, 2, 3, 4, 5, 7]) {
      const pieces: Buffer[] = []
      for (let next: any = { input: { path: 'f', offset_bytes: 0, page_size_bytes } }; next;) {
        const page = await output(next.input)
        pieces.push(Buffer.from(page.content, page.encoding === 'base64' ? 'base64' : 'utf8'))
        next = page.next
      }
      expect(Buffer.concat(pieces)).toEqual(bytes)
    }
  })

  it('refuses an offset after the last line and names the last page', async () => {
    put('f', '1\n2\n3\n')
    expect(await error({ path: 'f', offset_lines: 4, page_size_lines: 2 })).toMatchObject({
      code: 'VT_FILE_OFFSET',
      details: { total_lines: 3 },
      next: { input: { action: 'read', path: 'f', offset_lines: 2, page_size_lines: 2 } },
    })
    put('f', '')
    expect(await output({ path: 'f', offset_lines: 1 })).toMatchObject({ content: '', total_lines: 0, has_more: false })
  })

  it('stops before max_bytes and cuts a longer line at a code point', async () => {
    put('f', 'ab\ncd\nééé\n')
    expect(await output({ path: 'f', offset_lines: 1, max_bytes: 7 })).toMatchObject({
      content: 'ab\ncd\n',
      truncated: true,
      next: { input: { offset_lines: 3, max_bytes: 7 } },
    })
    expect(await output({ path: 'f', offset_lines: 3, max_bytes: 3 })).toMatchObject({
      content: 'é',
      truncated: true,
      next: { input: { offset_bytes: 8 } },
    })
    expect(await all({ path: 'f', offset_lines: 1, max_bytes: 3 })).toBe('ab\ncd\nééé\n')
  })

  it('returns a file over 1 MiB in whole lines up to 1 MiB', async () => {
    const text = Array.from({ length: 60_000 }, (_, i) => `line ${i} of a long file\n`).join('')
    put('f', text)
    const page = await output({ path: 'f' })
    expect(page).toMatchObject({ truncated: true, has_more: true, total_lines: 60_000 })
    expect(text.startsWith(page.content) && page.content.endsWith('\n') && page.content.length > 1_000_000).toBe(true)
    expect(page.next.input).toEqual({ action: 'read', path: 'f', offset_lines: page.end_line + 1 })
    expect(page.hash).toBe(createHash('sha256').update(text).digest('hex').slice(0, 16))
  })

  it('shows both ends of a long line and keeps the end of the line', async () => {
    const line = `${'é'.repeat(1500)}${'ü'.repeat(1000)}`
    put('f', `first\n${line}\nlast\n`)
    const shown = `${'é'.repeat(900)}… (a line of 2500 characters; offset_bytes=6 reads it) …${'ü'.repeat(900)}`
    expect(await read({ path: 'f' })).toMatchObject({ text: `first\n${shown}\nlast\n` })
    put('f', line)
    expect(await read({ path: 'f' })).toMatchObject({ text: shown.replace('=6 ', '=0 ') })
  })

  it('stops reading a long file when the call is aborted', async () => {
    const file = join(booted.root, 'f')
    put('f', 'line\n'.repeat(20_000))
    truncateSync(file, 512 * 1024 ** 2)
    const countRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))![1])
    const isOpen = () =>
      readdirSync('/proc/self/fd').some((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === file
        } catch {
          // It was the descriptor of the list itself.
          return false
        }
      })
    const cancel = new AbortController()
    const before = countRead()
    const call = booted.call('unified_file', { action: 'read', path: 'f' }, { signal: cancel.signal })
    while (countRead() - before < 8 * 1024 ** 2) await setImmediate()
    cancel.abort()
    expect(await call).toMatchObject({ error: { code: 'VT_CALL_ABORTED' } })
    while (isOpen()) await setImmediate()
    expect(countRead() - before).toBeLessThan(256 * 1024 ** 2)
  })

  it('returns exactly the file in line pages of any size', async () => {
    const line = fc.oneof(fc.constantFrom('', '\r', '\n\n', 'é'), fc.string({ maxLength: 8 }))
    const file = fc.oneof(
      fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n')),
      fc.constantFrom(3000, 50_000).map((n) => 'some line\r\n'.repeat(n * 3)),
    )
    await fc.assert(
      fc.asyncProperty(file, fc.integer({ min: 1, max: 5 }), async (text, size) => {
        const clean = text.replaceAll('\0', '')
        put('f', clean)
        const page_size_lines = clean.length > 1000 ? size * 4000 : size
        expect(await all({ path: 'f', page_size_lines })).toBe(clean.replace(/^\uFEFF/, ''))
      }),
      { numRuns: runs(25) },
    )
  })

  it('refuses the next page of lines of a file that changed', async () => {
    put('f', 'old line\n'.repeat(200_000))
    const past = new Date(Date.now() - 60_000)
    utimesSync(join(booted.root, 'f'), past, past)
    expect((await output({ path: 'f', offset_lines: 150_000, page_size_lines: 1 })).content).toBe('old line\n')
    put('f', 'new\n'.repeat(450_000))
    expect(await output({ path: 'f', offset_lines: 400_000, page_size_lines: 1 })).toMatchObject({
      content: 'new\n',
      total_lines: 450_000,
    })
  })
})

describe('unified_file/read: bytes', () => {
  it('returns bytes as text where they are text, else as base64', async () => {
    put('f', 'aé€😀z')
    expect(await output({ path: 'f', offset_bytes: 0, page_size_bytes: 2 })).toMatchObject({
      content: 'a',
      bytes_returned: 1,
      encoding: 'utf-8',
      content_kind: 'text',
    })
    expect(await output({ path: 'f', offset_bytes: 2, page_size_bytes: 4 })).toMatchObject({
      content: '€',
      offset_bytes: 3,
      bytes_returned: 3,
    })
    expect(await output({ path: 'f', offset_bytes: 7, page_size_bytes: 1 })).toMatchObject({
      encoding: 'base64',
      content_kind: 'bytes',
      bytes_returned: 1,
    })
    put('f', Buffer.from([0xe9, 0x41, 0xe9]))
    expect(await output({ path: 'f', offset_bytes: 0 })).toMatchObject({
      content: '6UHp',
      encoding: 'base64',
      has_more: false,
    })
  })

  it('returns exactly the file in byte pages of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (bytes, page_size_bytes) => {
          put('f', bytes)
          const pieces: Buffer[] = []
          for (let next: any = { input: { path: 'f', offset_bytes: 0, page_size_bytes } }; next;) {
            const page = await output(next.input)
            const piece = Buffer.from(page.content, page.encoding === 'base64' ? 'base64' : 'utf8')
            expect(piece.length).toBe(page.bytes_returned)
            piece.copy((pieces[0] ??= Buffer.from(bytes).fill(0)), page.offset_bytes)
            next = page.next
          }
          expect(pieces[0]).toEqual(Buffer.from(bytes))
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('refuses an offset after the last byte and names the last page', async () => {
    put('f', '0123456789')
    expect(await error({ path: 'f', offset_bytes: 10, page_size_bytes: 4 })).toMatchObject({
      code: 'VT_FILE_OFFSET',
      details: { size_bytes: 10 },
      next: { input: { offset_bytes: 6, page_size_bytes: 4 } },
    })
  })

  it('returns the first bytes of a file with max_bytes alone', async () => {
    put('f', 'aéz')
    expect(await output({ path: 'f', max_bytes: 2 })).toMatchObject({
      content: 'a',
      truncated: true,
      next: { input: { offset_bytes: 1 } },
    })
    expect(await output({ path: 'f', max_bytes: 4 })).toMatchObject({
      content: 'aéz',
      truncated: false,
      total_lines: 1,
    })
  })

  it('refuses a byte range with a line range', async () => {
    put('f', 'x')
    expect(await error({ path: 'f', offset_bytes: 0, offset_lines: 1 })).toMatchObject({
      code: 'VT_INPUT_CONFLICT',
      message: expect.stringContaining('offset_bytes'),
    })
    expect(await error({ path: 'f', end_line: 2, page_size_lines: 1 })).toMatchObject({ code: 'VT_INPUT_CONFLICT' })
    expect(await error({ path: 'f', offset_lines: 3, end_line: 2 })).toMatchObject({ code: 'VT_INPUT_INVALID' })
    expect(await error({ path: 'f', offset_lines: 0 })).toMatchObject({ code: 'VT_INPUT_INVALID' })
  })
})

describe('unified_file/read: encodings', () => {
  it('strips the byte order mark of UTF-8', async () => {
    put('f', '\uFEFFa\nb\n')
    expect(await output({ path: 'f', response_format: 'detailed' })).toMatchObject({
      content: 'a\nb\n',
      bom: true,
      eol: 'lf',
      total_lines: 2,
    })
    expect((await output({ path: 'f', offset_lines: 1, page_size_lines: 1 })).content).toBe('a\n')
  })

  it('decodes UTF-16', async () => {
    const le = Buffer.from('\uFEFFaé\r\n😀\r\n', 'utf16le')
    put('le', le)
    put('be', Buffer.from(le).swap16())
    for (const [path, encoding] of [
      ['le', 'utf-16le'],
      ['be', 'utf-16be'],
    ]) {
      expect(await output({ path })).toMatchObject({
        content: 'aé\r\n😀\r\n',
        encoding,
        total_lines: 2,
        size_bytes: le.length,
      })
      expect(await output({ path, offset_lines: 2 })).toMatchObject({ content: '😀\r\n' })
      expect(await output({ path, max_bytes: 7 })).toMatchObject({
        content: 'aé',
        next: { input: { offset_bytes: 6 } },
      })
    }
  })

  it('escapes bytes that are not text', async () => {
    put('f', Buffer.from('caf\xe9\nok\n', 'latin1'))
    expect(await output({ path: 'f' })).toMatchObject({ content: 'caf\uFFFD\nok\n', lossy: true })
  })

  it('refuses a binary file and names a read of its bytes', async () => {
    put('f', Buffer.from([1, 2, 0, 3]))
    const refused = await error({ path: 'f' })
    expect(refused).toMatchObject({
      code: 'VT_FILE_BINARY',
      next: { input: { action: 'read', path: 'f', offset_bytes: 0, page_size_bytes: 8192 } },
    })
    expect((await booted.call(refused.next.tool, refused.next.input)).ok).toBe(true)
  })

  it('returns an image as image content and text that begins like one as text', async () => {
    for (const [bytes, mime_type] of [
      [png(5, 4), 'image/png'],
      [jpeg(5, 4), 'image/jpeg'],
      [gif(5, 4), 'image/gif'],
      [webp(5, 4), 'image/webp'],
    ] as const) {
      put('p', bytes)
      expect(await read({ path: 'p' }), mime_type).toMatchObject({
        ok: true,
        text: `[${mime_type}, 5 × 4 points, ${bytes.length} bytes]`,
        output: { content: '', content_kind: 'image', mime_type, width: 5, height: 4 },
        content: [{ type: 'image', mimeType: mime_type, data: bytes.toString('base64') }],
      })
    }
    put('g', 'GIF89a is a format.\n')
    expect(await output({ path: 'g' })).toMatchObject({ content: 'GIF89a is a format.\n' })
    // A text with the name of an image, such as a pointer of Git LFS, is read as text; so is an SVG drawing.
    put('lfs.png', 'version https://git-lfs.github.com/spec/v1\n')
    expect(await output({ path: 'lfs.png' })).toMatchObject({ content_kind: 'text' })
    put('a.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>\n')
    expect(await output({ path: 'a.svg' })).toMatchObject({ content_kind: 'text' })
  })

  it('refuses an invalid, broken or too large image and names the next call', async () => {
    const bad: [string, Buffer, string][] = [
      ['none.png', Buffer.from([0, 1, 2, 3, 0, 0]), 'not those of a PNG, JPEG, GIF or WebP'],
      ['none.JPEG', Buffer.from('BM\0\0\0\0'), 'not those of a PNG, JPEG, GIF or WebP'],
      ['short', Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1'), 'broken image/png'],
      ['cut.png', png(300).subarray(0, -13), 'broken image/png'],
      ['cut.webp', webp(5, 4).subarray(0, 20), 'broken image/webp'],
      ['frameless.jpg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 2, 0xff, 0xd9]), 'broken image/jpeg'],
      ['endless.jpg', Buffer.from([0xff, 0xd8, 0xff, ...Array<number>(5000).fill(0xff)]), 'broken image/jpeg'],
      // A decoder would expand these few bytes to gigabytes.
      ['bomb.png', png(1, 1, 0, { width: 65_000, height: 65_000 }), '65000 × 65000 points'],
      ['wide.gif', gif(8_001, 1), '8001 × 1 points'],
      ['heavy.png', Buffer.concat([png(1), Buffer.alloc(4_000_000)]), 'at most 3932160 are shown'],
    ]
    for (const [name, bytes, why] of bad) {
      put(name, bytes)
      const refused = await error({ path: name })
      expect(refused, name).toMatchObject({ code: 'VT_FILE_IMAGE', message: expect.stringContaining(why) })
      expect((await booted.call(refused.next.tool, refused.next.input)).ok, name).toBe(true)
    }
  })
})

describe('unified_file/read: unreadable paths', () => {
  it('suggests the call that shows the existing files', async () => {
    mkdirSync(join(booted.root, 'sub/deep'), { recursive: true })
    expect(await error({ path: 'sub' })).toMatchObject({
      code: 'VT_PATH_IS_DIRECTORY',
      next: { tool: 'unified_search', input: { action: 'list', path: 'sub' } },
    })
    expect(await error({ path: 'sub/none/x/y' })).toMatchObject({
      code: 'VT_PATH_NOT_FOUND',
      next: { input: { path: 'sub' } },
    })
    expect(await error({ path: 'run-1a2b3c4d' })).toMatchObject({
      code: 'VT_PATH_NOT_FOUND',
      next: { tool: 'unified_exec', input: { action: 'inspect', session_id: 'run-1a2b3c4d' } },
    })
  })

  it('reports missing permission as a typed error', () => {
    put('f', 'x')
    chmodSync(join(booted.root, 'f'), 0)
    const vtcode = [
      process.execPath,
      'dist/core/bin.js',
      'call',
      '--workspace',
      booted.root,
      'unified_file',
      'read',
      '--path',
      'f',
    ]
    const [program, ...args] =
      process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-all', '--inh-caps', '-all', ...vtcode] : vtcode
    const { stdout } = spawnSync(program!, args, { encoding: 'utf8', env: { ...process.env, HOME: booted.home } })
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'VT_PATH_PERMISSION', retryable: false } })
  })

  it('follows a link inside the workspace and names its target', async () => {
    put('f', 'x')
    symlinkSync('f', join(booted.root, 'l'))
    expect(await output({ path: 'l' })).toMatchObject({ path: 'l', resolved_path: 'f', content: 'x' })
    rmSync(join(booted.root, 'f'))
    expect(await error({ path: 'l' })).toMatchObject({ code: 'VT_PATH_NOT_FOUND' })
  })
})

describe('unified_file/read: hostile paths', () => {
  let tree: HostileTree
  let kernel: Kernel
  beforeAll(async () => {
    tree = hostileTree()
    kernel = await createKernel({ workspace: tree.root, home: join(tree.base, 'home'), env: {} })
  })
  afterAll(async () => {
    await kernel.close()
    tree.remove()
  })

  it('refuses each hostile path by its code and serves the next call', async () => {
    for (const { row, path, code } of pathCases(tree)) {
      const began = Date.now()
      const result = await kernel.call('unified_file', { action: 'read', path })
      expect(result.ok ? result.output['content'] : result.error.code, `row ${row}: ${path.slice(0, 80)}`).toBe(
        code ?? 'inside\n',
      )
      expect(JSON.stringify(result)).not.toContain('SECRET')
      expect(Date.now() - began).toBeLessThan(20_000)
    }
  })

  it('serves other calls during six reads of a FIFO', async () => {
    const blocked = Array.from({ length: 6 }, () => kernel.call('unified_file', { action: 'read', path: 'fifo' }))
    const began = Date.now()
    expect((await kernel.call('unified_file', { action: 'read', path: 'a.txt' })).ok).toBe(true)
    expect(Date.now() - began).toBeLessThan(20_000)
    for (const result of await Promise.all(blocked))
      expect(result).toMatchObject({ ok: false, error: { code: 'VT_PATH_SPECIAL' } })
  })
})
