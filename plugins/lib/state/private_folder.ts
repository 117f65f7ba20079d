import { mkdirSync, writeFileSync } from 'node:fs'
import { problem } from '../../../core/shapes/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'

/**
 * Opens a folder below `.vtcode/` that belongs to this machine, and creates it if needed. Only this user can read it,
 * and git ignores it. Throws VT_PATH_OUTSIDE for a link in its place. Synchronous calls, because every record needs
 * this and a turn of the thread pool would cost more.
 */
export async function openPrivateFolder(workspace: Workspace, path: string): Promise<Handle> {
  const segments = path.split('/')
  let here = await workspace.openDirectory('.')
  for (const [index, segment] of segments.entries()) {
    const next = segments.slice(0, index + 1).join('/')
    try {
      ignoreExisting(() => mkdirSync(`${here.ref}/${segment}`, { mode: 0o700 }))
    } finally {
      await here.close()
    }
    // Opened again before a write: a link in place of one of our folders would redirect it.
    here = await workspace.openDirectory(next)
    if (here.resolved !== next) {
      await here.close()
      throw problem('VT_PATH_OUTSIDE', { path })
    }
    const { ref } = here
    if (index === 1) ignoreExisting(() => writeFileSync(`${ref}/.gitignore`, '*\n', { flag: 'wx', mode: 0o600 }))
  }
  return here
}

function ignoreExisting(make: () => void): void {
  try {
    make()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
