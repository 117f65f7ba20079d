import type { Mode } from '../../../core/shapes/index.js'

/** Timing of a schedule. Instants are ISO 8601 in UTC with milliseconds. */
export type Timing =
  /** Five fields or a nickname, read in the time zone `tz` (IANA). */
  | { type: 'cron5'; expression: string; tz: string }
  /** Interval of at least 60 seconds, counted from the anchor. */
  | { type: 'fixed_interval'; seconds: number; anchor: string }
  | { type: 'one_shot'; at: string }
export type ScheduledAction =
  | { kind: 'prompt'; prompt: string; verify?: string[]; max_budget_usd?: number }
  | { kind: 'reminder'; message: string }
/** Rules for a due time while an earlier run is active. */
export const OVERLAPS = ['skip', 'queue', 'cancel_previous', 'allow'] as const
/** Rules for missed due times. */
export const CATCH_UPS = ['one', 'none', 'all'] as const

/** File below `scheduled_tasks/tasks/`, see `manifests/schema/schedule_task.1.json`. */
export interface ScheduledTask {
  v: 1
  /** 8 hexadecimal digits. */
  id: string
  name: string
  workspace: string
  /** Identity of the folder: real path, device and number. */
  workspace_id: string
  created_at: string
  enabled: boolean
  schedule: Timing
  action: ScheduledAction
  overlap: (typeof OVERLAPS)[number]
  catch_up: (typeof CATCH_UPS)[number]
  catch_up_window_secs: number
  timeout_secs: number
  jitter: boolean
  max_runs?: number
  model?: string
  mode: Mode
}

export type RunStatus = 'running' | 'success' | 'failed' | 'timed_out' | 'cancelled' | 'interrupted'
/** Base time that runs as soon as possible: a retry, a queued run, or a missed run. */
export interface PendingRun {
  base: string
  attempt: 1 | 2
}
/** State of a schedule, saved in a file of its own. Instants as above; `null`: no further time. */
export interface TaskState {
  v: 1
  /** Next time of the expression, and that time with its jitter. */
  next_base_run_at: string | null
  next_run_at: string | null
  /** Pending runs. State files and JSON results use this key. */
  owed: PendingRun[]
  last_run_at?: string
  run_count: number
  consecutive_failures: number
  last_status?: RunStatus
  last_run_dir?: string
  /** Reason why the program paused the schedule. */
  paused?: string
}

/** Returns a state with other pending runs. */
export const withPending = (state: Omit<TaskState, 'owed'>, pending: PendingRun[]): TaskState => ({
  ...state,
  owed: pending,
})
