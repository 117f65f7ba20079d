import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, linkSync, readFileSync, statSync, symlinkSync, lstatSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyPatch } from 'diff'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'
import { fc, runs } from '../../support/property.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel()
})
afterEach(() => booted[Symbol.asyncDispose]())

/** Writes a file outside of the program. The new session has read nothing. */
const put = (path: string, content: string | Uint8Array) => {
  writeFileSync(join(booted.root, path), content)
  session = `session-${count++}`
}
let session: string
let count = 0
const bytes = (path: string) => readFileSync(join(booted.root, path))
const edit = (input: object) => booted.call('unified_file', { action: 'edit', path: 'f', ...input }, { session })
const error = async (input: object): Promise<any> => {
  const result = await edit(input)
  return result.ok ? result : result.error
}

describe('unified_file/edit', () => {
  it('inserts the new text literally', async () => {
    for (const text of ['$&', '$1', '$$', '$`', "$'", 'C:\\Users\\unicorn', '\\n', '\\u0041']) {
      put('f', '<here>')
      await edit({ old_str: 'here', new_str: text })
      expect(bytes('f').toString()).toBe(`<${text}>`)
    }
  })

  it('refuses a text that occurs more than once and counts overlapping occurrences', async () => {
    put('f', 'aaa\nb\naaa\n')
    expect(await error({ old_str: 'aa', new_str: 'x' })).toMatchObject({
      code: 'VT_EDIT_NOT_UNIQUE',
      details: { count: 4, line_numbers: [1, 1, 3, 3] },
    })
    expect(await edit({ old_str: 'aa', new_str: 'x', replace_all: true })).toMatchObject({
      output: { replacements: 2, first_line: 1, last_line: 3 },
    })
    expect(bytes('f').toString()).toBe('xa\nb\nxa\n')
  })

  it('refuses an edit that changes nothing', async () => {
    put('f', 'a\r\nb')
    expect(await error({ old_str: 'a', new_str: 'a' })).toMatchObject({ code: 'VT_EDIT_NO_CHANGE' })
    expect(await error({ old_str: 'a\nb', new_str: 'a\r\nb' })).toMatchObject({ code: 'VT_EDIT_NO_CHANGE' })
  })

  it('changes the named bytes and no others in any file', async () => {
    const piece = fc.oneof(
      fc.constantFrom('\n', '\r\n', '\r', '\uFEFF', 'é', '😀', '', 'x\n\n').map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 6 }).map((raw) => Buffer.from(raw.filter((byte) => byte !== 0))),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 8 }),
        fc.array(piece, { maxLength: 8 }),
        fc.string(),
        async (before, after, text) => {
          const [head, tail] = [Buffer.concat(before), Buffer.concat(after)]
          const file = Buffer.concat([head, Buffer.from('#NEEDLE#'), tail])
          fc.pre(!(file[0] === 0xff && file[1] === 0xfe) && !(file[0] === 0xfe && file[1] === 0xff))
          const new_str = text.replaceAll('\n', ' ')
          put('f', file)
          expect(await edit({ old_str: '#NEEDLE#', new_str })).toMatchObject({ ok: true })
          expect(bytes('f').equals(Buffer.concat([head, Buffer.from(new_str), tail]))).toBe(true)
        },
      ),
      { numRuns: runs(rounds(15, 60)) },
    )
  })

  it('matches a model of the text for several pieces, and the diff turns the old text into the new one', async () => {
    const word = fc.constantFrom('alpha\n', 'beta\n', 'gamma\n', 'delta', '\n', 'beta')
    const change = fc.record({
      old_str: fc.constantFrom('alpha', 'beta\n', 'gamma\ndelta', '\n\n', 'a'),
      new_str: fc.constantFrom('', 'ONE\n', 'two', 'alpha\nbeta\n'),
      replace_all: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { maxLength: 30 }),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (words, edits) => {
          const text = words.join('')
          let model: string | undefined = text
          for (const { old_str, new_str, replace_all } of edits) {
            const first: number = model?.indexOf(old_str) ?? -1
            if (model === undefined || first === -1 || (!replace_all && model.indexOf(old_str, first + 1) !== -1))
              model = undefined
            else
              model = replace_all
                ? model.split(old_str).join(new_str)
                : model.slice(0, first) + new_str + model.slice(first + old_str.length)
          }
          put('f', text)
          const result = await edit({ edits })
          expect(result.ok).toBe(model !== undefined && model !== text)
          expect(bytes('f').toString()).toBe(result.ok ? model : text)
          if (result.ok) expect(applyPatch(text, result.output['diff'] as string)).toBe(model)
        },
      ),
      { numRuns: runs(rounds(20, 80)) },
    )
  })

  it('finds lines with any line ends and writes the line ends of the file', async () => {
    put('f', 'one\r\ntwo\r\nthree\nfour\n')
    await edit({ old_str: 'one\ntwo', new_str: '1\n2' })
    await edit({ old_str: 'three', new_str: '3\n3' })
    expect(bytes('f').toString()).toBe('1\r\n2\r\n3\n3\nfour\n')
    await edit({ old_str: '3\n3\n', new_str: 'x\r\ny\n' })
    expect(bytes('f').toString()).toBe('1\r\n2\r\nx\r\ny\nfour\n')
    put('f', 'a\r\nb\r\na\nb\n')
    expect(await edit({ old_str: 'a\nb\n', new_str: 'x' })).toMatchObject({ ok: true })
    put('f', 'a\r\nb\r\n')
    await edit({ old_str: '\nb', new_str: '\nc' })
    expect(bytes('f').toString()).toBe('a\r\nc\r\n')
    put('f', 'a\r\n\r\nb\r\n')
    await edit({ old_str: '\n\nb', new_str: '\nb' })
    expect(bytes('f').toString()).toBe('a\r\nb\r\n')
  })

  it('keeps UTF-16, its byte order mark and its byte order', async () => {
    const le = Buffer.from('\uFEFFone é\r\ntwo\r\n', 'utf16le')
    for (const file of [le, Buffer.from(le).swap16()]) {
      put('f', file)
      await edit({ old_str: 'é\ntwo', new_str: '😀\n2' })
      const now = file === le ? bytes('f') : bytes('f').swap16()
      expect(now.toString('utf16le')).toBe('\uFEFFone 😀\r\n2\r\n')
    }
    put('f', Buffer.concat([le, Buffer.from([0x41])]))
    expect(await error({ old_str: 'two', new_str: '2' })).toMatchObject({ code: 'VT_FILE_BINARY' })
  })

  it('keeps the mode of a file and writes through a link without replacing it', async () => {
    put('f', '#!/bin/sh\necho a\n')
    chmodSync(join(booted.root, 'f'), 0o751)
    symlinkSync('f', join(booted.root, 'l'))
    expect(await edit({ path: 'l', old_str: 'echo a', new_str: 'echo b' })).toMatchObject({
      output: { path: 'l', resolved_path: 'f' },
    })
    expect(statSync(join(booted.root, 'f')).mode & 0o777).toBe(0o751)
    expect(lstatSync(join(booted.root, 'l')).isSymbolicLink()).toBe(true)
    expect(bytes('f').toString()).toBe('#!/bin/sh\necho b\n')
  })

  it('reports a hard link that it could not keep', async () => {
    put('f', 'a')
    linkSync(join(booted.root, 'f'), join(booted.root, 'twin'))
    expect((await edit({ old_str: 'a', new_str: 'b' })).notices).toMatchObject([{ code: 'VT_FILE_HARDLINK' }])
    expect(bytes('twin').toString()).toBe('a')
  })

  it.runIf(process.getuid?.() === 0)('keeps the owner and attributes where permitted and reports a loss', async () => {
    put('f', 'a')
    chownSync(join(booted.root, 'f'), 65534, 65534)
    expect((await edit({ old_str: 'a', new_str: 'b' })).notices).toBeUndefined()
    expect(statSync(join(booted.root, 'f')).uid).toBe(65534)
    chmodSync(join(booted.root, 'f'), 0o666)
    execFileSync('python3', [
      '-c',
      'import os, sys; os.setxattr(sys.argv[1], "security.note", b"x")',
      join(booted.root, 'f'),
    ])
    const args = [
      '--workspace',
      booted.root,
      '--mode',
      'auto',
      'unified_file',
      'edit',
      '--path',
      'f',
      '--old_str',
      'b',
      '--new_str',
      'c',
    ]
    const powerless = [
      '--bounding-set',
      '-all',
      '--inh-caps',
      '-all',
      process.execPath,
      'dist/core/bin.js',
      'call',
      ...args,
    ]
    const { stdout } = spawnSync('setpriv', powerless, {
      encoding: 'utf8',
      env: { ...process.env, HOME: booted.home },
    })
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      notices: [{ code: 'VT_FILE_OWNER' }, { code: 'VT_FILE_ATTRIBUTES' }],
    })
    expect(bytes('f').toString()).toBe('c')
  })

  it('refuses a missing file, a directory or an empty text and gives the next call', async () => {
    expect(await error({ old_str: 'a', new_str: 'b' })).toMatchObject({ code: 'VT_PATH_NOT_FOUND' })
    expect(await error({ path: '.', old_str: 'a', new_str: 'b' })).toMatchObject({ code: 'VT_PATH_IS_DIRECTORY' })
    put('f', 'a')
    expect(await error({ old_str: '', new_str: 'b' })).toMatchObject({
      code: 'VT_INPUT_INVALID',
      hint: expect.stringContaining('write'),
    })
  })

  it('advises another action for an edit of more than 200 lines', async () => {
    const old_str = Array.from({ length: 201 }, (_, line) => `${line}\n`).join('')
    put('f', `head\n${old_str}`)
    expect((await edit({ old_str, new_str: 'x' })).notices).toMatchObject([{ code: 'VT_EDIT_LARGE' }])
  })
})

