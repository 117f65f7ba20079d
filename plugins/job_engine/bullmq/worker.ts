import { setTimeout as sleep } from 'node:timers/promises'
import {
  createLostError,
  readMonotonicClock,
  toReason,
  type EngineOptions,
  type HandleJob,
  type JobLease,
  type JobWorker,
  type LeaseEnd,
  type WorkOptions,
} from '../../lib/jobs/index.js'
import type { RedisConnection } from './connection.js'
import { CANCELLED, toRecord, type BullData, type OwnJob, type OwnQueue } from './records.js'

interface WorkPlace {
  connection: RedisConnection
  engine: EngineOptions
  queue: string
  jobs: OwnQueue
}
const CANCEL_POLL_MS = 500

/** A lease of this worker. The lease ends by this machine's clock even if the server cannot be reached. */
class Lease implements JobLease {
  readonly number: number
  until = 0
  private readonly end = new AbortController()

  constructor(
    private readonly job: OwnJob,
    private readonly lock_ms: number,
  ) {
    this.number = job.attemptsStarted
  }

  get signal(): AbortSignal {
    return this.end.signal
  }

  /** Records that the server renewed the lease; `asked` is the time before the request. */
  renew(asked: number): void {
    this.until = asked + this.lock_ms
  }

  stop(reason: LeaseEnd): void {
    this.end.abort(reason)
  }

  /** Ends the lease when its time is over. */
  check(): void {
    if (readMonotonicClock() >= this.until) this.stop('lost')
  }

  readonly log = async (line: string): Promise<void> => {
    this.check()
    if (this.signal.reason === 'lost') throw createLostError()
    await this.job.log(line)
  }
}

/** Starts a worker of BullMQ that hands each job to `handle` with a lease. */
export function startWorker(place: WorkPlace, handle: HandleJob, options: WorkOptions): JobWorker {
  const { connection, engine, queue, jobs } = place
  const { bullmq, open } = connection
  const leases = new Map<string, Lease>()

  /** BullMQ's worker, with the time at which each renewal was asked for. */
  class OwnWorker extends bullmq.Worker<BullData, unknown, 'thread'> {
    override async extendJobLocks(ids: string[], tokens: string[], duration: number): Promise<string[]> {
      const asked = readMonotonicClock()
      const failed = await super.extendJobLocks(ids, tokens, duration)
      for (const id of ids) {
        if (failed.includes(id)) leases.get(id)?.stop('lost')
        else leases.get(id)?.renew(asked)
      }
      return failed
    }
  }

  const perform = async (job: OwnJob, token: string | undefined): Promise<unknown> => {
    const id = job.id!
    const lease = new Lease(job, engine.lock_ms)
    const asked = readMonotonicClock()
    // The answer that started the job may be old: this process may have been stopped since.
    if ((await job.extendLock(token!, engine.lock_ms)) !== 1) throw createLostError()
    lease.renew(asked)
    leases.set(id, lease)
    const over = new AbortController()
    void watch(jobs, id, lease, over.signal)
    try {
      if (job.data.cancelled !== undefined) lease.stop('cancelled')
      const result = lease.signal.aborted ? undefined : await handle(toRecord(job, 'active'), lease)
      lease.check()
      if (!lease.signal.aborted) return result
      throw await endAborted(job, token, lease)
    } catch (error) {
      if (lease.signal.aborted) throw await endAborted(job, token, lease)
      throw new bullmq.UnrecoverableError(toReason(error))
    } finally {
      over.abort()
      leases.delete(id)
    }
  }

  const endAborted = async (job: OwnJob, token: string | undefined, lease: Lease): Promise<Error> => {
    if (lease.signal.reason === 'cancelled') {
      const reason = (await jobs.getJob(job.id!))?.data.cancelled ?? 'cancelled'
      return new bullmq.UnrecoverableError(`${CANCELLED}: ${reason}`)
    }
    if (lease.signal.reason === 'lost') return createLostError()
    // Another worker takes the job at once.
    await job.moveToWait(token)
    return new bullmq.WaitingError()
  }

  const worker = new OwnWorker(queue, perform, {
    connection: open({ blocking: true }),
    prefix: engine.prefix,
    name: options.name,
    concurrency: options.concurrency,
    lockDuration: engine.lock_ms,
    lockRenewTime: engine.lock_ms / 2,
    stalledInterval: engine.stalled_ms,
    maxStalledCount: 1,
    runRetryDelay: 500,
    drainDelay: 5,
  })
  worker.on('error', (error) => options.onFault(error.message))
  let closing: Promise<void> | undefined
  const drain = (): Promise<void> => (closing ??= worker.close())
  return {
    get active() {
      return leases.size
    },
    drain,
    async stop() {
      for (const lease of leases.values()) lease.stop('stopped')
      await drain()
    },
  }
}

/** Ends a lease whose time is over or whose job was cancelled. */
async function watch(jobs: OwnQueue, id: string, lease: Lease, over: AbortSignal): Promise<void> {
  while (!over.aborted && !lease.signal.aborted) {
    lease.check()
    const stored = await jobs.getJob(id).catch(() => undefined)
    if (over.aborted) return
    if (stored?.data.cancelled !== undefined) lease.stop('cancelled')
    await sleep(Math.min(CANCEL_POLL_MS, lease.until - readMonotonicClock() + 1), undefined, { signal: over }).catch(
      () => {},
    )
  }
}
