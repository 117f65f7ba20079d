import type { Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, readPrivateFile } from '../../lib/state/index.js'
import { AgentError, type JournalRecord } from '../base/index.js'
import { createMark, createReadError, isValidSessionId, readOwnJournal, type Journal } from '../session/index.js'

/**
 * Reads the journal of a session, also while another process writes to it. Throws VT_SESSION_NOT_FOUND,
 * VT_SESSION_CORRUPT, VT_SESSION_FOREIGN.
 */
export async function readRecords(workspace: Workspace, id: string): Promise<readonly JournalRecord[]> {
  return (await readSealedJournal(workspace, id)).records
}

/** Reads the journal of a session, and whether its last line is incomplete. Throws as `readRecords` does. */
export async function readSealedJournal(workspace: Workspace, id: string): Promise<Journal> {
  const text = isValidSessionId(id) ? await readJournalText(workspace, `${CALLS_FOLDER}/${id}`) : undefined
  if (text === undefined) throw new AgentError('VT_SESSION_NOT_FOUND', `Session not found: '${id}' in this workspace.`)
  return readOwnJournal(text, id, createMark(workspace, id))
}

/** Reads the text of a journal; `undefined` if there is none. */
async function readJournalText(workspace: Workspace, path: string): Promise<string | undefined> {
  const folder = await workspace.openDirectory(path).catch(() => undefined)
  const file = `${path}/messages.jsonl`
  return (
    folder &&
    readPrivateFile(`${folder.ref}/messages.jsonl`)
      .catch((error: unknown) => Promise.reject(createReadError(file, error)))
      .finally(() => folder.close())
  )
}
