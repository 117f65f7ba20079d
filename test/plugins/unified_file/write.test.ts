import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('../../../dist/core/bin.js', import.meta.url))
let booted: Booted
beforeEach(async () => {
  booted = await bootKernel({ files: { 'a.txt': 'one\ntwo\n', 'dir/x': 'x' } })
})
afterEach(() => booted[Symbol.asyncDispose]())

const write = (input: object) => booted.call('unified_file', { action: 'write', ...input })
const content = (path: string) => readFileSync(join(booted.root, path), 'utf8')

describe('unified_file/write', () => {
  it('creates a file with the exact bytes, and its parent folders', async () => {
    expect(await write({ path: 'n/e/w.txt', content: '\uFEFFé\r\n\n' })).toMatchObject({
      ok: true,
      output: { created: true, bytes_written: 8, total_lines: 2, mode: 'fail_if_exists' },
      text: 'created n/e/w.txt (2 lines, 8 bytes)',
    })
    expect(content('n/e/w.txt')).toBe('\uFEFFé\r\n\n')
    expect(await write({ path: 'empty', content: '' })).toMatchObject({
      ok: true,
      output: { total_lines: 0, bytes_written: 0 },
    })
  })

  it('starts no program of the workspace, even when npx puts node_modules/.bin on PATH', async () => {
    const bin = join(booted.root, 'node_modules/.bin')
    await booted.write('node_modules/.bin/cp', `#!/bin/sh\ntouch '${join(booted.root, 'marker')}'\n`)
    chmodSync(join(bin, 'cp'), 0o755)
    const words = [
      '--workspace',
      booted.root,
      '--home',
      booted.home,
      '--mode',
      'auto',
      'call',
      'unified_file',
      'write',
      '--path',
      'a.txt',
      '--content',
      'new',
      '--mode',
      'overwrite',
    ]
    const { stdout } = spawnSync(process.execPath, [program, ...words], {
      env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
      encoding: 'utf8',
    })
    expect(JSON.parse(stdout)).toMatchObject({ ok: true })
    expect(content('a.txt')).toBe('new')
    expect(existsSync(join(booted.root, 'marker'))).toBe(false)
  })

  it('refuses to replace an existing file without a mode', async () => {
    expect(await write({ path: 'a.txt', content: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'VT_PATH_EXISTS', hint: expect.stringContaining('mode: "overwrite"') },
    })
    expect(await write({ path: 'a.txt', content: 'x', mode: 'skip_if_exists' })).toMatchObject({
      ok: true,
      output: { skipped: true, created: false },
    })
    expect(content('a.txt')).toBe('one\ntwo\n')
    expect(await write({ path: 'a.txt', content: '', overwrite: true, response_format: 'detailed' })).toMatchObject({
      ok: true,
      output: { created: false, diff: expect.stringContaining('-one\n-two\n') },
    })
    expect(content('a.txt')).toBe('')
    expect(await write({ path: 'a.txt', content: '', overwrite: true, mode: 'append' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_CONFLICT' },
    })
  })

  it('appends after the last byte, in the encoding of the file', async () => {
    writeFileSync(join(booted.root, 'u'), Buffer.from('\uFEFFa', 'utf16le'))
    await write({ path: 'u', content: 'é\n', mode: 'append' })
    expect(readFileSync(join(booted.root, 'u')).toString('utf16le')).toBe('\uFEFFaé\n')
    expect(await write({ path: 'a.txt', content: 'three', mode: 'append' })).toMatchObject({
      output: { bytes_written: 5, total_lines: 3 },
    })
  })

  it('keeps CRLF and reports a change to it', async () => {
    writeFileSync(join(booted.root, 'c'), 'a\r\nb\r\n')
    expect(await write({ path: 'c', content: 'b\nc\n', overwrite: true })).not.toHaveProperty('notices')
    expect(readFileSync(join(booted.root, 'c'), 'utf8')).toBe('b\r\nc\r\n')
    writeFileSync(join(booted.root, 'l'), 'a\nb\n')
    expect((await write({ path: 'l', content: 'a\r\nb\r\n', overwrite: true })).notices).toMatchObject([
      { code: 'VT_FILE_EOL_CHANGED' },
    ])
  })

  it('refuses an invalid path and too much content at once', async () => {
    const code = async (input: object) => {
      const result = await write(input)
      return result.ok ? 'ok' : result.error.code
    }
    expect(await code({ path: 'dir', content: '', overwrite: true })).toBe('VT_PATH_IS_DIRECTORY')
    expect(await code({ path: 'a.txt/b', content: '' })).toBe('VT_PATH_NOT_DIRECTORY')
    expect(await code({ path: 'big', content: 'é'.repeat(1_600_000) })).toBe('VT_INPUT_TOO_LARGE')
    symlinkSync('../outside', join(booted.root, 'dangling'))
    expect(await code({ path: 'dangling', content: 'x' })).toBe('VT_PATH_OUTSIDE')
    expect(await code({ path: 'none', content: 'x', mode: 'overwrite', expected_hash: '0'.repeat(16) })).toBe(
      'VT_FILE_STALE',
    )
    expect(
      readdirSync(booted.root)
        .filter((name) => name !== '.vtcode')
        .sort(),
    ).toEqual(['a.txt', 'dangling', 'dir'])
  })

  it('refuses to overwrite a file that changed since it was read and shows the change', async () => {
    await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    writeFileSync(join(booted.root, 'a.txt'), 'one\nTWO\n')
    const refused = await write({ path: 'a.txt', content: 'mine', mode: 'overwrite' })
    expect(refused).toMatchObject({
      ok: false,
      error: {
        code: 'VT_FILE_STALE',
        details: { diff: expect.stringContaining('-two\n+TWO\n') },
        next: { input: { action: 'read', path: 'a.txt' } },
      },
    })
    const [read] = [await booted.call('unified_file', { action: 'read', path: 'a.txt' })]
    expect(await write({ path: 'a.txt', content: 'mine', mode: 'overwrite' })).toMatchObject({ ok: true })
    expect(
      await write({ path: 'a.txt', content: 'again', mode: 'overwrite', expected_hash: (read as any).output.hash }),
    ).toMatchObject({
      ok: false,
      error: { code: 'VT_FILE_STALE' },
    })
    expect(await write({ path: 'a.txt', content: 'again', mode: 'overwrite' })).toMatchObject({ ok: true })
  })

  it('leaves only the file and the state of the program, which git ignores', async () => {
    await write({ path: 'b.txt', content: 'x' })
    expect(readdirSync(booted.root).sort()).toEqual(['.vtcode', 'a.txt', 'b.txt', 'dir'])
    for (const folder of ['history', 'tmp']) expect(content(`.vtcode/${folder}/.gitignore`)).toBe('*\n')
    expect(statSync(join(booted.root, 'b.txt')).mode & 0o777).toBe(0o644 & ~process.umask())
  })
})

describe('unified_file: refused change', () => {
  const paths = [
    undefined,
    '',
    null,
    'none',
    'sub',
    '../x',
    '/etc/passwd',
    '.',
    'a\0b',
    5,
    [],
    {},
    true,
    'x'.repeat(5000),
    '.git/config',
  ]
  const fields = {
    write: { content: '' },
    edit: { old_str: 'zz', new_str: 'y' },
    patch: { patch: 'junk' },
    delete: {},
    move: {},
    copy: {},
  }

  it('reports that nothing changed, with a sentence for the user, at whatever check the change was refused', async () => {
    await booted.call('unified_file', { action: 'write', path: 'sub/x', content: 'x' })
    const inputs: unknown[] = Object.entries(fields).flatMap(([action, rest]) =>
      paths.flatMap((path) => [
        { action, path, ...rest },
        { action, path: 'sub', destination: path, ...rest },
      ]),
    )
    const early = [
      'junk',
      5,
      {},
      { action: 'rewrite' },
      { action: 'write', path: 'big', content: 'x'.repeat(5 * 1024 * 1024) },
    ]
    let refused = 0
    for (const [index, input] of [...inputs, ...early].entries()) {
      const result = await booted.call('unified_file', input as object, { session: `refused-${index}` })
      if (result.ok) continue
      refused++
      const details = { not_applied: true, say: expect.stringMatching(/^Not applied\. /) }
      expect(result.error, JSON.stringify(input)?.slice(0, 100)).toMatchObject({ details })
    }
    expect(refused).toBeGreaterThan(100)
    const stopped = await booted.call(
      'unified_file',
      { action: 'write', path: 'q', content: 'x' },
      { signal: AbortSignal.abort() },
    )
    expect(stopped).toMatchObject({ error: { code: 'VT_CALL_ABORTED', details: { not_applied: true } } })
    expect(existsSync(join(booted.root, 'q'))).toBe(false)
  })
})
