import type { Worker } from 'node:worker_threads'
import { raceAbort } from './race_abort.js'
import type { JobAnswer } from './worker_jobs.js'

export interface WorkerLimits {
  /** Heap limit of the thread in MiB. */
  heap_mb?: number
  /** Growth limit of the program during a job in MiB. */
  growth_mb?: number
  /** Time limit of a job in seconds. */
  seconds?: number
}
/** Contract: rejects with WorkerError when a job exceeds a limit of the thread, or with the reason of the abort. */
export type Work<Job, Answer> = (job: Job, signal: AbortSignal, seconds?: number) => Promise<Answer>

/** Reason why a job was not done; the message of the job if it failed. */
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
  /** Resolves when the thread has loaded its modules. Loading does not count towards the time of a job. */
  readonly ready: Promise<void>
}

const IDLE_MS = 30_000
const WATCH_MS = 10

/**
 * Returns a function that runs jobs of one script in a thread, one at a time because the thread has one memory limit.
 * The thread stays warm for a while and never keeps the program alive. A job that exceeds a limit ends the thread; the
 * next job starts a new one.
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
      // An aborted waiter must not let the next job overtake earlier ones.
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

  /** Contract: one job at a time. */
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
    // Loaded late: most runs start no thread.
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
    // Between two jobs the end of the thread is no error of the program.
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
