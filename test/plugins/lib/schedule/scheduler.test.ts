import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fc } from '../../../support/property.js'
import {
  DueHeap,
  parseInterval,
  Scheduler,
  TaskStore,
  type RunEnd,
  type ScheduledTask,
} from '../../../../build/plugins/lib/schedule/index.js'

const hour = 3_600_000
const began = Date.parse('2026-06-01T00:00:00Z')
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Waits for turns of the event loop: a scheduler waits only for this process, so turns are safer than time. */
async function turns(count: number): Promise<void> {
  for (; count > 0; count -= 1) await new Promise((resolve) => setTimeout(resolve, 1))
}
/** Makes a home, a clock that the test moves, and runs that end at once or when the test ends them. */
function scene({
  home = mkdtempSync(join(tmpdir(), 'vtcode-schedules-')),
  end = (): RunEnd | Promise<RunEnd> => ({ status: 'success' }),
  max_parallel = 4,
}: {
  home?: string
  end?: (task: ScheduledTask, signal: AbortSignal) => RunEnd | Promise<RunEnd>
  max_parallel?: number
} = {}) {
  folders.push(home)
  const time = { now: began, elapsed: 0 }
  const ran: string[] = []
  const store = new TaskStore(home)
  const paused: string[] = []
  const make = () =>
    new Scheduler({
      store,
      max_parallel,
      clock: { now: () => time.now, elapsed: () => time.elapsed },
      run: async (task, claim, signal) => (
        ran.push(`${task.name} ${claim.base.slice(5, 16)}${claim.attempt === 2 ? ' again' : ''}`),
        await end(task, signal)
      ),
      onEnd: (task, _, __, why) => void (why !== undefined && paused.push(`${task.name}: ${why}`)),
    })
  const add = (name: string, more: Partial<ScheduledTask> = {}) =>
    store.add({
      name,
      workspace: home,
      workspace_id: '',
      created_at: new Date(began).toISOString(),
      enabled: true,
      schedule: parseInterval('1h', began),
      action: { kind: 'reminder', message: name },
      overlap: 'skip',
      catch_up: 'one',
      catch_up_window_secs: 6 * 3600,
      timeout_secs: 60,
      jitter: false,
      mode: 'auto',
      ...more,
    })
  const settle = async (one: Scheduler): Promise<void> => {
    for (let quiet = 0; quiet < 10; quiet = one.isBusy ? 0 : quiet + 1) await turns(1)
  }
  /** Moves the clock and serves until nothing more begins. */
  const at = async (ms: number, ...serving: Scheduler[]): Promise<string[]> => {
    time.now = began + ms
    time.elapsed += 30_000
    const before = ran.length
    for (let count = -1; count !== ran.length;) {
      count = ran.length
      for (const one of serving) one.tick()
      for (const one of serving) await settle(one)
    }
    return ran.slice(before)
  }
  return {
    home,
    time,
    ran,
    store,
    make,
    add,
    at,
    paused,
    stateOf: (task: ScheduledTask) => store.loadState(store.read(task.id)!, time.now),
  }
}
const base = (hours: number): string => `06-01T${String(hours).padStart(2, '0')}:00`

