export type ChildState = 'queued' | 'running' | 'completed' | 'failed' | 'closed'
/** A part of the work that a conversation delegated to an agent, with a session of its own. Times are ISO 8601. */
export interface ChildStatus {
  id: string
  session_id: string
  thread_id: string
  agent: string
  label: string
  /** The start of its first message, on one line. */
  about: string
  status: ChildState
  /** The number of conversations above it. */
  depth: number
  background: boolean
  /** `worktree`: the agent works on a copy of the files. */
  isolation: 'shared' | 'worktree'
  /** Workspace-relative path of the copy, while the copy exists. */
  worktree?: string
  /** Globs of the paths that only this agent writes. */
  write_paths?: string[]
  created_at: string
  completed_at?: string
  /** The first lines of its report. */
  summary?: string
  error?: { code: string; message: string }
  /** In USD; `null`: unknown. */
  cost_usd: number | null
  /** Workspace-relative. */
  transcript_path: string
  changed_files?: string[]
}
/** The unchecked report of an agent about its part. */
export interface ChildReport {
  summary: string
  facts?: string[]
  touched_files?: string[]
  verification?: string[]
  open_questions?: string[]
}
export interface GroundedFact {
  fact: string
  source: string
}
