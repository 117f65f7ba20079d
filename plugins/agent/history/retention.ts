import type { Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, listSpoolFiles } from '../../lib/state/index.js'
import type { AgentSettings } from '../base/index.js'
import { isSessionLocked, listSessions, openStore } from '../session/index.js'
import { listOwnSessions } from './session_index.js'
import { removeTraces } from './traces.js'

const dayMs = 24 * 60 * 60 * 1000

/**
 * Deletes sessions of this user and spool files beyond the limits of the settings. Returns the ids of the deleted
 * sessions.
 */
export async function tidy(
  workspace: Workspace,
  { sessions, context }: AgentSettings,
  { now, current }: { now: number; current?: string },
): Promise<string[]> {
  const own = await listOwnSessions(workspace)
  const gone = await collectSessions(workspace, sessions, { now, own, ...(current !== undefined && { current }) })
  await collectSpool(workspace, context.dynamic, current)
  return gone
}

/**
 * Deletes the sessions beyond the limits, the least recently used first. Sessions with a title, in use, or equal to
 * `current` stay; a limit of 0 is no limit. Sessions that came with the workspace are neither counted nor deleted.
 * Returns the ids of the deleted sessions.
 */
async function collectSessions(
  workspace: Workspace,
  bounds: AgentSettings['sessions'],
  { now, own, current }: { now: number; own: ReadonlySet<string>; current?: string },
): Promise<string[]> {
  const { max_count, max_age_days, max_total_mb } = bounds
  const sessions = (await listSessions(workspace)).filter(({ session_id }) => own.has(session_id))
  const all = await Promise.all(
    sessions.map(async (one) => ({
      ...one,
      bytes: await workspace.measure(`${CALLS_FOLDER}/${one.session_id}`).then(
        ({ bytes }) => bytes,
        () => 0,
      ),
    })),
  )
  const gone: string[] = []
  let count = all.length
  let bytes = all.reduce((sum, one) => sum + one.bytes, 0)
  for (const { session_id, title, updated_at, bytes: size } of all.reverse()) {
    const old = max_age_days > 0 && now - Date.parse(updated_at) > max_age_days * dayMs
    const over = (max_count > 0 && count > max_count) || (max_total_mb > 0 && bytes > max_total_mb * 1024 * 1024)
    if (!(old || over) || title !== undefined || session_id === current || !(await tryRemove(workspace, session_id)))
      continue
    gone.push(session_id)
    count -= 1
    bytes -= size
  }
  return gone
}

/**
 * Deletes spool files beyond their limit, from the least recently used session on, but never files of `current`.
 * A limit of 0 is no limit.
 */
async function collectSpool(
  workspace: Workspace,
  { spool_max_mb }: AgentSettings['context']['dynamic'],
  current?: string,
): Promise<void> {
  const kept = await listSpoolFiles(workspace)
  const most = spool_max_mb * 1024 * 1024
  const sum = (files: typeof kept) => files.reduce((all, one) => all + one.bytes, 0)
  if (spool_max_mb === 0 || sum(kept) <= most) return
  const sessions = (await listSessions(workspace)).map(({ session_id }) => ({
    session_id,
    files: kept.filter(({ owner }) => owner === session_id),
  }))
  let bytes = sum(sessions.flatMap(({ files }) => files))
  for (const { session_id, files } of sessions.reverse()) {
    if (bytes <= most) return
    if (session_id === current || (await isSessionLocked(workspace, `${CALLS_FOLDER}/${session_id}`))) continue
    for (const file of files)
      await workspace.remove(file.path).then(
        () => (bytes -= file.bytes),
        () => {},
      )
  }
}

const tryRemove = (workspace: Workspace, id: string): Promise<boolean> =>
  removeSession(workspace, id).then(
    () => true,
    () => false,
  )

/** Deletes a session with all its files. Throws VT_SESSION_LOCKED, VT_SESSION_NOT_FOUND. */
export async function removeSession(workspace: Workspace, id: string): Promise<void> {
  await (await openStore(workspace, id, { must_exist: true })).close()
  await removeTraces(workspace, id)
}
