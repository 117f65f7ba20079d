import { lock } from '../../../core/workspace/index.js'
import { hasSettled } from '../process/index.js'
import { applyChanges, planRevert, type RevertPlan } from './restore.js'
import { CommandRecords, createId, describeCommand, mergeChanges, readChanges, type RunningCommand } from './records.js'
import { StateIndex, toStoreFolder } from './state_index.js'
import type { StateLog } from './state_log.js'
import type {
  CheckpointSubject,
  OpenCheckpoint,
  RestoreResult,
  RevertOptions,
  CheckpointLimits,
  CommandRecord,
  StateChange,
  EntryState,
  Uncovered,
} from './types.js'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Keeps the files of one workspace before commands, below `checkpoints/` in the user's home. An index has the state of
 * each entry; a scan finds what differs from it, and only that is read. The index after a command, compared with the
 * one before it, is the record of the command.
 */
export class CheckpointStore {
  readonly #index: StateIndex
  readonly #log: StateLog
  readonly records: CommandRecords
  /** The folder of the store in the user's home. */
  readonly folder: string
  readonly #lockKey: string
  #events: StateChange[] = []
  readonly #running = new Map<
    string,
    { subject: CheckpointSubject; start?: number; complete: boolean; mixed: Set<string> }
  >()
  #queue: Promise<unknown> = Promise.resolve()
  #opened = false
  #sincePrune = 0

  constructor(
    readonly root: string,
    home: string,
    public limits: CheckpointLimits,
  ) {
    const folder = (this.folder = toStoreFolder(root, home))
    this.#index = new StateIndex(folder, root, home)
    this.#log = this.#index.log
    this.records = new CommandRecords(folder)
    this.#lockKey = `checkpoints:${folder}`
  }

  /** Updates the index without a command, such as at the start of a session. */
  prepare(): Promise<void> {
    return this.#enqueue(() => this.#update()).catch(() => {})
  }

