import type { Kernel } from '../../../core/kernel/index.js'

/** The blocks of the settings that the agent reads, as the schema has filled them in; that schema documents them. */
export interface AgentSettings {
  agent: {
    model?: string
    small_model?: string
    planner_model?: string
    evaluator_model?: string
    fallback_models: string[]
    reasoning_effort?: string
    instruction_files: string[]
    project_doc_fallback_filenames: string[]
    instruction_max_bytes: number
    open_responses: { enabled: boolean }
  }
  harness: {
    max_tool_calls_per_turn: number
    max_tool_wall_clock_secs: number
    max_tool_retries: number
    max_parallel_tool_calls: number
    max_run_wall_clock_secs: number
    max_consecutive_blocked_tool_calls_per_turn: number
    max_budget_usd?: number
    allow_unpriced: boolean
    budget_warning_threshold: number
    auto_compaction_enabled: boolean
    auto_compaction_threshold_tokens?: number
    compact_on_model_switch: boolean
    tool_result_clearing: { enabled: boolean; trigger_tokens: number; keep_tool_uses: number; clear_at_least_tokens: number; clear_tool_inputs: boolean }
    event_log_path?: string
    continuation_policy: 'off' | 'exec_only' | 'all'
    context_reset_mode: 'off' | 'on_stall' | 'on_compaction'
    context_reset_stall_threshold: number
    verification: { required: 'auto' | 'always' | 'never'; timeout_secs: number; commands: string[] }
    orchestration_mode: 'single' | 'plan_build_evaluate' | 'planner_generator_evaluator'
    max_revision_rounds: number
    skeptic_panel: { enabled: boolean; models: string[] }
    async_approval: { enabled: boolean; timeout_secs: number; notify_command?: string[] }
  }
  context: { max_context_tokens: number; dynamic: { enabled: boolean; retained_user_messages: number; persist_history: boolean; spool_max_mb: number } }
  tools: { max_tool_loops: number; max_conversation_turns: number }
  automation: { full_auto: { max_turns: number } }
  checkpoints: { enabled: boolean }
  telemetry: { atif_enabled: boolean; otel_endpoint?: string }
  subagents: { enabled: boolean; max_concurrent: number; max_depth: number; max_total_per_run: number; default_timeout_secs: number }
  sessions: { max_count: number; max_age_days: number; max_total_mb: number }
}

/** What a run may be held to beyond the settings; nothing here widens them. */
export interface RunLimits {
  max_turns?: number
  max_budget_usd?: number
}

export function agentSettings(kernel: Kernel, limits: RunLimits = {}): AgentSettings {
  const { agent, automation, ...rest } = kernel.settings as unknown as Omit<AgentSettings, 'harness'> & { agent: { harness: AgentSettings['harness'] } }
  const max_turns = tighter(automation.full_auto.max_turns || Infinity, limits.max_turns || Infinity)
  const { dynamic } = rest.context
  const budget = tighter(agent.harness.max_budget_usd ?? Infinity, limits.max_budget_usd ?? Infinity)
  return {
    ...rest,
    agent,
    context: { ...rest.context, dynamic: { ...dynamic, persist_history: dynamic.enabled && dynamic.persist_history } },
    automation: { full_auto: { max_turns: max_turns === Infinity ? 0 : max_turns } },
    harness: { ...agent.harness, ...(budget < Infinity && { max_budget_usd: budget }) },
  }
}

const tighter = (a: number, b: number): number => Math.min(a, b)
