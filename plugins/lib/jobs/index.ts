export { memoryJobs } from './memory.js'
export type { Job, JobCounts, JobEngine, JobHandler, JobResult, JobWorker } from './types.js'
