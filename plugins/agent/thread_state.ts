import type { RightsScope } from '../../core/shapes/index.js'
import type { Kernel } from '../../core/contract/index.js'
import type { OpenWorkspace } from '../../core/workspace/index.js'
import {
  resolveAgentSettings,
  type AgentProviders,
  type AgentSettings,
  type RunLimits,
  type Store,
} from './base/index.js'
import { delegationPart, type ChildPlan, type DelegationState, type OpenChild } from './delegation/index.js'
import { finishPart, type FinishState } from './task/index.js'
import { type FinishOptions } from './finish/index.js'
import type { CostLedger } from './ledger/index.js'
import { refusedChanges, type RefusedChanges, type StartReason } from './loop/index.js'
import type { ModelConnection } from './model/index.js'
import { scheduling, type ScheduledState } from './schedule/index.js'
import { conversationTable, type ConversationState, type SessionManifest, type StateTable } from './session/index.js'
import { type Restored } from './history/index.js'

export type ThreadState = ConversationState & RefusedChanges & FinishState & ScheduledState & DelegationState
/** The state of a session, from the facts of all rooms. */
export const threadTable: StateTable<ThreadState> = conversationTable
  .with(refusedChanges)
  .with(finishPart)
  .with(scheduling)
  .with(delegationPart)

export interface ThreadOptions {
  kernel: Kernel
  workspace: OpenWorkspace
  providers: AgentProviders
  store: Store
  connection: ModelConnection
  session_id: string
  thread_id: string
  /** The surface of the calls, for the record. */
  surface: string
  limits?: RunLimits
  reasoning_effort?: NonNullable<AgentSettings['agent']['reasoning_effort']>
  /** The limits of the rights of all calls. */
  only?: RightsScope
  finish?: FinishOptions
  with_tools: boolean
  /** The restored state of a resumed session. */
  restored?: Restored<ThreadState>
  start_reason: StartReason
  manifest?: SessionManifest
  /** Opens a thread for delegated work. */
  open_child: OpenChild
  /** Present for a thread of delegated work. */
  child?: OwnPart
}
/** Delegated work that a thread does. */
export interface OwnPart {
  plan: ChildPlan
  /** The costs of the parent. */
  costs: CostLedger
}

/** Resolves the settings of a thread: those of the kernel, tightened by the limits of the run and of delegated work. */
export function resolveThreadSettings({
  kernel,
  limits,
  child,
  reasoning_effort: wanted,
}: ThreadOptions): AgentSettings {
  const resolved = resolveAgentSettings(kernel, limits)
  const settings =
    wanted === undefined ? resolved : { ...resolved, agent: { ...resolved.agent, reasoning_effort: wanted } }
  if (!child) return settings
  const { agent, max_answers = Infinity } = child.plan
  const most = Math.min(settings.tools.max_tool_loops || Infinity, max_answers)
  const { reasoning_effort = settings.agent.reasoning_effort } = agent
  return {
    ...settings,
    agent: { ...settings.agent, ...(reasoning_effort !== undefined && { reasoning_effort }) },
    tools: { ...settings.tools, max_tool_loops: most === Infinity ? 0 : most },
  }
}
