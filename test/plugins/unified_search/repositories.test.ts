import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createKernel, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { beforeAll, describe, expect, it } from 'vitest'
import { holdForFile } from '../../support/held.js'

const environment = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
}
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], { cwd, env: environment, encoding: 'utf8' })

/** Names of files, one for each source of rules. */
const names = ['kept', 'outer', 'excluded', 'own', 'own_excluded']
const files = (folder: string): void => {
  for (const name of [...names, ...names.map((name) => `in/${name}`)]) put(join(folder, `${name}.txt`), 'needle\n')
}
const put = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

let place: TempWorkspace
/** A repository with rules, and in it a linked worktree, a submodule, a sparse checkout and a nested repository. */
beforeAll(async () => {
  place = holdForFile(await tempWorkspace())
  const top = join(place.root, 'top')
  put(join(place.root, 'other/f.txt'), 'needle\n')
  for (const folder of ['top', 'other']) {
    git(place.root, 'init', '-q', '-b', 'main', folder)
    git(join(place.root, folder), 'add', '-A')
    git(join(place.root, folder), 'commit', '-q', '--allow-empty', '-m', 'first')
  }
  put(join(top, '.gitignore'), 'outer.txt\n')
  put(join(top, '.git/info/exclude'), 'excluded.txt\n/own.txt\n')
  git(top, 'submodule', 'add', '-q', join(place.root, 'other'), 'sub')
  git(top, 'add', '-A')
  git(top, 'commit', '-q', '-m', 'second')
  git(top, 'worktree', 'add', '-q', 'tree', '-b', 'tree')
  git(top, 'worktree', 'add', '-q', join(place.root, 'far'), '-b', 'far')
  git(top, 'init', '-q', 'nested')
  git(join(place.root, 'far'), 'sparse-checkout', 'set', 'in')
  put(join(top, '.git/modules/sub/info/exclude'), 'own_excluded.txt\n/own.txt\n')
  put(join(top, 'nested/.gitignore'), 'own.txt\n')
  put(join(top, 'nested/.git/info/exclude'), 'own_excluded.txt\n')
  put(join(place.root, 'far/.gitignore'), 'outer.txt\n')
  for (const folder of ['top', 'top/sub', 'top/tree', 'top/nested', 'far']) files(join(place.root, folder))
})

/** The files in which git reports nothing as ignored, of this repository alone. */
const visibleToGit = (folder: string): string[] =>
  git(folder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
    .split('\0')
    .filter((path) => path.endsWith('.txt'))
    .filter((path) => readdirSync(dirname(join(folder, path))).includes(path.split('/').at(-1)!))
    .sort()

const searched = async (kernel: Kernel, path = '.'): Promise<Record<string, string[]>> => {
  const call = async (input: object): Promise<any> => {
    const result = await kernel.call('unified_search', { path, ...input })
    if (!result.ok) throw new Error(JSON.stringify(result.error))
    return result.output
  }
  const listed = await call({ action: 'list', mode: 'recursive', entry_type: 'file' })
  const found = await call({ action: 'grep', pattern: 'needle', max_results: 1000 })
  const only = (paths: string[]): string[] =>
    paths
      .map((one) => (path === '.' ? one : one.slice(path.length + 1)))
      .filter((one) => one.endsWith('.txt'))
      .sort()
  return {
    list: only(listed.items.map((item: any) => item.path)),
    grep: only(found.matches.map((match: any) => match.file)),
  }
}

describe('ignore rules of repositories, compared with git', () => {
  it.each([
    ['a submodule', 'top/sub'],
    ['a linked worktree inside its repository', 'top/tree'],
    ['a linked worktree elsewhere with a sparse checkout', 'far'],
    ['a nested repository', 'top/nested'],
  ])('finds in %s what git does not ignore there', async (_, folder) => {
    const kernel = await createKernel({ workspace: join(place.root, folder), home: place.home })
    const visible = visibleToGit(join(place.root, folder))
    expect(visible).toContain('kept.txt')
    expect(await searched(kernel)).toEqual({ list: visible, grep: visible })
    const below = visible.filter((path) => path.startsWith('in/')).map((path) => path.slice(3))
    expect(await searched(kernel, 'in')).toEqual({ list: below, grep: below })
    await kernel.close()
  })
  it.each([
    ['a linked worktree', 'tree'],
    ['a nested repository', 'nested'],
  ])('finds the same in %s from the workspace around it', async (_, folder) => {
    const kernel = await createKernel({ workspace: join(place.root, 'top'), home: place.home })
    const visible = visibleToGit(join(place.root, 'top', folder))
    expect(await searched(kernel, folder)).toEqual({ list: visible, grep: visible })
    await kernel.close()
  })
  it('applies no rules above the repository of the workspace, but those of `.ignore`', async () => {
    const outer = holdForFile(await tempWorkspace({ '.gitignore': '*\n', '.ignore': 'left.txt\n' }))
    git(outer.root, 'init', '-q')
    git(outer.root, 'init', '-q', 'p')
    for (const name of ['a.txt', 'left.txt', 'in/b.txt']) put(join(outer.root, 'p', name), 'needle\n')
    put(join(outer.root, 'p/c.py'), 'def alpha():\n    pass\n')
    const kernel = await createKernel({ workspace: join(outer.root, 'p'), home: place.home })
    expect(await searched(kernel)).toEqual({ list: ['a.txt', 'in/b.txt'], grep: ['a.txt', 'in/b.txt'] })
    expect(await kernel.call('unified_search', { action: 'outline' })).toMatchObject({
      output: { files: [{ path: 'c.py' }] },
    })
    await kernel.close()
  })
})
