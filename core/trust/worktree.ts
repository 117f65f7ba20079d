import { realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { sealOf } from '../system/index.js'
import { readBytes } from '../documents/index.js'

/** Below a workspace: copies of its files that agents work on. The note of each lies beside it, `<id>.json`, sealed. */
export const worktreesFolder = '.vtcode/worktrees'
/** The sort of the seal of such a note. */
export const worktreeSeal = 'worktree'

/**
 * The workspace whose consents count in a folder: of a worktree that a program of this user made it is the one that it was made from. What
 * was agreed to there counts for the same hashes only, so that a change of one byte asks again.
 */
export function consentPlace(workspace: string, home: string): string {
  const real = realpathSync(workspace)
  const above = dirname(real)
  if (!above.endsWith(`/${worktreesFolder}`)) return workspace
  const origin = above.slice(0, -worktreesFolder.length - 1)
  try {
    const note = sealOf(home, inodeOf(origin)).read(
      worktreeSeal,
      basename(real),
      readBytes(`${real}.json`, { limit: 65_536 }).toString(),
    )
    return (note as { ino?: unknown } | undefined)?.ino === inodeOf(real) ? consentPlace(origin, home) : workspace
  } catch {
    // A folder that a repository brought has no note of ours.
    return workspace
  }
}

/** The number of a folder's inode, so that no other is taken for it. */
export const inodeOf = (folder: string): string => String(statSync(folder, { bigint: true }).ino)
