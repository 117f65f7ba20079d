// Ten thousand schedules: what a start takes, what finding the next one takes, and what waiting costs.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNextBase, Scheduler, TaskStore } from '../../build/plugins/lib/schedule/index.js'
import { median } from './measure.mjs'
import { inFolder } from './scene.mjs'

const SCHEDULES = 10_000
const TICKS = 10_000
const idle_s = 31
const bin = fileURLToPath(new URL('../../dist/core/bin.cjs', import.meta.url))

export default () =>
  inFolder(async (folder) => {
    const home = join(folder, '.vtcode')
    fill(home, folder)
    const env = { PATH: process.env.PATH, HOME: folder, VTCODE_HOME: home }
    const starts = Array.from({ length: 5 }, () =>
      timed(() => spawnSync(process.execPath, [bin, 'schedule', 'serve', '--once'], { cwd: folder, env })),
    )
    const [load, tick] = inProcess(home)
    return [
      {
        name: 'a server of 10,000 schedules starts, and ends because nothing is due',
        goal: 1500,
        ratio: median(starts),
        unit: 'ms',
        detail: `median of ${starts.length} programs; reading alone ${load.toFixed(0)} ms`,
      },
      {
        name: 'the next due of 10,000, one of which has changed',
        goal: 1,
        ratio: tick,
        unit: 'ms',
        detail: `mean of ${TICKS}`,
      },
      {
        name: 'processor time of a server that waits',
        goal: 0.05,
        ratio: await idle(folder, env),
        unit: '%',
        detail: `over ${idle_s} s, in which it checks the clock once`,
      },
    ]
  })

function fill(home, workspace) {
  const store = new TaskStore(home)
  for (const one of [store.tasks, store.state]) mkdirSync(one, { recursive: true })
  writeFileSync(
    join(home, 'vtcode.config.json'),
    JSON.stringify({ automation: { scheduled_tasks: { enabled: true } } }),
  )
  const created_at = new Date().toISOString()
  for (let index = 0; index < SCHEDULES; index += 1) {
    const id = index.toString(16).padStart(8, '0')
    const schedule = {
      type: 'cron5',
      expression: `${index % 60} ${index % 24} ${1 + (index % 28)} 1 *`,
      tz: 'Europe/Berlin',
    }
    const at = new Date(findNextBase(schedule, Date.now())).toISOString()
    const task = {
      v: 1,
      id,
      name: `task ${index}`,
      workspace,
      workspace_id: '',
      created_at,
      enabled: true,
      schedule,
      action: { kind: 'prompt', prompt: 'x' },
      overlap: 'skip',
      catch_up: 'one',
      catch_up_window_secs: 3600,
      timeout_secs: 7200,
      jitter: false,
      mode: 'auto',
    }
    writeFileSync(join(store.tasks, `${id}.json`), JSON.stringify(task))
    writeFileSync(
      join(store.state, `${id}.json`),
      JSON.stringify({ v: 1, next_base_run_at: at, next_run_at: at, owed: [], run_count: 0, consecutive_failures: 0 }),
    )
  }
}

function timed(run) {
  const began = performance.now()
  run()
  return performance.now() - began
}

function inProcess(home) {
  const scheduler = new Scheduler({
    store: new TaskStore(home),
    clock: { now: Date.now, elapsed: () => performance.now() },
    max_parallel: 4,
    run: async () => ({ status: 'success' }),
  })
  const load = timed(() => scheduler.load())
  const ticks = timed(() => {
    for (let index = 0; index < TICKS; index += 1) {
      scheduler.reload((index % SCHEDULES).toString(16).padStart(8, '0'))
      scheduler.tick()
    }
  })
  return [load, ticks / TICKS]
}

async function idle(cwd, env) {
  const child = spawn(process.execPath, [bin, 'schedule', 'serve'], { cwd, env, stdio: 'ignore' })
  const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  await wait(5)
  const before = spent(child.pid)
  await wait(idle_s)
  const used = spent(child.pid) - before
  child.kill('SIGTERM')
  return used / idle_s
}

/** Hundredths of a second of processor time, so that a share of a second is per cent. */
function spent(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}
