import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

// A file that was read changes by another hand: a command of the session or an editor.

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel()
})
afterEach(() => booted[Symbol.asyncDispose]())

const at = (path: string) => join(booted.root, path)
const content = (path: string) => readFileSync(at(path), 'utf8')
const put = (path: string, text: string) => writeFileSync(at(path), text)
const file = async (action: string, input: object): Promise<any> =>
  booted.call('unified_file', { action, path: 'f', ...input })
const patch = async (body: string): Promise<any> =>
  booted.call('apply_patch', { input: body.startsWith('---') ? body : `*** Begin Patch\n${body}\n*** End Patch` })
/** Writes a file, reads it in the session, and changes it outside. */
const change = async (before: string, after: string, range: object = {}) => {
  put('f', before)
  await file('read', range)
  put('f', after)
}
const CHANGED = { code: 'VT_FILE_CHANGED', message: expect.stringContaining("'f' changed since it was read.") }
const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, at) => `line ${at + from}\n`).join('')

describe('unified_file/edit: a file that changed since it was read', () => {
  it('applies an edit whose text is unique in the current file and shows the diff since the read', async () => {
    await change('const a=1\nconst b = 2\nconst c = 3\n', 'const a = 1\nconst b = 2\nconst c = 3\n')
    const edited = await file('edit', { old_str: 'const c = 3', new_str: 'const c = 4' })
    expect(edited).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(edited.text).toMatch(
      /^edited f:3-3 .*\nChanged since the read:\n--- a\/f\n[^]*\n-const a=1\n\+const a = 1\n/,
    )
    expect(edited.output.diff_since_read).toContain('+const a = 1')
    expect(content('f')).toBe('const a = 1\nconst b = 2\nconst c = 4\n')
    expect(await file('edit', { old_str: 'const c = 4', new_str: 'c' })).not.toHaveProperty('notices')
  })

  it('applies an edit after a command of the session has changed the file', async () => {
    await change('a=1\nb = 2\n', 'a=1\nb = 2\n')
    const run = { action: 'run', command: ['sed', '-i', 's/a=1/a = 1/', 'f'] }
    expect(await booted.call('unified_exec', run)).toMatchObject({ ok: true })
    expect(await file('edit', { old_str: 'b = 2', new_str: 'b = 3' })).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(content('f')).toBe('a = 1\nb = 3\n')
  })

  it('refuses an edit whose text was changed and reads the changed lines next', async () => {
    await change(`${numbers(50)}old\n${numbers(50, 60)}`, `${numbers(50)}new\n${numbers(50, 60)}`)
    const refused = await file('edit', { old_str: 'old', new_str: 'mine' })
    expect(refused.error).toMatchObject({
      code: 'VT_FILE_STALE',
      details: { diff: expect.stringContaining('-old\n+new\n'), not_applied: true },
      next: { input: { action: 'read', path: 'f', offset_lines: 48, page_size_lines: 7 } },
    })
    expect(await booted.call(refused.error.next.tool, refused.error.next.input)).toMatchObject({
      output: { content: expect.stringContaining('\nnew\n') },
    })
    expect(await file('edit', { old_str: 'new', new_str: 'mine' })).toMatchObject({ ok: true })
  })

  it('reads the most similar lines next if the read version was not kept', async () => {
    const large = numbers(40_000)
    await change(large, large.replace('line 30000\n', 'line 3OOOO\n'))
    expect(await file('edit', { old_str: 'line 30000\n', new_str: 'x\n' })).toMatchObject({
      error: { code: 'VT_FILE_STALE', next: { input: { offset_lines: expect.any(Number) } } },
    })
  })

  it('refuses an edit whose text has become ambiguous', async () => {
    await change('one\ntwo\n', 'one\ntwo\none\n')
    expect(await file('edit', { old_str: 'one', new_str: 'x' })).toMatchObject({ error: { code: 'VT_FILE_STALE' } })
    expect(content('f')).toBe('one\ntwo\none\n')
  })

  it('refuses to replace occurrences that the caller has not read', async () => {
    await change('one\ntwo\n', 'one\ntwo\none\n')
    const all = { old_str: 'one', new_str: 'x', replace_all: true }
    expect(await file('edit', all)).toMatchObject({ error: { code: 'VT_FILE_STALE' } })
    await change('one\none\n', 'one\none\ntwo\n')
    expect(await file('edit', all)).toMatchObject({ output: { replacements: 2 }, notices: [CHANGED] })
  })

  it('names a text that neither version has as not found', async () => {
    await change('one\n', 'two\n')
    expect(await file('edit', { old_str: 'three', new_str: 'x' })).toMatchObject({
      error: { code: 'VT_EDIT_NOT_FOUND' },
    })
  })

  it('applies all or none of several edits and names the one whose text changed', async () => {
    await change('a\nb\nc\n', 'a\nB\nc\n')
    const edits = [
      { old_str: 'a', new_str: 'x' },
      { old_str: 'b', new_str: 'y' },
    ]
    expect(await file('edit', { edits })).toMatchObject({ error: { code: 'VT_FILE_STALE', details: { index: 1 } } })
    expect(content('f')).toBe('a\nB\nc\n')
  })

  it('keeps refusing a whole write while the caller has not seen the change of another', async () => {
    const big = numbers(200)
    await change(big, big.replaceAll('line 1', 'LINE 1'))
    expect(await file('edit', { old_str: 'line 22\n', new_str: 'x\n' })).toMatchObject({
      ok: true,
      notices: [{ code: 'VT_FILE_CHANGED', message: expect.stringContaining('Read it again') }],
    })
    expect(await file('write', { content: 'x', mode: 'overwrite' })).toMatchObject({ error: { code: 'VT_FILE_STALE' } })
  })

  it('compares with a hash that the call gives, and not with the last read', async () => {
    await change('a\n', 'b\n')
    const refused = await file('edit', { old_str: 'b', new_str: 'c', expected_hash: '0000000000000000' })
    expect(refused.error).toMatchObject({ code: 'VT_FILE_STALE', hint: expect.stringContaining('expected_hash') })
  })
})

