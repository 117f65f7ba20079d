import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTwoFilesPatch } from 'diff'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rounds } from '../support/exec.js'
import { fc, runs } from '../support/property.js'

let booted: Booted
let session = 0
beforeEach(async () => {
  booted = await bootKernel({ files: { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n', 'sub/c.txt': 'c\n' } })
})
afterEach(() => booted[Symbol.asyncDispose]())

const put = (path: string, content: string | Uint8Array) => writeFileSync(join(booted.root, path), content)
const text = (path: string) => readFileSync(join(booted.root, path), 'utf8')
/** A session that has read nothing yet. */
const apply = (input: string, rest: object = {}) =>
  booted.call('apply_patch', { input, ...rest }, { session: `session-${session++}` })
const envelope = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
const update = (path: string, ...lines: string[]) => envelope(`*** Update File: ${path}`, ...lines)
const error = async (input: string): Promise<any> => {
  const result = await apply(input)
  return result.ok ? result : result.error
}
/** Returns path → content of all files except the state of the program. */
const snapshot = () =>
  Object.fromEntries(
    readdirSync(booted.root, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('.vtcode') && statSync(join(booted.root, path)).isFile())
      .map((path) => [path, text(path)]),
  )

describe('apply_patch: grammar', () => {
  it('accepts what models write around a patch', async () => {
    const patch = update('b.txt', '-b', '+B')
    for (const wrapped of [
      `  \n${patch}\n\n`,
      `<<'EOF'\n${patch}\nEOF`,
      `apply_patch <<EOF\n${patch}\nEOF\n`,
      `\`\`\`diff\n${patch}\n\`\`\``,
      patch.replaceAll('\n', '\r\n'),
    ]) {
      put('b.txt', 'b\n')
      expect(await apply(wrapped), wrapped).toMatchObject({ ok: true })
      expect(text('b.txt')).toBe('B\n')
    }
  })

  it('accepts a patch of exactly 1 MiB and refuses a longer one', async () => {
    const rows = '+0123456789abcde\n'.repeat(60_000)
    const frame = envelope('*** Add File: long.txt', `${rows}+`)
    const patch = (size: number) => frame.replace(rows, `${rows}+${'x'.repeat(size - frame.length - 2)}\n`)
    expect(await apply(patch(1024 ** 2 + 1))).toMatchObject({
      error: { code: 'VT_INPUT_TOO_LARGE', message: expect.stringContaining('1048577') },
    })
    expect(existsSync(join(booted.root, 'long.txt'))).toBe(false)
    expect(await apply(patch(1024 ** 2))).toMatchObject({ ok: true })
    expect(statSync(join(booted.root, 'long.txt')).size).toBeGreaterThan(900_000)
  })

  it('keeps markers inside lines as content', async () => {
    await apply(envelope('*** Add File: n', '+*** End Patch', '+$& $1'))
    await apply(update('n', ' *** End Patch', '-$& $1', '+*** Begin Patch'))
    expect(text('n')).toBe('*** End Patch\n*** Begin Patch\n')
  })

  const wrong: [title: string, patch: string, line: number][] = [
    ['no begin', '*** Update File: a.txt\n-one\n+1\n*** End Patch', 1],
    ['no end', '*** Begin Patch\n*** Update File: a.txt\n-one\n+1', 5],
    ['text after the end', `${update('a.txt', '-one', '+1')}\nmore`, 6],
    ['an unknown marker', envelope('*** Rename File: a.txt'), 2],
    ['no path', envelope('*** Delete File:'), 2],
    ['a hunk of context only', update('a.txt', '@@', ' one'), 5],
    ['no hunk', update('a.txt'), 3],
    ['an empty hunk', update('a.txt', '@@', '@@', '-one', '+1', '@@'), 8],
    ['a line without a mark', update('a.txt', '-one', 'two'), 4],
    ['an added file with context', envelope('*** Add File: n', '+x', ' y'), 4],
    ['a binary patch', 'diff --git a/a.txt b/a.txt\nindex 1..2 100644\nBinary files a/a.txt and b/a.txt differ\n', 3],
    ['a binary literal', 'diff --git a/a.txt b/a.txt\nindex 1..2 100644\nGIT binary patch\nliteral 1\n', 3],
    ['a line after a hunk', '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\ntwo\n', 6],
    ['hunks without a file', `--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n\n@@\n@@ -2 +2 @@\n-two\n+2\n`, 7],
    ['context in a new file', '--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n one\n+1\n', 1],
    ['a link', 'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n', 1],
    [
      'a submodule',
      'diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit 1\n',
      1,
    ],
    ['a header without a change', 'diff --git a/a.txt b/a.txt\nindex 1..1 100644\n', 1],
  ]
  it.each(wrong)('refuses %s and names the line and the right form', async (_, patch, line) => {
    const before = snapshot()
    expect(await error(patch)).toMatchObject({
      code: 'VT_PATCH_SYNTAX',
      details: { line, expected: expect.any(String) },
    })
    expect(snapshot()).toEqual(before)
  })

  it('refuses a patch without sections', async () => {
    expect(await error(envelope())).toMatchObject({ code: 'VT_PATCH_EMPTY' })
  })

  it('refuses every path that leads out of the workspace before it changes anything', async () => {
    mkdirSync(join(booted.root, '../out'))
    symlinkSync('../out', join(booted.root, 'link'))
    for (const path of ['../out/x', 'a/../../x', 'link/x', '/etc/x']) {
      expect(await error(envelope('*** Add File: first', '+1', `*** Add File: ${path}`, '+x')), path).toMatchObject({
        code: 'VT_PATH_OUTSIDE',
      })
      expect(
        await error(envelope('*** Add File: first', '+1', '*** Update File: b.txt', `*** Move to: ${path}`)),
        path,
      ).toMatchObject({
        code: 'VT_PATH_OUTSIDE',
      })
    }
    for (const path of ['/etc/x', '"b/\\056\\056/x"'])
      expect(await error(`--- /dev/null\n+++ ${path}\n@@ -0,0 +1 @@\n+x\n`)).toMatchObject({ code: 'VT_PATH_OUTSIDE' })
    expect(existsSync(join(booted.root, 'first'))).toBe(false)
    expect(readdirSync(join(booted.root, '../out'))).toEqual([])
  })
})

describe('apply_patch: sections', () => {
  it('applies each section to the result of the sections before it', async () => {
    const patch = envelope(
      '*** Update File: a.txt',
      '*** Move to: moved/a.txt',
      '@@',
      '-two',
      '+TWO',
      '*** Add File: a.txt',
      '+fresh',
      '*** Update File: moved/a.txt',
      '@@',
      '-three',
      '+THREE',
      '*** Delete File: b.txt',
      '*** Add File: b.txt',
      '+again',
    )
    const result = await apply(patch)
    expect(result).toMatchObject({
      ok: true,
      output: {
        changes: [{ op: 'move', to: 'moved/a.txt' }, { op: 'add' }, { op: 'update' }, { op: 'delete' }, { op: 'add' }],
      },
    })
    expect(snapshot()).toEqual({
      'a.txt': 'fresh\n',
      'moved/a.txt': 'one\nTWO\nTHREE\n',
      'b.txt': 'again\n',
      'sub/c.txt': 'c\n',
    })
  })

  it('changes nothing when a section of the patch fails', async () => {
    symlinkSync('b.txt', join(booted.root, 'link'))
    const before = snapshot()
    const first = ['*** Update File: b.txt', '@@', '-b', '+B', '*** Add File: new/file', '+x']
    const cases: [string, string[]][] = [
      ['VT_PATH_EXISTS', ['*** Add File: a.txt', '+x']],
      ['VT_PATH_EXISTS', ['*** Update File: a.txt', '*** Move to: sub/c.txt']],
      ['VT_PATH_NOT_FOUND', ['*** Delete File: none']],
      ['VT_PATH_IS_DIRECTORY', ['*** Delete File: sub']],
      ['VT_PATH_NOT_FOUND', ['*** Update File: none', '-a', '+b']],
      ['VT_PATH_NOT_DIRECTORY', ['*** Add File: a.txt/x', '+x']],
      ['VT_PATCH_CONTEXT', ['*** Update File: a.txt', '-none', '+x']],
    ]
    for (const [code, lines] of cases)
      expect(await error(envelope(...first, ...lines)), lines[0]!).toMatchObject({ code })
    put('bin', Buffer.from([0, 1]))
    expect(await error(update('bin', '-a', '+b'))).toMatchObject({ code: 'VT_FILE_BINARY' })
    const { bin, ...after } = snapshot()
    expect(after).toEqual(before)
  })

  it('reports in a dry run what the patch would change', async () => {
    const before = snapshot()
    expect(await apply(update('a.txt', '-two', '+2'), { dry_run: true })).toMatchObject({
      ok: true,
      output: { dry_run: true, changes: [{ added: 1, removed: 1 }], diff: expect.stringContaining('-two\n+2\n') },
    })
    expect(snapshot()).toEqual(before)
  })

  it('creates, removes and renames files of a git diff with their modes', async () => {
    await apply(
      [
        'diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+#!/bin/sh',
        'diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b',
        'diff --git a/sub/c.txt b/d.txt\nsimilarity index 100%\nrename from sub/c.txt\nrename to d.txt\n',
      ].join('\n'),
    )
    expect(snapshot()).toEqual({ 'a.txt': 'one\ntwo\nthree\n', run: '#!/bin/sh\n', 'd.txt': 'c\n' })
    expect(statSync(join(booted.root, 'run')).mode & 0o777).toBe(0o755)
  })

  it('refuses a patch of lines that changed since they were read', async () => {
    await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    put('a.txt', 'one\ntwo\nthree!\n')
    const result = await booted.call('apply_patch', { input: update('a.txt', '-three', '+3') })
    expect(result).toMatchObject({ ok: false, error: { code: 'VT_FILE_STALE' } })
  })
})

describe('apply_patch: 10,000 sections', () => {
  it('applies them in order, or none of them', async () => {
    put('f', Array.from({ length: 100 }, (_, line) => `${line}: 0\n`).join(''))
    const section = (step: number, line = step % 100) => {
      const value = Math.floor(step / 100)
      return `*** Update File: f\n@@\n-${line}: ${value}\n+${line}: ${value + 1}`
    }
    const sections = Array.from({ length: 10_000 }, (_, step) => section(step))
    const wrap = (body: string[]) => `*** Begin Patch\n${body.join('\n')}\n*** End Patch`
    const before = text('f')
    expect(await apply(wrap([...sections.slice(1), section(0), section(0)]))).toMatchObject({
      ok: false,
      error: { code: 'VT_PATCH_CONTEXT' },
    })
    expect(text('f')).toBe(before)
    expect(await apply(wrap(sections))).toMatchObject({ ok: true })
    expect(text('f')).toBe(Array.from({ length: 100 }, (_, line) => `${line}: 100\n`).join(''))
  })
})

describe('apply_patch: hunk', () => {
  const place = async (file: string, ...lines: string[]) => {
    put('f', file)
    const result = await apply(update('f', ...lines))
    return result.ok ? text('f') : result.error
  }

  it('places a hunk by its context, its anchors, its line numbers or the end of the file', async () => {
    const file = 'a\nx\nb\nx\nc\nx\n'
    expect(await place(file, '@@ b', '-x', '+y')).toBe('a\nx\nb\ny\nc\nx\n')
    expect(await place(file, '@@ a', '@@ c', '-x', '+y')).toBe('a\nx\nb\nx\nc\ny\n')
    expect(await place(file, '-x', '+y', '*** End of File')).toBe('a\nx\nb\nx\nc\ny\n')
    expect(await place(file, '@@ b @@', '+new')).toBe('a\nx\nb\nnew\nx\nc\nx\n')
    expect(await place(file, '+end')).toBe(`${file}end\n`)
    expect(await place(file, '@@ -4,1 +4,1 @@', '-x', '+y')).toBe('a\nx\nb\ny\nc\nx\n')
    expect(await place(file, '@@', '-x', '+1', '@@', '-x', '+2', '@@', '-x', '+3')).toBe('a\n1\nb\n2\nc\n3\n')
    expect(await place('a\nb\nc\nd\n', '@@', '-c', '+C', '@@', '-a', '+A')).toBe('A\nb\nC\nd\n')
  })

  it('refuses a hunk that fits several places, none, or overlaps another', async () => {
    const file = 'a\nx\nb\nx\nc\n'
    expect(await place(file, '-x', '+y')).toMatchObject({
      code: 'VT_PATCH_AMBIGUOUS',
      details: { hunk: 0, line_numbers: [2, 4] },
    })
    expect(await place(file, '@@', '-a', '+A', '@@', '-x', '+y')).toMatchObject({
      code: 'VT_PATCH_AMBIGUOUS',
      details: { hunk: 1 },
    })
    expect(await place(file, '@@', ' a', '-x', '@@', '-a', '+A')).toMatchObject({
      code: 'VT_PATCH_OVERLAP',
      details: { hunks: [0, 1] },
    })
    expect(await place(file, '@@ bee', '-x', '+y')).toMatchObject({
      code: 'VT_PATCH_CONTEXT',
      message: expect.stringContaining('bee'),
    })
    expect(await place('function alpha() {\n  return 1\n}\n', '-  return  1', '+  return 2')).toMatchObject({
      code: 'VT_PATCH_CONTEXT',
      details: { near: [{ line_number: 2, differs_in: 'whitespace' }] },
      next: { input: { offset_lines: 1 } },
    })
  })

  it('accepts differences in white space and typography where only one place fits and keeps the bytes of the context', async () => {
    expect(await place('a  \nb\t\nc\n', ' a', '-b', '+B')).toBe('a  \nB\nc\n')
    expect(await place('if (x) {\n    a()\n    b()\n}\n', ' a()', '-b()', '+c()', '+  d()')).toBe(
      'if (x) {\n    a()\n    c()\n      d()\n}\n',
    )
    expect(await place('say “hi” — now\nb\n', ' say "hi" - now', '-b', '+B')).toBe('say “hi” — now\nB\n')
    expect(await place('a \nb\na \n', '-a', '+A')).toMatchObject({ code: 'VT_PATCH_AMBIGUOUS' })
    put('f', 'à\n\tx\n')
    expect(await apply(update('f', ' à', '-  x', '+  y'))).toMatchObject({
      ok: false,
      error: { code: 'VT_PATCH_CONTEXT' },
    })
    put('f', 'a  \nb\n')
    expect(await apply(update('f', ' a', '-b', '+B'))).toMatchObject({
      output: { fuzzy: 1 },
      notices: [{ code: 'VT_PATCH_FUZZY', message: expect.stringContaining('line 1') }],
    })
  })

  it('writes the line ends of the file and keeps its last one unchanged', async () => {
    expect(await place('a\r\nb\r\nc', '-a', '+A', '+AA')).toBe('A\r\nAA\r\nb\r\nc')
    expect(await place('a\r\nb\r\nc', '-c', '+C')).toBe('a\r\nb\r\nC')
    expect(await place('a\nb\r\nc\n', ' b', '+x')).toBe('a\nb\r\nx\r\nc\n')
    expect(await place('a\nb', '+c')).toBe('a\nb\nc')
    expect(await place('a\n\n\n', '-a', '+b')).toBe('b\n\n\n')
    expect(await place('a\nb\n', '-b')).toBe('a\n')
    expect(await place('caf\xe9\n', '+x')).toBe('caf\xe9\nx\n')
    put('f', Buffer.from('caf\xe9\nb\n', 'latin1'))
    expect(await apply(update('f', '-b', '+é'))).toMatchObject({ error: { code: 'VT_FILE_ENCODING' } })
    await apply(update('f', '-b', '+B'))
    expect(readFileSync(join(booted.root, 'f'))).toEqual(Buffer.from('caf\xe9\nB\n', 'latin1'))
  })

  it('applies a missing line end at the end of a diff, in both directions', async () => {
    put('f', 'a\nb')
    await apply('--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n')
    expect(text('f')).toBe('a\nb\n')
    await apply('--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n')
    expect(text('f')).toBe('a\nb')
  })
})

describe('apply_patch: random diffs', () => {
  const line = fc.constantFrom('alpha', 'beta', 'gamma', 'delta', '', '  indented', 'é “x”')
  const file = fc
    .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
    .map(([lines, end]) => lines.join('\n') + (end && lines.length > 0 ? '\n' : ''))

  it('turns the old text into the new one, or refuses the diff and changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(file, file, fc.integer({ min: 0, max: 3 }), async (before, after, context) => {
        fc.pre(before !== after && before !== '')
        put('f', before)
        const patch = createTwoFilesPatch('a/f', 'b/f', before, after, '', '', { context })
        fc.pre(after !== '')
        const result = await apply(patch)
        if (result.ok) expect(text('f')).toBe(after)
        else {
          expect(['VT_PATCH_AMBIGUOUS', 'VT_PATCH_CONTEXT']).toContain(result.error.code)
          expect(text('f')).toBe(before)
          expect(context).toBeLessThan(3)
        }
      }),
      { numRuns: runs(rounds(20, 120)) },
    )
  })

  it('changes only the named line and keeps line ends of both kinds and a byte order mark', async () => {
    const words = ['alpha', 'beta', '', '  indented', 'é “x” 😀']
    const lines = fc.array(fc.tuple(fc.constantFrom(...words), fc.constantFrom('\n', '\r\n')), { maxLength: 12 })
    const marks = [Buffer.alloc(0), Buffer.from([0xef, 0xbb, 0xbf])]
    await fc.assert(
      fc.asyncProperty(
        lines,
        lines,
        fc.constantFrom('\n', '\r\n', ''),
        fc.constantFrom(...marks),
        async (above, below, end, mark) => {
          const own = below.length > 0 && end === '' ? '\n' : end
          // An inserted line takes the line end of the line before it. A file without a final one stays so.
          const given = own === '' ? '' : (above.at(-1)?.[1] ?? own)
          const [head, tail] = [above, below].map((lines) => lines.map((line) => line.join('')).join(''))
          const whole = (middle: string) => Buffer.concat([mark, Buffer.from(`${head}${middle}${tail}`)])
          put('f', whole(`only here${own}`))
          const result = await apply(
            '*** Begin Patch\n*** Update File: f\n@@\n-only here\n+and now this\n*** End Patch',
          )
          expect(result).toMatchObject({ ok: true })
          expect(readFileSync(join(booted.root, 'f'))).toEqual(whole(`and now this${given}`))
        },
      ),
      { numRuns: runs(rounds(20, 120)) },
    )
  })
})
