import { randomBytes } from 'node:crypto'
import { isOwnState, OWN_FOLDERS } from './own_state.js'
import type { Workspace } from './types.js'

// A file without a seal in the state of this program may come from a repository or a command. It is never used and
// blocks nothing: it is moved once, and the command line lists it.

type Files = Pick<Workspace, 'rename' | 'stat'> & { quarantined: Map<string, string> }

const QUARANTINE_FOLDER = '.vtcode/aside'

export async function quarantine(files: Files, path: string): Promise<void> {
  if (files.quarantined.get(path) === path || !isOwnState(path)) return
  // An entry with the name of the quarantine folder itself is renamed next to it.
  const place = path === QUARANTINE_FOLDER ? path : `${QUARANTINE_FOLDER}/${path.split('/').slice(1).join('-')}`
  const moved = `${place}-${randomBytes(3).toString('hex')}`
  files.quarantined.set(path, moved)
  // A file that cannot be moved stays and is skipped.
  await files.rename(path, moved, { allowOutsideLink: true }).catch(() => files.quarantined.set(path, path))
}

/** Quarantines links and pipes that have the names of our own folders: they would make every change fail. */
export async function clearOwnFolders(files: Files): Promise<void> {
  for (const name of OWN_FOLDERS) {
    const kind = (await files.stat(`.vtcode/${name}`))?.kind
    if (kind !== undefined && kind !== 'directory') await quarantine(files, `.vtcode/${name}`)
  }
}
