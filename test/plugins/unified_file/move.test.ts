import { existsSync, lstatSync, readFileSync, readlinkSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { entries } from '../../support/entries.js'

const { at, act, code } = entries()

describe('unified_file/move', () => {
  it('renames files, links and directories and creates missing parents', async () => {
    symlinkSync('a.txt', at('link'))
    expect(await act('move', 'a.txt', { destination: 'n/e/w.txt' })).toMatchObject({
      output: { from: 'a.txt', to: 'n/e/w.txt', overwritten: false, kind: 'file' },
      text: 'moved a.txt -> n/e/w.txt',
    })
    await act('move', 'dir', { to: 'n/dir' })
    await act('move', 'link', { destination: 'linked' })
    expect(readFileSync(at('n/dir/sub/x'), 'utf8')).toBe('x')
    expect(readlinkSync(at('linked'))).toBe('a.txt')
    expect(existsSync(at('a.txt'))).toBe(false)
  })

  it('refuses an existing destination unless it is a file and overwrite is requested', async () => {
    expect(await code('move', 'a.txt', { destination: 'b.txt' })).toBe('VT_PATH_EXISTS')
    const refused = await act('move', 'a.txt', { destination: 'dir', overwrite: true })
    expect(refused).toMatchObject({ error: { code: 'VT_PATH_EXISTS', hint: expect.stringContaining("'dir/a.txt'") } })
    symlinkSync('b.txt', at('link'))
    expect(await code('move', 'a.txt', { destination: 'link', overwrite: true })).toBe('VT_PATH_EXISTS')
    expect(await code('move', 'dir', { destination: 'b.txt', overwrite: true })).toBe('VT_PATH_EXISTS')
    expect(await code('move', 'dir', { destination: 'dir/sub/deep' })).toBe('VT_INPUT_CONFLICT')
    expect(await act('move', 'a.txt', { destination: 'b.txt', overwrite: true })).toMatchObject({
      output: { overwritten: true },
    })
    expect(readFileSync(at('b.txt'), 'utf8')).toBe('a\n')
  })

  it('moves a file of any size and replaces none that is too large for a backup', async () => {
    writeFileSync(at('large'), '')
    truncateSync(at('large'), 100 * 1024 * 1024)
    expect(await code('move', 'large', { destination: 'n/large' })).toBe('ok')
    expect(await code('move', 'a.txt', { destination: 'n/large', overwrite: true })).toBe('VT_INPUT_TOO_LARGE')
  })

  it('refuses to move a path into itself, by any spelling', async () => {
    symlinkSync('dir', at('way'))
    expect(await code('move', 'dir', { destination: 'way/sub/deep' })).toBe('VT_INPUT_CONFLICT')
    expect(await code('move', 'dir/sub/x', { destination: 'way/sub/x', overwrite: true })).toBe('VT_INPUT_CONFLICT')
    expect(readFileSync(at('dir/sub/x'), 'utf8')).toBe('x')
  })

  it('refuses paths that lead outside the workspace', async () => {
    symlinkSync('../secret', at('out'))
    symlinkSync('..', at('up'))
    for (const [path, destination] of [
      ['out', 'x'],
      ['up/secret', 'x'],
      ['a.txt', 'up/x'],
      ['a.txt', '../x'],
      ['none', 'x'],
    ] as const) {
      expect(await code('move', path, { destination }), path).toBe(
        path === 'none' ? 'VT_PATH_NOT_FOUND' : 'VT_PATH_OUTSIDE',
      )
    }
    symlinkSync('../b.txt', at('dir/link'))
    expect(await code('move', 'dir/link', { destination: 'link' })).toBe('VT_PATH_OUTSIDE')
    expect(lstatSync(at('out')).isSymbolicLink()).toBe(true)
  })
})
