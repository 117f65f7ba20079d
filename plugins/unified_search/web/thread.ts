import { Worker } from 'node:worker_threads'
import { unlessAborted } from '../../shared/unless_aborted.js'
import type { Reading } from './reading.js'
import type { Done, Job } from './worker.js'

export interface Limits {
  /** Most of the heap of the thread. */
  heap_mb: number
  /** Most that the program may grow by while a page is read. */
  growth_mb?: number
}
/** Contract: rejects when the page is too much for the thread, or `signal` aborts. */
export type Reader = (page: Omit<Job, 'id'>, signal: AbortSignal) => Promise<Reading>

interface Thread {
  readonly worker: Worker
  /** It has loaded what it reads with; that time is the program's and not the page's. */
  readonly ready: Promise<void>
}

const idleMs = 30_000
const mostMs = 10_000
const watchMs = 20

/**
 * A thread that reads pages, one at a time, because it has one limit of memory. It stays for a while, because a warm one reads in a fraction of
 * the time, and never keeps the program alive. A page that is too much ends it; the next page gets a new one.
 */
export function readingThread({ heap_mb, growth_mb = Infinity }: Limits): Reader {
  let current: Thread | undefined
  let idle: NodeJS.Timeout | undefined
  let line: Promise<void> = Promise.resolve()
  let jobs = 0

  function start(): Thread {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: heap_mb, maxYoungGenerationSizeMb: 4 }, stdout: true, stderr: true })
    const ready = new Promise<void>((resolve, reject) => {
      worker.once('message', () => (rest(thread), resolve())).once('error', reject).once('exit', () => reject(new Error('ended')))
    })
    const thread = { worker, ready }
    // Between two pages nobody listens, and its end is no error of the program.
    worker.on('error', () => discard(thread)).on('exit', () => discard(thread))
    return thread
  }

  function rest(thread: Thread): void {
    thread.worker.unref()
    clearTimeout(idle)
    idle = setTimeout(() => discard(thread), idleMs).unref()
  }

  function discard(thread: Thread): void {
    if (current === thread) current = undefined
    void thread.worker.terminate()
  }

  async function read(page: Omit<Job, 'id'>, signal: AbortSignal): Promise<Reading> {
    const thread = (current ??= start())
    await unlessAborted(signal, thread.ready)
    clearTimeout(idle)
    const { worker } = thread
    worker.ref()
    const id = ++jobs
    const before = process.memoryUsage.rss()
    return new Promise<Reading>((resolve, reject) => {
      const kill = (error: Error) => {
        discard(thread)
        end()
        reject(error)
      }
      const timer = setTimeout(() => kill(new Error('too slow')), mostMs)
      const watch = setInterval(() => {
        if (process.memoryUsage.rss() - before > growth_mb * 2 ** 20) kill(new Error('too heavy'))
      }, watchMs)
      const abort = () => kill(new Error('aborted'))
      const answer = (done: Done) => {
        if (done.id !== id) return
        end()
        if ('reading' in done) resolve(done.reading)
        else reject(new Error(done.failed))
      }
      const end = () => {
        clearTimeout(timer)
        clearInterval(watch)
        worker.off('message', answer).off('error', kill).off('exit', abort)
        signal.removeEventListener('abort', abort)
        rest(thread)
      }
      worker.on('message', answer).on('error', kill).on('exit', abort)
      signal.addEventListener('abort', abort, { once: true })
      worker.postMessage({ id, ...page } satisfies Job)
    })
  }

  return async (page, signal) => {
    const before = line
    let leave!: () => void
    line = new Promise((done) => (leave = done))
    try {
      await unlessAborted(signal, before)
      return await read(page, signal)
    } finally {
      // Who gave up while waiting does not let the next one pass those before.
      void before.then(leave)
    }
  }
}
