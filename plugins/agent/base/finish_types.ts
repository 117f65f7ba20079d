import type { GroundedFact } from './delegation_types.js'

export type TaskStatus = 'pending' | 'in_progress' | 'completed' | 'blocked'
/** A step of a task; every text is one line without spaces around it. */
export interface TrackerItem {
  description: string
  status: TaskStatus
  files?: string[]
  outcome?: string
  /** Commands that prove the step. */
  verify?: string[]
}
/** The steps of the current task. */
export interface Tracker {
  title: string
  items: TrackerItem[]
  notes?: string
}
/** A finished command of a verification. */
export interface ProofRun {
  command: string
  exit_code: number | null
  timed_out: boolean
  duration_ms: number
  /** SHA-256 of its output without times, in hex. */
  digest: string
}
/** The content of a file at one time; `sha256` is `null` if the file did not exist. */
export interface FileHash {
  path: string
  /** In hex. */
  sha256: string | null
}
export type VerificationResult = 'passed' | 'failed' | 'not_run'
/** The memory of a session about its task. */
export interface TaskMemory {
  task_summary?: string
  spec_summary?: string
  evaluation_summary?: string
  verification_summary?: string
  constraints?: string[]
  /** Commands that have not passed since the last change, then checks that agents report. */
  verification_todo?: string[]
  /** Files that agents changed or report as changed. */
  touched_files?: string[]
  /** Unchecked facts from the reports of agents. */
  grounded_facts?: GroundedFact[]
  open_questions?: string[]
  delegation_notes?: string[]
}
/** The progress of a run toward the goal, since the goal was set. */
export interface GoalProgress {
  turns: number
  /** In USD; `null`: unknown. */
  cost_usd: number | null
  /** The last verification. */
  verification?: Verification
}
/** The result of the last verification of a run, by command. */
export interface Verification {
  result: VerificationResult | 'none'
  commands: readonly ProofRun[]
}
