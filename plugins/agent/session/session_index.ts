import { existsSync } from 'node:fs'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { homeOf } from '../../../core/config/index.js'
import { openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import { callsFolder } from '../../lib/state/index.js'
import { AgentError } from '../base/index.js'
import { listSessions, type SessionManifest } from './manifest.js'
import { validId } from './store.js'

type Env = Readonly<Record<string, string | undefined>>
const most = 2000
const fileOf = (env: Env): string => join(homeOf({ env }), 'state', 'sessions.index.jsonl')

/** Notes the workspace of a session, so that it is found from elsewhere. A failure to write is ignored. */
export async function noteSession(session_id: string, workspace: string, env: Env): Promise<void> {
  const file = fileOf(env)
  try {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
    await appendFile(file, `${JSON.stringify({ session_id, workspace })}\n`, { mode: 0o600 })
    const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
    if (lines.length > most) await writeFile(file, `${lines.slice(-most / 2).join('\n')}\n`, { mode: 0o600 })
  } catch {
    // The session itself is what counts.
  }
}

const holds = (root: string, id: string): boolean => validId(id) && existsSync(join(root, callsFolder, id, 'messages.jsonl'))

/** Throws VT_SESSION_NOT_FOUND, which says where the session is if it is in another workspace. */
export async function findSession(workspace: Workspace, id: string, env: Env): Promise<void> {
  if (validId(id) && (await workspace.stat(`${callsFolder}/${id}/messages.jsonl`))) return
  const elsewhere = (await knownWorkspaces(env)).find((root) => holds(root, id))
  const hint = `It belongs to ${elsewhere}: vtcode resume --all ${id}`
  throw new AgentError('VT_SESSION_NOT_FOUND', `There is no session '${id}' in this workspace.`, elsewhere === undefined ? {} : { hint })
}

/** The workspace of a session, or of the one that was used last anywhere; `undefined` where none is known. */
export async function homeOfSession(here: string, id: string | 'last', env: Env): Promise<string | undefined> {
  if (id === 'last') return (await allSessions(here, env))[0]?.workspace
  return [here, ...(await knownWorkspaces(env))].find((root) => holds(root, id))
}

/** The workspaces in which there were sessions, the one used last first. */
export async function knownWorkspaces(env: Env): Promise<string[]> {
  const text = await readFile(fileOf(env), 'utf8').catch(() => '')
  const found = text.split('\n').flatMap((line) => {
    try {
      const { workspace } = JSON.parse(line) as { workspace?: unknown }
      return typeof workspace === 'string' ? [workspace] : []
    } catch {
      return []
    }
  })
  return [...new Set(found.reverse())]
}

/** The sessions of all workspaces that are still there, the one used last first. */
export async function allSessions(here: string, env: Env): Promise<SessionManifest[]> {
  const lists = [here, ...(await knownWorkspaces(env)).filter((root) => root !== here)].map(async (root) => {
    const workspace = opened(root)
    try {
      return workspace ? (await listSessions(workspace)).map((one) => ({ ...one, workspace: root })) : []
    } finally {
      workspace?.close()
    }
  })
  return (await Promise.all(lists)).flat().sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
}

/** The workspace at a path; `undefined` where no folder is any more. */
function opened(root: string): ReturnType<typeof openWorkspace> | undefined {
  try {
    return openWorkspace(root)
  } catch {
    return undefined
  }
}
