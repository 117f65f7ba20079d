import { jitterOf, nextBase, nextRuns } from './timing.js'
import type { OwedRun, ScheduledTask, TaskState } from './types.js'

/** Times that were not run, and why. */
export interface SkippedRuns {
  from: string
  to: string
  reason: 'older than the window' | 'missed' | 'a later one runs' | 'an earlier run goes on'
}
export interface DueRuns extends Pick<TaskState, 'next_base_run_at' | 'next_run_at'> {
  owed: OwedRun[]
  skipped: SkippedRuns[]
}

/** Not later than this a time was served; the clock is looked at twice as often. */
const grace_ms = 60_000
const mostAtOnce = 10
const mostJitter_ms = 15 * 60_000
const iso = (ms: number): string => new Date(ms).toISOString()

/** What came due by `noticed` since the state was written, and what of it is to be run: `catch_up` decides about times that nobody served. */
export function dueRuns(task: ScheduledTask, state: TaskState, noticed: number): DueRuns {
  const found: DueRuns = {
    owed: [],
    skipped: [],
    next_base_run_at: state.next_base_run_at,
    next_run_at: state.next_run_at,
  }
  if (state.next_base_run_at === null) return found
  let base: number | undefined = Date.parse(state.next_base_run_at)
  const isDue = (at: number): boolean => at + mostJitter_ms <= noticed || at + jitterOf(task, at) <= noticed
  if (!isDue(base)) return found
  const oldest = noticed - task.catch_up_window_secs * 1000
  if (base + jitterOf(task, base) < oldest) {
    found.skipped.push({ from: iso(base), to: iso(oldest), reason: 'older than the window' })
    base = nextBase(task.schedule, oldest - 1)
  }
  const due: number[] = []
  for (; base !== undefined && isDue(base); base = nextBase(task.schedule, base)) due.push(base)
  const chosen = new Set(chosenOf(task, due, noticed))
  for (const at of due)
    if (!chosen.has(at))
      found.skipped.push({
        from: iso(at),
        to: iso(at),
        reason: task.catch_up === 'none' ? 'missed' : 'a later one runs',
      })
  found.owed = [...chosen].map((at) => ({ base: iso(at), attempt: 1 as const }))
  const next = base === undefined ? { next_base_run_at: null, next_run_at: null } : nextRuns(task, base - 1)
  return { ...found, ...next }
}

function chosenOf(task: ScheduledTask, due: readonly number[], noticed: number): readonly number[] {
  if (task.catch_up === 'all') return due.slice(-mostAtOnce)
  const last = due.at(-1)
  if (last === undefined || (task.catch_up === 'none' && noticed - last - jitterOf(task, last) > grace_ms)) return []
  return [last]
}
