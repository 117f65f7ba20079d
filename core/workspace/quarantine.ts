import { randomBytes } from 'node:crypto'
import { isOwnState, OWN_FOLDERS } from './own_state.js'
import type { Workspace } from './types.js'

// What lies among our own state and bears no seal of ours may have come with a repository, or from a command. Nobody uses it, and it
// stops nobody: it gets another name, once, and whoever looks after the workspace is told of it.

type Files = Pick<Workspace, 'rename' | 'stat'> & { quarantined: Map<string, string> }

const QUARANTINE_FOLDER = '.vtcode/aside'

export async function quarantine(files: Files, path: string): Promise<void> {
  if (files.quarantined.get(path) === path || !isOwnState(path)) return
  // What stands in the way of the folder itself goes beside it.
  const place = path === QUARANTINE_FOLDER ? path : `${QUARANTINE_FOLDER}/${path.split('/').slice(1).join('-')}`
  const moved = `${place}-${randomBytes(3).toString('hex')}`
  files.quarantined.set(path, moved)
  // What cannot be moved is passed over where it is.
  await files.rename(path, moved, { allowOutsideLink: true }).catch(() => files.quarantined.set(path, path))
}

/** A link or a pipe in the place of a folder of ours would end every change; nobody but us makes these folders. */
export async function clearOwnFolders(files: Files): Promise<void> {
  for (const name of OWN_FOLDERS) {
    const kind = (await files.stat(`.vtcode/${name}`))?.kind
    if (kind !== undefined && kind !== 'directory') await quarantine(files, `.vtcode/${name}`)
  }
}
