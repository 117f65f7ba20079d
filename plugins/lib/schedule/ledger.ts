import { randomBytes } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errno, makeFolder, writeStateSync } from '../../../core/system/index.js'
import { getOwnHolder } from '../state/index.js'
import { Claims, type RunClaim } from './claims.js'
import { findDueRuns, type SkippedRuns } from './due.js'
import { createScheduleError } from './errors.js'
import type { TaskStore } from './store.js'
import { findNextRuns } from './timing.js'
import { withPending, type PendingRun, type RunStatus, type ScheduledTask, type TaskState } from './types.js'

/** End of a run. */
export interface RunEnd {
  status: Exclude<RunStatus, 'running'>
  reason?: string
  exit_code?: number
  /** Outcome in the last event. */
  subtype?: string
}
/** Content of `run.json`. */
export interface RunRecord extends Partial<RunEnd> {
  v: 1
  run: string
  task: string
  base_run_at: string
  attempt: 1 | 2
  started_at: string
  ended_at?: string
}
/** Clock for times of schedules, and a monotonic clock; milliseconds. */
export interface ScheduleClock {
  now(): number
  elapsed(): number
}
/** `held`: a run is pending while an earlier one is active. */
export type BeginResult =
  | { kind: 'begun'; task: ScheduledTask; claim: RunClaim }
  | { kind: 'held' }
  | { kind: 'nothing' }

const RETENTION = { runs: 20, days: 90 }
const FAILURES_TO_PAUSE = 5
const DAY_MS = 86_400_000

/**
 * Ledger of pending, active and completed runs, shared by all processes that serve the same schedules. A run is
 * claimed before the schedule moves on, and each base time is claimed once.
 */
export class RunLedger {
  readonly claims: Claims

  constructor(
    readonly store: TaskStore,
    private readonly clock: ScheduleClock,
  ) {
    this.claims = new Claims(join(store.state, 'claims'), clock.elapsed)
  }

  /** Begins the next due run of a schedule. `noticed`: when the due time was noticed, from which lateness counts. */
  async begin(id: string, noticed: number): Promise<BeginResult> {
    await using _ = await this.store.lockTask(id)
    const task = this.store.read(id)
    if (!task?.enabled) return { kind: 'nothing' }
    const before = this.store.loadState(task, noticed)
    const state = this.recoverDead(task, before)
    const running = this.claims.listByTask(id)
    const due = findDueRuns(task, state, noticed)
    const { skipped, pending } = this.applyOverlap(task, { running, waiting: state.owed, due: due.pending })
    for (const one of [...due.skipped, ...skipped]) this.noteSkipped(task.id, one)
    const left = task.max_runs === undefined ? pending : pending.slice(0, Math.max(0, task.max_runs - state.run_count))
    const over = task.max_runs !== undefined && state.run_count + left.length >= task.max_runs
    const next = withPending(
      {
        ...state,
        next_base_run_at: over ? null : due.next_base_run_at,
        next_run_at: over ? null : due.next_run_at,
      },
      left,
    )
    const mayBegin = running.length === 0 || task.overlap === 'allow'
    const [first, ...rest] = left
    if (first === undefined || !mayBegin) {
      if (JSON.stringify(next) !== JSON.stringify(before)) this.store.writeState(id, next)
      return { kind: first === undefined ? 'nothing' : 'held' }
    }
    const claim = this.claimRun(task, first)
    const begun = { run_count: next.run_count + 1, last_run_at: claim.begun_at, last_run_dir: claim.dir }
    this.store.writeState(id, { ...withPending(next, rest), ...begun, last_status: 'running' })
    return { kind: 'begun', task, claim }
  }

