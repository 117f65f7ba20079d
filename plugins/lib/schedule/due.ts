import { computeJitter, findNextBase, findNextRuns } from './timing.js'
import type { PendingRun, ScheduledTask, TaskState } from './types.js'

/** Range of times that were skipped, and the reason. */
export interface SkippedRuns {
  from: string
  to: string
  reason: 'older than the window' | 'missed' | 'a later one runs' | 'an earlier run is active'
}
export interface DueRuns extends Pick<TaskState, 'next_base_run_at' | 'next_run_at'> {
  pending: PendingRun[]
  skipped: SkippedRuns[]
}

/** A run within this time counts as punctual; the clock is checked twice as often. */
const GRACE_MS = 60_000
const MAX_CATCH_UP = 10
const MAX_JITTER_MS = 15 * 60_000
const toIso = (ms: number): string => new Date(ms).toISOString()

/** Returns the runs that became due by `noticed` since the state was written. `catch_up` decides about missed times. */
export function findDueRuns(task: ScheduledTask, state: TaskState, noticed: number): DueRuns {
  const found: DueRuns = {
    pending: [],
    skipped: [],
    next_base_run_at: state.next_base_run_at,
    next_run_at: state.next_run_at,
  }
  if (state.next_base_run_at === null) return found
  let base: number | undefined = Date.parse(state.next_base_run_at)
  const isDue = (at: number): boolean => at + MAX_JITTER_MS <= noticed || at + computeJitter(task, at) <= noticed
  if (!isDue(base)) return found
  const oldest = noticed - task.catch_up_window_secs * 1000
  if (base + computeJitter(task, base) < oldest) {
    found.skipped.push({ from: toIso(base), to: toIso(oldest), reason: 'older than the window' })
    base = findNextBase(task.schedule, oldest - 1)
  }
  const due: number[] = []
  for (; base !== undefined && isDue(base); base = findNextBase(task.schedule, base)) due.push(base)
  const chosen = new Set(selectRuns(task, due, noticed))
  for (const at of due)
    if (!chosen.has(at))
      found.skipped.push({
        from: toIso(at),
        to: toIso(at),
        reason: task.catch_up === 'none' ? 'missed' : 'a later one runs',
      })
  found.pending = [...chosen].map((at) => ({ base: toIso(at), attempt: 1 as const }))
  const next = base === undefined ? { next_base_run_at: null, next_run_at: null } : findNextRuns(task, base - 1)
  return { ...found, ...next }
}

function selectRuns(task: ScheduledTask, due: readonly number[], noticed: number): readonly number[] {
  if (task.catch_up === 'all') return due.slice(-MAX_CATCH_UP)
  const last = due.at(-1)
  if (last === undefined || (task.catch_up === 'none' && noticed - last - computeJitter(task, last) > GRACE_MS))
    return []
  return [last]
}
