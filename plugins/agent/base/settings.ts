import type { Settings } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'

type AgentBlocks = Pick<Settings, 'context' | 'tools' | 'checkpoints' | 'telemetry' | 'subagents' | 'sessions'>
/** The settings of the agent, after the limits of the run. */
export interface AgentSettings extends AgentBlocks {
  /** Any text, because the definition of an agent may name an effort of its provider. */
  agent: Omit<Settings['agent'], 'reasoning_effort'> & { reasoning_effort?: string }
  harness: Settings['agent']['harness']
  automation: { full_auto: { max_turns: number } }
}

/** Limits of a run in addition to the settings; they can only be stricter. */
export interface RunLimits {
  max_turns?: number
  max_budget_usd?: number
}

export function resolveAgentSettings(kernel: Kernel, limits: RunLimits = {}): AgentSettings {
  const { agent, automation, ...rest } = kernel.settings
  const max_turns = pickLower(automation.full_auto.max_turns || Infinity, limits.max_turns || Infinity)
  const { dynamic } = rest.context
  const budget = pickLower(agent.harness.max_budget_usd ?? Infinity, limits.max_budget_usd ?? Infinity)
  return {
    ...rest,
    agent,
    context: { ...rest.context, dynamic: { ...dynamic, persist_history: dynamic.enabled && dynamic.persist_history } },
    automation: { full_auto: { max_turns: max_turns === Infinity ? 0 : max_turns } },
    harness: { ...agent.harness, ...(budget < Infinity && { max_budget_usd: budget }) },
  }
}

const pickLower = (a: number, b: number): number => Math.min(a, b)
