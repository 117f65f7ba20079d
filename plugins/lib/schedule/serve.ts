import { statSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { HEARTBEAT } from './claims.js'
import type { Scheduler } from './scheduler.js'
import type { TaskFault, TaskStore } from './store.js'

/** The clock may be set at any time, so due times are checked at least this often. */
const MAX_WAIT_MS = 30_000

/** Serves schedules until the signal aborts; with `once` until no run is due. Waits for active runs. */
export async function serveSchedules(
  scheduler: Scheduler,
  store: TaskStore,
  { signal, once = false, fault }: { signal: AbortSignal; once?: boolean; fault: (fault: TaskFault) => void },
): Promise<void> {
  makeFolder(store.tasks, 0o700)
  let wake = (): void => {}
  let scanned = readChangeTime(store)
  const reloadTask = (id: string): void => {
    scheduler.reload(id)
    wake()
  }
  const watchers = [
    watchFolder(store.tasks, (name) => name.endsWith('.json') && reloadTask(name.slice(0, -5))),
    watchFolder(join(store.state, 'claims'), (name) => name.endsWith('.cancel') && scheduler.checkRuns()),
  ]
  const beats = setInterval(() => scheduler.beat(), HEARTBEAT.every_ms)
  const stop = (): void => wake()
  signal.addEventListener('abort', stop, { once: true })
  scheduler.load().forEach(fault)
  try {
    while (!signal.aborted) {
      const next = scheduler.tick() ?? Number.POSITIVE_INFINITY
      if (once && !scheduler.isBusy && next > Date.now()) return
      const wait = once ? 50 : Math.min(MAX_WAIT_MS, Math.max(0, next - Date.now()))
      const { promise, resolve } = createDeferred()
      const timer = setTimeout(resolve, wait)
      wake = resolve
      if (signal.aborted) resolve()
      await promise
      clearTimeout(timer)
      if (wait < MAX_WAIT_MS && !once) continue
      scheduler.checkRuns()
      // Without change events of the system, the time of the folder shows a change.
      if (watchers.includes(undefined) && readChangeTime(store) !== scanned) {
        scanned = readChangeTime(store)
        scheduler.load().forEach(fault)
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    clearInterval(beats)
    for (const one of watchers) one?.close()
    await scheduler.stop()
  }
}

function createDeferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

const readChangeTime = ({ tasks }: TaskStore): number => statSync(tasks, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Reports files that change in a folder; `undefined` if the system does not support it. */
function watchFolder(folder: string, changed: (name: string) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, (_, name) => void (name !== null && changed(name)))
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}
