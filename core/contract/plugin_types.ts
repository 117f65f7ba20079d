import type {
  Asker,
  Call,
  CallTool,
  Client,
  Contribution,
  ContributionInfo,
  ConversationServices,
  Diagnostic,
  Effect,
  JsonObject,
  Mode,
  Next,
  PreparedCall,
  PromptArgument,
  Result,
  RightsLeft,
  Settings,
  SlotInfo,
  State,
  ToolInfo,
  Waits,
} from '../shapes/index.js'
import type { Origin } from '../config/index.js'
import type { Skill, Skills } from '../skills/index.js'
import type { Workspace } from '../workspace/index.js'

/** Where the commands of a call run: `usual` as the settings say, `strict` in the strict sandbox or not at all. */
export type SandboxUse = 'usual' | 'strict'
/**
 * The verdict of a policy on one call; there is no "allow". `hint`, `next` and `details` become those of the error; a denial may name
 * another code of the kernel's table than VT_POLICY_DENIED. A verdict with `sandbox` alone has no objection; only policies of vtcode itself
 * give one. The stricter of two counts, and the handler reads it as `context.sandbox`.
 */
export type Verdict = Objection | { sandbox: SandboxUse }
export type Objection = ({ deny: string; code?: string } | { ask: string }) & {
  sandbox?: SandboxUse | undefined
  hint?: string
  next?: Next
  details?: JsonObject
  /** Whose words the reason is, where it is not the program's own; of a plugin's policy the kernel says it. */
  by?: string
  /** With a question of ours: its reasons apart, each with its author. */
  asks?: readonly string[] | undefined
  /** With a denial: the input with which the call is issued once more, from its beginning. A second one in a row is a denial. */
  instead?: JsonObject
  /** With a question: what an answer may be remembered for. */
  lasting?: Lasting
}
export type Judged = 'run' | 'allowed' | 'asked' | 'denied'
/** What a person may agree to beyond one call. */
export interface Lasting {
  /** In words: nothing broader than this is remembered. */
  covers: string
  /** Contract: called once, after a yes, with how long it is meant for. */
  keep(scope: 'once' | 'session' | 'always'): void | Promise<void>
}

/** Contract: answers with a result, or declines with `undefined`; stops when `context.signal` aborts. A throw is a failure, never a fallback. */
export type Handler<Input = any, Output = JsonObject> = (
  call: Call<Input>,
  context: Context,
) => Result<Output> | undefined | Promise<Result<Output> | undefined>
/** Contract: no objection is `undefined`. A throw, nonsense or 5 s without an answer denies. */
export type Policy = (call: Call, context: Context) => Verdict | undefined | Promise<Verdict | undefined>
/**
 * A policy's module may also export `answer`: it is asked when the policies together come to a question, before a person is. A no of one
 * is a denial; a yes counts from what is not the workspace's. Contract: `undefined`, a throw or no answer in time leaves it to the person.
 */
