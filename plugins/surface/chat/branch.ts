import { join } from 'node:path'
import { gitFolderAt, smallText } from '../../lib/git/index.js'

/** The branch that a folder is on, as its repository says it now; without a repository none. */
export const branchOf = (folder: string) => (): string | undefined => {
  const git = gitFolderAt(folder)
  const head = git && smallText(join(git.path, 'HEAD'))?.trim()
  return head === undefined ? undefined : (/^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? head.slice(0, 8)).slice(0, 60)
}
