import type { Effect, JsonObject, Mode } from '../../../core/shapes/index.js'
import type { GroundedFact } from './delegation_types.js'
import type { Verification } from './finish_types.js'

export type MessageOrigin = 'prompt' | 'queue' | 'schedule' | 'harness' | 'parent' | 'instructions'
/** The metadata of a provider, such as signatures. It returns unchanged to that provider only. */
interface ProviderNotes {
  meta?: JsonObject
  /** Name of the provider. */
  from?: string
}
export interface TextPart extends ProviderNotes {
  type: 'text'
  text: string
}
/**
 * An image of a conversation: its name and the digest of its bytes. The bytes are stored with the journal, by digest.
 */
export interface ImageRef {
  name: string
  mime_type: string
  width: number
  height: number
  bytes: number
  sha256: string
}
export interface ImagePart {
  type: 'image'
  image: ImageRef
}
/** The reasoning of a model. */
export interface ReasoningPart extends ProviderNotes {
  type: 'reasoning'
  text: string
}
/** `call_id` is unique in the thread; `tool_call_id` comes from the provider and may repeat. */
export interface CallPart extends ProviderNotes {
  type: 'tool_call'
  call_id: string
  tool_call_id: string
  name: string
  /** The parsed arguments, or their text if they could not be parsed. */
  input: unknown
  /** The error of arguments that cannot be used; it is the result of the call. */
  fault?: { code: string; message: string; hint: string }
}
export interface ResultPart {
  type: 'tool_result'
  call_id: string
  tool_call_id: string
  name: string
  text: string
  is_error: boolean
  spool_path?: string
  images?: ImageRef[]
  /** Files that the call changed, if known. */
  changed?: string[]
}
export type MessagePart = TextPart | ImagePart | ReasoningPart | CallPart | ResultPart
export interface Msg {
  role: 'user' | 'assistant' | 'tool'
  parts: MessagePart[]
  origin?: MessageOrigin
  intent_id?: string
}

/** `input_tokens` is the total, cached ones included. */
export interface Usage {
  input_tokens: number
  cached_input_tokens: number
  cache_creation_tokens: number
  output_tokens: number
  reasoning_tokens?: number
  estimated?: true
}
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter'

/** A refused change: its tool, its paths or its command on one line, and the code of the refusal. */
export interface NotApplied {
  tool: string
  target: string
  code: string
}
/** A refused change with the next action; `by`: a person denied it, and the model knows. */
export interface RefusedChange extends NotApplied {
  next?: string
  by?: 'person'
}
export type RevertScope = 'conversation' | 'code' | 'both'
/** The summary of a conversation, made when it is compacted. */
export interface Summary {
  goal: string
  constraints: string[]
  done: string[]
  in_progress: string[]
  blocked: string[]
  decisions: string[]
  next_steps: string[]
  facts: GroundedFact[]
  open_questions: string[]
  critical_context: string
}
export type ItemStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'discarded'
export type ThreadItem =
  | { id: string; type: 'user_message'; text: string; origin: MessageOrigin; intent_id?: string }
  | { id: string; type: 'agent_message'; text: string; status: ItemStatus }
  /** A plan that is shown to a person, as Markdown. */
  | { id: string; type: 'plan'; text: string; status: ItemStatus }
  | { id: string; type: 'reasoning'; text: string; status: ItemStatus }
  | {
      id: string
      type: 'tool_invocation'
      tool_name: string
      arguments?: unknown
      tool_call_id?: string
      call_id: string
      status: ItemStatus
      outcome?: CallOutcome
      effects: readonly Effect[]
      executor?: string
      /** Present if the harness made the call, not the model. */
      origin?: 'harness'
    }
  | {
      id: string
      type: 'tool_output'
      call_id: string
      tool_call_id?: string
      spool_path?: string
      output: string
      exit_code?: number
      status: ItemStatus
      is_error: boolean
      error_code?: string
      duration_ms: number
      bytes: number
    }
  | {
      id: string
      type: 'command_execution'
      command: string
      aggregated_output: string
      exit_code?: number
      status: ItemStatus
      call_id: string
    }
  | { id: string; type: 'file_change'; changes: FileChange[]; status: ItemStatus; call_id: string }
  | {
      id: string
      type: 'mcp_tool_call'
      tool_name: string
      arguments?: unknown
      result?: string
      status: 'completed' | 'failed'
    }
  | { id: string; type: 'web_search'; query: string; provider?: string; results?: JsonObject[] }
  | {
      id: string
      type: 'harness'
      event: HarnessEvent
      message?: string
      attempt?: number
      error_category?: string
      duration_ms?: number
      data?: JsonObject
    }
  /** A delegated part in a thread of its own; `trajectory_path`: its journal, workspace-relative. */
  | {
      id: string
      type: 'subagent'
      child_thread_id: string
      agent_name: string
      status: ItemStatus
      summary?: string
      trajectory_path?: string
    }
  | { id: string; type: 'error'; message: string; code: string }
