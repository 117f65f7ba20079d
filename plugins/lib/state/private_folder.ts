import { mkdirSync, writeFileSync } from 'node:fs'
import { problem } from '../../../core/shapes/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'

/**
 * A folder below `.vtcode/` that belongs to this machine, made where it is missing: only this user can read it, git ignores
 * it. Throws VT_PATH_OUTSIDE when a link stands in its place. Every kept text and record comes through here: a turn of the thread pool
 * would cost more than the few calls that find everything in place.
 */
export async function ownFolder(workspace: Workspace, path: string): Promise<Handle> {
  const segments = path.split('/')
  let here = await workspace.openDirectory('.')
  for (const [index, segment] of segments.entries()) {
    const next = segments.slice(0, index + 1).join('/')
    try {
      unlessThere(() => mkdirSync(`${here.ref}/${segment}`, { mode: 0o700 }))
    } finally {
      await here.close()
    }
    // Opened anew before anything is made in it: a link in the place of one of ours would move what we write.
    here = await workspace.openDirectory(next)
    if (here.resolved !== next) {
      await here.close()
      throw problem('VT_PATH_OUTSIDE', { path })
    }
    const { ref } = here
    if (index === 1) unlessThere(() => writeFileSync(`${ref}/.gitignore`, '*\n', { flag: 'wx', mode: 0o600 }))
  }
  return here
}

function unlessThere(make: () => void): void {
  try {
    make()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