  /**
   * Begins a run on request of a person without changing the schedule. Throws VT_SCHED_FULL if an earlier run is
   * active.
   */
  async beginNow(task: ScheduledTask): Promise<RunClaim> {
    await using _ = await this.store.lockTask(task.id)
    const state = this.recoverDead(task, this.store.loadState(task, this.clock.now()))
    if (task.overlap !== 'allow' && this.claims.listByTask(task.id).length > 0)
      throw createScheduleError(
        'VT_SCHED_FULL',
        `An earlier run of '${task.id}' is active.`,
        'Wait for its end. `vtcode schedule runs <id>` shows it.',
      )
    const claim = this.claimRun(task, { base: new Date(this.clock.now()).toISOString(), attempt: 1 }, true)
    this.store.writeState(task.id, {
      ...state,
      run_count: state.run_count + 1,
      last_run_at: claim.begun_at,
      last_status: 'running',
      last_run_dir: claim.dir,
    })
    return claim
  }

  /**
   * Records the end of a run, unless its claim was already removed as dead. Returns the reason if the schedule was
   * paused.
   */
  async end(claim: RunClaim, how: RunEnd): Promise<string | undefined> {
    await using _ = await this.store.lockTask(claim.task)
    if (!this.claims.exists(claim)) return undefined
    const task = this.store.read(claim.task)
    if (!task) {
      rmSync(join(this.store.state, 'runs', claim.task), { recursive: true, force: true })
      this.claims.remove(claim)
      return undefined
    }
    const state = this.recordEnd(task, this.store.loadState(task, this.clock.now()), claim, how)
    this.store.writeState(task.id, state)
    if (state.paused !== undefined && task.enabled) this.store.write({ ...task, enabled: false })
    this.claims.remove(claim)
    this.prune(task.id)
    return task.enabled ? state.paused : undefined
  }

  /** Returns the runs of a schedule, the latest first. */
  listRuns(id: string): RunRecord[] {
    const folder = join(this.store.state, 'runs', id)
    return listRunFolders(folder)
      .reverse()
      .flatMap((name) => readRecord(join(folder, name)) ?? [])
  }

  /** Returns the skipped times of a schedule, the latest first. */
  listSkipped(id: string): SkippedRuns[] {
    return readLines(join(this.store.state, 'runs', id, 'skipped.jsonl'))
      .reverse()
      .map((line) => JSON.parse(line) as SkippedRuns)
  }

  /**
   * Ends the claims of dead processes: their runs are interrupted and pending once more. If a holder died before it
   * wrote the state, this moves the schedule on.
   */
  private recoverDead(task: ScheduledTask, state: TaskState): TaskState {
    let found = state
    for (const claim of this.claims.listByTask(task.id)) {
      if (!this.claims.isDead(claim)) continue
      const others = found.owed.filter(({ base, attempt }) => base !== claim.base || attempt !== claim.attempt)
      const known = withPending(found, others)
      const isAhead =
        !claim.manual && known.next_base_run_at !== null && Date.parse(known.next_base_run_at) <= Date.parse(claim.base)
      found = this.recordEnd(
        task,
        isAhead ? { ...known, ...findNextRuns(task, Date.parse(claim.base)) } : known,
        claim,
        {
          status: 'interrupted',
          reason: 'Its process ended.',
        },
      )
      this.store.writeState(task.id, found)
      this.claims.remove(claim)
    }
    return found
  }

  /** Decides which due times are pending while earlier runs are active. */
  private applyOverlap(
    task: ScheduledTask,
    {
      running,
      waiting,
      due,
    }: { running: readonly RunClaim[]; waiting: readonly PendingRun[]; due: readonly PendingRun[] },
  ): { pending: PendingRun[]; skipped: SkippedRuns[] } {
    const toSkipped = (runs: readonly PendingRun[]): SkippedRuns[] =>
      runs.map(({ base }) => ({ from: base, to: base, reason: 'an earlier run is active' }))
    const all = [...waiting, ...due]
    if (running.length === 0 || task.overlap === 'allow' || due.length === 0) return { pending: all, skipped: [] }
    if (task.overlap === 'skip') return { pending: [...waiting], skipped: toSkipped(due) }
    if (task.overlap === 'queue')
      return {
        pending: all.slice(0, Math.max(1, waiting.length)),
        skipped: toSkipped(all.slice(Math.max(1, waiting.length))),
      }
    for (const claim of running) this.claims.cancel(claim)
    return { pending: all.slice(-1), skipped: toSkipped(all.slice(0, -1)) }
  }

