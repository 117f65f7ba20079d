import { setTimeout as sleep } from 'node:timers/promises'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bootKernel } from 'vtcode/test'
import {
  addSignature,
  type EngineOptions,
  type Job,
  type JobEngine,
  type JobLease,
  type JobWorker,
  type OpenEngine,
  type WorkOptions,
} from '../../build/plugins/lib/jobs/index.js'

/** Opens an engine of the program as its surfaces do, by its manifest. */
export async function openEngine(name: string, more: Partial<EngineOptions> = {}): Promise<JobEngine> {
  await using place = await bootKernel()
  const found = place.kernel.inspection.jobEngines().find((one) => one.name === name)
  const open = (await found!.load()) as OpenEngine
  const usual = { url: `${name}:`, prefix: '{vtcode}', lock_ms: 2000, stalled_ms: 1000, result_ttl_secs: 3600 }
  return open({ ...usual, require_durable: true, ...more })
}

const secret = 'a secret of at least 16 characters'
const newJob = (queue: string, more: Partial<Job> = {}): Job =>
  addSignature(secret, 'job', {
    v: 1,
    job_id: `t-${randomBytes(16).toString('hex')}`,
    kind: 'thread',
    queue,
    prefix: '{vtcode}',
    created_at: Date.now(),
    deadline_at: Date.now() + 60_000,
    mode: 'auto',
    session_id: 'ses_test',
    files: { commit: 'a'.repeat(40), bundle: 'b'.repeat(64) },
    payload: { prompt: 'do it' },
    ...more,
  } as Omit<Job, 'sig'>)
