import { randomBytes } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errno, makeFolder, writeStateSync } from '../../../core/system/index.js'
import { thisHolder } from '../state/index.js'
import { Claims, type RunClaim } from './claims.js'
import { dueRuns, type SkippedRuns } from './due.js'
import { scheduleProblem } from './errors.js'
import type { TaskStore } from './store.js'
import { nextRuns } from './timing.js'
import type { OwedRun, RunStatus, ScheduledTask, TaskState } from './types.js'

/** How a run ended. */
export interface RunEnd {
  status: Exclude<RunStatus, 'running'>
  reason?: string
  exit_code?: number
  /** Of the outcome, as the last event says. */
  subtype?: string
}
/** `run.json` of a run. */
export interface RunRecord extends Partial<RunEnd> {
  v: 1
  run: string
  task: string
  base_run_at: string
  attempt: 1 | 2
  started_at: string
  ended_at?: string
}
/** The times that are compared with those of schedules, and a clock that nobody sets; milliseconds. */
export interface ScheduleClock {
  now(): number
  elapsed(): number
}
/** `held`: something is owed and an earlier run goes on. */
export type Begun = { kind: 'begun'; task: ScheduledTask; claim: RunClaim } | { kind: 'held' } | { kind: 'nothing' }

const kept = { runs: 20, days: 90 }
const failuresToPause = 5
const dayMs = 86_400_000

/** What was run, is run and has to be run. All who serve the same schedules agree here: a run is claimed before the schedule moves on, and each base time is claimed once. */
export class RunLedger {
  readonly claims: Claims

  constructor(
    readonly store: TaskStore,
    private readonly clock: ScheduleClock,
  ) {
    this.claims = new Claims(join(store.state, 'claims'), clock.elapsed)
  }

  /** Begins what is due of a schedule, one run a call. `noticed`: when somebody saw it, from which lateness counts. */
  async begin(id: string, noticed: number): Promise<Begun> {
    await using _ = await this.store.holding(id)
    const task = this.store.read(id)
    if (!task?.enabled) return { kind: 'nothing' }
    const before = this.store.stateOf(task, noticed)
    const state = this.recovered(task, before)
    const running = this.claims.of(id)
    const due = dueRuns(task, state, noticed)
    const { skipped, owed } = this.overlapping(task, { running, waiting: state.owed, due: due.owed })
    for (const one of [...due.skipped, ...skipped]) this.noteSkipped(task.id, one)
    const left = task.max_runs === undefined ? owed : owed.slice(0, Math.max(0, task.max_runs - state.run_count))
    const over = task.max_runs !== undefined && state.run_count + left.length >= task.max_runs
    const next: TaskState = {
      ...state,
      owed: left,
      next_base_run_at: over ? null : due.next_base_run_at,
      next_run_at: over ? null : due.next_run_at,
    }
    const mayBegin = running.length === 0 || task.overlap === 'allow'
    const [first, ...rest] = left
    if (first === undefined || !mayBegin) {
      if (JSON.stringify(next) !== JSON.stringify(before)) this.store.writeState(id, next)
      return { kind: first === undefined ? 'nothing' : 'held' }
    }
    const claim = this.claim(task, first)
    this.store.writeState(id, {
      ...next,
      owed: rest,
      run_count: next.run_count + 1,
      last_run_at: claim.begun_at,
      last_status: 'running',
      last_run_dir: claim.dir,
    })
    return { kind: 'begun', task, claim }
  }

  /** Begins a schedule now, because a person says so; what comes by itself is not touched. Throws VT_SCHED_FULL where an earlier run goes on. */
  async beginNow(task: ScheduledTask): Promise<RunClaim> {
    await using _ = await this.store.holding(task.id)
    const state = this.recovered(task, this.store.stateOf(task, this.clock.now()))
    if (task.overlap !== 'allow' && this.claims.of(task.id).length > 0)
      throw scheduleProblem(
        'VT_SCHED_FULL',
        `An earlier run of ${task.id} goes on.`,
        'Wait for it; `vtcode schedule runs <id>` shows it.',
      )
    const claim = this.claim(task, { base: new Date(this.clock.now()).toISOString(), attempt: 1 }, true)
    this.store.writeState(task.id, {
      ...state,
      run_count: state.run_count + 1,
      last_run_at: claim.begun_at,
      last_status: 'running',
      last_run_dir: claim.dir,
    })
    return claim
  }

  /** The end of a run. What was taken for dead meanwhile is told already. Returns why the schedule was paused, if it was. */
  async end(claim: RunClaim, how: RunEnd): Promise<string | undefined> {
    await using _ = await this.store.holding(claim.task)
    if (!this.claims.exists(claim)) return undefined
    const task = this.store.read(claim.task)
    if (!task) {
      rmSync(join(this.store.state, 'runs', claim.task), { recursive: true, force: true })
      this.claims.remove(claim)
      return undefined
    }
    const state = this.ended(task, this.store.stateOf(task, this.clock.now()), claim, how)
    this.store.writeState(task.id, state)
    if (state.paused !== undefined && task.enabled) this.store.write({ ...task, enabled: false })
    this.claims.remove(claim)
    this.prune(task.id)
    return task.enabled ? state.paused : undefined
  }

