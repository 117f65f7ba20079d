import { join } from 'node:path'
import { readSmallFile } from '../../../core/system/index.js'
import { findGitFolder } from '../../lib/git/index.js'

/** Returns a function that reads the current git branch of a folder; `undefined` without a repository. */
export const createBranchReader = (folder: string) => (): string | undefined => {
  const git = findGitFolder(folder)
  const head = git && readSmallFile(join(git.path, 'HEAD'))?.trim()
  return head === undefined ? undefined : (/^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? head.slice(0, 8)).slice(0, 60)
}