describe('due runs', () => {
  it('runs a due time once and catches up on the latest, nothing or all, as configured', async () => {
    const s = scene()
    await s.add('one')
    await s.add('none', { catch_up: 'none' })
    await s.add('all', { catch_up: 'all' })
    const scheduler = s.make()
    scheduler.load()
    expect(scheduler.tick()).toBe(began + hour)
    expect((await s.at(hour, scheduler)).sort()).toEqual([`all ${base(1)}`, `none ${base(1)}`, `one ${base(1)}`])
    expect((await s.at(6 * hour + 120_000, scheduler)).sort()).toEqual([
      ...[2, 3, 4, 5, 6].map((hours) => `all ${base(hours)}`),
      `one ${base(6)}`,
    ])
    // A clock that goes back repeats no run.
    expect(await s.at(hour, scheduler)).toEqual([])
    expect(await s.at(-24 * hour, scheduler)).toEqual([])
    expect((await s.at(7 * hour, scheduler)).sort()).toEqual([`all ${base(7)}`, `none ${base(7)}`, `one ${base(7)}`])
    const none = s.store.list().tasks.find(({ name }) => name === 'none')!
    expect(
      scheduler.ledger
        .listSkipped(none.id)
        .map(({ from, reason }) => `${from.slice(5, 16)} ${reason}`)
        .sort(),
    ).toEqual([2, 3, 4, 5, 6].map((hours) => `${base(hours)} missed`))
  })

  it('catches up on ten runs at most within the window, and reports older ones in one message', async () => {
    const s = scene()
    const all = await s.add('all', {
      catch_up: 'all',
      schedule: parseInterval('1m', began),
      catch_up_window_secs: 1800,
    })
    const once = await s.add('once', { schedule: { type: 'one_shot', at: new Date(began + hour).toISOString() } })
    const scheduler = s.make()
    scheduler.load()
    expect(await s.at(48 * hour, scheduler)).toEqual(
      Array.from(
        { length: 10 },
        (_, index) => `all ${new Date(began + 48 * hour - (9 - index) * 60_000).toISOString().slice(5, 16)}`,
      ),
    )
    expect(scheduler.ledger.listSkipped(all.id).at(-1)).toEqual({
      from: '2026-06-01T00:01:00.000Z',
      to: '2026-06-02T23:30:00.000Z',
      reason: 'older than the window',
    })
    expect(scheduler.ledger.listSkipped(once.id)).toEqual([
      { from: '2026-06-01T01:00:00.000Z', to: '2026-06-02T18:00:00.000Z', reason: 'older than the window' },
    ])
    expect(s.stateOf(once)).toMatchObject({ next_base_run_at: null, run_count: 0 })
  })

  it('ends a schedule after --max-runs and after a single time', async () => {
    const s = scene()
    const twice = await s.add('twice', { max_runs: 2 })
    const once = await s.add('once', { schedule: { type: 'one_shot', at: new Date(began + hour).toISOString() } })
    const scheduler = s.make()
    scheduler.load()
    for (const hours of [1, 2, 3, 4]) await s.at(hours * hour, scheduler)
    expect(s.ran.sort()).toEqual([`once ${base(1)}`, `twice ${base(1)}`, `twice ${base(2)}`])
    expect([s.stateOf(twice), s.stateOf(once)].map(({ next_run_at, run_count }) => [next_run_at, run_count])).toEqual([
      [null, 2],
      [null, 1],
    ])
  })

  it('pauses a schedule after five failures in a row with a reason, and resume skips the time between', async () => {
    const s = scene({ end: () => ({ status: 'failed', reason: 'no model' }) })
    const task = await s.add('bad')
    const scheduler = s.make()
    scheduler.load()
    for (let hours = 1; hours <= 8; hours += 1) await s.at(hours * hour, scheduler)
    expect(s.ran).toHaveLength(5)
    expect(s.paused).toEqual(['bad: 5 runs in a row failed; the last: no model'])
    expect(s.store.read(task.id)).toMatchObject({ enabled: false })
    await s.store.enable(s.store.read(task.id)!, true, s.time.now)
    scheduler.reload(task.id)
    expect(await s.at(8 * hour + 1, scheduler)).toEqual([])
    expect(await s.at(9 * hour, scheduler)).toEqual([`bad ${base(9)}`])
  })
})

