import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { LineFilter, type EngineOptions, type Job, type JobEngine } from '../../../build/plugins/lib/jobs/index.js'
import { eventually, rounds } from '../../support/exec.js'
import { openEngine, testJobEngine } from '../../support/job_engines.js'
import { hold, endTest } from '../../support/held.js'
import { findFreePort, lacksRedis, skippedRedis, startRedis, type RedisServer } from '../../support/redis.js'

afterEach(endTest)
const LOCK_MS = 3000
const never = () => new AbortController().signal
const options = (url: string, more: Partial<EngineOptions> = {}): EngineOptions => ({
  url,
  prefix: '{vtcode}',
  lock_ms: LOCK_MS,
  stalled_ms: LOCK_MS / 2,
  result_ttl_secs: 3600,
  require_durable: true,
  ...more,
})
async function open(url: string): Promise<JobEngine> {
  const engine = await openEngine('bullmq', options(url))
  hold({ [Symbol.asyncDispose]: () => engine.close() })
  return engine
}
const newJob = (): Job => ({ job_id: `t-${randomBytes(16).toString('hex')}` }) as Job
async function startWorker(
  { url }: RedisServer,
  name: string,
  { steps = 4, ms = 100, concurrency = 1 } = {},
): Promise<ChildProcess> {
  const file = new URL('../../support/job_worker.mjs', import.meta.url).pathname
  const args = [file, url, 'q', name, LOCK_MS, concurrency, steps, ms].map(String)
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  hold({
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  })
  await once(child.stdout!, 'data')
  return child
}
/** Reads the lines that count: the steps with the name of their worker. */
const countedSteps = (id: string, lines: readonly string[]): string[] => {
  const filter = new LineFilter('a secret of at least 16 characters', id)
  return lines.flatMap((text) => {
    const line = filter.take(text)
    return line?.kind === 'event' ? [`${line.event['name']} ${line.event['step']}`] : []
  })
}

describe(`the job engine bullmq on Redis${skippedRedis}`, () => {
  let server: RedisServer | undefined
  afterAll(() => server?.[Symbol.asyncDispose]())
  testJobEngine(lacksRedis, async () => {
    server = await startRedis()
    return openEngine('bullmq', options(server.url, { lock_ms: 5000, stalled_ms: 1000 }))
  })
})

describe.skipIf(lacksRedis)(`BullMQ on Redis with workers as processes${skippedRedis}`, () => {
  it('lets another worker take the job of a killed one, with a greater number', async () => {
    const redis = hold(await startRedis())
    const engine = await open(redis.url)
    const first = await startWorker(redis, 'first')
    const job = newJob()
    await engine.enqueue('q', job)
    await eventually(async () => (await engine.readLog('q', job.job_id)).length === 3)
    first.kill('SIGKILL')
    await startWorker(redis, 'second')
    const record = await engine.wait('q', job.job_id, never())
    expect(record).toMatchObject({ state: 'completed', result: { name: 'second', lease: 2 } })
    const steps = countedSteps(job.job_id, await engine.readLog('q', job.job_id))
    expect(steps.slice(-4)).toEqual(['second 1', 'second 2', 'second 3', 'second 4'])
  })

  it('takes neither line nor result of a worker that was stopped longer than its lease and woke up', async () => {
    const redis = hold(await startRedis())
    const engine = await open(redis.url)
    const first = await startWorker(redis, 'first', { steps: 60 })
    const job = newJob()
    await engine.enqueue('q', job)
    await eventually(async () => (await engine.readLog('q', job.job_id)).length === 3)
    first.kill('SIGSTOP')
    await startWorker(redis, 'second', { steps: 60 })
    await eventually(async () => (await engine.find('q', job.job_id))?.leases === 2)
    first.kill('SIGCONT')
    const record = await engine.wait('q', job.job_id, never())
    expect(record).toMatchObject({ state: 'completed', result: { name: 'second', lease: 2 } })
    const steps = countedSteps(job.job_id, await engine.readLog('q', job.job_id))
    const from = steps.indexOf('second 1')
    expect(steps.slice(from)).toEqual(Array.from({ length: 60 }, (_, index) => `second ${index + 1}`))
    // The lines before the takeover still count.
    expect(steps.slice(0, 2)).toEqual(['first 1', 'first 2'])
  })

  it('fails a job whose workers were lost twice with VT_QUEUE_LOST', async () => {
    const redis = hold(await startRedis())
    const engine = await open(redis.url)
    const job = newJob()
    await engine.enqueue('q', job)
    for (const name of ['first', 'second']) {
      const worker = await startWorker(redis, name, { steps: 100 })
      await eventually(
        async () => (await engine.readLog('q', job.job_id)).at(-1)?.includes(`"name":"${name}"`) ?? false,
      )
      worker.kill('SIGKILL')
    }
    await startWorker(redis, 'third')
    expect(await engine.wait('q', job.job_id, never())).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^VT_QUEUE_LOST/),
    })
  })

  it('loses no accepted job while one worker is killed, one is stopped and woken, and the server restarts', async () => {
    const redis = hold(await startRedis())
    const engine = await open(redis.url)
    const how = { steps: 2, ms: 10, concurrency: 4 }
    const [killed, stopped] = [await startWorker(redis, 'killed', how), await startWorker(redis, 'stopped', how)]
    await startWorker(redis, 'whole', how)
    const jobs = Array.from({ length: rounds(60, 200) }, newJob)
    for (const job of jobs) await engine.enqueue('q', job)
    await eventually(async () => (await engine.counts('q')).completed > 5)
    stopped.kill('SIGSTOP')
    killed.kill('SIGKILL')
    await redis.restart()
    const records = await Promise.all(jobs.map(({ job_id }) => engine.wait('q', job_id, never())))
    stopped.kill('SIGCONT')
    expect(records.filter(({ state }) => state !== 'completed')).toEqual([])
    for (const { job_id } of jobs) {
      const steps = countedSteps(job_id, await engine.readLog('q', job_id))
      const { result } = (await engine.find('q', job_id))!
      const { name } = result as { name: string }
      expect(steps.slice(-2), job_id).toEqual([`${name} 1`, `${name} 2`])
    }
  })

  it('ends with its jobs after SIGTERM', async () => {
    const redis = hold(await startRedis())
    const engine = await open(redis.url)
    const worker = await startWorker(redis, 'one')
    const [job, next] = [newJob(), newJob()]
    await engine.enqueue('q', job)
    await eventually(async () => (await engine.find('q', job.job_id))?.state === 'active')
    await engine.enqueue('q', next)
    const exited = once(worker, 'exit')
    worker.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect((await engine.find('q', job.job_id))?.state).toBe('completed')
    expect((await engine.find('q', next.job_id))?.state).toBe('waiting')
  })
})

