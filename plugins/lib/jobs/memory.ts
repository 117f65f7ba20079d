import { sha256 } from '../../../core/base/index.js'
import { unlessAborted } from '../base/index.js'
import type { Job, JobCounts, JobEngine, JobHandler, JobResult, JobWorker } from './types.js'

/** Lines of a job that are kept for those who follow it later. */
const keptLines = 10_000

interface Entry {
  job: Job
  queue: string
  state: 'waiting' | 'active' | JobResult['state']
  cancel: AbortController
  /** The number of the first line that is kept. */
  first: number
  lines: string[]
  /** Who follows, to be woken by a line or the end. */
  followers: (() => void)[]
  ended: Promise<JobResult>
  end: (result: JobResult) => void
  ended_at?: number
  started_at?: number
}
interface Worker {
  handle: JobHandler
  free: number
  closed: boolean
  running: Map<Entry, Promise<void>>
}

/** Jobs of this process, which end with it. `now` is the clock. */
export function memoryJobs({ now }: { now: () => number }): JobEngine {
  return new MemoryJobs(now)
}

class MemoryJobs implements JobEngine {
  private readonly entries = new Map<string, Entry>()
  /** By queue, in the order in which they will be begun. */
  private readonly waiting = new Map<string, Entry[]>()
  private readonly blobs = new Map<string, { bytes: Uint8Array; put_at: number }>()
  private readonly workers = new Map<string, Worker[]>()
  private closed = false

  constructor(private readonly now: () => number) {}

  async enqueue(queue: string, job: Job): Promise<{ job_id: string; duplicate: boolean }> {
    const { job_id } = job
    if (this.entries.has(job_id)) return { job_id, duplicate: true }
    if (this.closed) throw new Error(`The job '${job_id}' is not taken: this engine is closed.`)
    let end: Entry['end'] = () => {}
    const ended = new Promise<JobResult>((resolve) => (end = resolve))
    const entry: Entry = { job, queue, state: 'waiting', cancel: new AbortController(), first: 0, lines: [], followers: [], ended, end }
    this.entries.set(job_id, entry)
    const waiting = this.waiting.get(queue) ?? []
    this.waiting.set(queue, waiting)
    waiting.splice(waiting.findLastIndex((other) => other.job.priority <= job.priority) + 1, 0, entry)
    this.dispatch(queue)
    return { job_id, duplicate: false }
  }

  async wait(job_id: string, signal: AbortSignal): Promise<JobResult> {
    return unlessAborted(signal, this.known(job_id).ended)
  }

  async *follow(job_id: string, from: number): AsyncIterable<string> {
    const entry = this.known(job_id)
    for (let at = from; ; ) {
      at = Math.max(at, entry.first)
      while (at < entry.first + entry.lines.length) yield entry.lines[at++ - entry.first]!
      if (entry.ended_at !== undefined) return
      await new Promise<void>((resolve) => entry.followers.push(resolve))
    }
  }

  async cancel(job_id: string, reason: string): Promise<boolean> {
    const entry = this.known(job_id)
    if (entry.ended_at !== undefined) return false
    entry.cancel.abort(new Error(reason))
    if (entry.state === 'waiting') {
      this.waiting.set(entry.queue, this.waiting.get(entry.queue)!.filter((other) => other !== entry))
      this.end(entry, { state: 'cancelled', reason })
    }
    return true
  }

  async counts(queue: string): Promise<JobCounts> {
    const counts: JobCounts = { waiting: 0, active: 0, completed: 0, failed: 0, cancelled: 0 }
    for (const entry of this.entries.values()) if (entry.queue === queue) counts[entry.state] += 1
    return counts
  }

  async put(bytes: Uint8Array): Promise<string> {
    const digest = sha256(bytes)
    // A copy: what is kept under a digest has it for ever.
    this.blobs.set(digest, { bytes: Uint8Array.from(bytes), put_at: this.now() })
    return digest
  }

  async get(digest: string): Promise<Uint8Array> {
    const blob = this.blobs.get(digest)
    if (!blob) throw new Error(`There are no bytes under '${digest}'.`)
    return Uint8Array.from(blob.bytes)
  }

  work(queue: string, handle: JobHandler, { concurrency }: { concurrency: number }): JobWorker {
    const worker: Worker = { handle, free: concurrency, closed: false, running: new Map() }
    this.workers.set(queue, [...(this.workers.get(queue) ?? []), worker])
    this.dispatch(queue)
    return {
      close: async (reason) => {
        worker.closed = true
        this.workers.set(queue, (this.workers.get(queue) ?? []).filter((one) => one !== worker))
        if (reason !== undefined) for (const entry of worker.running.keys()) entry.cancel.abort(new Error(reason))
        await Promise.all(worker.running.values())
      },
    }
  }

  async clean(older_than_ms: number): Promise<number> {
    const until = this.now() - older_than_ms
    const old = [...this.entries].filter(([, { ended_at }]) => ended_at !== undefined && ended_at <= until)
    const bytes = [...this.blobs].filter(([, { put_at }]) => put_at <= until)
    for (const [id] of old) this.entries.delete(id)
    for (const [digest] of bytes) this.blobs.delete(digest)
    return old.length + bytes.length
  }

  async close(): Promise<void> {
    this.closed = true
    const workers = [...this.workers.values()].flat()
    for (const { job, ended_at } of this.entries.values()) if (ended_at === undefined) await this.cancel(job.job_id, 'The engine was closed.')
    await Promise.all(workers.flatMap(({ running }) => [...running.values()]))
  }

  private known(job_id: string): Entry {
    const entry = this.entries.get(job_id)
    if (!entry) throw new Error(`There is no job '${job_id}'.`)
    return entry
  }

  /** Gives what waits to whoever is free. */
  private dispatch(queue: string): void {
    for (const worker of this.workers.get(queue) ?? []) {
      while (worker.free > 0 && !worker.closed) {
        const entry = this.waiting.get(queue)?.shift()
        if (!entry) return
        this.begin(worker, entry)
      }
    }
  }

  private begin(worker: Worker, entry: Entry): void {
    worker.free -= 1
    entry.state = 'active'
    entry.started_at = this.now()
    const done = this.do(worker, entry).finally(() => {
      worker.free += 1
      worker.running.delete(entry)
      this.dispatch(entry.queue)
    })
    worker.running.set(entry, done)
  }

  private async do({ handle }: Worker, entry: Entry): Promise<void> {
    const { signal } = entry.cancel
    try {
      const result = await handle(entry.job, { signal, log: (line) => this.log(entry, line) })
      this.end(entry, signal.aborted ? { state: 'cancelled', reason: reasonOf(signal.reason), result } : { state: 'completed', result })
    } catch (error) {
      this.end(entry, signal.aborted ? { state: 'cancelled', reason: reasonOf(signal.reason) } : { state: 'failed', reason: reasonOf(error) })
    }
  }

  private log(entry: Entry, line: string): void {
    if (entry.ended_at !== undefined) return
    entry.lines.push(line)
    if (entry.lines.length > keptLines) {
      entry.lines.shift()
      entry.first += 1
    }
    for (const wake of entry.followers.splice(0)) wake()
  }

  private end(entry: Entry, how: Pick<JobResult, 'state' | 'result' | 'reason'>): void {
    if (entry.ended_at !== undefined) return
    const { job, started_at } = entry
    entry.state = how.state
    entry.ended_at = this.now()
    entry.end({ job_id: job.job_id, attempt: started_at === undefined ? 0 : 1, ...how, ...(started_at !== undefined && { started_at }), ended_at: entry.ended_at })
    for (const wake of entry.followers.splice(0)) wake()
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')
