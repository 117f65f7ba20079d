import { setTimeout as sleep } from 'node:timers/promises'
import type { JobType, Queue, QueueEvents } from 'bullmq'
import {
  type EngineOptions,
  type HandleJob,
  type Job,
  type JobCounts,
  type JobEngine,
  type JobRecord,
  type JobState,
  type JobWorker,
  type WorkerInfo,
  type WorkOptions,
} from '../../lib/jobs/index.js'
import { BlobStore } from './blobs.js'
import { within, type RedisConnection } from './connection.js'
import { toRecord, type BullData, type OwnQueue } from './records.js'
import { startWorker } from './worker.js'

const POLL_MS = { least: 20, most: 200, wait: 2000 }
const TYPES: Record<Exclude<JobState, 'cancelled'>, JobType[]> = {
  waiting: ['wait', 'prioritized', 'delayed'],
  active: ['active'],
  completed: ['completed'],
  failed: ['failed'],
}

/** Keeps jobs in Redis by the public calls of BullMQ. */
export class BullEngine implements JobEngine {
  private readonly queues = new Map<string, OwnQueue>()
  private readonly events = new Map<string, QueueEvents>()
  private readonly workersOpen = new Set<JobWorker>()
  private readonly blobs: BlobStore

  constructor(
    private readonly connection: RedisConnection,
    private readonly options: EngineOptions,
  ) {
    this.blobs = new BlobStore(() => this.queue('blob') as unknown as Queue<string>, options.result_ttl_secs)
  }

  private queue(name: string): OwnQueue {
    const known = this.queues.get(name)
    if (known) return known
    const { bullmq, redis } = this.connection
    const queue: OwnQueue = new bullmq.Queue(name, { connection: redis, prefix: this.options.prefix })
    // A fault reaches the call that it ends; without a listener it would end the process.
    queue.on('error', () => {})
    this.queues.set(name, queue)
    return queue
  }

  private within<T>(answer: Promise<T>): Promise<T> {
    return within(answer, this.options.url, 15_000)
  }

  async enqueue(queue: string, job: Job): Promise<{ duplicate: boolean }> {
    const mark = `${process.pid}-${Math.random()}`
    const added = await this.within(
      this.queue(queue).add('thread', { job, mark } as BullData, {
        jobId: job.job_id,
        attempts: 1,
        removeOnComplete: { age: this.options.result_ttl_secs },
        removeOnFail: { age: this.options.result_ttl_secs },
      }),
    )
    // The answer to `add` looks the same for a job that exists; only the stored data shows whose job counts.
    const stored = await this.within(this.queue(queue).getJob(added.id!))
    return { duplicate: (stored?.data as { mark?: string } | undefined)?.mark !== mark }
  }

  async find(queue: string, job_id: string): Promise<JobRecord | undefined> {
    const job = await this.within(this.queue(queue).getJob(job_id))
    return job && toRecord(job, await this.within(job.getState()))
  }

  async list(queue: string, state: JobState, limit: number): Promise<JobRecord[]> {
    const types = TYPES[state === 'cancelled' ? 'failed' : state]
    const jobs = await this.within(this.queue(queue).getJobs(types, 0, limit - 1, true))
    const records = jobs.flatMap((job) => (job ? [toRecord(job, types[0]!)] : []))
    return records.filter((record) => record.state === state)
  }

  async wait(queue: string, job_id: string, signal: AbortSignal): Promise<JobRecord> {
    const events = this.openEvents(queue)
    for (let pause = POLL_MS.most; ; pause = Math.min(2 * pause, POLL_MS.wait)) {
      signal.throwIfAborted()
      const over = new AbortController()
      const wake = ({ jobId }: { jobId: string }): void => void (jobId === job_id && over.abort())
      events.on('completed', wake).on('failed', wake).on('removed', wake)
      try {
        const record = await this.find(queue, job_id)
        if (!record) return { job_id, state: 'cancelled', job: undefined, leases: 0 }
        if (record.state !== 'waiting' && record.state !== 'active') return record
        // Events may be missed before the first connection and while it is down, so the state is read again.
        await sleep(pause, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => {})
      } finally {
        events.off('completed', wake).off('failed', wake).off('removed', wake)
      }
    }
  }

