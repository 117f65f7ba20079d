import type { Mode, PreparedCall, Result, RightsLeft, ToolInfo } from '../../../core/shapes/index.js'
import type { Approval, Approved, CallOptions, Kernel } from '../../../core/contract/index.js'
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
  ResetTrigger,
  Store,
  TaskMemory,
  ThreadItem,
  TokenBreakdown,
  Told,
} from '../base/index.js'
import type { Events } from '../events/index.js'
import type { ModelAnswer, ModelConnection, ModelRequest } from '../model/index.js'
import type { Queue } from './queue.js'
import type { ConversationState } from './state.js'

/**
 * One conversation as the rooms of the agent see it. `thread.ts` alone builds it and knows the whole; the parts that stand in higher rooms
 * are declared below, by what others need of them.
 */
export interface Conversation {
  readonly kernel: Kernel
  readonly workspace: Workspace
  readonly providers: AgentProviders
  readonly settings: AgentSettings
  readonly session_id: string
  readonly thread_id: string
  /** Face the calls come through, for the record. */
  readonly surface: string
  readonly newId: (prefix: 'ses' | 'th' | 'tn' | 'it' | 'seg' | 'h') => string

  /** The mode of every call that is made from now on. */
  readonly mode: Mode
  /** What is left of the rights of every call, beside what the kernel leaves. */
  readonly only: RightsLeft | undefined
  /** The model that is asked; another one after a fallback. */
  connection: ModelConnection
  readonly store: Store
  readonly events: Events
  readonly queue: Queue
  readonly state: ConversationState
  readonly snapshots: FileSnapshots
  readonly context: ConversationContext
  readonly lifecycle: ConversationHooks
  readonly approvals: ConversationApprovals

  /** What the system prompt says behind the instructions: what the task under way is held to, if anything. */
  standing(): Promise<string>
  /** The tools that are left to the model. */
  readonly tools: (how?: { lean?: boolean }) => ToolInfo[]
  /** Makes a call with the rights of this conversation. Nothing in the agent calls a tool in any other way. */
  perform(name: string, input: unknown, how: HowCalled): Promise<Result>
  /** Writes a fact to the journal, then applies it to `state`; what has to be on disk before anything else happens is. Throws VT_SESSION_WRITE. */
  commit(fact: Fact): Promise<void>
  /** Adds a message that no person wrote to the conversation, and to its events; `tells`: what it is about. */
  inject(text: string, origin?: 'harness' | 'instructions', tells?: Told): Promise<void>
  /** Tells a person something that ends nothing. */
  remark(code: string, message: string): Promise<void>
  /** What the facts of all rooms say of the task, for its memory. */
  remembered(): TaskMemory
  /** Records an event of the harness. */
  harness(event: HarnessEvent, fields?: Omit<ThreadItem & { type: 'harness' }, 'id' | 'type' | 'event'>): Promise<void>
}

/** `call_id`: where the model asked for it; `prepared`: where the call is resolved already. */
export interface HowCalled extends Pick<CallOptions, 'signal' | 'approve' | 'ask' | 'onProgress'> {
  call_id?: string
  prepared?: PreparedCall | undefined
}

/** The context window: what the model reads of the conversation. */
export interface ConversationContext {
  /** What the model is asked next, with every tool of the segment in force. */
  request(): Promise<ModelRequest>
  /** Notes what the server counted for an answer that is about to join the conversation. */
  answered(accepted: ModelAnswer): void
  /** What the turn that begins is made of. */
  breakdown(): Promise<TokenBreakdown>
  /** Shortens the conversation where it is about to be too long; before the `first` step of a turn a little earlier. */
  makeRoom(first: boolean, signal: AbortSignal): Promise<void>
  /** Shortens the conversation after the server found it too long; `false` when that was tried in this turn already. */
  recover(signal: AbortSignal): Promise<boolean>
  /** Shortens the conversation where another model goes on with it. */
  switched(signal: AbortSignal): Promise<void>
  /** Begins the conversation anew with what matters of it, and with `texts`; what the turn under way began with stays. */
  reset(trigger: ResetTrigger, texts: readonly string[]): Promise<void>
  /** Adds the instructions of the folders that the calls of a step went to, once each. */
  showNested(calls: readonly CallPart[]): Promise<void>
}

/** The lifecycle hooks of the user, as far as rooms below and beside the loop fire them. */
export interface ConversationHooks {
  /** `false` when a hook forbids to shorten the conversation. */
  mayCompact(trigger: CompactTrigger, signal: AbortSignal): Promise<boolean>
  compacted(trigger: CompactTrigger, signal: AbortSignal): Promise<void>
  /** Adds to the open turn what hooks had to say before it. */
  sayNotes(): Promise<void>
  /** What is left to do in the eyes of a hook, when the model is done. */
  stop(last_assistant_message: string, signal: AbortSignal): Promise<string | undefined>
}

/** Whoever can allow a call. */
export interface ConversationApprovals {
  /** Somebody can be asked. */
  readonly possible: boolean
  /** Was a call still waiting for an answer when the last process ended? */
  waits(call_id: string): Promise<boolean>
  ask(call: CallPart, request: Approval, signal: AbortSignal): Promise<Approved>
  /** Asks what a part of the work that an agent does needs to know. */
  relay(approve: Approve, request: Approval): Promise<Approved>
}