  private claimRun(task: ScheduledTask, { base, attempt }: PendingRun, manual = false): RunClaim {
    const run = randomBytes(4).toString('hex')
    const begun_at = new Date(this.clock.now()).toISOString()
    const dir = join(this.store.state, 'runs', task.id, `${begun_at.replace(/[-:.]/g, '')}_${run}`)
    const claim: RunClaim = {
      v: 1,
      run,
      task: task.id,
      base,
      attempt,
      ...(manual && { manual }),
      begun_at,
      dir,
      holder: getOwnHolder(),
    }
    // The claim comes first: a run without a claim would never end.
    this.claims.write(claim)
    makeFolder(dir, 0o700)
    const record: RunRecord = { v: 1, run, task: task.id, base_run_at: base, attempt, started_at: begun_at }
    writeStateSync(join(dir, 'run.json'), JSON.stringify(record), { durable: false })
    return claim
  }

  private recordEnd(task: ScheduledTask, state: TaskState, claim: RunClaim, how: RunEnd): TaskState {
    const now = this.clock.now()
    const begun: RunRecord = readRecord(claim.dir) ?? {
      v: 1,
      run: claim.run,
      task: task.id,
      base_run_at: claim.base,
      attempt: claim.attempt,
      started_at: claim.begun_at,
    }
    const record: RunRecord = { ...begun, ended_at: new Date(now).toISOString(), ...how }
    makeFolder(claim.dir, 0o700)
    writeStateSync(join(claim.dir, 'run.json'), JSON.stringify(record))
    const mayRepeat =
      claim.attempt === 1 &&
      !claim.manual &&
      task.catch_up !== 'none' &&
      now - Date.parse(claim.base) <= task.catch_up_window_secs * 1000
    const again = how.status === 'interrupted' && mayRepeat
    const failures =
      how.status === 'failed' || how.status === 'timed_out'
        ? state.consecutive_failures + 1
        : how.status === 'success'
          ? 0
          : state.consecutive_failures
    const isLast = state.last_run_dir === claim.dir
    const paused =
      failures >= FAILURES_TO_PAUSE
        ? `${failures} runs in a row failed; the last: ${how.reason ?? how.status}`
        : undefined
    const pending: PendingRun[] = [...(again ? [{ base: claim.base, attempt: 2 as const }] : []), ...state.owed]
    return {
      ...withPending(state, pending),
      ...(isLast && { last_status: how.status }),
      consecutive_failures: failures,
      ...(paused !== undefined && { paused }),
    }
  }

  private noteSkipped(id: string, one: SkippedRuns): void {
    const folder = join(this.store.state, 'runs', id)
    const file = join(folder, 'skipped.jsonl')
    makeFolder(folder, 0o700)
    const lines = readLines(file)
    if (lines.length > 400) writeStateSync(file, `${lines.slice(-200).join('\n')}\n`, { durable: false })
    appendFileSync(file, `${JSON.stringify(one)}\n`, { mode: 0o600 })
  }

  private prune(id: string): void {
    const folder = join(this.store.state, 'runs', id)
    const running = new Set(this.claims.listByTask(id).map(({ dir }) => dir))
    const oldest = new Date(this.clock.now() - RETENTION.days * DAY_MS).toISOString().replace(/[-:.]/g, '')
    const names = listRunFolders(folder)
    for (const [index, name] of names.entries())
      if ((index < names.length - RETENTION.runs || name < oldest) && !running.has(join(folder, name)))
        rmSync(join(folder, name), { recursive: true, force: true })
  }
}

const listRunFolders = (folder: string): string[] =>
  listNames(folder)
    .filter((name) => /^\d{8}T\d{9}Z_[0-9a-f]{8}$/.test(name))
    .sort()

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

function readRecord(folder: string): RunRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')) as RunRecord
  } catch {
    return undefined
  }
}