describe('unified_file/write, move, copy, delete: a file that changed since it was read', () => {
  it('refuses to overwrite it and shows the change', async () => {
    await change('a\nb\n', 'a\nb\n// saved by an editor\n')
    const refused = await file('write', { content: 'mine\n', overwrite: true })
    expect(refused.error).toMatchObject({
      code: 'VT_FILE_STALE',
      details: { diff: expect.stringContaining('+// saved by an editor') },
      next: { input: { action: 'read', path: 'f', offset_lines: 1 } },
    })
    await booted.call(refused.error.next.tool, refused.error.next.input)
    expect(await file('write', { content: 'mine\n', overwrite: true })).toMatchObject({ ok: true })
  })

  it('appends to, moves and copies a file that only grew', async () => {
    await change('1\n', '1\n2\n')
    expect(await file('copy', { destination: 'kept' })).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(content('kept')).toBe('1\n2\n')
    const appended = await file('write', { content: '3\n', mode: 'append' })
    expect(appended).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(appended.text).toContain('\n+2')
    appendFileSync(at('f'), '4\n')
    expect(await file('move', { destination: 'moved' })).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(content('moved')).toBe('1\n2\n3\n4\n')
  })

  it('recognises a file that grew by the hash of a large read version', async () => {
    const large = numbers(40_000)
    await change(large, `${large}more\n`)
    expect(await file('copy', { destination: 'kept' })).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(await file('edit', { old_str: 'line 7\n', new_str: 'x\n' })).toMatchObject({ ok: true, notices: [CHANGED] })
  })

  it('refuses to append to, move, copy and delete a file that changed otherwise', async () => {
    await change('1\n2\n', '1\n3\n')
    for (const [action, input] of [
      ['write', { content: 'x', mode: 'append' }],
      ['move', { destination: 'x' }],
      ['copy', { destination: 'x' }],
      ['delete', {}],
    ] as const)
      expect(await file(action, input)).toMatchObject({
        error: { code: 'VT_FILE_STALE', next: { input: { offset_lines: 1, page_size_lines: 5 } } },
      })
  })
})

describe('apply_patch: a file that changed since it was read', () => {
  it('applies a hunk that fits once in the current file, with the diff since the read', async () => {
    await change('a=1\nb\nc\n', 'a = 1\nb\nc\n')
    const patched = await patch('*** Update File: f\n@@\n b\n-c\n+C')
    expect(patched).toMatchObject({ ok: true, notices: [CHANGED] })
    expect(patched.text).toContain('Changed since the read:\n--- a/f')
    expect(content('f')).toBe('a = 1\nb\nC\n')
  })

  it('applies a unified diff whose line numbers are those of the read version', async () => {
    await change(numbers(20), `new\n${numbers(20)}`)
    const body = '--- a/f\n+++ b/f\n@@ -10,3 +10,3 @@\n line 10\n-line 11\n+LINE 11\n line 12\n'
    expect(await booted.call('unified_file', { action: 'patch', patch: body })).toMatchObject({
      ok: true,
      notices: [CHANGED],
    })
    expect(content('f')).toContain('line 10\nLINE 11\nline 12\n')
  })

  it('refuses a hunk whose place only the old line numbers name', async () => {
    const block = 'x\ny\nz\n'
    await change(`${block}1\n${block}`, `0\n${block}1\n${block}`)
    const body = '--- a/f\n+++ b/f\n@@ -5,3 +5,3 @@\n x\n-y\n+Y\n z\n'
    const refused = await patch(body)
    expect(refused.error).toMatchObject({ code: 'VT_FILE_STALE', details: { diff: expect.stringContaining('+0') } })
    await booted.call(refused.error.next.tool, refused.error.next.input)
    expect(await patch(body)).toMatchObject({ ok: true })
    const added = '--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+new\n'
    put('f', content('f').replace('0\n', 'zero\n'))
    expect(await patch(added)).toMatchObject({ error: { code: 'VT_FILE_STALE' } })
  })

  it('refuses a hunk whose old lines were changed, and everything else of the patch', async () => {
    await change('a\nb\n', 'a\nB\n')
    expect(await patch('*** Add File: g\n+x\n*** Update File: f\n@@\n-b\n+c')).toMatchObject({
      error: { code: 'VT_FILE_STALE', next: { input: { offset_lines: 1 } } },
    })
    expect(() => content('g')).toThrow()
  })

  it('refuses to delete or move the whole changed file, and deletes one that the patch quotes', async () => {
    await change('a\nb\n', 'a\nB\n')
    expect(await patch('*** Delete File: f')).toMatchObject({ error: { code: 'VT_FILE_STALE' } })
    expect(await patch('*** Update File: f\n*** Move to: g')).toMatchObject({ error: { code: 'VT_FILE_STALE' } })
    expect(await patch('--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-B\n')).toMatchObject({ ok: true })
  })
})
