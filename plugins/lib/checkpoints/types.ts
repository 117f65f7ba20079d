/** The state of one entry. `mode` has the permission bits. A file without `sha256` has no kept content. */
export type EntryState =
  | { kind: 'file'; mode: number; bytes: number; sha256?: string }
  | { kind: 'link'; target: string }
  | { kind: 'directory'; mode: number }
  | { kind: 'special' }

/** Size in bytes, both times in milliseconds, inode and mode with type. Equal stamps mean an unchanged file. */
export type Stamp = [bytes: number, mtime_ms: number, ctime_ms: number, ino: number, mode: number]

/** The index has one for each path. Paths in a git folder outside the workspace are absolute. */
export interface IndexEntry {
  state: EntryState
  stamp: Stamp
}

/** Change of one path; `null` where nothing is. */
export interface StateChange {
  path: string
  before: EntryState | null
  after: EntryState | null
}

/** A part of the workspace that no checkpoint covers. */
export interface Uncovered {
  path: string
  bytes: number
  reason: string
}

/** A command whose changes can be reverted. */
export interface CommandRecord {
  id: string
  /** The call that ran it; `revert` for a revert. */
  call: string
  session: string
  command: string
  /** ISO 8601, when the command began. */
  time: string
  changes: StateChange[]
  /** Commands that ran at the same time, whose changes may be among these. */
  mixed: string[]
  /** False if the command began before all files were kept. */
  complete: boolean
  /** Set while a revert is being applied; the next session completes it. */
  unfinished?: true
}

export interface CheckpointLimits {
  max_mb: number
  days: number
  wait_ms: number
}

/** The command that a checkpoint is taken for. */
export type CheckpointSubject = Pick<CommandRecord, 'call' | 'session' | 'command'>

/** A checkpoint before a command that has not ended. */
export interface OpenCheckpoint {
  readonly id: string
  /** False if the command does not wait until all files are kept, or if they cannot be kept. */
  readonly complete: boolean
  /** Reason why nothing could be kept, such as a full disk. */
  readonly failure?: string
  /** Number of kept files. */
  readonly files: number
}

/** Options of a revert. */
export interface RevertOptions {
  select: (path: string) => boolean
  /** Replaces paths that somebody changed since. */
  force: boolean
  /** False to plan only. */
  apply: boolean
  session: string
}

export interface RestoreResult {
  /** The record of the revert. */
  id: string
  /** Paths that could not be restored. */
  skipped: { path: string; reason: string }[]
}
