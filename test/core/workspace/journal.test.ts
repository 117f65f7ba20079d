import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWorkspace, type OpenWorkspace } from '../../../build/core/workspace/index.js'

let root: string
let home: string
let workspace: OpenWorkspace
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-journal-')))
  home = join(root, '../', `${basename(root)}-home`)
  workspace = openWorkspace(root, { home })
  for (const name of ['a', 'b', 'c']) put(name, `old ${name}`)
})
afterEach(() => {
  workspace.close()
  rmSync(root, { recursive: true, force: true })
  rmSync(home, { recursive: true, force: true })
})

const put = (path: string, text: string) => {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}
const content = (path: string) => readFileSync(join(root, path), 'utf8')
const sha = (text: string) => createHash('sha256').update(text).digest('hex')
const seen = async (path: string) => ({ stat: (await workspace.stat(path))!, sha256: sha(content(path)) })
const write = async (path: string) => ({
  op: 'write' as const,
  path,
  bytes: Buffer.from(`new ${path}`),
  expected: await seen(path),
})
const journals = () => readdirSync(join(root, '.vtcode/journal')).filter((name) => name !== '.gitignore')
const own = '2147483646-0badc0de0bad'
const homeOfPlan = () => `.vtcode/journal/${own}-${workspace.seal.nameMark('journal', own)}`
/** Writes the leftovers of a dead process: its plan, the new contents, and perhaps its mark. */
const left = (
  plan: object[],
  mark: boolean,
  home = homeOfPlan(),
  commit = (text: string) => workspace.seal.mark('plan', home, text),
) => {
  const text = JSON.stringify(
    plan.map((step, index) => ('staged' in step ? { ...step, staged: `${home}/${index}` } : step)),
  )
  put(`${home}/plan.json`, text)
  for (const [index, { path }] of (plan as { path: string }[]).entries()) put(`${home}/${index}`, `new ${path}`)
  if (mark) put(`${home}/commit`, commit(text))
}
const planned = (path: string, index: number, before: string | null = sha(`old ${path}`)) => ({
  path,
  before,
  after: sha(`new ${path}`),
  staged: `${index}`,
})

describe('workspace.transact', () => {
  it('applies a change of several files as a whole and leaves no journal', async () => {
    await workspace.transact([
      await write('a'),
      { op: 'remove', path: 'b', expected: await seen('b') },
      { op: 'write', path: 'd/e', bytes: Buffer.from('1'), expected: 'nothing' },
    ])
    expect([content('a'), content('d/e'), content('c')]).toEqual(['new a', '1', 'old c'])
    expect(readdirSync(root).sort()).toEqual(['.vtcode', 'a', 'c', 'd'])
    expect(journals()).toEqual([])
  })

  it('applies no change when one file differs from the version that was read', async () => {
    const operations = [await write('a'), await write('b')]
    put('b', 'other')
    await expect(workspace.transact(operations)).rejects.toMatchObject({ code: 'VT_FILE_STALE' })
    await expect(
      workspace.transact([await write('a'), { op: 'write', path: 'c', bytes: Buffer.from('x'), expected: 'nothing' }]),
    ).rejects.toMatchObject({ code: 'VT_PATH_EXISTS' })
    expect([content('a'), content('b'), content('c')]).toEqual(['old a', 'other', 'old c'])
    expect(journals()).toEqual([])
  })

  it('reverts a change that fails half-way', async () => {
    const operations = [
      await write('a'),
      { op: 'write' as const, path: 'new/x', bytes: Buffer.from('1'), expected: 'nothing' as const },
      { op: 'write' as const, path: 'a/below', bytes: Buffer.from('1'), expected: 'nothing' as const },
    ]
    await expect(workspace.transact(operations)).rejects.toMatchObject({ code: 'VT_PATH_NOT_DIRECTORY' })
    expect(content('a')).toBe('old a')
    expect(journals()).toEqual([])
  })
})

describe('lock during a change', () => {
  it('waits for a running change, also the first one of a workspace', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `f${index}`)
    for (const name of names) put(name, `old ${name}`)
    const operations = await Promise.all(names.map(write))
    expect(existsSync(join(root, '.vtcode/journal'))).toBe(false)
    const made = workspace.transact(operations)
    const other = openWorkspace(root, { home })
    try {
      await expect.poll(() => existsSync(join(root, '.vtcode/journal')), { interval: 1 }).toBe(true)
      await using _ = await other.lock(['f7'])
      expect(names.map(content)).toEqual(names.map((name) => `new ${name}`))
      expect(await made).toHaveLength(names.length)
    } finally {
      other.close()
    }
  })
})