/** An item that has no id yet. */
export type NewThreadItem = ThreadItem extends infer One ? (One extends ThreadItem ? Omit<One, 'id'> : never) : never
export type HarnessEvent =
  | 'model_retry'
  | 'model_fallback'
  | 'tool_retry_attempted'
  | 'context_cleared'
  | 'context_window_assumed'
  | 'server_unavailable'
  | 'instructions_unused'
  | 'limit_reached'
  | 'resumed'
  | 'continuation_started'
  | 'continuation_skipped'
  | 'verification_started'
  | 'verification_passed'
  | 'verification_failed'
  | 'blocked_handoff_written'
  | `planning_${'started' | 'completed'}`
  | `evaluation_${'started' | 'passed' | 'failed'}`
  | 'revision_started'
  | 'schedule_fired'
export type CallOutcome =
  | 'success'
  | 'error'
  | 'permission_rejected'
  | 'permission_cancelled'
  | 'followup'
  | 'hook_denied'
  | 'invalid_tool'
  | 'cancelled'
/** The beginning that a request has in common with the one before, which servers keep in a cache. */
export interface PrefixReport {
  /** Of the tools, the prompt and the messages. */
  bytes: number
  common_bytes: number
  /** The part that changed, or what changed it; `time`: the server had forgotten it. Absent if nothing broke it. */
  broken_by?: 'model' | 'tools' | 'prompt' | 'messages' | 'compaction' | 'cleared' | 'revert' | 'time'
  /** Bytes of the last request that this one repeats no more, their tokens, and what the cache would have saved. */
  lost_bytes?: number
  lost_tokens?: number
  lost_usd?: number
  /** Time since the last answer. */
  idle_ms?: number
}
export interface FileChange {
  path: string
  kind: 'add' | 'delete' | 'update'
  added_lines?: number
  removed_lines?: number
}

