import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let booted: Booted
beforeEach(async () => {
  booted = await bootKernel({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'dir/sub/x': 'x', 'dir/.hidden': 'h' } })
  writeFileSync(join(booted.root, '../secret'), 'secret')
})
afterEach(() => booted[Symbol.asyncDispose]())

const at = (path: string) => join(booted.root, path)
const act = (action: string, path: string, rest: object = {}) => booted.call('unified_file', { action, path, ...rest })
const code = async (action: string, path: string, rest: object = {}) => {
  const result = await act(action, path, rest)
  return result.ok ? 'ok' : result.error.code
}

describe('delete', () => {
  it('takes files, empty directories and links, and full directories when asked', async () => {
    symlinkSync('a.txt', at('link'))
    mkdirSync(at('empty'))
    symlinkSync('../../..', at('dir/sub/up'))
    expect(await act('delete', 'link')).toMatchObject({ output: { kind: 'symlink', entries: 1 }, text: 'deleted link (1 entry)' })
    expect(await act('delete', 'empty')).toMatchObject({ output: { kind: 'dir', deleted: true } })
    expect(await act('delete', 'dir')).toMatchObject({ error: { code: 'VT_PATH_NOT_EMPTY', details: { entries: 4 } } })
    expect(await act('delete', 'dir', { recursive: true })).toMatchObject({ output: { kind: 'dir', entries: 4 } })
    expect(readdirSync(booted.root).sort()).toEqual(['.vtcode', 'a.txt', 'b.txt'])
    expect(readFileSync(at('../secret'), 'utf8')).toBe('secret')
  })

  it('of what is not there is an error, unless forced', async () => {
    expect(await act('delete', 'dir/none')).toMatchObject({ error: { code: 'VT_PATH_NOT_FOUND', next: { input: { action: 'list', path: 'dir' } } } })
    expect(await act('delete', 'none', { force: true })).toMatchObject({ output: { deleted: false, skipped: true } })
    expect(await code('delete', './dir/..', { recursive: true })).toBe('VT_INPUT_INVALID')
  })

  it('of a file that changed since it was read is a conflict', async () => {
    await act('read', 'a.txt')
    writeFileSync(at('a.txt'), 'other')
    expect(await code('delete', 'a.txt')).toBe('VT_FILE_STALE')
    expect(await code('delete', 'b.txt', { expected_hash: '0'.repeat(16) })).toBe('VT_FILE_STALE')
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('other')
  })

  it.runIf(process.getuid?.() === 0)('never goes into another file system', async () => {
    mkdirSync(at('dir/mounted'))
    mkdirSync(at('../other'))
    writeFileSync(at('../other/keep'), 'keep')
    try {
      execFileSync('mount', ['--bind', at('../other'), at('dir/mounted')])
      expect(await act('delete', 'dir', { recursive: true })).toMatchObject({ ok: false, error: { code: 'VT_PATH_PERMISSION' } })
    } finally {
      execFileSync('umount', [at('dir/mounted')])
    }
    expect(readFileSync(at('../other/keep'), 'utf8')).toBe('keep')
    expect(existsSync(at('dir/sub/x'))).toBe(true)
  })
})
