import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isProcessRunning, makeFolder, writeStateSync } from '../../../core/system/index.js'
import { isSameState } from './restore.js'
import { StateLog } from './state_log.js'
import type { CommandRecord, StateChange } from './types.js'

/** A command that runs now, or whose process was killed. `log` is the state of the log when it began. */
export interface RunningCommand extends Pick<
  CommandRecord,
  'id' | 'call' | 'session' | 'command' | 'time' | 'complete'
> {
  pid: number
  log: { inode: number; at: number }
}

/**
 * The records of commands in the folder of a store: `records/<id>.json`, `running/<id>.json`,
 * `present/<pid>-<session>`.
 */
export class CommandRecords {
  constructor(private readonly folder: string) {
    for (const name of ['records', 'running', 'present']) makeFolder(join(folder, name), 0o700)
  }

  /** Lists the records, the newest first. */
  list(): CommandRecord[] {
    return this.#names('records')
      .reverse()
      .flatMap((name) => readJson<CommandRecord>(join(this.folder, 'records', name)) ?? [])
  }
  /** Lists the records of commands that began after the one with this id. */
  listSince(id: string): CommandRecord[] {
    return this.#names('records')
      .filter((name) => name > `${id}.json`)
      .flatMap((name) => readJson<CommandRecord>(join(this.folder, 'records', name)) ?? [])
  }
  write(record: CommandRecord): void {
    writeStateSync(join(this.folder, 'records', `${record.id}.json`), JSON.stringify(record))
  }
  remove(id: string): void {
    rmSync(join(this.folder, 'records', `${id}.json`), { force: true })
  }

  begin(running: RunningCommand): void {
    writeFileSync(join(this.folder, 'running', `${running.id}.json`), JSON.stringify(running), { mode: 0o600 })
  }
  end(id: string): void {
    rmSync(join(this.folder, 'running', `${id}.json`), { force: true })
  }
  /** Lists running commands, and those of killed processes, the oldest first. */
  listRunning(): (RunningCommand & { alive: boolean })[] {
    return this.#names('running').flatMap((name) => {
      const one = readJson<RunningCommand>(join(this.folder, 'running', name))
      return one ? [{ ...one, alive: isProcessRunning(one.pid) }] : []
    })
  }

  /** Notes a session of this process, and returns those of other processes that are alive. */
  join(session: string): { pid: number; session: string }[] {
    const others = this.#names('present').flatMap((name) => {
      const [, pid, other = ''] = /^(\d+)-(.*)$/.exec(name) ?? []
      if (pid === undefined || Number(pid) === process.pid) return []
      if (isProcessRunning(Number(pid))) return [{ pid: Number(pid), session: other }]
      rmSync(join(this.folder, 'present', name), { force: true })
      return []
    })
    writeFileSync(this.#presence(session), '', { mode: 0o600 })
    return others
  }
  leave(session: string): void {
    rmSync(this.#presence(session), { force: true })
  }

  /** Bytes of all records. */
  get bytes(): number {
    return this.#names('records').reduce((sum, name) => sum + statSync(join(this.folder, 'records', name)).size, 0)
  }

  #presence(session: string): string {
    return join(this.folder, 'present', `${process.pid}-${session.replace(/[^\w.-]/g, '_').slice(0, 100)}`)
  }
  #names(folder: string): string[] {
    try {
      // A killed process may have left the draft of a record.
      const names = readdirSync(join(this.folder, folder))
      return names.filter((name) => folder === 'present' || name.endsWith('.json')).sort()
    } catch {
      return []
    }
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch {
    return undefined
  }
}

/** Creates the id of a command, which begins with its time in milliseconds. */
export const createId = (): string => `${String(Date.now()).padStart(14, '0')}-${randomBytes(4).toString('hex')}`

/** Describes a command in a list of those that ran at the same time. */
export const describeCommand = ({ session, command }: Pick<CommandRecord, 'session' | 'command'>): string =>
  `${command.slice(0, 80)} (session ${session})`

/** Joins the changes of each path to one, and drops those that came to nothing. */
export function mergeChanges(events: readonly StateChange[]): StateChange[] {
  const merged = new Map<string, StateChange>()
  for (const { path, before, after } of events) {
    const first = merged.get(path)
    merged.set(path, { path, before: first ? first.before : before, after })
  }
  return [...merged.values()]
    .filter(({ before, after }) => !isSameState(before, after))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Returns the changes in the log of a store since a position; none if the log was written again meanwhile. */
export function readChanges(folder: string, { inode, at }: RunningCommand['log']): StateChange[] {
  const past = new StateLog(folder)
  past.read(() => {}, at)
  if (past.position.inode !== inode) return []
  const changes: StateChange[] = []
  past.read((path, entry) =>
    changes.push({ path, before: past.entries.get(path)?.state ?? null, after: entry?.state ?? null }),
  )
  return mergeChanges(changes)
}
