import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWorkspace, type OpenWorkspace } from '../../../build/core/workspace/index.js'

let root: string
let workspace: OpenWorkspace
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-journal-')))
  workspace = openWorkspace(root)
  for (const name of ['a', 'b', 'c']) put(name, `old ${name}`)
})
afterEach(() => {
  workspace.close()
  rmSync(root, { recursive: true, force: true })
})

const put = (path: string, text: string) => {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}
const content = (path: string) => readFileSync(join(root, path), 'utf8')
const sha = (text: string) => createHash('sha256').update(text).digest('hex')
const seen = async (path: string) => ({ stat: (await workspace.stat(path))!, sha256: sha(content(path)) })
const write = async (path: string) => ({ op: 'write' as const, path, bytes: Buffer.from(`new ${path}`), over: await seen(path) })
const journals = () => readdirSync(join(root, '.vtcode/journal')).filter((name) => name !== '.gitignore')
/** What a process that is gone left: its plan, the new contents, and perhaps its mark. */
const left = (plan: object[], mark: boolean) => {
  const home = '.vtcode/journal/2147483646-0badc0de'
  put(`${home}/plan.json`, JSON.stringify(plan))
  for (const [index, { path }] of (plan as { path: string }[]).entries()) put(`${home}/${index}`, `new ${path}`)
  if (mark) put(`${home}/commit`, '')
  return (index: number) => `${home}/${index}`
}
const planned = (path: string, index: number, before: string | null = sha(`old ${path}`)) => ({
  path,
  before,
  after: sha(`new ${path}`),
  staged: `.vtcode/journal/2147483646-0badc0de/${index}`,
})

describe('a change of several files', () => {
  it('is made as a whole and leaves no journal', async () => {
    await workspace.transact([
      await write('a'),
      { op: 'remove', path: 'b', over: await seen('b') },
      { op: 'write', path: 'd/e', bytes: Buffer.from('1'), over: 'nothing' },
    ])
    expect([content('a'), content('d/e'), content('c')]).toEqual(['new a', '1', 'old c'])
    expect(readdirSync(root).sort()).toEqual(['.vtcode', 'a', 'c', 'd'])
    expect(journals()).toEqual([])
  })

  it('is not made at all when one file is not as it was seen', async () => {
    const operations = [await write('a'), await write('b')]
    put('b', 'other')
    await expect(workspace.transact(operations)).rejects.toMatchObject({ code: 'VT_FILE_STALE' })
    await expect(
      workspace.transact([await write('a'), { op: 'write', path: 'c', bytes: Buffer.from('x'), over: 'nothing' }]),
    ).rejects.toMatchObject({ code: 'VT_PATH_EXISTS' })
    expect([content('a'), content('b'), content('c')]).toEqual(['old a', 'other', 'old c'])
    expect(journals()).toEqual([])
  })

  it('is put back when it fails half-way', async () => {
    const operations = [
      await write('a'),
      { op: 'write' as const, path: 'new/x', bytes: Buffer.from('1'), over: 'nothing' as const },
      { op: 'write' as const, path: 'a/below', bytes: Buffer.from('1'), over: 'nothing' as const },
    ]
    await expect(workspace.transact(operations)).rejects.toMatchObject({ code: 'VT_PATH_NOT_DIRECTORY' })
    expect(content('a')).toBe('old a')
    expect(journals()).toEqual([])
  })
})

describe('what a killed process left', () => {
  it('without its mark is dropped', async () => {
    left([planned('a', 0), planned('b', 1)], false)
    await workspace.recover()
    expect([content('a'), content('b'), journals()]).toEqual(['old a', 'old b', []])
  })

  it('with its mark is completed, what is done already aside', async () => {
    left([planned('a', 0), planned('b', 1), planned('n/new', 2, null), { path: 'c', before: sha('old c'), after: null }], true)
    put('a', 'new a')
    await workspace.recover()
    expect([content('a'), content('b'), content('n/new'), journals()]).toEqual(['new a', 'new b', 'new n/new', []])
    expect(readdirSync(root)).not.toContain('c')
    await workspace.recover()
  })

  it('is kept and reported when others changed a file since, and the next change says so too', async () => {
    left([planned('a', 0), planned('b', 1)], true)
    put('b', 'theirs')
    await expect(workspace.recover()).rejects.toMatchObject({ code: 'VT_PATCH_RECOVERY', problem: { details: { path: 'b' } } })
    await expect(workspace.transact([await write('c')])).rejects.toMatchObject({ code: 'VT_PATCH_RECOVERY' })
    expect([content('a'), content('b'), content('c'), journals().length]).toEqual(['old a', 'theirs', 'old c', 1])
  })

  it('never reaches what no tool may write: a journal may have come with a repository', async () => {
    mkdirSync(join(root, '.git/hooks'), { recursive: true })
    symlinkSync('.git', join(root, 'link'))
    for (const path of [
      '.git/hooks/pre-commit',
      '.GIT/hooks/x',
      'sub/.git/config',
      '.vtcode/config.yaml',
      'link/hooks/pre-commit',
      '../out',
    ]) {
      left(
        [planned(path, 0, null)].map((step) => ({ ...step, staged: step.staged })),
        true,
      )
      await expect(workspace.recover(), path).rejects.toMatchObject({ code: expect.stringMatching(/VT_PATCH_RECOVERY|VT_PATH_OUTSIDE/) })
      rmSync(join(root, '.vtcode/journal'), { recursive: true })
    }
    expect(readdirSync(join(root, '.git/hooks'))).toEqual([])
  })
})