describe('workspace.asNamed', () => {
  it('changes no file through a link that replaced a name or a folder', async () => {
    put('plain/x', 'old plain/x')
    put('other/x', 'old plain/x')
    const operations = [await write('plain/x'), await write('a')]
    const named = workspace.createLinkFreeView(['plain/x', 'plain/made/y', 'a'])
    rmSync(join(root, 'plain'), { recursive: true })
    symlinkSync('other', join(root, 'plain'))
    const stale = { code: 'VT_FILE_STALE' }
    await expect(named.transact(operations)).rejects.toMatchObject(stale)
    await expect(named.write('plain/made/y', Buffer.from('x'), 'nothing')).rejects.toMatchObject(stale)
    await expect(named.write('plain/x', Buffer.from('x'), 'anything')).rejects.toMatchObject(stale)
    await expect(named.remove('plain/x')).rejects.toMatchObject(stale)
    expect([readdirSync(join(root, 'other')), content('other/x'), content('a')]).toEqual([
      ['x'],
      'old plain/x',
      'old a',
    ])
    await named.write('a', Buffer.from('x'), 'anything')
    expect(content('a')).toBe('x')
  })
})

describe('journal of a killed process', () => {
  it('drops a journal without a commit mark', async () => {
    left([planned('a', 0), planned('b', 1)], false)
    await workspace.recover()
    expect([content('a'), content('b'), journals()]).toEqual(['old a', 'old b', []])
  })

  it('completes a journal with a commit mark and skips finished steps', async () => {
    left(
      [planned('a', 0), planned('b', 1), planned('n/new', 2, null), { path: 'c', before: sha('old c'), after: null }],
      true,
    )
    put('a', 'new a')
    await workspace.recover()
    expect([content('a'), content('b'), content('n/new'), journals()]).toEqual(['new a', 'new b', 'new n/new', []])
    expect(readdirSync(root)).not.toContain('c')
    await workspace.recover()
  })

  it('keeps and reports a journal when a file changed since, and refuses the next change', async () => {
    left([planned('a', 0), planned('b', 1)], true)
    put('b', 'theirs')
    await expect(workspace.recover()).rejects.toMatchObject({
      code: 'VT_PATCH_RECOVERY',
      problem: { details: { path: 'b' } },
    })
    await expect(workspace.transact([await write('c')])).rejects.toMatchObject({ code: 'VT_PATCH_RECOVERY' })
    expect([content('a'), content('b'), content('c'), journals().length]).toEqual(['old a', 'theirs', 'old c', 1])
  })

  it('refuses to write protected files from a journal, which may come with a repository', async () => {
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
      left([planned(path, 0, null)], true)
      await expect(workspace.recover(), path).rejects.toMatchObject({
        code: expect.stringMatching(/VT_PATCH_RECOVERY|VT_PATH_OUTSIDE/),
      })
      rmSync(join(root, '.vtcode/journal'), { recursive: true })
    }
    expect(readdirSync(join(root, '.git/hooks'))).toEqual([])
  })
})

