import type { Approve, ChildReport, ChildStatus, MessageOrigin, RunOutcome } from '../base/index.js'
import type { Worktree } from '../../lib/worktrees/index.js'
import type { PaidConversation } from '../ledger/index.js'
import type { DelegationState } from './state.js'
import type { AgentDefinition } from './find_agents.js'
import type { ChildRights } from './rights.js'

/** A conversation with its delegated parts. */
export interface DelegatingConversation extends PaidConversation {
  readonly state: PaidConversation['state'] & DelegationState
}
/** The plan of a delegated part, for its thread. */
export interface ChildPlan {
  session_id: string
  thread_id: string
  /** The part continues an earlier session. */
  resumes: boolean
  agent: AgentDefinition
  rights: ChildRights
  /** The number of conversations above: 1 below the conversation of a person. */
  depth: number
  /** The id of the model, if it differs from that of the parent. */
  model?: string
  max_answers?: number
  /** The worktree of the part; absent if the part works on the files of its parent. */
  tree?: Worktree
  /** Relays approvals to the approver of the parent. */
  approve?: Approve
  /** The beginning of its questions. */
  asker?: string
}
/** A queued or running part of this process. */
export interface LivePart {
  child: ChildStatus
  plan: ChildPlan
  texts: string[]
  timeout_secs: number
  /** Ends the run of the part. */
  cancel: AbortController
  item: string
  thread?: ChildThread
  ended: Promise<void>
  /** The reason, after a request to stop the part. */
  stopped?: string
}
/** The thread of a running part. */
export interface ChildThread {
  run(text: string, signal: AbortSignal): Promise<RunOutcome>
  say(text: string, interrupt: boolean): Promise<unknown>
  /** The report so far. */
  readonly report: ChildReport | undefined
  /** The last text of the model; empty if there is none. */
  readonly last_text: string
  readonly changed_files: readonly string[]
  /** The cost of all runs, in USD; `null`: unknown. */
  readonly cost_usd: number | null
  close(): Promise<void>
}
/** Opens the thread of a part. Rejects with the errors of opening a thread. */
export type OpenChild = (parent: DelegatingConversation, plan: ChildPlan) => Promise<ChildThread>
export interface PartRequest {
  message: string
  agent?: string
  label?: string
  write_paths?: string[]
  isolation?: 'shared' | 'worktree'
  background?: boolean
  model?: string
  max_turns?: number
  timeout_secs?: number
}
export interface StartOptions {
  /** The call that started the part. */
  call_id?: string | undefined
  timeout_secs?: number
}
/** The origin of messages to a part. */
export const partOrigin: MessageOrigin = 'parent'
