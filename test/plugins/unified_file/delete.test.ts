import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { entries } from '../../support/entries.js'

const { at, act, code } = entries()

describe('unified_file/delete', () => {
  it('deletes files, empty directories and links, and full directories when asked', async () => {
    symlinkSync('a.txt', at('link'))
    mkdirSync(at('empty'))
    symlinkSync('../../..', at('dir/sub/up'))
    expect(await act('delete', 'link')).toMatchObject({
      output: { kind: 'symlink', entries: 1 },
      text: 'deleted link (1 entry)',
    })
    expect(await act('delete', 'empty')).toMatchObject({ output: { kind: 'dir', deleted: true } })
    expect(await act('delete', 'dir')).toMatchObject({ error: { code: 'VT_PATH_NOT_EMPTY', details: { entries: 4 } } })
    expect(await act('delete', 'dir', { recursive: true })).toMatchObject({ output: { kind: 'dir', entries: 4 } })
    expect(readdirSync(at('.')).sort()).toEqual(['.vtcode', 'a.txt', 'b.txt'])
    expect(readFileSync(at('../secret'), 'utf8')).toBe('secret')
  })

  it('fails on a missing path unless forced', async () => {
    const next = { tool: 'unified_search', input: { action: 'list', path: 'dir' } }
    expect(await act('delete', 'dir/none')).toMatchObject({
      error: { code: 'VT_PATH_NOT_FOUND', next, details: { not_applied: true } },
    })
    expect(await act('delete', 'dir/x')).toMatchObject({ error: { details: { similar: ['dir/sub/x'] } } })
    expect(await act('delete', 'none', { force: true })).toMatchObject({ output: { deleted: false, skipped: true } })
    expect(await code('delete', './dir/..', { recursive: true })).toBe('VT_INPUT_INVALID')
  })

  it('refuses to delete a file that changed since it was read', async () => {
    await act('read', 'a.txt')
    writeFileSync(at('a.txt'), 'other')
    expect(await code('delete', 'a.txt')).toBe('VT_FILE_STALE')
    expect(await code('delete', 'b.txt', { expected_hash: '0'.repeat(16) })).toBe('VT_FILE_STALE')
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('other')
  })

  it('deletes a link at any depth with any target inside, and a file of any size', async () => {
    mkdirSync(at('1/2/3/4/5/6/7'), { recursive: true })
    symlinkSync('../../../../../../../a.txt', at('1/2/3/4/5/6/7/link'))
    expect(await act('delete', '1/2/3/4/5/6/7/link')).toMatchObject({ output: { kind: 'symlink' } })
    for (const [size, notices] of [
      [100, undefined],
      [300, [{ code: 'VT_FILE_NOT_KEPT' }]],
    ] as const) {
      writeFileSync(at('large'), '')
      truncateSync(at('large'), size * 1024 * 1024)
      const result = await act('delete', 'large')
      expect([result.ok, result.notices]).toEqual([true, notices && [expect.objectContaining(notices[0])]])
    }
  })

  it('refuses to delete a large file that changed since a part of it was read', async () => {
    writeFileSync(at('large'), '')
    truncateSync(at('large'), 100 * 1024 * 1024)
    await act('read', 'large', { offset_bytes: 0 })
    truncateSync(at('large'), 100 * 1024 * 1024 + 1)
    expect(await code('delete', 'large')).toBe('VT_FILE_STALE')
  })

  it.runIf(process.getuid?.() === 0)('stays inside one file system', async () => {
    mkdirSync(at('dir/mounted'))
    mkdirSync(at('../other'))
    writeFileSync(at('../other/keep'), 'keep')
    try {
      execFileSync('mount', ['--bind', at('../other'), at('dir/mounted')])
      expect(await act('delete', 'dir', { recursive: true })).toMatchObject({
        ok: false,
        error: { code: 'VT_PATH_PERMISSION' },
      })
    } finally {
      execFileSync('umount', [at('dir/mounted')])
    }
    expect(readFileSync(at('../other/keep'), 'utf8')).toBe('keep')
    expect(existsSync(at('dir/sub/x'))).toBe(true)
  })
})
