import type { RightsLeft } from '../../core/shapes/index.js'
import type { Kernel } from '../../core/contract/index.js'
import type { OpenWorkspace } from '../../core/workspace/index.js'
import { agentSettings, type AgentProviders, type AgentSettings, type RunLimits, type Store } from './base/index.js'
import { delegating, type ChildPlan, type DelegationState, type OpenChild } from './delegation/index.js'
import { finishPart, type FinishState } from './task/index.js'
import { type FinishOptions } from './finish/index.js'
import type { CostLedger } from './ledger/index.js'
import { refusedChanges, type RefusedChanges, type StartReason } from './loop/index.js'
import type { ModelConnection } from './model/index.js'
import { scheduling, type ScheduledState } from './schedule/index.js'
import { conversationTable, type ConversationState, type SessionManifest, type StateTable } from './session/index.js'
import { type Restored } from './history/index.js'

export type ThreadState = ConversationState & RefusedChanges & FinishState & ScheduledState & DelegationState
/** What the facts of all rooms make of a session. */
export const threadTable: StateTable<ThreadState> = conversationTable
  .with(refusedChanges)
  .with(finishPart)
  .with(scheduling)
  .with(delegating)

export interface ThreadOptions {
  kernel: Kernel
  workspace: OpenWorkspace
  providers: AgentProviders
  store: Store
  connection: ModelConnection
  session_id: string
  thread_id: string
  /** Face the calls come through, for the record. */
  surface: string
  limits?: RunLimits
  /** What is left of the rights of its calls. */
  only?: RightsLeft
  finish?: FinishOptions
  with_tools: boolean
  /** What the session was before. */
  restored?: Restored<ThreadState>
  start_reason: StartReason
  manifest?: SessionManifest
  /** Opens a thread that does a part of the work. */
  open_child: OpenChild
  /** Present where this is one. */
  child?: OwnPart
}
/** The part of somebody else's work that a thread does. */
export interface OwnPart {
  plan: ChildPlan
  /** Of the thread that gave it. */
  costs: CostLedger
}

/** The settings of a thread: those of the kernel, tighter where its run is, and where it does a part of the work, as that is given. */
export function settingsOf({ kernel, limits, child }: ThreadOptions): AgentSettings {
  const settings = agentSettings(kernel, limits)
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