describe.skipIf(lacksRedis)(`servers that cannot be used${skippedRedis}`, () => {
  const refuse = async (given: EngineOptions) => {
    try {
      await (await openEngine('bullmq', given)).close()
      return undefined
    } catch (error) {
      const { code, message, problem } = error as { code: string; message: string; problem: { hint: string } }
      return { code, text: `${message}\n${problem.hint}` }
    }
  }
  it.each([
    ['no password', ['--requirepass', 'right'], '', 'VT_QUEUE_UNREACHABLE', /NOAUTH/],
    ['a wrong password', ['--requirepass', 'right'], ':wr0ng@', 'VT_QUEUE_UNREACHABLE', /WRONGPASS/],
    ['eviction', ['--maxmemory-policy', 'allkeys-lru'], '', 'VT_QUEUE_NOT_DURABLE', /is 'allkeys-lru'.*\n.*noeviction/],
    ['no journal', ['--appendonly', 'no'], '', 'VT_QUEUE_NOT_DURABLE', /appendonly is off\.\n.*appendonly yes/],
  ])('refuses a server with %s and names the next step', async (_, flags, user, code, text) => {
    const { port } = hold(await startRedis(...flags))
    const refused = await refuse(options(`redis://${user}127.0.0.1:${port}`))
    expect(refused).toEqual({ code, text: expect.stringMatching(text) })
    expect(refused!.text).not.toContain('wr0ng')
  })
  it('accepts a server without a journal where the settings allow it, but none that evicts', async () => {
    const [lossy, evicting] = [
      hold(await startRedis('--appendonly', 'no')),
      hold(await startRedis('--maxmemory-policy', 'volatile-lru')),
    ]
    expect(await refuse(options(lossy.url, { require_durable: false }))).toBeUndefined()
    expect((await refuse(options(evicting.url, { require_durable: false })))?.code).toBe('VT_QUEUE_NOT_DURABLE')
  })
  it('reports a server that accepts and never answers, and one that is not there', async () => {
    const server = createServer((socket) => void socket.on('error', () => {}))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    hold({ [Symbol.asyncDispose]: async () => void server.close() })
    const { port } = server.address() as { port: number }
    const expected = { code: 'VT_QUEUE_UNREACHABLE' }
    expect(await refuse(options(`redis://127.0.0.1:${port}`))).toMatchObject({
      ...expected,
      text: expect.stringContaining('did not answer within 4 s'),
    })
    expect(await refuse(options(`redis://127.0.0.1:${await findFreePort()}`))).toMatchObject({
      ...expected,
      text: expect.stringContaining('ECONNREFUSED'),
    })
  })
})