describe('journal without a valid seal', () => {
  const aside = () =>
    readdirSync(join(root, '.vtcode')).flatMap((name) =>
      name === 'aside' ? readdirSync(join(root, '.vtcode/aside')) : name.startsWith('aside-') ? [name] : [],
    )
  const brought: [string, () => void][] = [
    ['from a repository', () => left([planned('a', 0)], true, '.vtcode/journal/2147483646-0badc0de', () => '')],
    ['with a guessed name', () => left([planned('a', 0)], true, `.vtcode/journal/${own}-0123456789ab`)],
    [
      'with a changed plan',
      () => left([planned('a', 0)], true, homeOfPlan(), () => workspace.seal.mark('plan', homeOfPlan(), '[]')),
    ],
    [
      'of another workspace',
      () =>
        left([planned('a', 0)], true, homeOfPlan(), (text) => {
          mkdirSync(join(home, 'other'), { recursive: true })
          const other = openWorkspace(join(home, 'other'), { home })
          other.close()
          return other.seal.mark('plan', homeOfPlan(), text)
        }),
    ],
    [
      'with the name of a checkpoint',
      () => left([planned('a', 0)], true, `.vtcode/journal/${own}-${workspace.seal.nameMark('checkpoint', own)}`),
    ],
    [
      'with the mark of a checkpoint',
      () =>
        left([planned('a', 0)], true, homeOfPlan(), (text) => workspace.seal.mark('checkpoint', homeOfPlan(), text)),
    ],
    [
      'with the mark of another journal',
      () =>
        left([planned('a', 0)], true, homeOfPlan(), (text) => workspace.seal.mark('plan', `${homeOfPlan()}x`, text)),
    ],
    [
      'with a plan of a gigabyte',
      () => {
        left([planned('a', 0)], true)
        truncateSync(join(root, homeOfPlan(), 'plan.json'), 2 ** 30)
      },
    ],
    [
      'with a link as plan',
      () => {
        left([planned('a', 0)], true)
        renameSync(join(root, homeOfPlan(), 'plan.json'), join(root, 'plan'))
        symlinkSync(join(root, 'plan'), join(root, homeOfPlan(), 'plan.json'))
      },
    ],
    [
      'with a pipe as mark',
      () => {
        left([planned('a', 0)], false)
        execFileSync('mkfifo', [join(root, homeOfPlan(), 'commit')])
      },
    ],
    [
      'a pipe in its place',
      () => {
        mkdirSync(join(root, '.vtcode/journal'), { recursive: true })
        execFileSync('mkfifo', [join(root, '.vtcode/journal/x')])
      },
    ],
    [
      'a pipe in place of all journals',
      () => {
        mkdirSync(join(root, '.vtcode'), { recursive: true })
        execFileSync('mkfifo', [join(root, '.vtcode/journal')])
      },
    ],
    [
      'a link in place of all journals',
      () => {
        mkdirSync(join(root, '.vtcode'), { recursive: true })
        symlinkSync('../c', join(root, '.vtcode/journal'))
      },
    ],
    [
      'a link out in place of the folder of removed journals',
      () => {
        mkdirSync(join(root, '.vtcode'), { recursive: true })
        symlinkSync('../..', join(root, '.vtcode/aside'))
      },
    ],
  ]
  it.each(brought)('moves an unsealed journal away once and continues: %s', async (_, bring) => {
    bring()
    await workspace.recover()
    expect([content('a'), aside().length, workspace.quarantined.size]).toEqual(['old a', 1, 1])
    await workspace.transact([await write('b'), await write('c')])
    await workspace.lock(['a']).then((held) => held[Symbol.asyncDispose]())
    expect([content('b'), content('c'), aside().length]).toEqual(['new b', 'new c', 1])
  })
  it('refuses a copy of an old journal, because its files have changed', async () => {
    left([planned('a', 0), planned('b', 1)], true)
    cpSync(join(root, homeOfPlan()), join(home, 'kept'), { recursive: true })
    await workspace.recover()
    expect([content('a'), content('b')]).toEqual(['new a', 'new b'])
    put('a', 'mine')
    cpSync(join(home, 'kept'), join(root, homeOfPlan()), { recursive: true })
    await expect(workspace.recover()).rejects.toMatchObject({ code: 'VT_PATCH_RECOVERY' })
    expect([content('a'), content('b')]).toEqual(['mine', 'new b'])
  })
  it('refuses to complete a journal whose contents were changed', async () => {
    left([planned('a', 0)], true)
    put(`${homeOfPlan()}/0`, 'evil')
    await expect(workspace.recover()).rejects.toMatchObject({ code: 'VT_PATCH_RECOVERY' })
    expect(content('a')).toBe('old a')
  })
})

describe('notes of temporary files', () => {
  const note = (name: string) => `.vtcode/tmp/${name}.dirs`
  const swept = () => !existsSync(join(root, `.vtcode-tmp-${owner}-0`))
  const owner = '2147483646-0badc0de'
  const reopened = () => openWorkspace(root, { home }).close()
  beforeEach(() => put(`.vtcode-tmp-${owner}-0`, 'left'))

  it('follows a sealed note of an ended process and ignores an unsealed one', () => {
    put(note(`${owner}-0123456789ab`), '"."\n')
    put(note(owner), '"."\n')
    reopened()
    expect(swept()).toBe(false)
    put(note(`${owner}-${workspace.seal.nameMark('temps', owner)}`), '"."\n')
    reopened()
    expect(swept()).toBe(true)
  })
  it.each(['a device', 'a pipe', 'a huge file'])('ignores a note that is %s', (what) => {
    mkdirSync(join(root, '.vtcode/tmp'), { recursive: true })
    const file = join(root, note(`${owner}-${workspace.seal.nameMark('temps', owner)}`))
    if (what === 'a device') symlinkSync('/dev/null', file)
    else if (what === 'a pipe') execFileSync('mkfifo', [file])
    else {
      writeFileSync(file, '"."\n')
      truncateSync(file, 2 ** 31)
    }
    reopened()
    expect(swept()).toBe(false)
  })
})
