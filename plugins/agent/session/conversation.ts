import type { Mode, PreparedCall, Result, RightsScope, ToolInfo } from '../../../core/shapes/index.js'
import type { Approval, ApprovalAnswer, CallOptions, Kernel, ToolsOptions } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import type { FileSnapshots } from '../../lib/snapshots/index.js'
import type {
  AgentProviders,
  AgentSettings,
  Approve,
  CallPart,
  CompactTrigger,
  Fact,
  HarnessEvent,
  PrefixReport,
  RequestDigest,
  ResetTrigger,
  Store,
  TaskMemory,
  ThreadItem,
  TokenBreakdown,
  ReminderKind,
  Usage,
} from '../base/index.js'
import type { Events } from '../events/index.js'
import type { ModelAnswer, ModelConnection, ModelRequest } from '../model/index.js'
import type { Queue } from './queue.js'
import type { ConversationState } from './state.js'

/**
 * One conversation, with the members that the rooms of the agent need. Only `thread.ts` builds it. Parts that higher
 * rooms implement are declared here as interfaces.
 */
export interface Conversation {
  readonly kernel: Kernel
  readonly workspace: Workspace
  readonly providers: AgentProviders
  readonly settings: AgentSettings
  readonly session_id: string
  readonly thread_id: string
  /** The surface of the calls, for the record. */
  readonly surface: string
  readonly newId: (prefix: 'ses' | 'th' | 'tn' | 'it' | 'seg' | 'h') => string

  /** The mode of all calls from now on. */
  readonly mode: Mode
  /** The rights of all calls, in addition to the limits of the kernel. */
  readonly only: RightsScope | undefined
  /** The model in use; another one after a fallback. */
  connection: ModelConnection
  readonly store: Store
  readonly events: Events
  readonly queue: Queue
  readonly state: ConversationState
  readonly snapshots: FileSnapshots
  readonly context: ConversationContext
  readonly lifecycle: ConversationHooks
  readonly approvals: ConversationApprovals

  /**
   * Returns the part of the system prompt after the instructions: the spec and contract of the current task, if any.
   */
  describeTask(): Promise<string>
  /** Lists the tools that the model may use. */
  readonly tools: (how?: Pick<ToolsOptions, 'lean' | 'only'>) => ToolInfo[]
  /** Makes a call with the rights of this conversation. All tool calls of the agent go through this method. */
  perform(name: string, input: unknown, how: HowCalled): Promise<Result>
  /**
   * Writes a fact to the journal, then applies it to `state`. Facts that must be durable first are flushed to disk.
   * Throws VT_SESSION_WRITE.
   */
  commit(fact: Fact): Promise<void>
  /** Adds a message of the harness on a subject to the conversation and its events. */
  inject(text: string, origin?: 'harness' | 'instructions', tells?: ReminderKind): Promise<void>
  /** Shows a notice to the person without ending anything. */
  remark(code: string, message: string): Promise<void>
  /** Collects the facts of all rooms about the task, for its memory. */
  collectMemory(): TaskMemory
  /** Records an event of the harness. */
  harness(event: HarnessEvent, fields?: Omit<ThreadItem & { type: 'harness' }, 'id' | 'type' | 'event'>): Promise<void>
}

/** `call_id`: the id of the model's request; `prepared`: the resolution of the call if it exists. */
export interface HowCalled extends Pick<CallOptions, 'signal' | 'approve' | 'ask' | 'onProgress'> {
  call_id?: string
  prepared?: PreparedCall | undefined
}

/** The context window: the part of the conversation that the model reads. */
export interface ConversationContext {
  /** Returns the next request to the model, with every tool of the current segment. */
  request(): Promise<ModelRequest>
  /** Records the server's token counts for an answer that is about to join the conversation. */
  recordAnswer(accepted: ModelAnswer): void
  /** Compares a request with the one before; `complete` adds the price from the usage of its answer. */
  readonly prefix: {
    measure(request: ModelRequest, model: ModelConnection['model'], now: number): PrefixReport
    complete(report: PrefixReport, model: ModelConnection['model'], usage: Usage, now: number): PrefixReport
  }
  /** The last request as digests, so that a replay can compare it. Read it once for each answer. */
  readonly sent: { request?: RequestDigest }
  /** Returns the token counts by part for the turn that begins. */
  breakdown(): Promise<TokenBreakdown>
  /** Shortens the conversation if it is about to be too long; before the `first` step of a turn the limit is lower. */
  makeRoom(first: boolean, signal: AbortSignal): Promise<void>
  /** Shortens the conversation after the server rejected its length; `false` if this turn already tried that. */
  recover(signal: AbortSignal): Promise<boolean>
  /** Shortens the conversation for another model that continues it. */
  handleModelSwitch(signal: AbortSignal): Promise<void>
  /** Restarts the conversation with its memory, `texts` and the input of the current turn. */
  reset(trigger: ResetTrigger, texts: readonly string[]): Promise<void>
  /** Adds the instructions of the folders that the calls of a step used, once each. */
  showNested(calls: readonly CallPart[]): Promise<void>
}

/** The lifecycle hooks of the user, for rooms other than the loop. */
export interface ConversationHooks {
  /** Returns `false` if a hook forbids shortening the conversation. */
  canCompact(trigger: CompactTrigger, signal: AbortSignal): Promise<boolean>
  handleCompaction(trigger: CompactTrigger, signal: AbortSignal): Promise<void>
  /** Adds the notes of earlier hooks to the open turn. */
  addNotes(): Promise<void>
  /** Returns what a hook wants done after the model has finished. */
  checkStop(last_assistant_message: string, signal: AbortSignal): Promise<string | undefined>
}

/** Answers questions about calls. */
export interface ConversationApprovals {
  /** A person or program can answer. */
  readonly canAsk: boolean
  /** Returns whether the call was pending when the last process ended. */
  isPending(call_id: string): Promise<boolean>
  /** Removes the questions of a call that is not made again. */
  withdraw(call_id: string): Promise<void>
  ask(call: CallPart, request: Approval, signal: AbortSignal): Promise<ApprovalAnswer>
  /** Asks on behalf of a delegated agent. */
  relay(approve: Approve, request: Approval): Promise<ApprovalAnswer>
}