describe('parallel runs', () => {
  /** Makes runs that the test ends by the number of their start. */
  function gates() {
    const open: ((end: RunEnd) => void)[] = []
    const end = (_: ScheduledTask, signal: AbortSignal): Promise<RunEnd> =>
      new Promise((resolve) => {
        open.push(resolve)
        signal.addEventListener('abort', () => resolve({ status: 'failed' }))
      })
    return { open, end }
  }
  const passing = (s: ReturnType<typeof scene>, one: Scheduler, hours: number): Promise<void> => {
    s.time.now = began + hours * hour
    one.tick()
    return turns(40)
  }

  it('skips, queues, allows or replaces overlapping runs of one schedule', async () => {
    for (const [overlap, wanted] of [
      ['skip', { ran: [1, 4], last: 'success' }],
      ['queue', { ran: [1, 2, 4], last: 'success' }],
      ['allow', { ran: [1, 2, 3, 4], last: 'success' }],
      ['cancel_previous', { ran: [1, 2, 3, 4], last: 'success' }],
    ] as const) {
      const gate = gates()
      const s = scene({ end: gate.end })
      const task = await s.add('a', { overlap })
      const scheduler = s.make()
      scheduler.load()
      for (const hours of [1, 2, 3]) {
        await passing(s, scheduler, hours)
        s.time.now += 1000
        scheduler.tick()
        await turns(40)
      }
      const finish = async (): Promise<void> => {
        for (let quiet = 0; quiet < 3; quiet = scheduler.isBusy ? 0 : quiet + 1) {
          for (const end of gate.open) end({ status: 'success' })
          scheduler.tick()
          await turns(20)
        }
      }
      await finish()
      await passing(s, scheduler, 4)
      await finish()
      expect(s.ran, overlap).toEqual(wanted.ran.map((hours) => `a ${base(hours)}`))
      const known = scheduler.ledger.listRuns(task.id).map(({ status }) => status)
      expect(known, overlap).toEqual(
        overlap === 'cancel_previous' ? ['success', 'success', 'cancelled', 'cancelled'] : known.map(() => 'success'),
      )
      await scheduler.stop()
    }
  })

  it('limits runs of several schedules, and a short one does not wait for the long', async () => {
    const gate = gates()
    const s = scene({
      end: (task, signal) => (task.name === 'short' ? { status: 'success' } : gate.end(task, signal)),
      max_parallel: 3,
    })
    for (const name of ['long', 'longer']) await s.add(name)
    const short = await s.add('short', { schedule: parseInterval('61m', began) })
    const scheduler = s.make()
    scheduler.load()
    await passing(s, scheduler, 1)
    await passing(s, scheduler, 61 / 60)
    expect(s.stateOf(short).last_status).toBe('success')
    expect(gate.open).toHaveLength(2)
    for (const end of gate.open) end({ status: 'success' })
    const narrow = scene({ end: gates().end, max_parallel: 2 })
    for (const name of ['a', 'b', 'c']) await narrow.add(name)
    const few = narrow.make()
    few.load()
    await passing(narrow, few, 1)
    expect(narrow.ran).toHaveLength(2)
    await Promise.all([few.stop(), scheduler.stop()])
  })
})