export type Answerer = (request: Approval, context: Context) => Answer | undefined | Promise<Answer | undefined>
export type Answer = { deny: string } | { allow: 'once' | 'session' | 'always' }
/** Contract: keeps `ok` and `error.code`, never grows the result. A throw or 2 s without an answer is passed over with a notice. */
export type Compactor = (result: Result, call: Call, context: Context) => Result | Promise<Result>
/** Contract: turns one manifest that has the adapter's key into a handler. Called once a generation, at the first call of the slot; a throw is VT_PLUGIN_IMPORT. */
export interface Adapter<Made extends Handler | Policy | Compactor = Handler> {
  (contribution: Contribution, premises: AdapterContext): Made | Promise<Made>
  /**
   * With `expands` in its manifest: what those of its contributions that serve no slot bring, one contribution a slot; called while a
   * generation is built, once, with all of its kind. Contract: does not throw for one that is broken, but refuses it; a throw refuses the generation.
   */
  expand?(contributions: readonly Contribution[], premises: AdapterContext): Promise<Contribution[]>
  /** What a call with this input would do, without doing it and without what is secret: for self-tests and consent. Throws as the call would. */
  render?(contribution: Contribution, input: JsonObject, premises: AdapterContext, slot: SlotInfo): JsonObject
}
/** What an adapter stands on as long as the generation lives. */
export interface AdapterContext {
  /** The blocks that the adapter's manifest names; other blocks are absent. */
  readonly settings: Readonly<Settings>
  readonly workspace: string
  /** The `.vtcode` folder of the user. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly waits: Readonly<Waits>
  /** The folder where the plugin of a contribution may keep what it likes; it need not exist yet. */
  dataOf(contribution: Contribution): string
  /** The worst that the actions of its plugin may do: what they declare, and what belongs to the slots they serve. */
  rightsOf(contribution: Contribution): readonly Effect[]
  /** What the settings say under the options of a contribution. */
  optionsOf(contribution: Contribution): Readonly<JsonObject>
  /** Called once, when no call of the generation is left. Contract: must not reject. */
  onEnd(run: () => void | Promise<void>): void
  /** Somebody only looks at what is there: nothing of a plugin may be started to find out more. */
  readonly inspecting: boolean
  /**
   * Present where nobody waits for what has to be started to be known: the work is run when it is needed, and then the next generation is built.
   * Contract: the work must not reject. `quick` work starts nothing: who tells of tools has it done before.
   */
  later?(work: () => Promise<void>, quick?: boolean): void
  /** A failure outside a call, put down to a contribution. */
  report(contribution: Contribution, error: unknown): void
  /** Sets a contribution aside while the generation is built. */
  refuse(contribution: Contribution, state: State, error: Error): void
  /** A contribution that harmed its process too often: it is shown so until the next generation. */
  quarantine(contribution: Contribution, reason: string): void
  /** Something about a contribution that deserves a word while the generation is built. */
  remark(contribution: Contribution, error: Error): void
  /** Asks for a new generation, because what was expanded has changed. */
  renew(): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

export interface Context {
  /** Aborted by the caller, the time limit of the slot, or `close()`. */
  readonly signal: AbortSignal
  readonly plugin: {
    readonly name: string
    readonly root: string
    readonly data: string
    readonly options: Readonly<JsonObject>
  }
  /** The blocks that the manifest names under `settings`; other blocks are absent. */
  readonly settings: Readonly<Settings>
  /** The contract of the slot that is being called. */
  readonly slot: SlotInfo
  readonly workspace: Workspace
  readonly session: Session
  readonly host: Host
  /** Present when a call is only explained: a policy says what it went by, and starts nothing. */
  readonly explain: ((note: JsonObject) => void) | undefined
  /** What became of the call before its policies: `allowed` when a question was answered by yes. For compactors; absent where no policy was asked. */
  readonly judged: Judged | undefined
  /** Where the policies said that the commands of the call run; absent where no policy did. */
  readonly sandbox: SandboxUse | undefined
  /** What people took to answer so far, which is no time of the call. */
  readonly waited_ms: number
  /** Puts questions to the user; absent when nobody can be asked. */
  readonly ask: Asker | undefined
  /** The program at the other end of the connection; absent where none can be asked. */
  readonly client: Client | undefined
  /** An ordinary call of the same session and approver; depth at most 4. It has the rights of this call, or less where `how` says so. */
  readonly call: CallTool<[input: JsonObject, how?: LessRights], [how?: LessRights]>
  /** The services of the agent's conversation, for tools of its audience; absent for other tools. Throws VT_AGENT_NONE where the caller has none. */
  readonly conversation: ConversationServices | undefined
  /** Ten at once and ten a second, the rest is dropped; none after the result. */
  progress(update: Progress): void
  log(level: LogLevel, message: string): void
  /** Says that what is behind the URI of a resource is no longer what it was. */
  changed(uri: string): void
}
/** Fewer rights: a stricter mode, and what is left of the others. */
export interface LessRights {
  mode?: Mode
  only?: RightsLeft
}
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export interface Progress {
  text?: string
  done?: number
  total?: number
}
/** One series of calls that share reads, caps, errors and processes. */
export interface Session {
  readonly id: string
  /** State of this session under a key of the plugin's own, made on first use. */
  state<T>(key: string, make: () => T): T
  /** Contract: must not reject. Called once, when the session or the kernel closes. */
  onClose(run: () => void | Promise<void>): void
}
/** What a plugin may know of the program: never the kernel itself. */
export interface Host {
  /** The `.vtcode` folder of the user. */
  readonly home: string
  /** The environment that the kernel was given, where values of settings are looked up; `HOME` is what `~` stands for. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly waits: Readonly<Waits>
  /** What is shown to everybody, as far as `only` leaves it; to a call no more than is left to it. */
  slots(only?: readonly RightsLeft[]): SlotInfo[]
  /** Resolves a call, for `context.call` to take; nothing where it leads to no slot. Contract: never rejects. */
  resolve(tool: string, input?: unknown): Promise<PreparedCall | undefined>
  describe(tool: string): ToolInfo | undefined
  contributions(): ContributionInfo[]
  diagnostics(): Diagnostic[]
  origins(): Origin[]
  skills(how?: { fresh?: boolean }): Skills
  /**
   * Lets the manifests in the folder of a skill take part, in a new generation and until the last session that asked ends. Where the
   * user has to agree first, nothing changes.
   */
  bring(skill: Skill, session: Session): Promise<SkillActivation>
}
/** What became of the manifests of a skill. */
export interface SkillActivation {
  active: ContributionInfo[]
  /** What takes no part, each with its `state` and `reason`. */
  left: ContributionInfo[]
}
/** A resource or a prompt: a slot of its own (`resource/<name>`, `prompt/<name>`) that is called like any other and is no tool. */
export interface Offer {
  slot: string
  name: string
  title?: string
  description: string
  uri?: string
  template?: string
  mime_type?: string
  arguments?: readonly PromptArgument[]
}
/** Contract: what `argument` may be when it begins with `value`, best first; loads nothing heavy. A throw means no suggestion. */
export type Complete = (
  argument: string,
  value: string,
  place: { workspace: Workspace; host: Host; session: string },
) => string[] | Promise<string[]>

/** What a manifest of kind provider adds: data or a module that means something to a surface, nothing to the kernel. */
export interface Provider {
  readonly name: string
  readonly contribution: Contribution
  /** What the settings say under the options of its plugin. */
  readonly options: Readonly<JsonObject>
  /** Its module's default export. Throws VT_PLUGIN_IMPORT. */
  load(): Promise<(...args: any[]) => unknown>
}
/** What a person is asked about a call. */
export interface Approval {
  call: Call
  reasons: string[]
  /** The whole question as text, the same at every face: reasons with their authors, then what would be done. Nothing in it draws a line of its own. */
  question: string
  /** What a yes for the session or for always would cover; absent when it can only be given once. */
  covers?: string
}
