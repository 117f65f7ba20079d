import { foldNames } from '../system/index.js'

/** Returns whether a path belongs to git or to this program. Compares names as any volume could. */
export function isReserved(path: string): boolean {
  const names = foldNames(path)
  return names[0] === '.vtcode' || names.includes('.git')
}

/** The folders below `.vtcode/` in which only this program writes. */
export const OWN_FOLDERS = ['aside', 'journal', 'history', 'tmp', 'spool', 'sessions', 'approvals', 'worktrees']
/**
 * Returns whether only this program writes a path. It never writes there through a link, which may come from a
 * repository.
 */
export const isOwnState = (path: string): boolean =>
  path.startsWith('.vtcode/') && OWN_FOLDERS.includes(path.split('/')[1]!)
