import { randomBytes } from 'node:crypto'
import { isOwnState, ownFolders } from './own_state.js'
import type { Workspace } from './types.js'

// What lies among our own state and bears no seal of ours may have come with a repository, or from a command. Nobody uses it, and it
// stops nobody: it gets another name, once, and whoever looks after the workspace is told of it.

type Files = Pick<Workspace, 'rename' | 'stat'> & { foreign: Map<string, string> }

const folder = '.vtcode/aside'

export async function putAside(files: Files, path: string): Promise<void> {
  if (files.foreign.get(path) === path || !isOwnState(path)) return
  // What stands in the way of the folder itself goes beside it.
  const place = path === folder ? path : `${folder}/${path.split('/').slice(1).join('-')}`
  const aside = `${place}-${randomBytes(3).toString('hex')}`
  files.foreign.set(path, aside)
  // What cannot be moved is passed over where it is.
  await files.rename(path, aside, { aside: true }).catch(() => files.foreign.set(path, path))
}

/** A link or a pipe in the place of a folder of ours would end every change; nobody but us makes these folders. */
export async function clearOwnFolders(files: Files): Promise<void> {
  for (const name of ownFolders) {
    const kind = (await files.stat(`.vtcode/${name}`))?.kind
    if (kind !== undefined && kind !== 'directory') await putAside(files, `.vtcode/${name}`)
  }
}