  private openEvents(name: string): QueueEvents {
    const known = this.events.get(name)
    if (known) return known
    const { bullmq, open } = this.connection
    const events = new bullmq.QueueEvents(name, {
      connection: open({ blocking: true }),
      prefix: this.options.prefix,
    })
    events.on('error', () => {})
    events.setMaxListeners(0)
    this.events.set(name, events)
    return events
  }

  async *follow(queue: string, job_id: string, signal: AbortSignal): AsyncIterable<string> {
    let pause = POLL_MS.least
    for (let at = 0; ;) {
      signal.throwIfAborted()
      const state = await this.within(this.queue(queue).getJobState(job_id))
      const { logs, count } = await this.within(this.queue(queue).getJobLogs(job_id, at, at + 999))
      // Another program removed lines: positions have moved, and readers know lines by their own numbers.
      if (count < at) {
        at = 0
        continue
      }
      yield* logs
      at += logs.length
      if (logs.length > 0) pause = POLL_MS.least
      else if (!['active', 'waiting', 'prioritized', 'delayed'].includes(state)) return
      else await sleep((pause = Math.min(pause * 1.5, POLL_MS.most)), undefined, { signal }).catch(() => {})
    }
  }

  async readLog(queue: string, job_id: string): Promise<string[]> {
    return (await this.within(this.queue(queue).getJobLogs(job_id, 0, -1))).logs
  }

  async cancel(queue: string, job_id: string, reason: string): Promise<boolean> {
    const job = await this.within(this.queue(queue).getJob(job_id))
    if (!job || job.finishedOn !== undefined) return false
    // A job that a worker holds cannot be removed: its worker reads the mark.
    const isRemoved = (await this.within(job.isActive()))
      ? false
      : await job.remove().then(
          () => true,
          () => false,
        )
    if (!isRemoved) await this.within(job.updateData({ ...job.data, cancelled: reason }))
    return true
  }

  async retry(queue: string, job_id: string): Promise<boolean> {
    const job = await this.within(this.queue(queue).getJob(job_id))
    if (!job || (await this.within(job.getState())) !== 'failed') return false
    const { cancelled: _, ...data } = job.data
    await this.within(job.updateData(data))
    await this.within(job.retry('failed'))
    return true
  }

  async counts(queue: string): Promise<JobCounts> {
    const all = await this.within(
      this.queue(queue).getJobCounts('wait', 'prioritized', 'delayed', 'active', 'completed', 'failed'),
    )
    const { wait = 0, prioritized = 0, delayed = 0, active = 0, completed = 0, failed = 0 } = all
    const cancelled = failed === 0 ? 0 : (await this.list(queue, 'cancelled', 1000)).length
    return { waiting: wait + prioritized + delayed, active, completed, failed: failed - cancelled, cancelled }
  }

  async setPaused(queue: string, paused: boolean): Promise<void> {
    await this.within(paused ? this.queue(queue).pause() : this.queue(queue).resume())
  }

  isPaused(queue: string): Promise<boolean> {
    return this.within(this.queue(queue).isPaused())
  }

  async workers(queue: string): Promise<WorkerInfo[]> {
    const found = await this.within(this.queue(queue).getWorkers())
    return found.map(({ name = '', rawname = '' }) => ({ name: /:w:(.+)$/.exec(rawname)?.[1] ?? name, queue }))
  }

  put(bytes: Uint8Array): Promise<string> {
    return this.blobs.put(bytes)
  }

  get(sha256: string): Promise<Uint8Array | undefined> {
    return this.blobs.get(sha256)
  }

  async now(): Promise<number> {
    const [seconds, micros] = await this.within(this.connection.redis.time())
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }

  work(queue: string, handle: HandleJob, options: WorkOptions): JobWorker {
    const worker = startWorker(
      { connection: this.connection, engine: this.options, queue, jobs: this.queue(queue) },
      handle,
      options,
    )
    this.workersOpen.add(worker)
    return worker
  }

  async close(): Promise<void> {
    await Promise.all([...this.workersOpen].map((worker) => worker.stop()))
    await Promise.all([...this.events.values()].map((events) => events.close().catch(() => {})))
    await Promise.all([...this.queues.values()].map((queue) => queue.close().catch(() => {})))
    this.connection.close()
  }
}
