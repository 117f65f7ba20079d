import { mkdir, writeFile } from 'node:fs/promises'
import { problem, type Handle, type Workspace } from '../../core/index.js'

/**
 * A folder below `.vtcode/` that belongs to this machine, made where it is missing: only this user can read it, git ignores
 * it. Throws VT_PATH_OUTSIDE when a link stands in its place.
 */
export async function ownFolder(workspace: Workspace, path: string): Promise<Handle> {
  const segments = path.split('/')
  let here = await workspace.openDirectory('.')
  for (const [index, segment] of segments.entries()) {
    const next = segments.slice(0, index + 1).join('/')
    try {
      await mkdir(`${here.ref}/${segment}`, { mode: 0o700 }).catch(unlessExists)
    } finally {
      await here.close()
    }
    // Opened anew before anything is made in it: a link in the place of one of ours would move what we write.
    here = await workspace.openDirectory(next)
    if (here.resolved !== next) {
      await here.close()
      throw problem('VT_PATH_OUTSIDE', { path })
    }
    if (index === 1) await writeFile(`${here.ref}/.gitignore`, '*\n', { flag: 'wx', mode: 0o600 }).catch(unlessExists)
  }
  return here
}

const unlessExists = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EEXIST') throw error
}
