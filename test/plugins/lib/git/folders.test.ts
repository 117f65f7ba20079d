import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { listInnerGitFolders, findGitFolderAbove, findGitFolder } from '../../../../build/plugins/lib/git/index.js'

const bare = (folder: string): Record<string, string> => ({
  [`${folder}/HEAD`]: 'ref: refs/heads/x\n',
  [`${folder}/objects/x`]: '',
  [`${folder}/refs/x`]: '',
})

describe('findGitFolder', () => {
  it('finds `.git` itself, a link target or a named folder, with its shared folder', async () => {
    await using made = await tempWorkspace({
      ...bare('one/.git'),
      ...bare('store'),
      'store/worktrees/t/HEAD': 'x',
      'store/worktrees/t/commondir': '../..\n',
      'tree/.git': 'gitdir: ../store/worktrees/t\n',
      'none/a': '',
      'dangling/.git': 'gitdir: ../not/there\r\n',
      'odd/.git': 'hello',
    })
    const { root } = made
    mkdirSync(join(root, 'linked'))
    symlinkSync('../one/.git', join(root, 'linked/.git'))
    const both = (path: string) => ({ path: join(root, path), common: join(root, path) })
    expect(findGitFolder(join(root, 'one'))).toEqual(both('one/.git'))
    expect(findGitFolder(join(root, 'linked'))).toEqual(both('one/.git'))
    expect(findGitFolder(join(root, 'tree'))).toEqual({
      path: join(root, 'store/worktrees/t'),
      common: join(root, 'store'),
    })
    expect(findGitFolder(join(root, 'dangling'))).toEqual(both('not/there'))
    expect(findGitFolder(join(root, 'none'))).toBe(undefined)
    expect(findGitFolder(join(root, 'odd'))).toBe(undefined)
    expect(listInnerGitFolders(both('store')).map(({ path }) => path)).toEqual([join(root, 'store/worktrees/t')])
  })

  it('finds the git folder above a path inside it, and none from a working tree inside it', async () => {
    await using made = await tempWorkspace({
      ...bare('store'),
      'store/hooks/x': '',
      'store/main/.git': 'gitdir: ../worktrees/main\n',
      'store/main/src/a': '',
    })
    const root = realpathSync(made.root)
    expect(findGitFolderAbove(join(root, 'store/hooks/new'), root)).toBe(join(root, 'store'))
    expect(findGitFolderAbove(join(root, 'store/main/src/a'), root)).toBe(undefined)
    expect(findGitFolderAbove(join(root, 'other/a'), root)).toBe(undefined)
  })

  it('ignores a pipe or a folder in place of a file without waiting', async () => {
    await using made = await tempWorkspace({ ...bare('.git') })
    mkdirSync(join(made.root, '.git/commondir'))
    writeFileSync(join(made.root, 'f'), '')
    expect(findGitFolder(made.root)).toEqual({ path: join(made.root, '.git'), common: join(made.root, '.git') })
  })
})
