/** Work that is done elsewhere or later. `job_id` says what it is: one that is added again is the same job. */
export interface Job {
  job_id: string
  kind: 'thread' | 'call'
  /** The lowest is begun first; of equal ones the oldest. */
  priority: 1 | 5 | 10
  /** What the one who does it has to know. */
  payload: unknown
}
/** `attempt`: how often it was begun. Times are milliseconds of the clock; a job that was cancelled before it began has no `started_at`. */
export interface JobResult {
  job_id: string
  state: 'completed' | 'failed' | 'cancelled'
  attempt: number
  /** What whoever did it returned. */
  result?: unknown
  /** Why it failed or was cancelled. */
  reason?: string
  started_at?: number
  ended_at: number
}
/** Jobs of a queue by their state; ended ones as long as they are kept. */
export interface JobCounts {
  waiting: number
  active: number
  completed: number
  failed: number
  cancelled: number
}
/** Does a job. A rejection fails it; `log` adds a line for those who follow it. Contract: ends soon after `signal` aborted. */
export type JobHandler = (job: Job, how: { signal: AbortSignal; log: (line: string) => void }) => Promise<unknown>
export interface JobWorker {
  /** Takes no more jobs; with a reason it cancels those under way. Returns when none is under way. */
  close(reason?: string): Promise<void>
}

/** Many things at once, with a limit: the one port for children of an agent, scheduled runs and other machines. */
export interface JobEngine {
  enqueue(queue: string, job: Job): Promise<{ job_id: string; duplicate: boolean }>
  /** How a job ended; a failure is a value. Rejects with the reason of `signal`, and for a job that nobody knows. */
  wait(job_id: string, signal: AbortSignal): Promise<JobResult>
  /** The lines of a job, those that are kept and those to come, from number `from` on; ends with the job. */
  follow(job_id: string, from: number): AsyncIterable<string>
  /** Whether there was something to cancel: what waits is taken out, the signal of what is under way aborts. */
  cancel(job_id: string, reason: string): Promise<boolean>
  counts(queue: string): Promise<JobCounts>
  /** Keeps bytes under their digest, sha256 in hex. */
  put(bytes: Uint8Array): Promise<string>
  /** Rejects for a digest that nobody knows. */
  get(sha256: string): Promise<Uint8Array>
  /** Does the jobs of a queue, `concurrency` at once; several workers of a queue add up. */
  work(queue: string, handle: JobHandler, how: { concurrency: number }): JobWorker
  /** Forgets ended jobs and bytes that are older than this; returns how many. */
  clean(older_than_ms: number): Promise<number>
  /** Cancels everything that is under way or waits, and waits for its end. */
  close(): Promise<void>
}