describe('unified_file/edit: text not found', () => {
  const cases: [title: string, file: string, old: string, near: object][] = [
    [
      'line numbers of a listing',
      'a\n  b\nc\n',
      '12: a\n13:   b',
      { line_number: 1, end_line: 2, differs_in: 'line_number_prefix' },
    ],
    ['white space at the end', 'x\na  \nb\n', 'a\nb\t', { line_number: 2, differs_in: 'trailing_whitespace' }],
    ['indentation', 'x\n    a()\n', '\ta()', { line_number: 2, differs_in: 'indentation', text: '    a()' }],
    ['white space', 'f(a, b)\n', 'f(a,b)', { differs_in: 'whitespace' }],
    ['quotes', 'say “hi”\n', 'say "hi"', { differs_in: 'unicode' }],
    ['case', 'Const A\n', 'const a', { differs_in: 'case' }],
    [
      'text',
      'one\ntwo\nthree\nfour\nfive\n',
      'one\ntwo\nTHREE!\nfour\nfive',
      { line_number: 1, end_line: 5, differs_in: 'text', similarity: 0.8 },
    ],
  ]
  it.each(cases)(
    'names the nearest place of a text that differs in %s, and the difference',
    async (_, file, old_str, near) => {
      put('f', file)
      const refused = await error({ old_str, new_str: 'new' })
      expect(refused).toMatchObject({ code: 'VT_EDIT_NOT_FOUND' })
      expect(refused.details.near[0]).toMatchObject(near)
      expect(refused.next.input.offset_lines).toBe(1)
      expect(bytes('f').toString()).toBe(file)
    },
  )

  it('reports that no line is near and offers a read of a short file', async () => {
    put('f', 'one\ntwo\n')
    const refused = await error({ old_str: 'zebra crossing', new_str: 'x' })
    expect(refused).toMatchObject({
      code: 'VT_EDIT_NOT_FOUND',
      details: { near: [] },
      hint: expect.stringMatching(/^No line is similar/),
      next: { input: { action: 'read', path: 'f' } },
    })
  })

  it('names the failing one of several edits and writes nothing', async () => {
    put('f', 'a\nb\n')
    expect(
      await error({
        edits: [
          { old_str: 'a', new_str: 'x' },
          { old_str: 'a', new_str: 'y' },
        ],
      }),
    ).toMatchObject({ code: 'VT_EDIT_NOT_FOUND', details: { index: 1 } })
    expect(bytes('f').toString()).toBe('a\nb\n')
  })
})

