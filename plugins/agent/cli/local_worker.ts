import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Io, Kernel } from '../../../core/contract/index.js'
import type { JobWorker, OpenQueue } from '../../lib/jobs/index.js'
import type { Mode } from '../../../core/shapes/index.js'
import { say, toOneLine } from '../../lib/terminal/index.js'

export interface WorkerOptions {
  queue: OpenQueue
  name: string
  concurrency: number
  max_mode: Mode
  cache?: string | undefined
}

/** Starts a worker for runs of the agent. */
export async function startRunWorker(
  kernel: Kernel,
  io: Io,
  { queue, name: worker, concurrency, max_mode, cache }: WorkerOptions,
): Promise<JobWorker> {
  const { runJob, THREAD_QUEUE: name } = await import('../remote/index.js')
  const place = {
    kernel,
    queue,
    name,
    worker,
    max_mode,
    env: io.env,
    // Runs write their files, so the folder is outside of the settings, which are protected.
    cache: resolve(
      cache ?? join(io.env['XDG_CACHE_HOME'] || join(io.env['HOME'] || homedir(), '.cache'), 'vtcode-runs'),
    ),
  }
  return queue.engine.work(name, (record, lease) => runJob(place, record, lease), {
    name: worker,
    concurrency,
    onFault: (message) => say(io, 'warning', toOneLine(message)),
  })
}
