import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRoot, openLocation, walk, type Directory } from '../../../build/core/files/index.js'

let folder: string
let root: Directory

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'files-'))
  mkdirSync(join(folder, 'a/b'), { recursive: true })
  writeFileSync(join(folder, 'a/b/file'), 'text')
  symlinkSync('a/b', join(folder, 'link'))
  symlinkSync(join(folder, 'a'), join(folder, 'absolute'))
  symlinkSync('../outside', join(folder, 'out'))
  symlinkSync('loop', join(folder, 'loop'))
  root = openRoot(folder)
})
afterEach(() => root.close())

const resolve = (path: string, follow = true): string => {
  const location = walk(root, path, [folder], follow)
  location.close()
  return location.resolved
}
const codeOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'none'
}

describe('walk', () => {
  it('follows relative and absolute links inside the root', () => {
    expect(['link/file', 'absolute/b/file', 'a/b'].map((path) => resolve(path))).toEqual([
      'a/b/file',
      'a/b/file',
      'a/b',
    ])
  })
  it('leaves a link in the last segment when it must not follow', () => {
    expect([resolve('link', false), resolve('out', false)]).toEqual(['link', 'out'])
  })
  it('refuses links out, circular links and files as folders', () => {
    expect(['out', 'loop', 'a/b/file/x'].map((path) => codeOf(() => resolve(path)))).toEqual([
      'VT_PATH_OUTSIDE',
      'VT_PATH_LOOP',
      'VT_PATH_NOT_DIRECTORY',
    ])
  })
  it('refuses a path that leads elsewhere than expected', () => {
    const expected = { left: 1, at: 'a' }
    expect(codeOf(() => walk(root, 'link/file', [folder], true, expected))).toBe('VT_FILE_STALE')
  })
})

describe('openLocation', () => {
  it('opens a regular file and reads a range of it', async () => {
    await using file = openLocation(walk(root, 'link/file', [folder], true), 'link/file')
    expect([file.path, file.resolved, (await file.read(1, 2)).toString()]).toEqual(['link/file', 'a/b/file', 'ex'])
  })
  it('opens a directory, whose entries open one by one', async () => {
    await using directory = openLocation(walk(root, 'a/b', [folder], true), 'a/b')
    await using file = directory.openFile('file')!
    expect([directory.listNames(), file.path]).toEqual([[{ name: 'file', kind: 'file' }], 'a/b/file'])
  })
})
