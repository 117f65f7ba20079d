import { realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { openSeal } from '../system/index.js'
import { readBytes } from '../documents/index.js'

/**
 * Folder below a workspace for copies of its files that agents work on. The sealed note of each is next to it,
 * `<id>.json`.
 */
export const WORKTREES_FOLDER = '.vtcode/worktrees'
/** Sort of the seal of such a note. */
export const WORKTREE_SEAL = 'worktree'

/**
 * Returns the workspace whose consents apply in a folder: for a worktree of this user's program, its original
 * workspace. Those consents apply to the same hashes only, so a change of one byte asks again.
 */
export function findConsentWorkspace(workspace: string, home: string): string {
  const real = realpathSync(workspace)
  const above = dirname(real)
  if (!above.endsWith(`/${WORKTREES_FOLDER}`)) return workspace
  const origin = above.slice(0, -WORKTREES_FOLDER.length - 1)
  try {
    const note = openSeal(home, readInode(origin)).read(
      WORKTREE_SEAL,
      basename(real),
      readBytes(`${real}.json`, { limit: 65_536 }).toString(),
    )
    return (note as { ino?: unknown } | undefined)?.ino === readInode(real)
      ? findConsentWorkspace(origin, home)
      : workspace
  } catch {
    // A folder from a repository has no note of this program.
    return workspace
  }
}

/** Returns the number of a folder's inode, which identifies it. */
export const readInode = (folder: string): string => String(statSync(folder, { bigint: true }).ino)
