import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import {
  addForeignRoot,
  cleanSearchPath,
  createChildEnvironment,
  isForeign,
  listSearchFolders,
} from '../../../build/core/system/index.js'
import { hold } from '../../support/held.js'

const git = (cwd: string, ...args: string[]): void =>
  void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd, stdio: 'pipe' })
const space = async (): Promise<string> => hold(await tempWorkspace({})).root

describe('search path for programs', () => {
  const { HOME } = process.env
  afterEach(() => void (process.env['HOME'] = HOME))

  it('leaves out folders of the workspace and of the repositories around it, under any name', async () => {
    const root = await space()
    mkdirSync(join(root, 'repo/outer/inner'), { recursive: true })
    mkdirSync(join(root, 'repo/.git'))
    mkdirSync(join(root, 'repo/outer/.git'))
    symlinkSync(join(root, 'repo/venv'), join(root, 'link'))
    mkdirSync(join(root, 'repo/venv'))
    addForeignRoot(join(root, 'repo/outer/inner'))
    const folders = ['repo/outer/inner/bin', 'repo/outer/bin', 'repo/venv', 'link', 'other'].map((name) =>
      join(root, name),
    )
    expect(listSearchFolders([...folders, 'relative', '/usr/bin'].join(':'))).toEqual([join(root, 'other'), '/usr/bin'])
    expect(createChildEnvironment({ PATH: folders.join(':') })['PATH']).toBe(join(root, 'other'))
    // An empty search path would mean the working folder.
    expect(cleanSearchPath(folders.slice(0, 4).join(':'))).toBe('/usr/bin:/bin')
    expect([isForeign(join(root, 'link/x')), isForeign(join(root, 'other/x'))]).toEqual([true, false])
  })

  it('leaves out the repository of a worktree, and not one that knows nothing of the worktree', async () => {
    const root = await space()
    for (const name of ['repo', 'stranger']) {
      mkdirSync(join(root, name))
      git(join(root, name), 'init', '-q')
      git(join(root, name), 'commit', '-q', '--allow-empty', '-m', 'one')
    }
    git(join(root, 'repo'), 'worktree', 'add', '-q', '../tree', '-b', 'x')
    mkdirSync(join(root, 'forged'))
    writeFileSync(join(root, 'forged/.git'), `gitdir: ${join(root, 'stranger/.git')}\n`)
    addForeignRoot(join(root, 'tree'))
    addForeignRoot(join(root, 'forged'))
    expect(['repo/bin', 'tree/bin', 'forged/bin', 'stranger/bin'].map((name) => isForeign(join(root, name)))).toEqual([
      true,
      true,
      true,
      false,
    ])
  })

  it('keeps the programs of a user whose home is a repository', async () => {
    const root = await space()
    mkdirSync(join(root, '.git'))
    mkdirSync(join(root, 'home/work'), { recursive: true })
    process.env['HOME'] = join(root, 'home')
    addForeignRoot(join(root, 'home/work'))
    expect([isForeign(join(root, 'home/.local/bin')), isForeign(join(root, 'home/work/bin'))]).toEqual([false, true])
  })
})
