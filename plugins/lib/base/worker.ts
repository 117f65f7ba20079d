import type { Worker } from 'node:worker_threads'
import { raceAbort } from './unless_aborted.js'
import type { JobAnswer } from './worker_jobs.js'

export interface WorkerLimits {
  /** Most of the heap of the thread. */
  heap_mb?: number
  /** Most that the program may grow by while a job is done. */
  growth_mb?: number
  /** Longest that a job may take. */
  seconds?: number
}
/** Contract: rejects with ThreadProblem when the job is too much for the thread, or with the reason of the abort. */
export type Work<Job, Answer> = (job: Job, signal: AbortSignal, seconds?: number) => Promise<Answer>

/** Why a job was not done; the words of the job itself where it failed. */
export class WorkerError extends Error {
  constructor(
    readonly why: 'slow' | 'heavy' | 'ended' | 'failed',
    message: string = why,
  ) {
    super(message)
  }
}

interface Thread {
  readonly worker: Worker
  /** It has loaded what it works with; that time is the program's and not the job's. */
  readonly ready: Promise<void>
}

const IDLE_MS = 30_000
const WATCH_MS = 10

/**
 * A thread that does the jobs of one script, one at a time, because it has one limit of memory. It stays for a while, because a warm one works in a
 * fraction of the time, and never keeps the program alive. A job that is too much ends it; the next job gets a new one.
 */
export function createWorker<Job, Answer>(script: string, limits: WorkerLimits): Work<Job, Answer> {
  const jobs = new JobRunner<Job, Answer>(script, limits)
  let queue: Promise<void> = Promise.resolve()
  return async (job, signal, seconds = limits.seconds ?? 10) => {
    const before = queue
    let release!: () => void
    queue = new Promise((done) => (release = done))
    try {
      await raceAbort(signal, before)
      return await jobs.do(job, signal, seconds)
    } finally {
      // Who gave up while waiting does not let the next one pass those before.
      void before.then(release)
    }
  }
}

class JobRunner<Job, Answer> {
  private current: Thread | undefined
  private idle: NodeJS.Timeout | undefined
  private count = 0

  constructor(
    private readonly script: string,
    private readonly limits: WorkerLimits,
  ) {}

  /** Contract: one at a time. */
  async do(job: Job, signal: AbortSignal, seconds: number): Promise<Answer> {
    const thread = (this.current ??= this.start())
    await raceAbort(signal, thread.ready)
    clearTimeout(this.idle)
    thread.worker.ref()
    return new Promise<Answer>((resolve, reject) => this.run(thread, job, signal, seconds, resolve, reject))
  }

  private run(
    thread: Thread,
    job: Job,
    signal: AbortSignal,
    seconds: number,
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
  ): void {
    const { worker } = thread
    const { growth_mb = Infinity } = this.limits
    const id = ++this.count
    const before = process.memoryUsage.rss()
    const kill = (error: Error) => {
      this.discard(thread)
      end()
      reject(error)
    }
    const timer = setTimeout(() => kill(new WorkerError('slow')), seconds * 1000)
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > growth_mb * 2 ** 20) kill(new WorkerError('heavy'))
    }, WATCH_MS)
    const abort = () => kill(signal.reason as Error)
    const onExit = () => kill(new WorkerError('ended'))
    const answer = (done: JobAnswer<Answer>) => {
      if (done.id !== id) return
      end()
      if ('answer' in done) resolve(done.answer)
      else reject(new WorkerError('failed', done.failed))
    }
    const end = () => {
      clearTimeout(timer)
      clearInterval(watch)
      worker.off('message', answer).off('error', onExit).off('exit', onExit)
      signal.removeEventListener('abort', abort)
      this.markIdle(thread)
    }
    worker.on('message', answer).on('error', onExit).on('exit', onExit)
    signal.addEventListener('abort', abort, { once: true })
    worker.postMessage({ id, job })
  }

  private start(): Thread {
    const { heap_mb } = this.limits
    const resourceLimits = heap_mb === undefined ? {} : { maxOldGenerationSizeMb: heap_mb, maxYoungGenerationSizeMb: 4 }
    // Most starts start no thread.
    const { Worker } = process.getBuiltinModule('node:worker_threads')
    const worker = new Worker(this.script, { resourceLimits, stdout: true, stderr: true })
    const ready = new Promise<void>((resolve, reject) => {
      const rejectEnded = () => reject(new WorkerError('ended'))
      worker
        .once('message', () => (this.markIdle(thread), resolve()))
        .once('error', rejectEnded)
        .once('exit', rejectEnded)
    })
    const thread = { worker, ready }
    // Between two jobs nobody listens, and its end is no error of the program.
    worker.on('error', () => this.discard(thread)).on('exit', () => this.discard(thread))
    return thread
  }

  private markIdle(thread: Thread): void {
    thread.worker.unref()
    clearTimeout(this.idle)
    this.idle = setTimeout(() => this.discard(thread), IDLE_MS).unref()
  }

  private discard(thread: Thread): void {
    if (this.current === thread) this.current = undefined
    void thread.worker.terminate()
  }
}