const never = () => new AbortController().signal
const faults: string[] = []
const options = (more: Partial<WorkOptions> = {}): WorkOptions => ({
  name: 'one',
  concurrency: 1,
  onFault: (message) => void faults.push(message),
  ...more,
})
const collect = async (lines: AsyncIterable<string>): Promise<string[]> => {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await sleep(5)
}
const ended = (lease: JobLease): Promise<void> =>
  new Promise((resolve) => {
    if (lease.signal.aborted) return resolve()
    lease.signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Tests an engine. Each engine of the program, and each of a third party, has to pass. */
export function testJobEngine(skip: boolean, open: () => Promise<JobEngine>): void {
  let engine: JobEngine
  let count = 0
  beforeAll(async () => {
    if (!skip) engine = await open()
  })
  afterAll(() => engine?.close())
  const newQueue = (): string => `q-${++count}`
  const test = it.skipIf(skip)

  test('passes a job to a worker and its result to the waiting client', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    expect(await engine.enqueue(queue, job)).toEqual({ duplicate: false })
    expect(await engine.find(queue, job.job_id)).toEqual({ job_id: job.job_id, state: 'waiting', job, leases: 0 })
    const worker = engine.work(queue, async ({ job }, { number }) => ({ of: (job as Job).job_id, number }), options())
    expect(await engine.wait(queue, job.job_id, never())).toEqual({
      job_id: job.job_id,
      state: 'completed',
      job,
      leases: 1,
      result: { of: job.job_id, number: 1 },
    })
    await worker.drain()
  })

  test('runs a job that is added twice once, with the content of the first', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    expect(await engine.enqueue(queue, { ...job, mode: 'full-auto' })).toEqual({ duplicate: true })
    const modes: string[] = []
    const worker = engine.work(queue, async ({ job }) => void modes.push((job as Job).mode), options())
    await engine.wait(queue, job.job_id, never())
    expect(await engine.enqueue(queue, job)).toEqual({ duplicate: true })
    await worker.drain()
    expect(modes).toEqual(['auto'])
  })

  test('shows the log of a job to a follower line by line while it runs, and whole afterwards', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    let seen: string | undefined
    const worker = engine.work(
      queue,
      async (_, { log }) => {
        await log('first')
        await until(() => seen === 'first')
        await log('second')
      },
      options(),
    )
    const lines: string[] = []
    for await (const line of engine.follow(queue, job.job_id, never())) lines.push((seen = line))
    expect(lines).toEqual(['first', 'second'])
    expect(await collect(engine.follow(queue, job.job_id, never()))).toEqual(lines)
    expect(await engine.readLog(queue, job.job_id)).toEqual(lines)
    await worker.drain()
  })

  test('cancels a waiting job: no worker starts it, and a waiter learns it', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    const waiting = engine.wait(queue, job.job_id, never())
    expect(await engine.cancel(queue, job.job_id, 'not needed')).toBe(true)
    expect(await waiting).toMatchObject({ job_id: job.job_id, state: 'cancelled' })
    let started = false
    const worker = engine.work(queue, async () => void (started = true), options())
    const next = newJob(queue)
    await engine.enqueue(queue, next)
    await engine.wait(queue, next.job_id, never())
    await worker.drain()
    expect([started, await engine.cancel(queue, next.job_id, 'too late')]).toEqual([true, false])
    expect((await engine.counts(queue)).completed).toBe(1)
  })

  test('cancels a running job by its signal, and does not start it again', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    let starts = 0
    const worker = engine.work(
      queue,
      async (_, lease) => {
        starts += 1
        await ended(lease)
        expect(lease.signal.reason).toBe('cancelled')
        return 'a result that nobody may see'
      },
      options(),
    )
    await until(() => starts === 1)
    expect(await engine.cancel(queue, job.job_id, 'changed my mind')).toBe(true)
    expect(await engine.wait(queue, job.job_id, never())).toMatchObject({
      state: 'cancelled',
      reason: expect.stringContaining('changed my mind'),
    })
    await worker.drain()
    expect(starts).toBe(1)
  })

  test('reports a failure with its code, starts it once, and again only by retry', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    const numbers: number[] = []
    const worker = engine.work(
      queue,
      async (_, { number }) => {
        numbers.push(number)
        if (numbers.length === 1) throw Object.assign(new Error('broken'), { code: 'VT_CALL_FAILED' })
        return 'whole'
      },
      options(),
    )
    expect(await engine.wait(queue, job.job_id, never())).toMatchObject({
      state: 'failed',
      reason: 'VT_CALL_FAILED: broken',
    })
    expect(await engine.retry(queue, 't-unknown')).toBe(false)
    expect(await engine.retry(queue, job.job_id)).toBe(true)
    expect(await engine.wait(queue, job.job_id, never())).toMatchObject({ state: 'completed', result: 'whole' })
    await worker.drain()
    expect(numbers).toEqual([1, 2])
  })

  test('counts and lists jobs by state', async () => {
    const queue = newQueue()
    const [one, two, three] = [newJob(queue), newJob(queue), newJob(queue)]
    const worker = engine.work(
      queue,
      async ({ job_id }, lease) => {
        if (job_id === one.job_id) return 'done'
        if (job_id === two.job_id) throw new Error('broken')
        await ended(lease)
        return undefined
      },
      options(),
    )
    for (const job of [one, two, three]) await engine.enqueue(queue, job)
    await until(async () => (await engine.find(queue, three.job_id))?.state === 'active')
    const four = newJob(queue)
    await engine.enqueue(queue, four)
    expect(await engine.counts(queue)).toEqual({ waiting: 1, active: 1, completed: 1, failed: 1, cancelled: 0 })
    const listed = async (state: Parameters<JobEngine['list']>[1]) =>
      (await engine.list(queue, state, 10)).map(({ job_id }) => job_id)
    expect([
      await listed('waiting'),
      await listed('active'),
      await listed('completed'),
      await listed('failed'),
    ]).toEqual([[four.job_id], [three.job_id], [one.job_id], [two.job_id]])
    await engine.cancel(queue, four.job_id, 'enough')
    await engine.cancel(queue, three.job_id, 'enough')
    await engine.wait(queue, three.job_id, never())
    await worker.drain()
    expect(await listed('cancelled')).toContain(three.job_id)
  })

  test('starts nothing while paused, counts it as waiting, and starts it when resumed', async () => {
    const queue = newQueue()
    await engine.setPaused(queue, true)
    const starts: string[] = []
    const worker = engine.work(queue, async ({ job_id }) => void starts.push(job_id), options())
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    expect([await engine.isPaused(queue), (await engine.counts(queue)).waiting, starts]).toEqual([true, 1, []])
    await engine.setPaused(queue, false)
    await engine.wait(queue, job.job_id, never())
    expect([await engine.isPaused(queue), starts]).toEqual([false, [job.job_id]])
    await worker.drain()
  })

  test('runs at most as many jobs at once as the worker takes', async () => {
    const queue = newQueue()
    let [running, most] = [0, 0]
    const jobs = Array.from({ length: 12 }, () => newJob(queue))
    const worker = engine.work(
      queue,
      async () => {
        most = Math.max(most, (running += 1))
        await sleep(5)
        running -= 1
      },
      options({ concurrency: 3 }),
    )
    await Promise.all(jobs.map((job) => engine.enqueue(queue, job)))
    await Promise.all(jobs.map(({ job_id }) => engine.wait(queue, job_id, never())))
    await worker.drain()
    expect(most).toBe(3)
  })

  test('hands a running job of a stopping worker to another one, with a greater number', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    const numbers: number[] = []
    const handle = async (_: unknown, lease: JobLease): Promise<unknown> => {
      numbers.push(lease.number)
      if (numbers.length > 1) return 'by the second'
      await ended(lease)
      return 'by the first'
    }
    const first = engine.work(queue, handle, options())
    await until(() => numbers.length === 1)
    await first.stop()
    const second: JobWorker = engine.work(queue, handle, options({ name: 'two' }))
    expect(await engine.wait(queue, job.job_id, never())).toMatchObject({ state: 'completed', result: 'by the second' })
    await second.drain()
    expect(numbers).toEqual([1, 2])
  })

  test('lists its workers by their names', async () => {
    const queue = newQueue()
    const worker = engine.work(queue, async () => {}, options({ name: 'host-7' }))
    await until(async () => (await engine.workers(queue)).length === 1)
    expect(await engine.workers(queue)).toEqual([{ name: 'host-7', queue }])
    await worker.drain()
  })

  test('keeps bytes by their hash, and has nothing for another hash', async () => {
    const bytes = randomBytes(2_000_000)
    const id = await engine.put(bytes)
    expect(Buffer.from((await engine.get(id))!).equals(bytes)).toBe(true)
    expect(await engine.put(bytes)).toBe(id)
    expect(await engine.get('0'.repeat(64))).toBeUndefined()
    expect((await engine.get(await engine.put(new Uint8Array())))?.length).toBe(0)
  })

  test('stops waiting and following when the signal aborts', async () => {
    const queue = newQueue()
    const job = newJob(queue)
    await engine.enqueue(queue, job)
    const abort = new AbortController()
    const waiting = engine.wait(queue, job.job_id, abort.signal)
    const following = collect(engine.follow(queue, job.job_id, abort.signal))
    abort.abort(new Error('enough'))
    expect(await Promise.allSettled([waiting, following])).toMatchObject([
      { status: 'rejected' },
      { status: 'rejected' },
    ])
  })

  test('knows the time of the server', async () => {
    expect(Math.abs((await engine.now()) - Date.now())).toBeLessThan(60_000)
  })
}
