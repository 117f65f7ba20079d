import type { GroundedFact } from './delegation_types.js'

export type TaskStatus = 'pending' | 'in_progress' | 'completed' | 'blocked'
/** A step of a task; every text is one line without spaces around it. */
export interface TrackerItem {
  description: string
  status: TaskStatus
  files?: string[]
  outcome?: string
  /** Commands that prove it. */
  verify?: string[]
}
/** The steps of the task under way. */
export interface Tracker {
  title: string
  items: TrackerItem[]
  notes?: string
}
/** A command of a verification that ran to its end. */
export interface ProofRun {
  command: string
  exit_code: number | null
  timed_out: boolean
  duration_ms: number
  /** SHA-256 of what it printed, times left out, in hex. */
  digest: string
}
/** A file as it was; `null`: there was none. */
export interface FileHash {
  path: string
  /** In hex. */
  sha256: string | null
}
export type VerificationResult = 'passed' | 'failed' | 'not_run'
/** What a session remembers of its task. */
export interface TaskMemory {
  task_summary?: string
  spec_summary?: string
  evaluation_summary?: string
  verification_summary?: string
  constraints?: string[]
  /** Commands that have to pass and have not, since the last change; then what agents say they checked. */
  verification_todo?: string[]
  /** Files that agents changed, or say that they did. */
  touched_files?: string[]
  /** What agents reported, not checked. */
  grounded_facts?: GroundedFact[]
  open_questions?: string[]
  delegation_notes?: string[]
}
/** How far a run is with a goal of a person, since it was set. */
export interface GoalProgress {
  turns: number
  /** In USD; `null`: nobody knows. */
  cost_usd: number | null
  /** What the commands came to last. */
  verification?: Verification
}
/** What the last verification of a run came to, command by command. */
export interface Verification {
  result: VerificationResult | 'none'
  commands: readonly ProofRun[]
}
