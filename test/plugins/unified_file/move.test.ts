import { existsSync, lstatSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
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

describe('move', () => {
  it('renames files, links and directories, with the parents they need', async () => {
    symlinkSync('a.txt', at('link'))
    expect(await act('move', 'a.txt', { destination: 'n/e/w.txt' })).toMatchObject({ output: { from: 'a.txt', to: 'n/e/w.txt', overwritten: false, kind: 'file' }, text: 'moved a.txt -> n/e/w.txt' })
    await act('move', 'dir', { to: 'n/dir' })
    await act('move', 'link', { destination: 'linked' })
    expect(readFileSync(at('n/dir/sub/x'), 'utf8')).toBe('x')
    expect(readlinkSync(at('linked'))).toBe('a.txt')
    expect(existsSync(at('a.txt'))).toBe(false)
  })

  it('takes no name in use, unless it is a file and told to', async () => {
    expect(await code('move', 'a.txt', { destination: 'b.txt' })).toBe('VT_PATH_EXISTS')
    expect(await act('move', 'a.txt', { destination: 'dir', overwrite: true })).toMatchObject({ error: { code: 'VT_PATH_EXISTS', hint: expect.stringContaining("'dir/a.txt'") } })
    expect(await code('move', 'dir', { destination: 'b.txt', overwrite: true })).toBe('VT_PATH_EXISTS')
    expect(await code('move', 'dir', { destination: 'dir/sub/deep' })).toBe('VT_INPUT_CONFLICT')
    expect(await act('move', 'a.txt', { destination: 'b.txt', overwrite: true })).toMatchObject({ output: { overwritten: true } })
    expect(readFileSync(at('b.txt'), 'utf8')).toBe('a\n')
  })

  it('does not touch what leads outside', async () => {
    symlinkSync('../secret', at('out'))
    symlinkSync('..', at('up'))
    for (const [path, destination] of [['out', 'x'], ['up/secret', 'x'], ['a.txt', 'up/x'], ['a.txt', '../x'], ['none', 'x']] as const) {
      expect(await code('move', path, { destination }), path).toBe(path === 'none' ? 'VT_PATH_NOT_FOUND' : 'VT_PATH_OUTSIDE')
    }
    symlinkSync('../b.txt', at('dir/link'))
    expect(await code('move', 'dir/link', { destination: 'link' })).toBe('VT_PATH_OUTSIDE')
    expect(lstatSync(at('out')).isSymbolicLink()).toBe(true)
  })
})
