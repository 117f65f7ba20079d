import { Semaphore } from '../../../core/system/index.js'
import type { RunClaim } from './claims.js'
import { DueHeap } from './heap.js'
import { RunLedger, type RunEnd, type ScheduleClock } from './ledger.js'
import type { TaskFault, TaskStore } from './store.js'
import type { ScheduledTask, TaskState } from './types.js'

/** Does a run and says how it ended. Contract: ends soon after `signal` aborted; does not reject. */
export type RunTask = (task: ScheduledTask, claim: RunClaim, signal: AbortSignal) => Promise<RunEnd>
export interface SchedulerOptions {
  store: TaskStore
  clock: ScheduleClock
  run: RunTask
  /** How many runs there are at once. */
  max_parallel: number
  /** Called with each run that ended, and with what becomes of its schedule. */
  ended?: (task: ScheduledTask, claim: RunClaim, end: RunEnd, paused: string | undefined) => void
}

const heldAgain_ms = { usual: 30_000, cancelled: 1000 }

/** Runs what is due, as somebody outside moves the clock: `tick` is called again no later than it says. */
export class Scheduler {
  readonly ledger: RunLedger
  private readonly heap = new DueHeap()
  /** Schedules that have a place in the queue, so that nothing stands there twice. */
  private readonly waiting = new Set<string>()
  private readonly running = new Map<RunClaim, AbortController>()
  private readonly gate: Semaphore
  private readonly serving = new Set<Promise<void>>()
  private stopped = false

  constructor(private readonly options: SchedulerOptions) {
    this.ledger = new RunLedger(options.store, options.clock)
    this.gate = new Semaphore(options.max_parallel)
  }

  /** Reads every schedule once; returns the files that are none. */
  load(): TaskFault[] {
    const { store, clock } = this.options
    const { tasks, faults } = store.list()
    const now = clock.now()
    for (const task of tasks) this.heap.set(task.id, dueAt(task, store.stateOf(task, now), now))
    this.findDead()
    return faults
  }

  /** Reads a schedule that has changed. */
  reload(id: string): void {
    const { store, clock } = this.options
    const now = clock.now()
    try {
      const task = store.read(id)
      this.heap.set(id, task && dueAt(task, store.stateOf(task, now), now))
    } catch {
      this.heap.set(id, undefined)
    }
  }

  /** Begins what is due; returns when the next is, in milliseconds of the clock. */
  tick(): number | undefined {
    const now = this.options.clock.now()
    if (!this.stopped) for (const id of this.heap.take(now)) this.enqueue(id, now)
    return this.heap.next()
  }

  /** Looks for runs whose holder has died, and at what others ask of ours. */
  look(): void {
    this.findDead()
    for (const [claim, cancel] of this.running) if (this.ledger.claims.isCancelled(claim)) cancel.abort('overlap')
  }

  /** Says that our runs go on. */
  beat(): void {
    for (const claim of this.running.keys()) this.ledger.claims.beat(claim)
  }

  get busy(): boolean {
    return this.waiting.size > 0 || this.running.size > 0
  }

  /** Begins nothing more and ends what runs, as interrupted. */
  async stop(): Promise<void> {
    this.stopped = true
    for (const cancel of this.running.values()) cancel.abort('stop')
    await Promise.all(this.serving)
  }

  private findDead(): void {
    for (const claim of this.ledger.claims.all())
      if (!this.running.has(claim) && this.ledger.claims.isDead(claim))
        this.heap.set(claim.task, this.options.clock.now())
  }

  private enqueue(id: string, noticed: number): void {
    if (this.waiting.has(id)) return
    this.waiting.add(id)
    // What a schedule cannot write is read again when it is next due.
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
    if (begun.kind === 'held') return this.heap.set(id, this.options.clock.now() + this.heldFor(id))
    this.reload(id)
    if (begun.kind === 'nothing') return
    const { task, claim } = begun
    const cancel = new AbortController()
    this.running.set(claim, cancel)
    if (this.stopped) cancel.abort('stop')
    try {
      const end = reasoned(await this.options.run(task, claim, cancel.signal), cancel.signal)
      const paused = await this.ledger.end(claim, end)
      this.options.ended?.(task, claim, end, paused)
    } finally {
      this.running.delete(claim)
      this.reload(id)
    }
  }

  /** What this process was asked to end is ended at once. */
  private heldFor(id: string): number {
    let cancelled = false
    for (const claim of this.ledger.claims.of(id)) {
      if (!this.ledger.claims.isCancelled(claim)) continue
      cancelled = true
      for (const [ours, cancel] of this.running) if (ours.run === claim.run) cancel.abort('overlap')
    }
    return cancelled ? heldAgain_ms.cancelled : heldAgain_ms.usual
  }
}

/** Who ended a run decides what it is. */
const reasoned = (end: RunEnd, signal: AbortSignal): RunEnd => {
  if (!signal.aborted || end.status === 'success') return end
  return signal.reason === 'overlap'
    ? { ...end, status: 'cancelled', reason: 'A later run took its place.' }
    : { ...end, status: 'interrupted', reason: 'Whoever ran it was ended.' }
}

function dueAt(task: ScheduledTask, state: TaskState, now: number): number | undefined {
  if (!task.enabled) return undefined
  return state.owed.length > 0 ? now : state.next_run_at === null ? undefined : Date.parse(state.next_run_at)
}
