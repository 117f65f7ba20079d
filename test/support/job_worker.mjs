// A worker of a queue as a process of its own, for tests that stop and kill it: node job_worker.mjs URL QUEUE NAME LOCK_MS CONCURRENCY STEPS STEP_MS
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import openBullEngine from '../../build/plugins/job_engine/bullmq.js'
import { LineWriter } from '../../build/plugins/lib/jobs/index.js'

const [url, queue, name, lock, concurrency, steps, stepMs, effects] = process.argv.slice(2)
const engine = await openBullEngine({
  url,
  prefix: '{vtcode}',
  lock_ms: Number(lock),
  stalled_ms: Number(lock) / 2,
  result_ttl_secs: 3600,
  require_durable: true,
})
const worker = engine.work(
  queue,
  async ({ job_id }, lease) => {
    const writer = new LineWriter('a secret of at least 16 characters', job_id, lease)
    await writer.write({ kind: 'begin', worker: name })
    for (let step = 1; step <= Number(steps); step += 1) {
      await sleep(Number(stepMs))
      if (lease.signal.aborted) throw new Error('aborted')
      await writer.write({ kind: 'event', event: { step, name } })
      if (effects) appendFileSync(effects, `${job_id} ${lease.number} ${step}\n`)
    }
    return { name, lease: lease.number }
  },
  { name, concurrency: Number(concurrency), onFault: () => {} },
)
process.stdout.write('ready\n')
process.on('SIGTERM', () => void worker.drain().then(() => engine.close()))
