export { readMonotonicClock } from '../base/index.js'
export { createLostError, createQueueError } from './errors.js'
export {
  isAfter,
  LineFilter,
  LineWriter,
  type JobLine,
  type LineBody,
  type LinePosition,
  type SavedState,
} from './lines.js'
export { MemoryEngine } from './memory_engine.js'
export { toReason } from './memory_worker.js'
export { addSignature, requireSignedJob, requireSignedResult } from './signature.js'
export {
  JOB_STATES,
  type EngineOptions,
  type HandleJob,
  type Job,
  type JobCounts,
  type JobEngine,
  type JobFiles,
  type JobLease,
  type JobRecord,
  type JobResult,
  type JobState,
  type JobWorker,
  type LeaseEnd,
  type OpenEngine,
  type WorkerInfo,
  type WorkOptions,
} from './types.js'
export { openQueue, type OpenQueue } from './open_queue.js'
