import type { Approve, ChildReport, ChildStatus, MessageOrigin, RunOutcome } from '../base/index.js'
import type { Worktree } from '../../lib/worktrees/index.js'
import type { PaidConversation } from '../ledger/index.js'
import type { DelegationState } from './state.js'
import type { AgentDefinition } from './find.js'
import type { ChildRights } from './rights.js'

/** A conversation with the parts of its work that agents have. */
export interface DelegatingConversation extends PaidConversation {
  readonly state: PaidConversation['state'] & DelegationState
}
/** What a thread needs to know of the part of the work that it does. */
export interface ChildPlan {
  session_id: string
  thread_id: string
  /** It was begun before, and goes on. */
  goes_on: boolean
  agent: AgentDefinition
  rights: ChildRights
  /** Its place: 1 below a conversation that a person began. */
  depth: number
  /** The id of a model, where it is not that of the parent. */
  model?: string
  max_answers?: number
  /** The copy of the files that it works on, where it does not work on those of its parent. */
  tree?: Worktree
  /** Asks whoever can allow a call of the parent. */
  approve?: Approve
  /** What its questions begin with. */
  asker?: string
}
/** A part under way or waiting, while this process has it. */
export interface LivePart {
  /** As it stands. */
  child: ChildStatus
  plan: ChildPlan
  texts: string[]
  timeout_secs: number
  /** Ends the run of the part. */
  cancel: AbortController
  item: string
  thread?: ChildThread
  ended: Promise<void>
  /** Somebody wants it to end, for this reason. */
  stopped?: string
}
/** A part of the work while it is under way. */
export interface ChildThread {
  run(text: string, signal: AbortSignal): Promise<RunOutcome>
  say(text: string, interrupt: boolean): Promise<unknown>
  /** What it reported, as far as it did. */
  readonly report: ChildReport | undefined
  /** The last text of its model; empty where there is none. */
  readonly said: string
  readonly changed_files: readonly string[]
  /** Of all its runs, in USD; `null`: nobody knows. */
  readonly cost_usd: number | null
  close(): Promise<void>
}
/** Opens the thread of a part. Rejects as whatever opens a thread does. */
export type OpenChild = (parent: DelegatingConversation, plan: ChildPlan) => Promise<ChildThread>
export interface GivenPart {
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
export interface HowBegun {
  /** The call that began it. */
  call_id?: string | undefined
  timeout_secs?: number
}
/** Where what a part is told comes from. */
export const partOrigin: MessageOrigin = 'parent'
