import { existsSync } from 'node:fs'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, readPrivateFile } from '../../lib/state/index.js'
import { AgentError } from '../base/index.js'
import { createMark, readOwnJournal, listSessions, type SessionManifest, isValidSessionId } from '../session/index.js'

const most = 2000
const toIndexPath = (home: string): string => join(home, 'state', 'sessions.index.jsonl')

/**
 * Adds a session and its workspace to the index of this user, so that other folders find it. A write error is ignored.
 */
export async function noteSession(session_id: string, { root: workspace, home }: Workspace): Promise<void> {
  const file = toIndexPath(home)
  try {
    makeFolder(join(file, '..'), 0o700)
    await appendFile(file, `${JSON.stringify({ session_id, workspace })}\n`, { mode: 0o600 })
    const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
    if (lines.length > most) await writeFile(file, `${lines.slice(-most / 2).join('\n')}\n`, { mode: 0o600 })
  } catch {
    // The session works without its entry.
  }
}

const hasSession = (root: string, id: string): boolean =>
  isValidSessionId(id) && existsSync(join(root, CALLS_FOLDER, id, 'messages.jsonl'))

/** Reads the index, the oldest entry first, and leaves out malformed lines. */
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

/** Returns the ids of the sessions that this user began or adopted in this workspace; all others came with it. */
export async function listOwnSessions({ root, home }: Workspace): Promise<ReadonlySet<string>> {
  return new Set(
    (await readEntries(home)).flatMap(({ session_id, workspace }) => (workspace === root ? [session_id] : [])),
  )
}

/**
 * Returns the id of the user's most recently used session in this workspace. Sessions that came with the workspace do
 * not count, whatever their date. Throws VT_SESSION_NOT_FOUND.
 */
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
 * Throws VT_SESSION_NOT_FOUND, with the workspace of the session in the hint if it is known. Throws VT_SESSION_FOREIGN
 * for a session of another user, which `vtcode sessions adopt` takes over. Ids are random, so a moved workspace keeps
 * its sessions.
 */
export async function requireOwnSession(workspace: Workspace, id: string): Promise<void> {
  const { home } = workspace
  if (isValidSessionId(id) && (await workspace.stat(`${CALLS_FOLDER}/${id}/messages.jsonl`))) {
    if ((await readEntries(home)).some(({ session_id }) => session_id === id) || (await hasOwnMark(workspace, id)))
      return
    const hint =
      `Check it with \`vtcode sessions show ${id}\`; if you trust its author, \`vtcode sessions adopt ` +
      `${id}\`, then go on.`
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

/** Returns whether this user wrote every line: a process may be killed before the index has the session. */
async function hasOwnMark(workspace: Workspace, id: string): Promise<boolean> {
  try {
    const text = await readPrivateFile(join(workspace.root, CALLS_FOLDER, id, 'messages.jsonl'))
    return readOwnJournal(text ?? '', id, createMark(workspace, id)).records.length > 0
  } catch {
    return false
  }
}

/** Returns the workspace of a session, by default of the most recently used one; `undefined` if none is known. */
export async function findSessionWorkspace(
  here: string,
  id: string | 'last',
  home: string,
): Promise<string | undefined> {
  if (id === 'last') return (await listAllOwnSessions(here, home))[0]?.workspace
  return [here, ...(await listKnownWorkspaces(home))].find((root) => hasSession(root, id))
}

/** Lists the workspaces that had sessions, the most recently used first. */
async function listKnownWorkspaces(home: string): Promise<string[]> {
  return [...new Set((await readEntries(home)).map(({ workspace }) => workspace).reverse())]
}

/** Lists the sessions of all workspaces that still exist, the most recently used first. */
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

/** Lists the sessions of all workspaces that this user began or adopted, the most recently used first. */
export async function listAllOwnSessions(here: string, home: string): Promise<SessionManifest[]> {
  const own = new Set((await readEntries(home)).map(({ session_id }) => session_id))
  return (await listAllSessions(here, home)).filter(({ session_id }) => own.has(session_id))
}

/** Opens the workspace at a path; `undefined` if the folder is gone. */
function tryOpenWorkspace(root: string, home: string): ReturnType<typeof openWorkspace> | undefined {
  try {
    return openWorkspace(root, { home })
  } catch {
    return undefined
  }
}
