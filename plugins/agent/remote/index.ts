export { collectRun, findAnswer, followRun, waitForRun, type CollectedRun } from './collect.js'
export { runJob, type RunPlace } from './run_job.js'
export { packSession, unpackSession } from './session_archive.js'
export { findJob, submitRun, THREAD_QUEUE, type NewRun } from './submit.js'
