import type { Mode } from '../../../core/shapes/index.js'

/** When something is due. Instants are ISO 8601 in UTC with milliseconds. */
export type Timing =
  /** Five fields or a nickname, read in the time zone `tz` (IANA). */
  | { type: 'cron5'; expression: string; tz: string }
  /** Each so many seconds after the anchor, at least 60. */
  | { type: 'fixed_interval'; seconds: number; anchor: string }
  | { type: 'one_shot'; at: string }
export type ScheduledAction =
  | { kind: 'prompt'; prompt: string; verify?: string[]; max_budget_usd?: number }
  | { kind: 'reminder'; message: string }
/** What becomes of a due time while an earlier run goes on. */
export const overlaps = ['skip', 'queue', 'cancel_previous', 'allow'] as const
/** What becomes of due times that nobody served. */
export const catchUps = ['one', 'none', 'all'] as const

/** A file below `scheduled_tasks/tasks/`: `manifests/schema/schedule_task.1.json`. */
export interface ScheduledTask {
  v: 1
  /** 8 hexadecimal digits. */
  id: string
  name: string
  workspace: string
  /** Which folder that was: its real path, device and number. */
  workspace_id: string
  created_at: string
  enabled: boolean
  schedule: Timing
  action: ScheduledAction
  overlap: (typeof overlaps)[number]
  catch_up: (typeof catchUps)[number]
  catch_up_window_secs: number
  timeout_secs: number
  jitter: boolean
  max_runs?: number
  model?: string
  mode: Mode
}

export type RunStatus = 'running' | 'success' | 'failed' | 'timed_out' | 'cancelled' | 'interrupted'
/** A base time that is to be run as soon as it may: a retry, what waits for an earlier run, what is caught up on. */
export interface OwedRun {
  base: string
  attempt: 1 | 2
}
/** What is known of a schedule beside its file. Instants as there; `null`: there is none any more. */
export interface TaskState {
  v: 1
  /** The next time that the expression names, and that with its jitter. */
  next_base_run_at: string | null
  next_run_at: string | null
  owed: OwedRun[]
  last_run_at?: string
  run_count: number
  consecutive_failures: number
  last_status?: RunStatus
  last_run_dir?: string
  /** Why it was paused by itself. */
  paused?: string
}
