import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { judgeName, judgePath, findSteeringPaths } from '../../../../build/plugins/lib/steering/index.js'

const git = (cwd: string, ...args: string[]): void =>
  void execFileSync(
    'git',
    [
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b.c',
      '-c',
      'protocol.file.allow=always',
      '-c',
      'init.defaultBranch=main',
      ...args,
    ],
    { cwd, stdio: 'pipe' },
  )

describe('auto-executed config', () => {
  it('recognises auto-executed config in every spelling of its name and no neighbours', () => {
    for (const path of [
      '.git',
      'a/.GIT/x',
      '.vtcode',
      '.vtcode/plans',
      '.VTCODE/x',
      '.git./hooks/x',
      '.git /config',
      'a/GIT~1/config',
      '.git::$INDEX_ALLOCATION/config',
      '.vtcode. ./x',
      'vtcode~1/x',
    ])
      expect([path, judgeName(path)?.verdict]).toEqual([path, 'deny'])
    for (const path of [
      '.Husky',
      '.husky./pre-commit',
      'x/.ENVRC',
      '.ｖｓｃｏｄｅ/a',
      '.v\u200dscode/a',
      'a/.vtcode/x',
      '.config/zed/settings.json',
    ])
      expect([path, judgeName(path)?.verdict]).toEqual([path, 'ask'])
    for (const path of [
      '.',
      '.github/x',
      '.gitignore',
      'a.git/x',
      '.git-blame-ignore-revs',
      'git~2x',
      'a ',
      '...',
      'notes: git',
      '.vtcode/plans/a',
      '.config/other',
      'git',
      'vscode',
    ])
      expect([path, judgeName(path)]).toEqual([path, undefined])
    expect(judgeName('.cursor/mcp.json')).toEqual({
      verdict: 'ask',
      path: '.cursor/mcp.json',
      reason: "'.cursor/mcp.json' is auto-executed config of Cursor.",
    })
  })

  it('protects auto-executed config in the sandbox and leaves open what git itself changes', async () => {
    await using made = await tempWorkspace({
      'plain/a': '',
      '.vscode/tasks.json': '',
      '.vtcode/plans/a.md': '',
      'pkg/one/.envrc': '',
      'node_modules/x/.vscode/a': '',
    })
    const { root } = made
    git(root, 'init', '-q', 'plain')
    git(join(root, 'plain'), 'commit', '-q', '--allow-empty', '-m', 'one')
    git(root, 'clone', '-q', '--bare', 'plain', 'store')
    git(join(root, 'store'), 'worktree', 'add', '-q', '../tree', '-b', 'x')
    git(root, 'init', '-q', 'outer')
    git(root, 'init', '-q', '.')
    git(root, 'config', 'core.hooksPath', 'pkg/hooks')
    mkdirSync(join(root, 'pkg/hooks'))
    git(join(root, 'outer'), 'submodule', '--quiet', 'add', join(root, 'plain'), 'deep/lib')
    const found = await findSteeringPaths(made)
    const readOnly = found.readOnly.map((path) => relative(root, path))
    expect(readOnly).toEqual(
      expect.arrayContaining([
        '.vscode',
        '.vtcode',
        'pkg/one/.envrc',
        'pkg/hooks',
        '.git/config',
        'tree/.git',
        'outer/deep/lib/.git',
        'outer/.gitmodules',
        'plain/.git/config',
        'plain/.git/hooks',
        'plain/.git/info',
        'store/config',
        'store/hooks',
        'store/worktrees/x/commondir'.replace('/x/', '/tree/'),
        'store/worktrees/tree/gitdir',
        'outer/.git/config',
        'outer/.git/modules/deep/lib/config',
        'outer/.git/modules/deep/lib/hooks',
      ]),
    )
    expect(
      readOnly.filter((path) =>
        /(^|\/)(HEAD|index|objects|refs|logs|packed-refs|COMMIT_EDITMSG|ORIG_HEAD|modules|worktrees|\.git)$/.test(path),
      ),
    ).toEqual(['tree/.git', 'outer/deep/lib/.git'])
    expect(readOnly.filter((path) => path.startsWith('node_modules'))).toEqual([])
    expect(found.writable).toEqual([join(root, '.vtcode/plans')])
    expect(found.absent).toEqual(
      expect.arrayContaining([
        join(root, '.mcp.json'),
        join(root, 'plain/.git/commondir'),
        join(root, 'plain/.git/config.worktree'),
        join(root, 'store/objects/info/alternates'),
      ]),
    )
    expect(found.gitFolders).toEqual(
      expect.arrayContaining(
        ['plain/.git', 'store', 'store/worktrees/tree', 'outer/.git', 'outer/.git/modules/deep/lib'].map((path) =>
          join(root, path),
        ),
      ),
    )
  })

  it('reports links with their targets and auto-executed config outside the workspace', async () => {
    await using other = await tempWorkspace({})
    git(other.root, 'init', '-q')
    git(other.root, 'commit', '-q', '--allow-empty', '-m', 'one')
    await using made = await tempWorkspace({ 'elsewhere/a': '' })
    symlinkSync('elsewhere', join(made.root, '.husky'))
    git(other.root, 'worktree', 'add', '-q', join(made.root, 'tree'), '-b', 'x')
    const found = await findSteeringPaths(made)
    expect(found.links).toEqual([join(made.root, '.husky')])
    expect(found.readOnly).toEqual(
      expect.arrayContaining([
        join(made.root, 'elsewhere'),
        join(made.root, 'tree/.git'),
        join(other.root, '.git/config'),
        join(other.root, '.git/hooks'),
      ]),
    )
    expect(found.gitFolders).toEqual([join(other.root, '.git/worktrees/tree'), join(other.root, '.git')])
  })

  it('finds auto-executed config that appears later', async () => {
    await using made = await tempWorkspace({ 'a/b': '' })
    expect(judgePath('a', made, { whole: true })).toBe(undefined)
    mkdirSync(join(made.root, 'a/.vscode'))
    expect(judgePath('a', made, { whole: true })).toMatchObject({ verdict: 'ask', path: 'a/.vscode' })
  })
})
