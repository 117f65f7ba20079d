import { statSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { heartbeat } from './claims.js'
import type { Scheduler } from './scheduler.js'
import type { TaskFault, TaskStore } from './store.js'

/** The clock may be set at any time: due times are compared with it at least this often. */
const longest_ms = 30_000

/** Serves schedules until the signal aborts, or with `once` until nothing is due. Waits for its runs. */
export async function serveSchedules(
  scheduler: Scheduler,
  store: TaskStore,
  { signal, once = false, fault }: { signal: AbortSignal; once?: boolean; fault: (fault: TaskFault) => void },
): Promise<void> {
  makeFolder(store.tasks, 0o700)
  let wake = (): void => {}
  let scanned = changedAt(store)
  const changed = (id: string): void => {
    scheduler.reload(id)
    wake()
  }
  const watchers = [
    watching(store.tasks, (name) => name.endsWith('.json') && changed(name.slice(0, -5))),
    watching(join(store.state, 'claims'), (name) => name.endsWith('.cancel') && scheduler.look()),
  ]
  const beats = setInterval(() => scheduler.beat(), heartbeat.every_ms)
  const stop = (): void => wake()
  signal.addEventListener('abort', stop, { once: true })
  scheduler.load().forEach(fault)
  try {
    while (!signal.aborted) {
      const next = scheduler.tick() ?? Number.POSITIVE_INFINITY
      if (once && !scheduler.busy && next > Date.now()) return
      const wait = once ? 50 : Math.min(longest_ms, Math.max(0, next - Date.now()))
      const { promise, resolve } = awaited()
      const timer = setTimeout(resolve, wait)
      wake = resolve
      if (signal.aborted) resolve()
      await promise
      clearTimeout(timer)
      if (wait < longest_ms && !once) continue
      scheduler.look()
      // Where the system tells of no changes, the folder does.
      if (watchers.includes(undefined) && changedAt(store) !== scanned) {
        scanned = changedAt(store)
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

function awaited(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

const changedAt = ({ tasks }: TaskStore): number => statSync(tasks, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Tells of files that change in a folder; `undefined` where the system cannot. */
function watching(folder: string, changed: (name: string) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, (_, name) => void (name !== null && changed(name)))
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}
