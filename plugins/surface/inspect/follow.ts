import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { callsFolder, openOwn } from '../../lib/state/index.js'
import { rowsOfCall, rowsOfEvent, type LiveRow } from './live.js'

/** How often logs are looked at, in milliseconds. */
const interval = 150
/** Sessions that are looked at each time; of the others, as many more in turn. */
const atOnce = 64
const most = { piece: 1024 * 1024, line: 16 * 1024 * 1024 }
/** How much of a log is shown that was there before, in bytes. */
const before = { chosen: 4 * 1024 * 1024, other: 64 * 1024 }

interface Followed {
  session: string
  name: 'events.jsonl' | 'calls.jsonl'
  at: number
  rest: Buffer[]
  /** Begins in the middle of a line, which is left out. */
  skips: boolean
  changed: number
}

/**
 * The rows that the logs of a workspace's sessions grow by, until `signal` aborts: first the last ones that are there. Looking is a `stat` of a few
 * dozen files; a log is opened when it has grown. What is written faster than somebody reads is read later.
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
      folder ??= await workspace.openDirectory(callsFolder).catch(() => undefined)
      if (folder) {
        for (const session of sessionsIn(folder, only)) look(folder, session, logs, first, session === only)
        const all = [...logs.values()].sort((a, b) => b.changed - a.changed)
        const later = all.slice(atOnce)
        const some =
          later.length <= atOnce
            ? later
            : Array.from({ length: atOnce }, (_, index) => later[(turn + index) % later.length]!)
        turn += atOnce
        for (const log of [...all.slice(0, atOnce), ...some]) yield* grown(workspace, folder, log)
      }
      await wait(interval, undefined, { signal }).catch(() => undefined)
    }
  } finally {
    await folder?.[Symbol.asyncDispose]()
  }
}

/** Names only: a folder may have come with the workspace, and is opened by the workspace. */
function sessionsIn(folder: Handle, only: string | undefined): string[] {
  try {
    return only !== undefined
      ? [only]
      : readdirSync(folder.ref).filter((name) => /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name))
  } catch {
    return []
  }
}

const statOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Begins to follow a session that is new. A thread writes events, which have its calls; other faces write calls alone. */
function look(folder: Handle, session: string, logs: Map<string, Followed>, first: boolean, chosen: boolean): void {
  const known = logs.get(session)
  if (known?.name === 'events.jsonl') return
  for (const name of ['events.jsonl', 'calls.jsonl'] as const) {
    if (known?.name === name) return
    const stat = statOf(`${folder.ref}/${session}/${name}`)
    if (!stat?.isFile()) continue
    const at = first || known ? Math.max(0, stat.size - (chosen ? before.chosen : before.other)) : 0
    logs.set(session, { session, name, at, rest: [], skips: at > 0, changed: stat.mtimeMs })
    return
  }
}

async function* grown(workspace: Workspace, folder: Handle, log: Followed): AsyncGenerator<LiveRow[]> {
  const stat = statOf(`${folder.ref}/${log.session}/${log.name}`)
  if (!stat?.isFile()) return
  // A log that was put aside begins anew.
  if (stat.size < log.at) Object.assign(log, { at: 0, rest: [], skips: false })
  if (stat.size === log.at) return
  log.changed = stat.mtimeMs
  try {
    await using place = await workspace.openDirectory(`${callsFolder}/${log.session}`)
    const file = await openOwn(`${place.ref}/${log.name}`)
    try {
      while (log.at < stat.size) {
        const buffer = Buffer.alloc(Math.min(most.piece, stat.size - log.at))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, log.at)
        if (bytesRead === 0) return
        log.at += bytesRead
        const rows = rowsIn(log, buffer.subarray(0, bytesRead))
        if (rows.length > 0) yield rows
      }
    } finally {
      await file.close()
    }
  } catch {
    // It is gone, or no file of ours: there is nothing to show of it.
  }
}

function rowsIn(log: Followed, bytes: Buffer): LiveRow[] {
  const rows: LiveRow[] = []
  let from = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
    const line = Buffer.concat([...log.rest, bytes.subarray(from, end)])
    from = end + 1
    log.rest = []
    if (!log.skips) rows.push(...rowsOfLine(log, line.toString()))
    log.skips = false
  }
  if (from < bytes.length) log.rest.push(bytes.subarray(from))
  if (log.rest.reduce((sum, { length }) => sum + length, 0) > most.line) Object.assign(log, { rest: [], skips: true })
  return rows
}

function rowsOfLine({ session, name }: Followed, line: string): LiveRow[] {
  try {
    return (name === 'events.jsonl' ? rowsOfEvent : rowsOfCall)(session, JSON.parse(line))
  } catch {
    return []
  }
}
