export { memoryJobs } from './memory.js'
export type { Job, JobEngine, JobWorker } from './types.js'
