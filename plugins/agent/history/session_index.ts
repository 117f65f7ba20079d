import { existsSync } from 'node:fs'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import { callsFolder, readOwn } from '../../lib/state/index.js'
import { AgentError } from '../base/index.js'
import { createMark, readOwnJournal, listSessions, type SessionManifest, isValidSessionId } from '../session/index.js'

const most = 2000
const toIndexPath = (home: string): string => join(home, 'state', 'sessions.index.jsonl')

/** Notes a session as the user's own, and its workspace, so that it is found from elsewhere. A failure to write is ignored. */
export async function noteSession(session_id: string, { root: workspace, home }: Workspace): Promise<void> {
  const file = toIndexPath(home)
  try {
    makeFolder(join(file, '..'), 0o700)
    await appendFile(file, `${JSON.stringify({ session_id, workspace })}\n`, { mode: 0o600 })
    const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
    if (lines.length > most) await writeFile(file, `${lines.slice(-most / 2).join('\n')}\n`, { mode: 0o600 })
  } catch {
    // The session itself is what counts.
  }
}

const hasSession = (root: string, id: string): boolean =>
  isValidSessionId(id) && existsSync(join(root, callsFolder, id, 'messages.jsonl'))

/** The index as it is, the oldest entry first; lines that are no entries are left out. */
async function readEntries(home: string): Promise<{ session_id: string; workspace: string }[]> {
  const text = await readFile(toIndexPath(home), 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    try {
      const { session_id, workspace } = JSON.parse(line) as { session_id?: unknown; workspace?: unknown }
      return typeof session_id === 'string' && typeof workspace === 'string' ? [{ session_id, workspace }] : []
    } catch {
      return []
    }
  })
}

/** The ids of the sessions that this user began or took over here; whatever else lies in the workspace came with it. */
export async function listOwnSessions({ root, home }: Workspace): Promise<ReadonlySet<string>> {
  return new Set(
    (await readEntries(home)).flatMap(({ session_id, workspace }) => (workspace === root ? [session_id] : [])),
  )
}

/** The id of the user's session that was used last here: what came with the workspace is no answer, whatever it says of itself. Throws VT_SESSION_NOT_FOUND. */
export async function findLastSession(workspace: Workspace): Promise<string> {
  const own = await listOwnSessions(workspace)
  const last = (await listSessions(workspace)).find(({ session_id }) => own.has(session_id))
  if (!last)
    throw new AgentError('VT_SESSION_NOT_FOUND', 'You have no session in this workspace yet.', {
      hint: '`vtcode exec "<task>"` or `vtcode chat` begins one.',
    })
  return last.session_id
}

/**
 * Throws VT_SESSION_NOT_FOUND, which says where the session is if it is in another workspace, and VT_SESSION_FOREIGN for one that this
 * user never began: it is gone on with after `vtcode sessions adopt`. Ids are drawn by chance, so a workspace that was moved keeps its sessions.
 */
export async function requireOwnSession(workspace: Workspace, id: string): Promise<void> {
  const { home } = workspace
  if (isValidSessionId(id) && (await workspace.stat(`${callsFolder}/${id}/messages.jsonl`))) {
    if ((await readEntries(home)).some(({ session_id }) => session_id === id) || (await hasOwnMark(workspace, id)))
      return
    const hint = `Look at it with \`vtcode sessions show ${id}\`; if you trust who wrote it, \`vtcode sessions adopt ${id}\`, then go on.`
    throw new AgentError('VT_SESSION_FOREIGN', `The session '${id}' came with the workspace; it is not yours.`, {
      hint,
    })
  }
  const elsewhere = (await listKnownWorkspaces(home)).find((root) => hasSession(root, id))
  const hint = `It belongs to ${elsewhere}: vtcode resume --all ${id}`
  throw new AgentError(
    'VT_SESSION_NOT_FOUND',
    `Session not found: '${id}' in this workspace.`,
    elsewhere === undefined ? {} : { hint },
  )
}

/** Whether every line was written by this user, who was ended before the index knew of it. */
async function hasOwnMark(workspace: Workspace, id: string): Promise<boolean> {
  try {
    const text = await readOwn(join(workspace.root, callsFolder, id, 'messages.jsonl'))
    return readOwnJournal(text ?? '', id, createMark(workspace, id)).records.length > 0
  } catch {
    return false
  }
}

/** The workspace of a session, or of the one that was used last anywhere; `undefined` where none is known. */
export async function findSessionWorkspace(
  here: string,
  id: string | 'last',
  home: string,
): Promise<string | undefined> {
  if (id === 'last') {
    const own = new Set((await readEntries(home)).map(({ session_id }) => session_id))
    return (await listAllSessions(here, home)).find(({ session_id }) => own.has(session_id))?.workspace
  }
  return [here, ...(await listKnownWorkspaces(home))].find((root) => hasSession(root, id))
}

/** The workspaces in which there were sessions, the one used last first. */
async function listKnownWorkspaces(home: string): Promise<string[]> {
  return [...new Set((await readEntries(home)).map(({ workspace }) => workspace).reverse())]
}

/** The sessions of all workspaces that are still there, the one used last first. */
export async function listAllSessions(here: string, home: string): Promise<SessionManifest[]> {
  const lists = [here, ...(await listKnownWorkspaces(home)).filter((root) => root !== here)].map(async (root) => {
    const workspace = tryOpenWorkspace(root, home)
    try {
      return workspace ? (await listSessions(workspace)).map((one) => ({ ...one, workspace: root })) : []
    } finally {
      workspace?.close()
    }
  })
  return (await Promise.all(lists)).flat().sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
}

/** The workspace at a path; `undefined` where no folder is any more. */
function tryOpenWorkspace(root: string, home: string): ReturnType<typeof openWorkspace> | undefined {
  try {
    return openWorkspace(root, { home })
  } catch {
    return undefined
  }
}
