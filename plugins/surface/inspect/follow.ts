import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { CALLS_FOLDER, openPrivateFile } from '../../lib/state/index.js'
import { toCallRows, toEventRows, type LiveRow } from './live.js'

/** Interval between checks of the logs, in milliseconds. */
const POLL_INTERVAL_MS = 150
/** Number of recent sessions that each check reads; as many older ones follow in turn. */
const POLL_BATCH = 64
const LIMITS = { piece: 1024 * 1024, line: 16 * 1024 * 1024 }
/** Size of the earlier part of a log that the page shows, in bytes. */
const EARLIER_BYTES = { chosen: 4 * 1024 * 1024, other: 64 * 1024 }

interface Followed {
  session: string
  name: 'events.jsonl' | 'calls.jsonl'
  at: number
  rest: Buffer[]
  /** `true` if the position is in the middle of a line, which is skipped. */
  skips: boolean
  changed: number
}

/**
 * Yields new rows of the logs of a workspace's sessions until `signal` aborts, after the last existing rows.
 * A check is a `stat` of a few dozen files; only a log that has grown is opened. A slow reader gets its rows later.
 */
export async function* followSessions(
  workspace: Workspace,
  only: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<LiveRow[]> {
  const logs = new Map<string, Followed>()
  let folder: Handle | undefined
  let turn = 0
  try {
    for (let first = true; !signal.aborted; first = false) {
      folder ??= await workspace.openDirectory(CALLS_FOLDER).catch(() => undefined)
      if (folder) {
        for (const session of listSessionIds(folder, only)) trackSession(folder, session, logs, first, session === only)
        const all = [...logs.values()].sort((a, b) => b.changed - a.changed)
        const later = all.slice(POLL_BATCH)
        const some =
          later.length <= POLL_BATCH
            ? later
            : Array.from({ length: POLL_BATCH }, (_, index) => later[(turn + index) % later.length]!)
        turn += POLL_BATCH
        for (const log of [...all.slice(0, POLL_BATCH), ...some]) yield* readGrowth(workspace, folder, log)
      }
      await wait(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined)
    }
  } finally {
    await folder?.[Symbol.asyncDispose]()
  }
}

/** Lists names only. The workspace opens the folders, because a repository may contain them. */
function listSessionIds(folder: Handle, only: string | undefined): string[] {
  try {
    return only !== undefined
      ? [only]
      : readdirSync(folder.ref).filter((name) => /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name))
  } catch {
    return []
  }
}

const readStat = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Starts to follow a new session. Threads write events, which include calls; other surfaces write only calls. */
function trackSession(
  folder: Handle,
  session: string,
  logs: Map<string, Followed>,
  first: boolean,
  chosen: boolean,
): void {
  const known = logs.get(session)
  if (known?.name === 'events.jsonl') return
  for (const name of ['events.jsonl', 'calls.jsonl'] as const) {
    if (known?.name === name) return
    const stat = readStat(`${folder.ref}/${session}/${name}`)
    if (!stat?.isFile()) continue
    const at = first || known ? Math.max(0, stat.size - (chosen ? EARLIER_BYTES.chosen : EARLIER_BYTES.other)) : 0
    logs.set(session, { session, name, at, rest: [], skips: at > 0, changed: stat.mtimeMs })
    return
  }
}

async function* readGrowth(workspace: Workspace, folder: Handle, log: Followed): AsyncGenerator<LiveRow[]> {
  const stat = readStat(`${folder.ref}/${log.session}/${log.name}`)
  if (!stat?.isFile()) return
  // A log that was rotated starts again.
  if (stat.size < log.at) Object.assign(log, { at: 0, rest: [], skips: false })
  if (stat.size === log.at) return
  log.changed = stat.mtimeMs
  try {
    await using place = await workspace.openDirectory(`${CALLS_FOLDER}/${log.session}`)
    const file = await openPrivateFile(`${place.ref}/${log.name}`)
    try {
      while (log.at < stat.size) {
        const buffer = Buffer.alloc(Math.min(LIMITS.piece, stat.size - log.at))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, log.at)
        if (bytesRead === 0) return
        log.at += bytesRead
        const rows = splitRows(log, buffer.subarray(0, bytesRead))
        if (rows.length > 0) yield rows
      }
    } finally {
      await file.close()
    }
  } catch {
    // A log that was removed or is no private file has nothing to show.
  }
}

function splitRows(log: Followed, bytes: Buffer): LiveRow[] {
  const rows: LiveRow[] = []
  let from = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
    const line = Buffer.concat([...log.rest, bytes.subarray(from, end)])
    from = end + 1
    log.rest = []
    if (!log.skips) rows.push(...parseLine(log, line.toString()))
    log.skips = false
  }
  if (from < bytes.length) log.rest.push(bytes.subarray(from))
  if (log.rest.reduce((sum, { length }) => sum + length, 0) > LIMITS.line) Object.assign(log, { rest: [], skips: true })
  return rows
}

function parseLine({ session, name }: Followed, line: string): LiveRow[] {
  try {
    return (name === 'events.jsonl' ? toEventRows : toCallRows)(session, JSON.parse(line))
  } catch {
    return []
  }
}
