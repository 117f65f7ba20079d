import type { EngineOptions, JobEngine } from '../lib/jobs/index.js'
import { connectRedis } from './bullmq/connection.js'
import { BullEngine } from './bullmq/engine.js'

/** Opens BullMQ on Redis or Valkey. Throws VT_QUEUE_NO_ENGINE, VT_QUEUE_UNREACHABLE, VT_QUEUE_NOT_DURABLE. */
export default async function openBullEngine(options: EngineOptions): Promise<JobEngine> {
  return new BullEngine(await connectRedis(options), options)
}
