import type { Worker } from 'node:worker_threads'
import { programFile } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { findMessageFault } from './check_message.js'
import { MAX_PRINTED_CHARS } from './prelude.js'
import type { IsolateAnswer, IsolateEnd, IsolateJob, IsolateMessage, IsolateRequest } from './protocol.js'

/** Threads that run scripts at the same time. */
const MAX_RUNNING = 8
/** Time after which a thread without a script ends. */
const IDLE_MS = 120_000
const LIMITS = { stackSizeMb: 16, maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

/** The end of a script: its own, or that of its thread. */
export type ScriptEnd = IsolateEnd | { end: 'ended' }
export interface RunningScript {
  /** Resolves when the thread is loaded, or has ended: loading does not count towards the time of a script. */
  readonly started: Promise<void>
  /** Resolves with the end of the script. Contract: never rejects. */
  readonly ended: Promise<ScriptEnd>
  /** Answers a request; after the end of the script, nothing happens. */
  answer(answer: Omit<IsolateAnswer, 'job'>): void
  /** Returns the milliseconds in which the thread computed so far. */
  measureBusy(): number
  /** Ends the thread, also within a loop; after the end of the script, nothing happens. */
  stop(): void
}

interface Thread {
  readonly worker: Worker
  readonly ready: Promise<void>
}
let idle: (Thread & { timer: NodeJS.Timeout }) | undefined
let running = 0
let jobs = 0

/** Runs a script in a thread of its own. Throws VT_EXEC_LIMIT. */
export function runIsolate(
  script: Omit<IsolateJob, 'job'>,
  onRequest: (request: IsolateRequest) => void,
): RunningScript {
  if (running >= MAX_RUNNING)
    throw createSlotError('VT_EXEC_LIMIT', `${MAX_RUNNING} scripts are running.`, {
      hint: 'Wait until one of them has ended.',
      retryable: true,
    })
  const thread = takeIdle() ?? startThread()
  const { worker } = thread
  running += 1
  worker.ref()
  jobs += 1
  const job = jobs
  // The thread may serve the script of another session afterwards.
  let over = false
  let stopped = false
  let printed = 0
  const ended = new Promise<ScriptEnd>((resolve) => {
    const settle = (end: ScriptEnd, isSpent: boolean): void => {
      over = true
      worker.off('message', receive).off('exit', exit)
      running -= 1
      if (isSpent || stopped) void worker.terminate()
      else keepIdle(thread)
      resolve(end)
    }
    const exit = (): void => settle({ end: 'ended' }, true)
    const receive = (message: IsolateMessage): void => {
      const fault = findMessageFault(message) ?? countPrinted(message)
      if (fault !== undefined) settle({ end: 'broken', text: fault }, true)
      else if ('request' in message) onRequest(message.request)
      else if ('end' in message) settle(message, message.spent)
    }
    const countPrinted = (message: IsolateMessage): string | undefined => {
      if ('request' in message && message.request.op === 'print') printed += message.request.text.length
      return printed > MAX_PRINTED_CHARS ? 'the script printed over its limit' : undefined
    }
    worker.on('message', receive).on('exit', exit)
  })
  worker.postMessage({ ...script, job } satisfies IsolateJob)
  return {
    started: thread.ready,
    ended,
    answer(answer) {
      if (!over) worker.postMessage({ ...answer, job } satisfies IsolateAnswer)
    },
    measureBusy: () => worker.performance.eventLoopUtilization().active,
    stop() {
      if (over) return
      stopped = true
      void worker.terminate()
    },
  }
}

function startThread(): Thread {
  // Loaded late: most runs start no thread.
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const worker = new Worker(programFile('plugins/unified_exec/isolate/worker.js'), {
    resourceLimits: LIMITS,
    env: {},
    stdout: true,
    stderr: true,
  })
  // The exit of the thread reports the end of its script.
  worker.on('error', () => {})
  worker.on('exit', () => {
    if (idle?.worker === worker) takeIdle()
  })
  const ready = new Promise<void>(
    (resolve) => void worker.once('message', () => resolve()).once('exit', () => resolve()),
  )
  worker.unref()
  return { worker, ready }
}

function takeIdle(): Thread | undefined {
  const thread = idle
  clearTimeout(thread?.timer)
  idle = undefined
  return thread
}

function keepIdle({ worker, ready }: Thread): void {
  worker.unref()
  if (idle) return void worker.terminate()
  idle = { worker, ready, timer: setTimeout(() => void takeIdle()?.worker.terminate(), IDLE_MS).unref() }
}
