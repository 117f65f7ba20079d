import { sha256 } from '../../../core/system/index.js'
import { JOB_STATES, type HandleJob, type Job, type JobCounts, type JobEngine, type JobRecord } from './types.js'
import type { JobState, JobWorker, WorkerInfo, WorkOptions } from './types.js'
import { MemoryWorker, type MemoryEntry } from './memory_worker.js'

const hasEnded = ({ state }: JobRecord): boolean => state !== 'waiting' && state !== 'active'
const toRecord = ({ lines: _, cancel: __, ...record }: MemoryEntry): JobRecord => structuredClone(record)

/** Keeps jobs in this process. */
export class MemoryEngine implements JobEngine {
  private readonly queues = new Map<string, Map<string, MemoryEntry>>()
  private readonly paused = new Set<string>()
  private readonly blobs = new Map<string, Uint8Array>()
  private readonly started: MemoryWorker[] = []
  private readonly listeners = new Set<() => void>()

  private entries(queue: string): Map<string, MemoryEntry> {
    const known = this.queues.get(queue) ?? new Map<string, MemoryEntry>()
    this.queues.set(queue, known)
    return known
  }

  private readonly notify = (): void => {
    for (const wake of [...this.listeners]) wake()
    for (const worker of this.started) worker.fill()
  }

  /** Resolves at the next change. Throws when the signal aborts. */
  private waitForChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => () => {
        this.listeners.delete(change)
        signal.removeEventListener('abort', abort)
        settle()
      }
      const change = end(resolve)
      const abort = end(() => reject(signal.reason as Error))
      if (signal.aborted) return abort()
      this.listeners.add(change)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  async enqueue(queue: string, job: Job): Promise<{ duplicate: boolean }> {
    const { job_id } = job
    if (this.entries(queue).has(job_id)) return { duplicate: true }
    this.entries(queue).set(job_id, { job_id, state: 'waiting', job: structuredClone(job), leases: 0, lines: [] })
    this.notify()
    return { duplicate: false }
  }

  async find(queue: string, job_id: string): Promise<JobRecord | undefined> {
    const entry = this.entries(queue).get(job_id)
    return entry && toRecord(entry)
  }

  async list(queue: string, state: JobState, limit: number): Promise<JobRecord[]> {
    const found = [...this.entries(queue).values()].filter((entry) => entry.state === state)
    return found.slice(0, limit).map(toRecord)
  }

  async wait(queue: string, job_id: string, signal: AbortSignal): Promise<JobRecord> {
    for (;;) {
      const entry = this.entries(queue).get(job_id)
      if (!entry) return { job_id, state: 'cancelled', job: undefined, leases: 0 }
      if (hasEnded(entry)) return toRecord(entry)
      await this.waitForChange(signal)
    }
  }

  async *follow(queue: string, job_id: string, signal: AbortSignal): AsyncIterable<string> {
    for (let at = 0; ;) {
      const entry = this.entries(queue).get(job_id)
      if (!entry) return
      const isOver = hasEnded(entry)
      while (at < entry.lines.length) yield entry.lines[at++]!
      if (isOver) return
      await this.waitForChange(signal)
    }
  }

  async readLog(queue: string, job_id: string): Promise<string[]> {
    return [...(this.entries(queue).get(job_id)?.lines ?? [])]
  }

  async cancel(queue: string, job_id: string, reason: string): Promise<boolean> {
    const entry = this.entries(queue).get(job_id)
    if (!entry || hasEnded(entry)) return false
    entry.reason = reason
    if (entry.state === 'waiting') entry.state = 'cancelled'
    else entry.cancel?.abort('cancelled')
    this.notify()
    return true
  }

  async retry(queue: string, job_id: string): Promise<boolean> {
    const entry = this.entries(queue).get(job_id)
    if (entry?.state !== 'failed') return false
    entry.state = 'waiting'
    delete entry.reason
    this.notify()
    return true
  }

  async counts(queue: string): Promise<JobCounts> {
    const all = [...this.entries(queue).values()]
    const rows = JOB_STATES.map((state) => [state, all.filter((entry) => entry.state === state).length])
    return Object.fromEntries(rows) as JobCounts
  }

  async setPaused(queue: string, paused: boolean): Promise<void> {
    if (paused) this.paused.add(queue)
    else this.paused.delete(queue)
    this.notify()
  }

  async isPaused(queue: string): Promise<boolean> {
    return this.paused.has(queue)
  }

  async workers(queue: string): Promise<WorkerInfo[]> {
    const open = this.started.filter((worker) => worker.queue === queue && worker.open)
    return open.map(({ name }) => ({ name, queue }))
  }

  async put(bytes: Uint8Array): Promise<string> {
    const id = sha256(bytes)
    this.blobs.set(id, Uint8Array.from(bytes))
    return id
  }

  async get(id: string): Promise<Uint8Array | undefined> {
    return this.blobs.get(id)
  }

  async now(): Promise<number> {
    return Date.now()
  }

  work(queue: string, handle: HandleJob, options: WorkOptions): JobWorker {
    const next = (): MemoryEntry | undefined =>
      this.paused.has(queue) ? undefined : [...this.entries(queue).values()].find(({ state }) => state === 'waiting')
    const worker = new MemoryWorker(queue, handle, options, next, this.notify)
    this.started.push(worker)
    worker.fill()
    return worker
  }

  async close(): Promise<void> {
    await Promise.all(this.started.map((worker) => worker.stop()))
  }
}
