import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { finished } from 'node:stream/promises'
import type { Io } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import { say } from '../../lib/terminal/index.js'
import { AgentError } from '../base/index.js'
import {
  readAtifEvents,
  isAtif,
  readEvents,
  type LogFaults,
  type LoggedEvent,
  type RecordFiles,
} from '../records/index.js'
import { readEventBytes, readSessionFile, listSessions, isValidSessionId } from '../session/index.js'
import { findLastSession } from '../history/index.js'

/** A log: the stream of its events, its files, and the faults found while reading. */
export interface SessionRecords {
  events: AsyncIterable<LoggedEvent>
  files: RecordFiles
  faults: LogFaults
}

/** Opens the records of a session. Reading them throws VT_SESSION_NOT_FOUND. */
export async function openSessionRecords(workspace: Workspace, id: string): Promise<SessionRecords> {
  const threads = new Map((await listSessions(workspace)).map((one) => [one.thread_id, one]))
  const openRecords = (session: string, seen: ReadonlySet<string>): SessionRecords => {
    const faults: LogFaults = { damaged: 0, torn: false }
    const child: RecordFiles['child'] = (thread) => {
      const known = threads.get(thread)
      // Sessions flagged no-export are left out, and a thread never contains itself.
      return known && !known.no_export && !seen.has(known.session_id)
        ? openRecords(known.session_id, new Set([...seen, known.session_id]))
        : undefined
    }
    return {
      events: readEvents(readEventBytes(workspace, session), faults),
      files: { read: (path) => readSessionFile(workspace, session, path), child },
      faults,
    }
  }
  return openRecords(id, new Set([id]))
}

/** Returns the id, or the id of the user's last session. Throws VT_SESSION_NOT_FOUND. */
export const resolveSessionId = async (workspace: Workspace, id: string | undefined): Promise<string> =>
  id ?? (await findLastSession(workspace))

/** Throws VT_SESSION_NOT_FOUND if the workspace has no folder of this session, from an agent or another surface. */
export async function requireSession(workspace: Workspace, id: string): Promise<void> {
  if (isValidSessionId(id) && (await workspace.stat(`${CALLS_FOLDER}/${id}`))?.kind === 'directory') return
  throw new AgentError('VT_SESSION_NOT_FOUND', `Session not found: '${id}' in this workspace.`)
}

/**
 * Opens a log by its path: a file of events, an ATIF trajectory, or the folder of an export. Throws
 * VT_EXPORT_INVALID.
 */
export async function openRecordFile(workspace: Workspace, path: string): Promise<SessionRecords> {
  const folder = (await workspace.stat(path))?.kind === 'directory'
  const trajectory = folder ? undefined : await readTrajectory(workspace, path)
  if (trajectory !== undefined)
    return {
      events: streamTrajectory(trajectory),
      files: { read: () => Promise.resolve(undefined) },
      faults: { damaged: 0, torn: false },
    }
  const place = folder ? workspace.normalize(path) : dirname(workspace.normalize(path))
  const faults: LogFaults = { damaged: 0, torn: false }
  const read = (name: string) =>
    /^(?:prompts\/)?[\w.-]+$/.test(name)
      ? workspace.readText(`${place}/${name}`).catch(() => undefined)
      : Promise.resolve(undefined)
  return {
    events: readEvents(readChunks(workspace, folder ? `${place}/events.jsonl` : path), faults),
    files: { read },
    faults,
  }
}

/** Returns the ATIF document of a file; `undefined` for a log, which has one document on each line. */
async function readTrajectory(workspace: Workspace, path: string): Promise<unknown> {
  const beginning = (await workspace.read(path, { length: 4096 })).toString()
  if (!/^\s*\{\s*"[^]{0,200}"ATIF-v/.test(beginning)) return undefined
  try {
    const document = JSON.parse(await workspace.readText(path, { max_bytes: 256 * 1024 * 1024 })) as unknown
    if (isAtif(document)) return document
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new AgentError('VT_EXPORT_INVALID', `'${path}' is not an ATIF trajectory: invalid JSON: ${error.message}.`)
    throw error
  }
  return undefined
}

async function* streamTrajectory(document: unknown): AsyncGenerator<LoggedEvent> {
  yield* readAtifEvents(document)
}

async function* readChunks(workspace: Workspace, path: string): AsyncGenerator<Buffer> {
  await using file = await workspace.openFile(path)
  for (let at = 0; ;) {
    const bytes = await file.read(at, 256 * 1024)
    if (bytes.length === 0) return
    at += bytes.length
    yield bytes
  }
}

/** Prints the faults of a log that was read anyway. */
export function reportFaults(io: Io, { damaged, torn, newer }: LogFaults): void {
  if (newer !== undefined) say(io, 'warning', `The log has the version ${newer}; unknown entries were left out.`)
  if (damaged > 0)
    say(
      io,
      'warning',
      `${damaged} ${damaged === 1 ? 'line is no event and was' : 'lines are no events and were'} left out` +
        `${torn ? '; the last line was cut off' : ''}.`,
    )
}

/** Writes pieces to stdout and waits for a slow reader. */
export async function printPieces(io: Io, pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) {
    if (piece !== '' && !io.stdout.write(piece)) await waitForDrain(io.stdout)
  }
}

/**
 * Writes pieces to a file of the workspace. The file is replaced only after the last piece. Throws VT_PATH_*,
 * VT_SESSION_WRITE.
 */
export async function writePieces(
  workspace: Workspace,
  path: string,
  pieces: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  const place = workspace.normalize(path)
  const [name, part] = [place.split('/').at(-1)!, `.${process.pid}.part`]
  await using folder = await workspace.openDirectory(dirname(place))
  const temporary = `${folder.ref}/.${name}${part}`
  const file = createWriteStream(temporary, { flags: 'wx', mode: 0o600 })
  try {
    await once(file, 'open')
    for await (const piece of pieces) if (piece !== '' && !file.write(piece)) await once(file, 'drain')
    file.end()
    await finished(file)
    const parent = dirname(place)
    await workspace.rename(`${parent === '.' ? '' : `${parent}/`}.${name}${part}`, place, { replace: true })
  } catch (error) {
    file.destroy()
    await rm(temporary, { force: true })
    if (typeof (error as NodeJS.ErrnoException).syscall === 'string')
      throw new AgentError('VT_SESSION_WRITE', `'${path}' cannot be written: ${(error as NodeJS.ErrnoException).code}.`)
    throw error
  }
}

/** Throws VT_EXPORT_FLAGGED for a session with the flag no-export. */
export async function refuseFlagged(workspace: Workspace, id: string): Promise<void> {
  const flagged = (await listSessions(workspace)).some(
    ({ session_id, no_export }) => session_id === id && no_export === true,
  )
  if (flagged) throw new AgentError('VT_EXPORT_FLAGGED', `The session '${id}' is flagged no-export.`)
}
