export type ChildState = 'queued' | 'running' | 'completed' | 'failed' | 'closed'
/** A part of the work that a conversation gave to an agent: a session of its own. Instants are ISO 8601. */
export interface ChildStatus {
  id: string
  session_id: string
  thread_id: string
  agent: string
  label: string
  /** What it was told first, in one short line. */
  about: string
  status: ChildState
  /** How many conversations are above it. */
  depth: number
  background: boolean
  /** `worktree`: it works on a copy of the files. */
  isolation: 'shared' | 'worktree'
  /** Workspace-relative: where the copy is, as long as it is there. */
  worktree?: string
  /** Globs of the paths that it alone writes. */
  write_paths?: string[]
  created_at: string
  completed_at?: string
  /** The first lines of its report. */
  summary?: string
  error?: { code: string; message: string }
  /** In USD; `null`: nobody knows. */
  cost_usd: number | null
  /** Workspace-relative. */
  transcript_path: string
  changed_files?: string[]
}
/** What an agent says of its part, which nobody has checked. */
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