describe('schedulers of the same schedules', () => {
  it('runs each base time once for several schedulers', async () => {
    const s = scene()
    for (let index = 0; index < 20; index += 1) await s.add(`t${index}`)
    const [one, two] = [s.make(), s.make()]
    one.load()
    two.load()
    for (const hours of [1, 2, 3]) await s.at(hours * hour, one, two)
    expect(s.ran).toHaveLength(60)
    expect(new Set(s.ran).size).toBe(60)
  })

  it('interrupts runs of dead processes and repeats them once within the window unless catch_up is none', async () => {
    const dead = {
      pid: 2 ** 22 + 5,
      started_at: '1',
      boot_id: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      host: (await import('node:os')).hostname(),
    }
    const s = scene({ end: () => new Promise(() => {}) })
    const again = await s.add('again')
    const never = await s.add('never', { catch_up: 'none' })
    const first = s.make()
    first.load()
    s.time.now = began + hour
    first.tick()
    await turns(40)
    const claims = join(s.store.state, 'claims')
    expect(readdirSync(claims)).toHaveLength(2)
    for (const name of readdirSync(claims))
      writeFileSync(
        join(claims, name),
        JSON.stringify({ ...JSON.parse(readFileSync(join(claims, name), 'utf8')), holder: dead }),
      )
    // One scheduler was killed between its claim and its state.
    const state = JSON.parse(readFileSync(join(s.store.state, `${again.id}.json`), 'utf8'))
    s.store.writeState(again.id, {
      ...state,
      next_base_run_at: new Date(began + hour).toISOString(),
      next_run_at: new Date(began + hour).toISOString(),
    })
    const t = scene({ home: s.home })
    const second = t.make()
    t.time.now = began + hour + 60_000
    second.load()
    expect(await t.at(hour + 60_000, second)).toEqual([`again ${base(1)} again`])
    expect(
      second.ledger
        .listRuns(again.id)
        .map(({ status, attempt }) => [status, attempt])
        .sort(),
    ).toEqual([
      ['interrupted', 1],
      ['success', 2],
    ])
    expect(second.ledger.listRuns(never.id).map(({ status }) => status)).toEqual(['interrupted'])
    expect(readdirSync(claims)).toEqual([])
    expect((await t.at(2 * hour, second)).sort()).toEqual([`again ${base(2)}`, `never ${base(2)}`])
  })

  it('leaves a half-written claim of a killed process and removes it after a while', () => {
    const s = scene()
    const scheduler = s.make()
    const claims = join(s.store.state, 'claims')
    for (const name of ['0123abcd.4567ef01.json.17', '0123abcd.4567ef02.json.18'])
      writeFileSync(join(claims, name), '{')
    const before = new Date(Date.now() - 16 * 60_000)
    utimesSync(join(claims, '0123abcd.4567ef01.json.17'), before, before)
    scheduler.checkRuns()
    expect(readdirSync(claims)).toEqual(['0123abcd.4567ef02.json.18'])
  })

  it('treats a process as dead after 15 silent minutes by a monotonic clock', async () => {
    const s = scene({ end: () => new Promise(() => {}) })
    await s.add('silent')
    const first = s.make()
    first.load()
    s.time.now = began + hour
    first.tick()
    await turns(40)
    const other = s.make()
    other.load()
    const claims = join(s.store.state, 'claims')
    const [name] = readdirSync(claims)
    // A jump of the wall clock by five hours is no evidence.
    s.time.now += 5 * hour
    other.checkRuns()
    other.tick()
    await turns(40)
    expect(existsSync(join(claims, name!))).toBe(true)
    s.time.elapsed += 14 * 60_000
    utimesSync(join(claims, name!), new Date(), new Date(Date.now() + 5000))
    other.checkRuns()
    s.time.elapsed += 14 * 60_000
    other.checkRuns()
    expect(existsSync(join(claims, name!))).toBe(true)
    s.time.elapsed += 60_000
    other.checkRuns()
    other.tick()
    await turns(40)
    expect(readdirSync(claims)).not.toContain(name)
  })

  it('resets a schedule with an unreadable state and serves the others next to invalid files', async () => {
    const s = scene()
    const task = await s.add('a')
    writeFileSync(join(s.store.state, `${task.id}.json`), '{"v":1,"owed":"x"}')
    writeFileSync(join(s.store.tasks, 'ffffffff.json'), '{}')
    s.time.now = began + 5 * hour + 1
    const scheduler = s.make()
    expect(scheduler.load().map(({ file }) => file)).toEqual([join(s.store.tasks, 'ffffffff.json')])
    expect(await s.at(5 * hour + 2, scheduler)).toEqual([])
    expect(await s.at(6 * hour, scheduler)).toEqual([`a ${base(6)}`])
  })
})

describe('DueHeap', () => {
  it('returns due ids in the order of time, each once with its latest time', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.integer({ min: 0, max: 40 }), fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined })),
          { maxLength: 300 },
        ),
        fc.integer({ min: 0, max: 1000 }),
        (sets, by) => {
          const heap = new DueHeap()
          const known = new Map<string, number>()
          for (const [id, at] of sets) {
            heap.set(`${id}`, at)
            if (at === undefined) known.delete(`${id}`)
            else known.set(`${id}`, at)
          }
          const due = [...known].filter(([, at]) => at <= by)
          const taken = [...heap.take(by)]
          expect([...taken].sort()).toEqual(due.map(([id]) => id).sort())
          expect(taken.map((id) => known.get(id))).toEqual(due.map(([, at]) => at).sort((a, b) => a - b))
          const left = [...known.values()].filter((at) => at > by)
          expect(heap.next()).toBe(left.length === 0 ? undefined : Math.min(...left))
        },
      ),
    )
  })
})
