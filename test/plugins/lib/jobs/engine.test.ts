import { describe, expect, it } from 'vitest'
import { memoryJobs, type Job, type JobEngine } from '../../../../build/plugins/lib/jobs/index.js'

/** Every engine holds these rows. `now` is moved by a test. */
const engines: Record<string, (clock: { now: () => number }) => JobEngine> = { memory: memoryJobs }

const job = (job_id: string, priority: Job['priority'] = 5, payload: unknown = null): Job => ({ job_id, kind: 'thread', priority, payload })
const never = new AbortController().signal
/** A promise that is kept from outside. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}
async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

describe.each(Object.entries(engines))('the engine %s', (_, make) => {
  const begin = () => {
    const time = { at: 1_000 }
    return { time, engine: make({ now: () => time.at }) }
  }

  it('does a job and tells its result', async () => {
    const { engine } = begin()
    expect(await engine.enqueue('q', job('a', 5, { n: 2 }))).toEqual({ job_id: 'a', duplicate: false })
    engine.work('q', async ({ payload }) => (payload as { n: number }).n * 2, { concurrency: 1 })
    expect(await engine.wait('a', never)).toMatchObject({ job_id: 'a', state: 'completed', result: 4, attempt: 1 })
    await engine.close()
  })

  it('takes a job that is added twice once, whether it waits, runs or is over', async () => {
    const { engine } = begin()
    let begun = 0
    const { open, opened } = gate()
    await engine.enqueue('q', job('a'))
    expect((await engine.enqueue('q', job('a'))).duplicate).toBe(true)
    engine.work('q', () => ((begun += 1), opened), { concurrency: 2 })
    expect((await engine.enqueue('q', job('a'))).duplicate).toBe(true)
    open()
    await engine.wait('a', never)
    expect((await engine.enqueue('q', job('a'))).duplicate).toBe(true)
    expect([begun, await engine.counts('q')]).toEqual([1, { waiting: 0, active: 0, completed: 1, failed: 0, cancelled: 0 }])
    await engine.close()
  })

  it('stops waiting for a job when its signal aborts, and the job goes on', async () => {
    const { engine } = begin()
    const { open, opened } = gate()
    await engine.enqueue('q', job('a'))
    engine.work('q', () => opened, { concurrency: 1 })
    const leaving = new AbortController()
    const left = expect(engine.wait('a', leaving.signal)).rejects.toThrow('gone')
    leaving.abort(new Error('gone'))
    await left
    open()
    expect((await engine.wait('a', never)).state).toBe('completed')
    await expect(engine.wait('b', never)).rejects.toThrow("There is no job 'b'.")
    await engine.close()
  })

  it('gives its lines to those who follow, from the one they ask for on, while it runs and afterwards', async () => {
    const { engine } = begin()
    const { open, opened } = gate()
    await engine.enqueue('q', job('a'))
    engine.work(
      'q',
      async (_, { log }) => {
        log('0')
        await opened
        log('1')
        log('2')
      },
      { concurrency: 1 },
    )
    const live = linesOf(engine.follow('a', 0))
    open()
    expect(await live).toEqual(['0', '1', '2'])
    expect(await linesOf(engine.follow('a', 2))).toEqual(['2'])
    await engine.close()
  })

  it('keeps the last 10,000 lines', async () => {
    const { engine } = begin()
    await engine.enqueue('q', job('a'))
    engine.work('q', async (_, { log }) => Array.from({ length: 10_001 }, (_, n) => log(String(n))), { concurrency: 1 })
    await engine.wait('a', never)
    const lines = await linesOf(engine.follow('a', 0))
    expect([lines.length, lines[0]]).toEqual([10_000, '1'])
    await engine.close()
  })

  it('takes out what waits when that is cancelled', async () => {
    const { engine } = begin()
    const ran: string[] = []
    await engine.enqueue('q', job('a'))
    await engine.enqueue('q', job('b'))
    expect(await engine.cancel('a', 'not wanted')).toBe(true)
    engine.work('q', async ({ job_id }) => void ran.push(job_id), { concurrency: 1 })
    await engine.wait('b', never)
    expect(await engine.wait('a', never)).toMatchObject({ state: 'cancelled', reason: 'not wanted', attempt: 0 })
    expect(ran).toEqual(['b'])
    expect(await engine.cancel('a', 'again')).toBe(false)
    await engine.close()
  })

  it('aborts what is under way when that is cancelled', async () => {
    const { engine } = begin()
    await engine.enqueue('q', job('a'))
    engine.work('q', (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))), { concurrency: 1 })
    expect(await engine.cancel('a', 'enough')).toBe(true)
    expect(await engine.wait('a', never)).toMatchObject({ state: 'cancelled', reason: 'enough', attempt: 1 })
    await engine.close()
  })

  it('tells the failure of a job as a value, and goes on with the next', async () => {
    const { engine } = begin()
    await engine.enqueue('q', job('a'))
    await engine.enqueue('q', job('b'))
    engine.work('q', ({ job_id }) => (job_id === 'a' ? Promise.reject(new Error('broke')) : Promise.resolve(1)), { concurrency: 1 })
    expect(await engine.wait('a', never)).toMatchObject({ state: 'failed', reason: 'broke' })
    expect((await engine.wait('b', never)).state).toBe('completed')
    await engine.close()
  })

  it('begins the most urgent first, and of equal ones the oldest', async () => {
    const { engine } = begin()
    const ran: string[] = []
    for (const [id, priority] of [['low', 10], ['a', 5], ['b', 5], ['high', 1]] as const) await engine.enqueue('q', job(id, priority))
    engine.work('q', async ({ job_id }) => void ran.push(job_id), { concurrency: 1 })
    await engine.wait('low', never)
    expect(ran).toEqual(['high', 'a', 'b', 'low'])
    await engine.close()
  })

  it('never does more at once than it may, and counts what waits and runs', async () => {
    const { engine } = begin()
    const { open, opened } = gate()
    let most = 0
    let now = 0
    for (let n = 0; n < 8; n++) await engine.enqueue('q', job(`j${n}`))
    await engine.enqueue('other', job('elsewhere'))
    engine.work('q', async () => ((most = Math.max(most, (now += 1))), await opened, (now -= 1)), { concurrency: 3 })
    expect(await engine.counts('q')).toEqual({ waiting: 5, active: 3, completed: 0, failed: 0, cancelled: 0 })
    open()
    await Promise.all(Array.from({ length: 8 }, (_, n) => engine.wait(`j${n}`, never)))
    expect([most, (await engine.counts('q')).completed, (await engine.counts('other')).waiting]).toEqual([3, 8, 1])
    await engine.close()
  })

  it('keeps bytes under their digest', async () => {
    const { engine } = begin()
    const bytes = Uint8Array.from([0, 255, 10])
    const digest = await engine.put(bytes)
    bytes[0] = 7
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    expect([...(await engine.get(digest))]).toEqual([0, 255, 10])
    await expect(engine.get('0'.repeat(64))).rejects.toThrow('There are no bytes')
    await engine.close()
  })

  it('forgets ended jobs and bytes that are old enough, and nothing else', async () => {
    const { engine, time } = begin()
    await engine.enqueue('q', job('old'))
    engine.work('q', async () => 1, { concurrency: 1 })
    await engine.wait('old', never)
    await engine.put(Uint8Array.from([1]))
    await engine.enqueue('idle', job('waits'))
    time.at += 100
    await engine.enqueue('q', job('new'))
    await engine.wait('new', never)
    expect(await engine.clean(50)).toBe(2)
    await expect(engine.wait('old', never)).rejects.toThrow('There is no job')
    expect((await engine.wait('new', never)).state).toBe('completed')
    expect((await engine.counts('idle')).waiting).toBe(1)
    await engine.close()
  })

  it('cancels what waits and what runs when it is closed, and takes nothing more', async () => {
    const { engine } = begin()
    await engine.enqueue('q', job('runs'))
    await engine.enqueue('q', job('waits'))
    engine.work('q', (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)), { concurrency: 1 })
    await engine.close()
    for (const id of ['runs', 'waits']) expect(await engine.wait(id, never)).toMatchObject({ state: 'cancelled', reason: 'The engine was closed.' })
    await expect(engine.enqueue('q', job('late'))).rejects.toThrow('is closed')
  })

  it('leaves what waits to others when a worker is closed', async () => {
    const { engine } = begin()
    const { open, opened } = gate()
    await engine.enqueue('q', job('a'))
    await engine.enqueue('q', job('b'))
    const worker = engine.work('q', () => opened, { concurrency: 1 })
    const closed = worker.close()
    open()
    await closed
    expect(await engine.counts('q')).toMatchObject({ waiting: 1, completed: 1 })
    engine.work('q', async () => 1, { concurrency: 1 })
    expect((await engine.wait('b', never)).state).toBe('completed')
    await engine.close()
  })
})