  /** Lists the records, the newest first, with what commands that still run have changed so far. */
  list(): Promise<CommandRecord[]> {
    return this.#enqueue(async () => {
      await this.#update()
      for (const one of this.records.listRunning()) if (!this.#running.has(one.id)) this.#recordFromLog(one)
      return this.records.list()
    })
  }

  /** Keeps the present files before a command. Waits at most `wait_ms`. */
  async begin(subject: CheckpointSubject): Promise<OpenCheckpoint> {
    const id = createId()
    let failure: string | undefined
    const updating = this.#enqueue(async () => {
      await this.#update()
      this.#begin(id, subject)
    }).catch((error: unknown) => {
      failure = (error as Error).message
    })
    const complete = (await hasSettled(updating, this.limits.wait_ms)) && failure === undefined
    if (!complete) this.#note(id, subject, false)
    return { id, complete, files: this.#index.countFiles(), ...(failure !== undefined && { failure }) }
  }

  /** Ends a checkpoint and returns the record of its command; `undefined` if it changed nothing. */
  async end(id: string): Promise<CommandRecord | undefined> {
    const running = this.#running.get(id)
    if (!running) return undefined
    return this.#enqueue(async () => {
      await this.#update().catch(() => {})
      const record = this.#record(id)
      this.#forget(id)
      await this.#prune()
      return record
    })
  }

  /**
   * Closes the record of a running command, such as a shell that gets its next line, and begins another one.
   * Returns the closed record and the id of the new checkpoint.
   */
  advance(id: string, command: string): Promise<{ id: string; record: CommandRecord | undefined }> {
    return this.#enqueue(async () => {
      await this.#update().catch(() => {})
      const running = this.#running.get(id)
      const record = this.#record(id)
      this.#forget(id)
      const next = createId()
      if (running) this.#begin(next, { ...running.subject, command })
      return { id: next, record }
    })
  }

  /** Writes what a command has changed so far, and returns that; `undefined` if it has changed nothing. */
  peek(id: string): Promise<CommandRecord | undefined> {
    return this.#enqueue(async () => {
      await this.#update().catch(() => {})
      return this.#record(id)
    })
  }

  /** Lists what no checkpoint covers, the largest first. */
  listUncovered(): Uncovered[] {
    return this.#index.listUncovered()
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#log.pack_bytes + this.#log.log_bytes + this.records.bytes
  }

  /** Returns a kept content. */
  readContent(hash: string): Buffer | undefined {
    return this.#log.readContent(hash)
  }

  /**
   * Plans a revert of these commands, the newest first, limited to the paths that `select` accepts. With `apply`, also
   * makes the changes, as a command of its own that can be reverted in turn, unless somebody changed a path since and
   * `force` is not set.
   */
  revert(
    records: readonly CommandRecord[],
    { select, force, apply, session }: RevertOptions,
  ): Promise<RevertPlan & { id?: string }> {
    return this.#enqueue(async () => {
      await this.#update()
      const plan = planRevert(records, select, (path) => this.#log.entries.get(path)?.state ?? null)
      if (!apply || plan.changes.length === 0 || (plan.conflicts.length > 0 && !force)) return plan
      const command = `revert ${records.map(({ id }) => id).join(' ')}`
      const { id, skipped } = await this.#restore(plan.changes, { call: 'revert', session, command })
      return { ...plan, skipped: [...plan.skipped, ...skipped], id }
    })
  }

  /** Gives paths the state `after` of these changes, as a command of its own that can be reverted. */
  restore(changes: readonly StateChange[], subject: CheckpointSubject): Promise<RestoreResult> {
    return this.#enqueue(async () => {
      await this.#update()
      return this.#restore(changes, subject)
    })
  }

  async #restore(changes: readonly StateChange[], subject: CheckpointSubject): Promise<RestoreResult> {
    const record: CommandRecord = {
      id: createId(),
      ...subject,
      time: new Date().toISOString(),
      changes: changes.map(({ path, after }) => ({
        path,
        before: this.#log.entries.get(path)?.state ?? null,
        after,
      })),
      mixed: [],
      complete: true,
    }
    this.records.write({ ...record, unfinished: true })
    const skipped = await this.#apply(record.changes)
    await this.#update()
    this.records.write(record)
    return { id: record.id, skipped }
  }

  close(): void {
    this.#index.close()
  }

  #apply(changes: readonly StateChange[]): Promise<{ path: string; reason: string }[]> {
    return applyChanges(
      changes,
      (path) => this.#index.locate(path),
      (hash) => this.#log.readContent(hash),
    )
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(async () => {
      await using _ = await lock([this.#lockKey], 'checkpoints')
      if (!this.#opened) await this.#open()
      return work()
    })
    this.#queue = next.catch(() => {})
    return next
  }

  /** Completes what killed processes left: an unfinished revert is applied, a command gets its record. */
  async #open(): Promise<void> {
    this.#opened = true
    const dead = this.records.listRunning().filter(({ alive }) => !alive)
    const reverts = this.records.list().filter(({ unfinished }) => unfinished)
    if (dead.length === 0 && reverts.length === 0) return
    await this.#update()
    for (const running of dead) {
      this.#recordFromLog(running)
      this.records.end(running.id)
    }
    for (const { unfinished: _, ...record } of reverts.reverse()) {
      await this.#apply(record.changes)
      await this.#update()
      this.records.write(record)
    }
  }

  /** Writes the record of a command of another process: the changes in the log since it began. */
  #recordFromLog({ pid: _, log, alive: __, ...running }: RunningCommand & { alive?: boolean }): void {
    const changes = readChanges(this.folder, log)
    if (changes.length > 0) this.records.write({ ...running, changes, mixed: [] })
  }

  /** Notes that a command begins, for this process and for those that find it killed. */
  #begin(id: string, subject: CheckpointSubject): void {
    this.#note(id, subject, true)
    this.#running.get(id)!.start = this.#events.length
    this.records.begin({
      id,
      ...subject,
      time: new Date().toISOString(),
      complete: this.#running.get(id)!.complete,
      pid: process.pid,
      log: this.#log.position,
    })
  }

  #note(id: string, subject: CheckpointSubject, complete: boolean): void {
    const known = this.#running.get(id)
    const mixed = known?.mixed ?? new Set<string>()
    for (const other of this.records.listRunning())
      if (other.alive && other.id !== id) mixed.add(describeCommand(other))
    for (const [other, one] of this.#running) {
      if (other === id) continue
      one.mixed.add(describeCommand(subject))
    }
    this.#running.set(id, { subject, complete: known ? known.complete && complete : complete, mixed })
  }

  #forget(id: string): void {
    this.#running.delete(id)
    this.records.end(id)
    if (this.#running.size === 0) this.#events = []
  }

  /** Writes the record of a command: its changes up to now. */
  #record(id: string): CommandRecord | undefined {
    const running = this.#running.get(id)
    if (!running) return undefined
    const { subject, start, complete, mixed } = running
    const changes = start === undefined ? [] : mergeChanges(this.#events.slice(start))
    for (const other of this.records.listRunning())
      if (other.alive && other.id !== id) mixed.add(describeCommand(other))
    for (const other of this.records.listSince(id)) mixed.add(describeCommand(other))
    if (changes.length === 0) {
      this.records.remove(id)
      return undefined
    }
    const time = new Date(Number(id.slice(0, 14))).toISOString()
    const record: CommandRecord = { id, ...subject, time, changes, mixed: [...mixed], complete }
    this.records.write(record)
    return record
  }

  /** Makes the index equal to the disk. While a command runs, each difference becomes an event. */
  #update(): Promise<void> {
    return this.#index.update(this.limits.max_mb * 1024 * 1024, (path, before, after) => {
      if (this.#running.size > 0) this.#events.push({ path, before, after })
    })
  }

  /** Removes commands that are too old, and the oldest while the store is too large. Runs on every 50th call. */
  async #prune(): Promise<void> {
    if (this.#sincePrune++ % 50 !== 0) return
    const records = this.records.list()
    const oldest = Date.now() - this.limits.days * DAY_MS
    const kept = records.filter(({ time }) => Date.parse(time) >= oldest)
    for (const { id } of records.slice(kept.length)) this.records.remove(id)
    let dropped = records.length - kept.length
    const max = this.limits.max_mb * 1024 * 1024
    const isLarge = this.bytes > max * 0.9
    for (const { id } of isLarge ? kept.splice(Math.ceil(kept.length / 2)) : []) {
      this.records.remove(id)
      dropped++
    }
    const isLong = this.#log.log_bytes > 1024 * 1024 + 4 * 200 * this.#log.entries.size
    if ((dropped === 0 && !isLong) || this.records.listRunning().length > 0) return
    const used = new Set(
      kept.flatMap(({ changes }) => changes.flatMap(({ before, after }) => [before, after].map(toHash))),
    )
    this.#log.compact((hash) => used.has(hash))
  }
}

const toHash = (state: EntryState | null): string => (state?.kind === 'file' ? (state.sha256 ?? '') : '')
