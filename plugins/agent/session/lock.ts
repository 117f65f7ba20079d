import { constants } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { isHolderAlive, isHolder, readPrivateFile, getOwnHolder, type Holder } from '../../lib/state/index.js'
import { AgentError } from '../base/index.js'

/**
 * Locks a session against other writers and returns the function that unlocks it. Throws VT_SESSION_LOCKED with the
 * process; the lock of a dead process is taken over.
 */
export async function lockSession(workspace: Workspace, path: string, folder: Handle): Promise<() => Promise<void>> {
  const file = `${folder.ref}/lock`
  {
    // Reading and taking the lock are one step for all processes.
    await using _ = await workspace.lock([`${path}/lock`])
    const holder = parseHolder(await readPrivateFile(file).catch(() => undefined))
    if (holder && isHolderAlive(holder)) throw createLockedError(holder, `${path}/lock`)
    await unlink(file).catch(() => {})
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
    const handle = await open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    await handle.writeFile(JSON.stringify(getOwnHolder()))
    await handle.close()
  }
  return () => unlink(file).catch(() => {})
}

/** Returns whether a live process holds the session. */
export async function isSessionLocked(workspace: Workspace, path: string): Promise<boolean> {
  const holder = parseHolder(await workspace.readText(`${path}/lock`).catch(() => undefined))
  return holder !== undefined && isHolderAlive(holder)
}

function parseHolder(text: string | undefined): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(text ?? '')
    return isHolder(holder) ? holder : undefined
  } catch {
    return undefined
  }
}

/**
 * Creates the error for a held session. A process on another machine or in a stopped container may be dead: this
 * machine cannot know.
 */
function createLockedError({ pid, host }: Holder, file: string): AgentError {
  if (host === getOwnHolder().host)
    return new AgentError('VT_SESSION_LOCKED', `The session is in use by process ${pid}.`)
  return new AgentError('VT_SESSION_LOCKED', `The session is in use by process ${pid} on ${JSON.stringify(host)}.`, {
    hint: `If nothing runs there any more, delete ${file}.`,
  })
}
