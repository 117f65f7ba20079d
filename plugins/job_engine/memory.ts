import { MemoryEngine, type JobEngine } from '../lib/jobs/index.js'

/** Opens the engine of this process. */
export default async function openMemoryEngine(): Promise<JobEngine> {
  return new MemoryEngine()
}
