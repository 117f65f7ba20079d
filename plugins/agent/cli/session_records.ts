import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { finished } from 'node:stream/promises'
import type { Io } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { waitForDrain } from '../../lib/base/index.js'
import { callsFolder } from '../../lib/state/index.js'
import { say } from '../../lib/terminal/index.js'
import { AgentError } from '../base/index.js'
import {
  eventsOfAtif,
  isAtif,
  readEvents,
  type LogFaults,
  type LoggedEvent,
  type RecordFiles,
} from '../records/index.js'
import { readEventBytes, readSessionFile, listSessions, isValidSessionId } from '../session/index.js'
import { findLastSession } from '../history/index.js'

/** A log to be read: its events by stream, what lies beside it, and what turned out to be wrong with it. */
export interface SessionRecords {
  events: AsyncIterable<LoggedEvent>
  files: RecordFiles
  faults: LogFaults
}

/** The records of a session; `undefined` as id: of the one that was used last. Throws VT_SESSION_NOT_FOUND when they are read. */
export async function recordsOfSession(workspace: Workspace, id: string): Promise<SessionRecords> {
  const threads = new Map((await listSessions(workspace)).map((one) => [one.thread_id, one]))
  const of = (session: string, seen: ReadonlySet<string>): SessionRecords => {
    const faults: LogFaults = { damaged: 0, torn: false }
    const child: RecordFiles['child'] = (thread) => {
      const known = threads.get(thread)
      // What a person keeps to himself stays there, and a thread never holds itself.
      return known && !known.no_export && !seen.has(known.session_id)
        ? of(known.session_id, new Set([...seen, known.session_id]))
        : undefined
    }
    return {
      events: readEvents(readEventBytes(workspace, session), faults),
      files: { read: (path) => readSessionFile(workspace, session, path), child },
      faults,
    }
  }
  return of(id, new Set([id]))
}

/** The session that is meant: the one that is named, else the user's last one. Throws VT_SESSION_NOT_FOUND. */
export const sessionMeant = async (workspace: Workspace, id: string | undefined): Promise<string> =>
  id ?? (await findLastSession(workspace))

/** Throws VT_SESSION_NOT_FOUND where the workspace has no folder of this session: of an agent or of a face without one. */
export async function sessionExists(workspace: Workspace, id: string): Promise<void> {
  if (isValidSessionId(id) && (await workspace.stat(`${callsFolder}/${id}`))?.kind === 'directory') return
  throw new AgentError('VT_SESSION_NOT_FOUND', `Session not found: '${id}' in this workspace.`)
}

/** A log that a person names by its path: a file of events in the workspace, an ATIF trajectory, or the folder of an export. Throws VT_EXPORT_INVALID. */
export async function recordsInFile(workspace: Workspace, path: string): Promise<SessionRecords> {
  const folder = (await workspace.stat(path))?.kind === 'directory'
  const trajectory = folder ? undefined : await trajectoryIn(workspace, path)
  if (trajectory !== undefined)
    return {
      events: lazily(trajectory),
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
    events: readEvents(bytesOf(workspace, folder ? `${place}/events.jsonl` : path), faults),
    files: { read },
    faults,
  }
}

/** The document of a file that begins as one; `undefined` for a log, whose lines are documents of their own. */
async function trajectoryIn(workspace: Workspace, path: string): Promise<unknown> {
  const beginning = (await workspace.read(path, { length: 4096 })).toString()
  if (!/^\s*\{\s*"[^]{0,200}"ATIF-v/.test(beginning)) return undefined
  try {
    const document = JSON.parse(await workspace.readText(path, { max_bytes: 256 * 1024 * 1024 })) as unknown
    if (isAtif(document)) return document
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new AgentError('VT_EXPORT_INVALID', `'${path}' is no ATIF trajectory: it is no JSON: ${error.message}.`)
    throw error
  }
  return undefined
}

async function* lazily(document: unknown): AsyncGenerator<LoggedEvent> {
  yield* eventsOfAtif(document)
}

async function* bytesOf(workspace: Workspace, path: string): AsyncGenerator<Buffer> {
  await using file = await workspace.openFile(path)
  for (let at = 0; ;) {
    const bytes = await file.read(at, 256 * 1024)
    if (bytes.length === 0) return
    at += bytes.length
    yield bytes
  }
}

/** Says what was wrong with a log that was read all the same. */
export function tellFaults(io: Io, { damaged, torn, newer }: LogFaults): void {
  if (newer !== undefined)
    say(io, 'warning', `The log has the version ${newer}; what this version does not know was left out.`)
  if (damaged > 0)
    say(
      io,
      'warning',
      `${damaged} ${damaged === 1 ? 'line is no event and was' : 'lines are no events and were'} left out${torn ? '; the last line was cut off' : ''}.`,
    )
}

/** Writes pieces to stdout, as fast as that takes them. */
export async function printPieces(io: Io, pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) {
    if (piece !== '' && !io.stdout.write(piece)) await waitForDrain(io.stdout)
  }
}

/** Writes pieces to a file of the workspace, which is replaced when all of them are there. Throws VT_PATH_*, VT_SESSION_WRITE. */
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
    const beside = dirname(place)
    await workspace.rename(`${beside === '.' ? '' : `${beside}/`}.${name}${part}`, place, { replace: true })
  } catch (error) {
    file.destroy()
    await rm(temporary, { force: true })
    if (typeof (error as NodeJS.ErrnoException).syscall === 'string')
      throw new AgentError('VT_SESSION_WRITE', `'${path}' cannot be written: ${(error as NodeJS.ErrnoException).code}.`)
    throw error
  }
}

/** Throws VT_EXPORT_FLAGGED for a session that is to stay here. */
export async function refuseFlagged(workspace: Workspace, id: string): Promise<void> {
  const flagged = (await listSessions(workspace)).some(
    ({ session_id, no_export }) => session_id === id && no_export === true,
  )
  if (flagged) throw new AgentError('VT_EXPORT_FLAGGED', `The session '${id}' is flagged no-export.`)
}