  /** The runs of a schedule, the latest first. */
  runsOf(id: string): RunRecord[] {
    const folder = join(this.store.state, 'runs', id)
    return foldersIn(folder)
      .reverse()
      .flatMap((name) => recordIn(join(folder, name)) ?? [])
  }

  /** Times of a schedule that were not run, the latest first. */
  skippedOf(id: string): SkippedRuns[] {
    return linesIn(join(this.store.state, 'runs', id, 'skipped.jsonl'))
      .reverse()
      .map((line) => JSON.parse(line) as SkippedRuns)
  }

  /** Claims of the dead end here: what they ran is interrupted, and is owed once more. A claim that was made before its holder could write the state moves the schedule on. */
  private recovered(task: ScheduledTask, state: TaskState): TaskState {
    let found = state
    for (const claim of this.claims.of(task.id)) {
      if (!this.claims.isDead(claim)) continue
      const known = {
        ...found,
        owed: found.owed.filter(({ base, attempt }) => base !== claim.base || attempt !== claim.attempt),
      }
      const isAhead =
        !claim.manual && known.next_base_run_at !== null && Date.parse(known.next_base_run_at) <= Date.parse(claim.base)
      found = this.ended(task, isAhead ? { ...known, ...nextRuns(task, Date.parse(claim.base)) } : known, claim, {
        status: 'interrupted',
        reason: 'Whoever ran it was ended.',
      })
      this.store.writeState(task.id, found)
      this.claims.remove(claim)
    }
    return found
  }

  /** What of the due times is owed while earlier runs go on. */
  private overlapping(
    task: ScheduledTask,
    { running, waiting, due }: { running: readonly RunClaim[]; waiting: readonly OwedRun[]; due: readonly OwedRun[] },
  ): { owed: OwedRun[]; skipped: SkippedRuns[] } {
    const skippedOf = (runs: readonly OwedRun[]): SkippedRuns[] =>
      runs.map(({ base }) => ({ from: base, to: base, reason: 'an earlier run goes on' }))
    const all = [...waiting, ...due]
    if (running.length === 0 || task.overlap === 'allow' || due.length === 0) return { owed: all, skipped: [] }
    if (task.overlap === 'skip') return { owed: [...waiting], skipped: skippedOf(due) }
    if (task.overlap === 'queue')
      return {
        owed: all.slice(0, Math.max(1, waiting.length)),
        skipped: skippedOf(all.slice(Math.max(1, waiting.length))),
      }
    for (const claim of running) this.claims.cancel(claim)
    return { owed: all.slice(-1), skipped: skippedOf(all.slice(0, -1)) }
  }

  private claim(task: ScheduledTask, { base, attempt }: OwedRun, manual = false): RunClaim {
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
      holder: thisHolder(),
    }
    // The claim comes first: a run that nobody claims would never end.
    this.claims.write(claim)
    makeFolder(dir, 0o700)
    const record: RunRecord = { v: 1, run, task: task.id, base_run_at: base, attempt, started_at: begun_at }
    writeStateSync(join(dir, 'run.json'), JSON.stringify(record), { durable: false })
    return claim
  }

  private ended(task: ScheduledTask, state: TaskState, claim: RunClaim, how: RunEnd): TaskState {
    const now = this.clock.now()
    const begun: RunRecord = recordIn(claim.dir) ?? {
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
      failures >= failuresToPause
        ? `${failures} runs in a row failed; the last: ${how.reason ?? how.status}`
        : undefined
    return {
      ...state,
      ...(isLast && { last_status: how.status }),
      consecutive_failures: failures,
      ...(again && { owed: [{ base: claim.base, attempt: 2 }, ...state.owed] }),
      ...(paused !== undefined && { paused }),
    }
  }

  private noteSkipped(id: string, one: SkippedRuns): void {
    const folder = join(this.store.state, 'runs', id)
    const file = join(folder, 'skipped.jsonl')
    makeFolder(folder, 0o700)
    const lines = linesIn(file)
    if (lines.length > 400) writeStateSync(file, `${lines.slice(-200).join('\n')}\n`, { durable: false })
    appendFileSync(file, `${JSON.stringify(one)}\n`, { mode: 0o600 })
  }

  private prune(id: string): void {
    const folder = join(this.store.state, 'runs', id)
    const running = new Set(this.claims.of(id).map(({ dir }) => dir))
    const oldest = new Date(this.clock.now() - kept.days * dayMs).toISOString().replace(/[-:.]/g, '')
    const names = foldersIn(folder)
    for (const [index, name] of names.entries())
      if ((index < names.length - kept.runs || name < oldest) && !running.has(join(folder, name)))
        rmSync(join(folder, name), { recursive: true, force: true })
  }
}

const foldersIn = (folder: string): string[] =>
  namesOf(folder)
    .filter((name) => /^\d{8}T\d{9}Z_[0-9a-f]{8}$/.test(name))
    .sort()

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

function linesIn(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

function recordIn(folder: string): RunRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')) as RunRecord
  } catch {
    return undefined
  }
}
