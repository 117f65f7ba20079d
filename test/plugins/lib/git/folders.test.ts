import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { foldersWithin, gitFolderAbove, gitFolderAt } from '../../../../build/plugins/lib/git/index.js'

const bare = (folder: string): Record<string, string> => ({
  [`${folder}/HEAD`]: 'ref: refs/heads/x\n',
  [`${folder}/objects/x`]: '',
  [`${folder}/refs/x`]: '',
})

describe('the git folder of a folder', () => {
  it('is `.git` itself, what the link is, or what the file names, with the folder that it shares', async () => {
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
    expect(gitFolderAt(join(root, 'one'))).toEqual(both('one/.git'))
    expect(gitFolderAt(join(root, 'linked'))).toEqual(both('one/.git'))
    expect(gitFolderAt(join(root, 'tree'))).toEqual({
      path: join(root, 'store/worktrees/t'),
      common: join(root, 'store'),
    })
    expect(gitFolderAt(join(root, 'dangling'))).toEqual(both('not/there'))
    expect(gitFolderAt(join(root, 'none'))).toBe(undefined)
    expect(gitFolderAt(join(root, 'odd'))).toBe(undefined)
    expect(foldersWithin(both('store')).map(({ path }) => path)).toEqual([join(root, 'store/worktrees/t')])
  })

  it('is found from a place inside of it, and not from a working tree inside of it', async () => {
    await using made = await tempWorkspace({
      ...bare('store'),
      'store/hooks/x': '',
      'store/main/.git': 'gitdir: ../worktrees/main\n',
      'store/main/src/a': '',
    })
    const root = realpathSync(made.root)
    expect(gitFolderAbove(join(root, 'store/hooks/new'), root)).toBe(join(root, 'store'))
    expect(gitFolderAbove(join(root, 'store/main/src/a'), root)).toBe(undefined)
    expect(gitFolderAbove(join(root, 'other/a'), root)).toBe(undefined)
  })

  it('is not waited for: a pipe or a folder in place of a file says nothing', async () => {
    await using made = await tempWorkspace({ ...bare('.git') })
    mkdirSync(join(made.root, '.git/commondir'))
    writeFileSync(join(made.root, 'f'), '')
    expect(gitFolderAt(made.root)).toEqual({ path: join(made.root, '.git'), common: join(made.root, '.git') })
  })
})
