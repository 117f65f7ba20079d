import { Worker } from 'node:worker_threads'
import { bareText, shapeOf } from './bare.js'
import type { Reading } from './reading.js'
import type { Done, Job } from './worker.js'

// A page within these is read in well under 100 MB; the limit of memory is for what they do not foresee.
const most = { characters: 600_000, elements: 10_000, depth: 400 }
const memory = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 4 }
const idleMs = 30_000

/**
 * A page as Markdown, read in a thread of its own within limits of size, depth, time and memory; beyond them its bare text. The thread stays for
 * a while, because a warm one reads in a fraction of the time, and never keeps the program alive.
 */
export async function readable(html: string, url: string, ms: number, signal: AbortSignal): Promise<Reading> {
  const { elements, depth } = shapeOf(html)
  if (html.length > most.characters || elements > most.elements || depth > most.depth) return bareText(html)
  try {
    const reading = await inTurn(() => run({ html, url }, ms, signal))
    return reading.markdown.trim() ? reading : bareText(html)
  } catch {
    signal.throwIfAborted()
    return bareText(html)
  }
}

let line: Promise<unknown> = Promise.resolve()
/** One page at a time: the thread has one limit of memory. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = line.then(work, work)
  line = mine.catch(() => {})
  return mine
}

let thread: Promise<Worker> | undefined
let current: Worker | undefined
let idle: NodeJS.Timeout | undefined
let jobs = 0

async function run(page: Omit<Job, 'id'>, ms: number, signal: AbortSignal): Promise<Reading> {
  clearTimeout(idle)
  const worker = await (thread ??= start())
  signal.throwIfAborted()
  const id = ++jobs
  return new Promise<Reading>((resolve, reject) => {
    const timer = setTimeout(() => kill(new Error('too slow')), ms)
    const kill = (error: Error) => {
      discard(worker)
      end()
      reject(error)
    }
    const abort = () => kill(new Error('aborted'))
    const answer = (done: Done) => {
      if (done.id !== id) return
      end()
      if ('reading' in done) resolve(done.reading)
      else reject(new Error(done.failed))
    }
    const end = () => {
      clearTimeout(timer)
      worker.off('message', answer).off('error', kill).off('exit', abort)
      signal.removeEventListener('abort', abort)
      worker.unref()
      idle = setTimeout(() => discard(worker), idleMs).unref()
    }
    worker.ref()
    worker.on('message', answer).on('error', kill).on('exit', abort)
    signal.addEventListener('abort', abort, { once: true })
    worker.postMessage({ id, ...page } satisfies Job)
  })
}

/** A thread that has loaded what it reads with; that time is the program's and not the page's. */
function start(): Promise<Worker> {
  const worker = (current = new Worker(new URL('./worker.js', import.meta.url), { resourceLimits: memory, stdout: true, stderr: true }))
  // Between two pages nobody listens, and its end is no error of the program.
  worker.on('error', () => discard(worker)).on('exit', () => discard(worker))
  return new Promise((ready, fail) => {
    worker.once('message', () => ready(worker)).once('error', fail).once('exit', () => fail(new Error('ended')))
  })
}

function discard(worker: Worker): void {
  if (current === worker) thread = current = undefined
  void worker.terminate()
}