/** The tokens at the start of a turn; the cache counts are those of the previous answer. */
export interface TokenBreakdown {
  /** Without the instruction files. */
  system_prompt_tokens: number
  tool_schema_tokens: number
  instruction_file_tokens: number
  message_history_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  cache_miss_tokens: number
}
export interface TurnCounts {
  tool_loops: number
  tool_calls: number
  wall_ms: number
}
export type EventBody =
  | {
      type: 'thread.started'
      session_id: string
      model: string
      mode: Mode
      cwd: string
      version: string
      parent_thread_id?: string
    }
  | {
      type: 'thread.completed'
      session_id: string
      subtype: Subtype
      outcome_code: OutcomeCode
      result?: string
      stop_reason?: string
      usage: Usage
      total_cost_usd: number | null
      num_turns: number
      num_steps: number
      verified: boolean | null
      verification?: Verification
      /** The last changes that were requested and not made; at most 20. */
      not_applied?: NotApplied[]
    }
  | {
      type: 'segment.started'
      segment_id: string
      model: string
      reason: SegmentReason
      prompt_hash: string
      prompt_path: string
      catalog_hash: string
      catalog_path: string
    }
  | {
      type: 'thread.compact_boundary'
      trigger: CompactTrigger
      mode: 'provider' | 'local'
      original_message_count: number
      compacted_message_count: number
      history_artifact_path?: string
      previous_segment_id?: string
      new_segment_id?: string
      previous_prefix_hash?: string
      new_prefix_hash?: string
      previous_catalog_hash?: string
      new_catalog_hash?: string
      tokens_before: number
      tokens_after: number
      deduped_reads: number
    }
  | {
      type: 'context.reset'
      trigger: ResetTrigger
      plan_preserved: boolean
      previous_context_usage_percent: number
      tool_budget_reset: boolean
    }
  | { type: 'plan.approval.requested'; plan_file: string }
  | {
      type: 'plan.approval.resolved'
      decision: 'execute' | 'auto_accept' | 'fresh_context' | 'revise' | 'cancel'
      automatic: boolean
    }
  | { type: 'turn.started'; turn_number: number; token_breakdown?: TokenBreakdown }
  | { type: 'turn.completed'; usage: Usage; cost_usd: number | null; limits: TurnCounts }
  | { type: 'turn.failed'; message: string; usage?: Usage; code: string }
  | { type: 'item.started' | 'item.updated' | 'item.completed'; item: ThreadItem }
  | {
      type: 'step.completed'
      step: number
      model: string
      finish_reason: FinishReason
      usage: Usage
      cost_usd: number | null
      ttft_ms: number
      duration_ms: number
      attempts: number
      item_ids: string[]
      /** Compared with the request before; absent for a request outside of the conversation. */
      prefix?: PrefixReport
      /** Present for a request outside of the conversation; `step` is the last one of the conversation. */
      purpose?: 'plan' | 'evaluate' | 'review'
    }
  | { type: 'permission.requested'; tool_name: string; call_id: string; reason: string; policy: string }
  | {
      type: 'permission.resolved'
      tool_name: string
      call_id: string
      decision: 'allow' | 'deny' | 'cancelled' | 'followup'
      scope?: 'once' | 'session' | 'always'
      wait_ms: number
    }
  | {
      type: 'interjected'
      source: 'direct' | 'queue'
      image_count: number
      redirect_kind: 'interjection'
      intent_id?: string
    }
  | { type: 'error'; message: string; code: string }
export type ThreadEvent = EventBody & { seq: number; ts: string; thread_id: string; turn_id?: string }
/** The reasons to restart a conversation with its memory. */
export type ResetTrigger = 'plan_approval' | 'stall' | 'compaction'
export type SegmentReason = 'start' | 'compaction' | 'reset' | 'instructions' | 'catalog' | 'model_switch' | 'mode'
export type CompactTrigger = 'manual' | 'auto' | 'recovery' | 'model_switch'

export type OutcomeCode =
  | 'success'
  | 'turn_limit_reached'
  | 'budget_limit_reached'
  | 'tool_loop_limit_reached'
  | 'loop_detected'
  | 'stopped_no_action'
  | 'verification_failed'
  | 'handed_off'
  | 'escalated'
  | 'failed'
  | 'cancelled'
  | 'unknown'
export type Subtype = 'success' | 'error_during_execution' | 'error_max_turns' | 'error_max_budget_usd' | 'cancelled'
/** The end of a run. */
export interface RunOutcome {
  session_id: string
  outcome_code: OutcomeCode
  subtype: Subtype
  /** The exit code of a process with one run. */
  exit_code: number
  /** The last text of the agent. */
  text: string
  usage: Usage
  total_cost_usd: number | null
  num_turns: number
  /** The number of answers of a model. */
  num_requests: number
  /** The result of the verification; `null` if the run had none. */
  verified: boolean | null
  verification?: Verification
  /** The last changes that were requested and not made; at most 20. */
  not_applied?: NotApplied[]
  error?: { code: string; message: string; hint: string }
}
