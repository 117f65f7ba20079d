import type { Effect, JsonObject } from '../../../core/shapes/index.js'
import type {
  CallOutcome,
  FileChange,
  FinishReason,
  ItemStatus,
  NotApplied,
  OutcomeCode,
  Subtype,
  PrefixReport,
  TokenBreakdown,
  Usage,
  Verification,
} from '../base/index.js'

/**
 * A whole thread, made by `reduce` from its events. Times are RFC 3339 UTC, `*_ms` milliseconds; `cost_usd` is `null`
 * if a price is unknown.
 */
export interface TracedRun {
  head: RunHead
  /** In order; entries between two turns come first in the later one. */
  turns: TurnRecord[]
  totals: RunTotals
}
export interface RunHead {
  session_id: string
  thread_id: string
  parent_thread_id?: string
  /** The model of the first run. */
  model: string
  mode: string
  cwd: string
  /** The version of the program that wrote the log. */
  version: string
  started_at: string
}
/** Sums over the whole log. */
export interface RunTotals {
  /** The number of runs: a resumed session runs again. */
  runs: number
  turns: number
  steps: number
  calls: number
  failed_calls: number
  usage: Usage
  cost_usd: number | null
  files: FileChange[]
  ended_at: string
  /** The end of the last run; absent if the log breaks off. */
  end?: TracedEnd
  /** Events of an unknown type, as in logs of later versions. */
  unknown_events: number
}
export interface TracedEnd {
  at: string
  outcome_code: OutcomeCode
  subtype: Subtype
  result?: string
  stop_reason?: string
  verified: boolean | null
  verification?: Verification
  not_applied?: NotApplied[]
}
export interface TurnRecord {
  turn_id: string
  number: number
  started_at: string
  /** `open` if the log breaks off. */
  status: 'completed' | 'failed' | 'open'
  ended_at: string
  code?: string
  message?: string
  usage?: Usage
  cost_usd?: number | null
  breakdown?: TokenBreakdown
  entries: TurnEntry[]
}
export type TurnEntry = MessageEntry | StepRecord | OwnCallEntry | BoundaryEntry | SegmentEntry | ChildEntry | NoteEntry
/** A message of a person, a queue or the harness to the model. */
export interface MessageEntry {
  kind: 'message'
  at: string
  id: string
  origin: string
  text: string
}
/** One answer of the model and the calls it asked for. */
export interface StepRecord {
  kind: 'step'
  /** 1-based, in the whole log; `#step-<position>` of the page. */
  position: number
  /** The number of the step in its thread. */
  step: number
  /** The purpose of a request outside the conversation. */
  purpose?: string
  /** `cut`: the log or the turn ended before the step. */
  status: 'completed' | 'cut'
  model: string
  finish_reason?: FinishReason
  usage: Usage
  /** Compared with the request before. */
  prefix?: PrefixReport
  cost_usd: number | null
  ttft_ms: number
  /** Time of the model, without calls. */
  duration_ms: number
  attempts: number
  started_at: string
  ended_at: string
  texts: StepText[]
  calls: TracedCall[]
}
export interface StepText {
  id: string
  type: 'text' | 'reasoning' | 'plan'
  text: string
  status: ItemStatus
}
export interface TracedCall {
  call_id: string
  item_id: string
  tool_call_id?: string
  tool: string
  arguments?: unknown
  effects: readonly Effect[]
  executor?: string
  status: ItemStatus
  outcome?: CallOutcome
  started_at: string
  ended_at: string
  /** Run time as the program measured it, without the wait for a person. */
  duration_ms: number
  /** The output that the model read; absent if the call never ended. */
  output?: string
  bytes: number
  is_error: boolean
  error_code?: string
  exit_code?: number
  spool_path?: string
  command?: string
  changes?: FileChange[]
  asked?: { reason: string; policy: string }
  answered?: { decision: string; scope?: string; wait_ms: number }
}
/** A call of the harness, such as a verification. */
export interface OwnCallEntry {
  kind: 'own_call'
  at: string
  call: TracedCall
}
/** A place where part of the conversation left the context. */
export interface BoundaryEntry {
  kind: 'boundary'
  at: string
  what: 'compaction' | 'reset' | 'cleared'
  trigger: string
  tokens_before?: number
  tokens_after?: number
  messages_before?: number
  messages_after?: number
  history_path?: string
}
export interface SegmentEntry {
  kind: 'segment'
  at: string
  segment_id: string
  model: string
  reason: string
  prompt_path: string
  catalog_path: string
  catalog_hash: string
}
export interface ChildEntry {
  kind: 'child'
  at: string
  id: string
  thread_id: string
  name: string
  status: string
  summary?: string
}
/** An entry of another kind: a retry, limit, verification or error. */
export interface NoteEntry {
  kind: 'note'
  at: string
  id: string
  name: string
  text: string
  error: boolean
  data?: JsonObject
}

/** Finished pieces while events arrive, in order; a turn begins and ends around its entries. */
export type RunPiece =
  | { kind: 'run_start'; head: RunHead }
  | { kind: 'run_end'; end: TracedEnd }
  | { kind: 'turn_start'; turn: Pick<TurnRecord, 'turn_id' | 'number' | 'started_at' | 'breakdown'> }
  | {
      kind: 'turn_end'
      turn: Pick<TurnRecord, 'turn_id' | 'status' | 'ended_at' | 'code' | 'message' | 'usage' | 'cost_usd'>
    }
  | TurnEntry
