import { basename, dirname } from 'node:path'
import { sha256, version } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { AgentError, factTable, type JournalRecord } from '../base/index.js'
import { readSealedJournal } from '../history/index.js'
import { createDamageError, parseManifest, readJournal, readSessionFile } from '../session/index.js'

/** A session as its journal recorded it. */
export interface Recording {
  session_id: string
  records: readonly JournalRecord[]
  /** The version of the program that wrote the session last; absent if unknown. */
  version?: string
  /** Remarks about the journal, as sentences. */
  notices: string[]
  /** Reads a file next to the journal; `undefined` if it is missing. */
  read(name: string): Promise<string | undefined>
}

const MAX_JOURNAL_BYTES = 1024 * 1024 * 1024

/** Opens the recording of a session. Throws VT_SESSION_NOT_FOUND, VT_SESSION_CORRUPT, VT_SESSION_FOREIGN. */
export async function openRecording(workspace: Workspace, session_id: string): Promise<Recording> {
  const { records, torn } = await readSealedJournal(workspace, session_id)
  const read = (name: string) => readSessionFile(workspace, session_id, name)
  return describeRecording(session_id, { records, torn, read })
}

/**
 * Opens the recording of a journal by its path in the workspace. Its seals are not checked, since another user may have
 * written it. Throws VT_REPLAY_INVALID, VT_SESSION_CORRUPT.
 */
export async function openRecordingFile(workspace: Workspace, path: string): Promise<Recording> {
  const isFolder = (await workspace.stat(path))?.kind === 'directory'
  const file = isFolder ? `${workspace.normalize(path)}/messages.jsonl` : workspace.normalize(path)
  if (isFolder && !(await workspace.stat(file)))
    throw new AgentError('VT_REPLAY_INVALID', `'${path}' has no messages.jsonl, so it cannot be replayed.`)
  const folder = dirname(file)
  const { records, torn, damaged } = readJournal(await workspace.readText(file, { max_bytes: MAX_JOURNAL_BYTES }))
  if (damaged !== undefined) throw createDamageError(damaged, basename(folder))
  if (records.length === 0) throw new AgentError('VT_REPLAY_INVALID', `'${path}' is not the journal of a session.`)
  const read = (name: string) =>
    /^(?:(?:prompts|images)\/)?[\w.-]+$/.test(name)
      ? workspace.readText(`${folder}/${name}`, { max_bytes: MAX_JOURNAL_BYTES }).catch(() => undefined)
      : Promise.resolve(undefined)
  return describeRecording(basename(folder), { records, torn, read })
}

async function describeRecording(
  session_id: string,
  { records, torn, read }: Pick<Recording, 'records' | 'read'> & { torn: boolean },
): Promise<Recording> {
  const manifest = parseManifest((await read('manifest.json')) ?? '')
  const writer = typeof manifest?.vtcode_version === 'string' ? manifest.vtcode_version : undefined
  const unknown = records.find(({ kind }) => !Object.hasOwn(factTable, kind))
  const kind = String(unknown?.kind).slice(0, 40)
  if (unknown)
    throw new AgentError(
      'VT_REPLAY_NEWER',
      `Line ${unknown.n} of the journal of session ${session_id} has the unknown kind '${kind}': ` +
        `a newer version wrote it${writer === undefined ? '' : `, ${writer.slice(0, 40)}; this is ${version}`}.`,
    )
  return {
    session_id,
    records,
    ...(writer !== undefined && { version: writer }),
    notices: torn ? ['The last line of the journal is incomplete and was left out.'] : [],
    read,
  }
}

/** Reads a text that the journal names by its digest; `fault` says why it cannot be used. */
export async function readByDigest({ read }: Recording, digest: string): Promise<{ text: string } | { fault: string }> {
  const text = await read(`prompts/${digest}`)
  if (text === undefined) return { fault: `prompts/${digest} is missing` }
  const found = sha256(text)
  return found === digest ? { text } : { fault: `prompts/${digest} has the SHA-256 ${found}` }
}
