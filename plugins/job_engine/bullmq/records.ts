import type { Job as BullJob, Queue } from 'bullmq'
import { JOB_STATES, type Job, type JobRecord, type JobState } from '../../lib/jobs/index.js'

/** The data of a queued job. `cancelled` asks the worker of a running job to end the job. */
export interface BullData {
  job: Job
  cancelled?: string
}
export type OwnQueue = Queue<BullData, unknown, 'thread'>
export type OwnJob = BullJob<BullData, unknown, 'thread'>

/** Marks the failure of a cancelled job. */
export const CANCELLED = 'VT_CANCELLED'
const LIMIT_OF_LOST = /stalled more than/

/** Converts a job of BullMQ. BullMQ knows a cancelled job as a failed one. */
export function toRecord(job: OwnJob, type: string): JobRecord {
  const { id: job_id = '', data, returnvalue, failedReason: reason, attemptsStarted: leases } = job
  const state = toState(type, reason)
  return {
    job_id,
    state,
    job: data?.job,
    leases,
    ...(state === 'completed' && { result: returnvalue }),
    ...(reason && { reason: LIMIT_OF_LOST.test(reason) ? 'VT_QUEUE_LOST: Its workers were lost.' : reason }),
  }
}

function toState(type: string, reason: string | undefined): JobState {
  if (type === 'failed') return reason?.startsWith(CANCELLED) ? 'cancelled' : 'failed'
  if (type === 'unknown') return 'cancelled'
  return JOB_STATES.find((state) => state === type) ?? 'waiting'
}
