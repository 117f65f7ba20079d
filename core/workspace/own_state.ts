import { foldedNames } from '../system/index.js'

/** Whether a path belongs to git or to this program, on whatever volume it lies. */
export function isReserved(path: string): boolean {
  const names = foldedNames(path)
  return names[0] === '.vtcode' || names.includes('.git')
}

/** The folders below `.vtcode/` in which only this program writes. */
export const OWN_FOLDERS = ['aside', 'journal', 'history', 'tmp', 'spool', 'sessions', 'approvals', 'worktrees']
/** What only this program writes: never through a link, which a repository may bring. */
export const isOwnState = (path: string): boolean =>
  path.startsWith('.vtcode/') && OWN_FOLDERS.includes(path.split('/')[1]!)
