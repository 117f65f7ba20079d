import { Semaphore } from '../../../core/system/index.js'
import type { RunClaim } from './claims.js'
import { DueHeap } from './heap.js'
import { RunLedger, type RunEnd, type ScheduleClock } from './ledger.js'
import type { TaskFault, TaskStore } from './store.js'
import type { ScheduledTask, TaskState } from './types.js'

/** Executes a run and returns its end. Contract: ends soon after `signal` aborts; does not reject. */
export type RunTask = (task: ScheduledTask, claim: RunClaim, signal: AbortSignal) => Promise<RunEnd>
export interface SchedulerOptions {
  store: TaskStore
  clock: ScheduleClock
  run: RunTask
  /** Number of parallel runs. */
  max_parallel: number
  /** Called with each run that ended, and with the reason if its schedule was paused. */
  onEnd?: (task: ScheduledTask, claim: RunClaim, end: RunEnd, paused: string | undefined) => void
}

const RETRY_MS = { usual: 30_000, cancelled: 1000 }

/** Runs due schedules. The owner calls `tick` again no later than the returned time. */
export class Scheduler {
  readonly ledger: RunLedger
  private readonly heap = new DueHeap()
  /** Queued schedules; each is queued once. */
  private readonly waiting = new Set<string>()
  private readonly running = new Map<RunClaim, AbortController>()
  private readonly gate: Semaphore
  private readonly serving = new Set<Promise<void>>()
  private stopped = false

  constructor(private readonly options: SchedulerOptions) {
    this.ledger = new RunLedger(options.store, options.clock)
    this.gate = new Semaphore(options.max_parallel)
  }

  /** Reads every schedule; returns the invalid files. */
  load(): TaskFault[] {
    const { store, clock } = this.options
    const { tasks, faults } = store.list()
    const now = clock.now()
    for (const task of tasks) this.heap.set(task.id, findDueTime(task, store.loadState(task, now), now))
    this.enqueueDead()
    return faults
  }

  /** Reads a schedule that has changed. */
  reload(id: string): void {
    const { store, clock } = this.options
    const now = clock.now()
    try {
      const task = store.read(id)
      this.heap.set(id, task && findDueTime(task, store.loadState(task, now), now))
    } catch {
      this.heap.set(id, undefined)
    }
  }

  /** Begins due runs; returns the next due time in milliseconds of the clock. */
  tick(): number | undefined {
    const now = this.options.clock.now()
    if (!this.stopped) for (const id of this.heap.take(now)) this.enqueue(id, now)
    return this.heap.next()
  }

  /** Finds runs of dead processes, and ends own runs that another process cancelled. */
  checkRuns(): void {
    this.enqueueDead()
    for (const [claim, cancel] of this.running) if (this.ledger.claims.isCancelled(claim)) cancel.abort('overlap')
  }

  /** Renews the claims of own runs. */
  beat(): void {
    for (const claim of this.running.keys()) this.ledger.claims.beat(claim)
  }

  get isBusy(): boolean {
    return this.waiting.size > 0 || this.running.size > 0
  }

  /** Begins no further run and ends active ones as interrupted. */
  async stop(): Promise<void> {
    this.stopped = true
    for (const cancel of this.running.values()) cancel.abort('stop')
    await Promise.all(this.serving)
  }

  private enqueueDead(): void {
    for (const claim of this.ledger.claims.list())
      if (!this.running.has(claim) && this.ledger.claims.isDead(claim))
        this.heap.set(claim.task, this.options.clock.now())
  }

  private enqueue(id: string, noticed: number): void {
    if (this.waiting.has(id)) return
    this.waiting.add(id)
    // A schedule that cannot be written is read again when it is next due.
    const served = this.serve(id, noticed)
      .catch(() => {})
      .finally(() => this.serving.delete(served))
    this.serving.add(served)
  }

  private async serve(id: string, noticed: number): Promise<void> {
    await this.gate.enter()
    try {
      await this.begin(id, noticed)
    } finally {
      this.gate.leave()
    }
  }

  private async begin(id: string, noticed: number): Promise<void> {
    this.waiting.delete(id)
    if (this.stopped) return
    const begun = await this.ledger.begin(id, noticed)
    if (begun.kind === 'held') return this.heap.set(id, this.options.clock.now() + this.cancelRequested(id))
    this.reload(id)
    if (begun.kind === 'nothing') return
    const { task, claim } = begun
    const cancel = new AbortController()
    this.running.set(claim, cancel)
    if (this.stopped) cancel.abort('stop')
    try {
      const end = applyAbortReason(await this.options.run(task, claim, cancel.signal), cancel.signal)
      const paused = await this.ledger.end(claim, end)
      this.options.onEnd?.(task, claim, end, paused)
    } finally {
      this.running.delete(claim)
      this.reload(id)
    }
  }

  /** Ends own runs that were cancelled. Returns after how many milliseconds to try again. */
  private cancelRequested(id: string): number {
    let cancelled = false
    for (const claim of this.ledger.claims.listByTask(id)) {
      if (!this.ledger.claims.isCancelled(claim)) continue
      cancelled = true
      for (const [ours, cancel] of this.running) if (ours.run === claim.run) cancel.abort('overlap')
    }
    return cancelled ? RETRY_MS.cancelled : RETRY_MS.usual
  }
}

/** Sets the status of an aborted run by the reason of the abort. */
const applyAbortReason = (end: RunEnd, signal: AbortSignal): RunEnd => {
  if (!signal.aborted || end.status === 'success') return end
  return signal.reason === 'overlap'
    ? { ...end, status: 'cancelled', reason: 'A later run replaced it.' }
    : { ...end, status: 'interrupted', reason: 'Its process ended.' }
}

function findDueTime(task: ScheduledTask, state: TaskState, now: number): number | undefined {
  if (!task.enabled) return undefined
  return state.owed.length > 0 ? now : state.next_run_at === null ? undefined : Date.parse(state.next_run_at)
}
