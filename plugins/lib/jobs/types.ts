import type { Mode } from '../../../core/shapes/index.js'

/** The files that a job works on: a git bundle of one commit, as a blob. */
export interface JobFiles {
  /** Id of the commit. */
  commit: string
  /** SHA-256 of the bundle. */
  bundle: string
}

/** A job in the form that a queue holds, see `manifests/schema/job.1.json`. */
export interface Job {
  v: 1
  /** `t-` and 32 hexadecimal digits. */
  job_id: string
  kind: 'thread'
  /** Queue and prefix that the job was signed for: a job does not count in others. */
  queue: string
  prefix: string
  /** Milliseconds since 1970, by the clock of the server. */
  created_at: number
  deadline_at: number
  mode: Mode
  session_id: string
  files: JobFiles
  payload: { prompt: string; model?: string; verify?: string[]; max_turns?: number; max_budget_usd?: number }
  /** HMAC-SHA-256 of everything else, in canonical JSON. */
  sig: string
}

/** The result of a job. An owner takes a result only with a valid signature. */
export interface JobResult {
  v: 1
  /** Signature of the job: the result of an earlier job with the same id does not count. */
  job_sig: string
  worker: string
  /** Number of the lease under which the job ended. */
  lease: number
  exit_code: number
  /** SHA-256 of the patch with the changes of the run; absent if no file changed. */
  patch?: string
  /** SHA-256 of the archive of the session. */
  session?: string
  started_at: number
  ended_at: number
  sig: string
}

export const JOB_STATES = ['waiting', 'active', 'completed', 'failed', 'cancelled'] as const
export type JobState = (typeof JOB_STATES)[number]

/** A job as an engine knows the job. `job` and `result` are unchecked. */
export interface JobRecord {
  job_id: string
  state: JobState
  job: unknown
  result?: unknown
  /** Reason of the failure. */
  reason?: string
  /** Number of times that workers have started the job. */
  leases: number
}

export type JobCounts = Record<JobState, number>

/** A lease of a worker on a job. Each start of a job has a greater number than all earlier ones. */
export interface JobLease {
  readonly number: number
  /** Aborts when the job is cancelled, the lease is lost or the worker stops. The reason is a `LeaseEnd`. */
  readonly signal: AbortSignal
  /** Instant up to which the server grants the lease, in milliseconds of `readMonotonicClock`. */
  readonly until: number
  /** Appends a line to the log of the job. Throws VT_QUEUE_LOST once the lease is over. */
  log(line: string): Promise<void>
}
export type LeaseEnd = 'cancelled' | 'lost' | 'stopped'

export interface WorkOptions {
  /** Name of the worker, shown by `workers`. */
  name: string
  concurrency: number
  /** Called with faults of the connection. */
  onFault: (message: string) => void
}
/** Performs a job and returns its result. A throw fails the job with the message of the error. */
export type HandleJob = (record: JobRecord, lease: JobLease) => Promise<unknown>
export interface JobWorker {
  /** Number of running jobs. */
  readonly active: number
  /** Takes no further job. Resolves when running ones have ended. */
  drain(): Promise<void>
  /** Ends running jobs: another worker takes them. */
  stop(): Promise<void>
}
export interface WorkerInfo {
  name: string
  queue: string
}

/**
 * Holds jobs for workers, on this or other machines.
 * Contract: a queued job survives the death of clients and workers. Of a job id, the first job counts. A worker holds
 * a job by a lease; a job whose worker loses the lease is started once more, then fails with VT_QUEUE_LOST. Results
 * without the lease are refused. Lines of the log stay in order; lines without the lease may appear (readers drop
 * them by `LineFilter`). Methods throw VT_QUEUE_UNREACHABLE instead of waiting for a silent server.
 */
export interface JobEngine {
  /** Adds a job; `duplicate` if the queue holds one with this id. */
  enqueue(queue: string, job: Job): Promise<{ duplicate: boolean }>
  find(queue: string, job_id: string): Promise<JobRecord | undefined>
  /** Lists jobs of a state, the oldest first. */
  list(queue: string, state: JobState, limit: number): Promise<JobRecord[]>
  /** Waits for the end of a job. A removed job counts as cancelled. */
  wait(queue: string, job_id: string, signal: AbortSignal): Promise<JobRecord>
  /** Yields the log of a job line by line; ends after the job. */
  follow(queue: string, job_id: string, signal: AbortSignal): AsyncIterable<string>
  /** Reads the present log of a job. */
  readLog(queue: string, job_id: string): Promise<string[]>
  /** Cancels a waiting or running job; `false` if the job has ended or is unknown. */
  cancel(queue: string, job_id: string, reason: string): Promise<boolean>
  /** Queues a failed job again; `false` if the job has not failed. */
  retry(queue: string, job_id: string): Promise<boolean>
  counts(queue: string): Promise<JobCounts>
  /** Stops or resumes the start of waiting jobs on all workers. */
  setPaused(queue: string, paused: boolean): Promise<void>
  isPaused(queue: string): Promise<boolean>
  workers(queue: string): Promise<WorkerInfo[]>
  /** Stores bytes and returns their SHA-256. */
  put(bytes: Uint8Array): Promise<string>
  /** Returns stored bytes; `undefined` if they are missing or changed. */
  get(sha256: string): Promise<Uint8Array | undefined>
  /** Returns the time of the server in milliseconds since 1970. */
  now(): Promise<number>
  work(queue: string, handle: HandleJob, options: WorkOptions): JobWorker
  close(): Promise<void>
}

/** Settings of an engine. The URL may hold a password. */
export interface EngineOptions {
  url: string
  prefix: string
  lock_ms: number
  stalled_ms: number
  result_ttl_secs: number
  require_durable: boolean
}
/** The default export of a module of kind `job_engine`. */
export type OpenEngine = (options: EngineOptions) => Promise<JobEngine>