describe('unified_file/edit: parallel edits', () => {
  const lines = (n: number) => Array.from({ length: n }, (_, line) => `line ${line}.\n`).join('')

  it('applies many parallel edits of different lines of one file', async () => {
    const count = rounds(30, 100)
    put('f', lines(count))
    const results = await Promise.all(
      Array.from({ length: count }, (_, line) => edit({ old_str: `line ${line}.`, new_str: `LINE ${line}.` })),
    )
    expect(results.filter((result) => !result.ok)).toEqual([])
    expect(bytes('f').toString()).toBe(lines(count).toUpperCase())
  })

  it('applies all edits of two processes one after the other, also for a session that read before', async () => {
    const script = `
      const { createKernel } = await import(process.argv[1])
      const kernel = await createKernel({ workspace: process.argv[2], mode: 'auto', env: {}, home: process.argv[3] })
      const mine = Array.from({ length: Number(process.argv[6]) }, (_, i) => 2 * i + Number(process.argv[4]))
      const edit = (i) => ({ action: 'edit', path: 'f', old_str: 'line ' + i + '.', new_str: 'LINE ' + i + '.' })
      const session = (i) => (process.argv[5] === 'one' ? 'one' : 'session-' + i)
      const results = await Promise.all(mine.map((i) => kernel.call('unified_file', edit(i), { session: session(i) })))
      await kernel.close()
      console.log(JSON.stringify(results.map((result, i) => [mine[i], result.ok ? 'ok' : result.error.code])))`
    const index = new URL('../../../dist/core/index.js', import.meta.url).href
    const run = async (parity: string, sessions: string): Promise<[number, string][]> => {
      const args = [
        '--input-type=module',
        '-e',
        script,
        index,
        booted.root,
        booted.home,
        parity,
        sessions,
        String(each),
      ]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      let out = ''
      child.stdout.on('data', (chunk) => (out += chunk))
      await once(child, 'close')
      return JSON.parse(out)
    }
    const each = rounds(6, 30)
    for (const sessions of ['many', 'one']) {
      put('f', lines(2 * each))
      const outcomes = new Map((await Promise.all([run('0', sessions), run('1', sessions)])).flat())
      const refused = [...outcomes.values()].filter((outcome) => outcome !== 'ok')
      // Another process may write between the read and the rename of one edit.
      expect([outcomes.size, refused.filter((code) => code !== 'VT_FILE_STALE')]).toEqual([2 * each, []])
      const expected = lines(2 * each)
        .split('\n')
        .map((line, i) => (outcomes.get(i) === 'ok' ? line.toUpperCase() : line))
      expect(bytes('f').toString()).toBe(expected.join('\n'))
    }
  })

  it('refuses an edit of a partly read file whose text changed, at any size, and applies it while the text is unique', async () => {
    const call = (input: object) => booted.call('unified_file', { path: 'f', ...input }, { session })
    const change = { action: 'edit', old_str: 'needle', new_str: 'pin' }
    const big = `needle\n${'x'.repeat(99)}\n`.padEnd(17 * 1024 * 1024, 'x')
    for (const [text, part] of [
      [big, { offset_lines: 1, page_size_lines: 1 }],
      ['needle\n', { offset_bytes: 0, page_size_bytes: 3 }],
    ] as const) {
      put('f', text)
      expect(await call({ action: 'read', ...part })).toMatchObject({ ok: true })
      writeFileSync(join(booted.root, 'f'), text.replace('needle', 'nail'))
      expect(await call(change)).toMatchObject({
        ok: false,
        error: { code: 'VT_FILE_STALE', details: { not_applied: true } },
      })
      writeFileSync(join(booted.root, 'f'), `${text}more`)
      expect(await call(change)).toMatchObject({ ok: true, notices: [{ code: 'VT_FILE_CHANGED' }] })
    }
  })

  it('ends an edit during the writes of an editor as a conflict or on the current text', async () => {
    put('f', 'v0\nmine: 0\n')
    let stop = false
    const editor = (async () => {
      for (let i = 1; !stop; i++) {
        const now = bytes('f').toString()
        writeFileSync(join(booted.root, 'f'), now.replace(/^v\d+/, `v${i}`))
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })()
    for (let i = 0; i < 40; i++) {
      const result = await edit({ old_str: `mine: ${i}\n`, new_str: `mine: ${i + 1}\n` })
      // The editor may have restored an older text.
      if (!result.ok) expect(['VT_FILE_STALE', 'VT_EDIT_NOT_FOUND']).toContain(result.error.code)
    }
    stop = true
    await editor
    expect(bytes('f').toString()).toMatch(/^v\d+\nmine: \d+\n$/)
  })
})
