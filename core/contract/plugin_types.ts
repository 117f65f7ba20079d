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
  Next,
  PreparedCall,
  PromptArgument,
  Result,
  RightsScope,
  Settings,
  SlotInfo,
  State,
  ToolInfo,
  Timeouts,
} from '../shapes/index.js'
import type { DelegatedRights, ScriptJournal } from './inner_calls.js'
import type { Origin } from '../config/index.js'
import type { Skill, Skills } from '../skills/index.js'
import type { Workspace } from '../workspace/index.js'

/** The sandbox of the commands of a call: `usual` as the settings say, `strict` in the strict sandbox or not at all. */
export type SandboxUse = 'usual' | 'strict'
/**
 * The verdict of a policy on one call; there is no "allow". The error gets `hint`, `next` and `details`; a denial may
 * use another code of the kernel's table instead of VT_POLICY_DENIED. A verdict with only `sandbox` has no objection;
 * only built-in policies return one. The stricter of two applies, and the handler reads it as `context.sandbox`.
 */
export type Verdict = Objection | { sandbox: SandboxUse }
export type Objection = ({ deny: string; code?: string } | { ask: string }) & {
  sandbox?: SandboxUse | undefined
  hint?: string
  next?: Next
  details?: JsonObject
  /** The author of the reason, unless it is the program; the kernel sets the author of a plugin's policy. */
  by?: string
  /** With a question of a built-in policy: its single reasons, each with its author. */
  asks?: readonly string[] | undefined
  /** With a denial: the input with which the call starts again. A second such verdict in a row is a denial. */
  instead?: JsonObject
  /** With a question: the approvals that can be remembered. */
  lasting?: ApprovalMemory
}
export type PolicyOutcome = 'run' | 'allowed' | 'asked' | 'denied'
/** An approval that a person may give for more than one call. */
export interface ApprovalMemory {
  /** The extent in words; nothing broader is remembered. */
  covers: string
  /** Contract: called once, after an approval, with its scope. */
  keep(scope: 'once' | 'session' | 'always'): void | Promise<void>
}

/**
 * Contract: answers with a result, or declines with `undefined`; stops when `context.signal` aborts. A throw is a
 * failure and never leads to a fallback.
 */
export type Handler<Input = any, Output = JsonObject> = (
  call: Call<Input>,
  context: Context,
) => Result<Output> | undefined | Promise<Result<Output> | undefined>
/** Contract: returns `undefined` for no objection. A throw, an invalid verdict or 5 s without an answer denies. */
export type Policy = (call: Call, context: Context) => Verdict | undefined | Promise<Verdict | undefined>
/**
 * Exported as `answer` by the module of a policy: called when the policies together lead to a question, before a person
 * is asked. A denial of one counts; an approval counts only from plugins outside the workspace. Contract: `undefined`,
 * a throw or no answer in time leaves the question to the person.
 */
export type Answerer = (request: Approval, context: Context) => Answer | undefined | Promise<Answer | undefined>
export type Answer = { deny: string } | { allow: 'once' | 'session' | 'always' }
/**
 * Contract: keeps `ok` and `error.code`, and never grows the result. After a throw or 2 s without an answer, the
 * compactor is skipped with a notice.
 */
export type Compactor = (result: Result, call: Call, context: Context) => Result | Promise<Result>
/**
 * Contract: converts one manifest with the adapter's key to a handler. Called once a generation, at the first call of
 * the slot; a throw is VT_PLUGIN_IMPORT.
 */
export interface Adapter<Made extends Handler | Policy | Compactor = Handler> {
  (contribution: Contribution, premises: AdapterContext): Made | Promise<Made>
  /**
   * With `expands` in its manifest: returns the contributions that manifests without a slot provide, one a slot. Called
   * once with all manifests of its kind while a generation is built. Contract: excludes a broken manifest instead of
   * throwing; a throw refuses the generation.
   */
  expand?(contributions: readonly Contribution[], premises: AdapterContext): Promise<Contribution[]>
  /**
   * Returns the effect of a call with this input, without running it and without secrets: for self-tests and consent.
   * Throws as the call would.
   */
  render?(contribution: Contribution, input: JsonObject, premises: AdapterContext, slot: SlotInfo): JsonObject
}
/** The services of an adapter while its generation lives. */
export interface AdapterContext {
  /** Blocks of the settings that the adapter's manifest names; other blocks are absent. */
  readonly settings: Readonly<Settings>
  readonly workspace: string
  /** The `.vtcode` folder of the user. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeouts: Readonly<Timeouts>
  /** Returns the data folder of a contribution's plugin, which may not exist yet. */
  dataFolder(contribution: Contribution): string
  /** Lists the effects that an action may have: declared ones, and those of the slot that it serves. */
  listEffects(contribution: Contribution): readonly Effect[]
  /** Returns the options of a contribution from the settings. */
  resolveOptions(contribution: Contribution): Readonly<JsonObject>
  /** Called once, after the last call of the generation. Contract: must not reject. */
  onEnd(run: () => void | Promise<void>): void
  /** The kernel only inspects: no program of a plugin may be started. */
  readonly inspecting: boolean
  /**
   * Defers work that has to start something; the next generation is built after it. Absent where everything is loaded
   * at once. Contract: the work must not reject. `quick` work starts nothing: calls that list tools wait for it.
   */
  deferWork?(work: () => Promise<void>, quick?: boolean): void
  /** Reports a failure outside a call, for a contribution. */
  report(contribution: Contribution, error: unknown): void
  /** Excludes a contribution while the generation is built. */
  excludeContribution(contribution: Contribution, state: State, error: Error): void
  /** Excludes a contribution that crashed its process too often, until the next generation. */
  quarantine(contribution: Contribution, reason: string): void
  /** Reports a warning about a contribution while the generation is built. */
  addDiagnostic(contribution: Contribution, error: Error): void
  /** Requests a new generation, because the expanded contributions have changed. */
  requestReload(): void
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
  /** Contract of the called slot. */
  readonly slot: SlotInfo
  readonly workspace: Workspace
  readonly session: Session
  readonly host: Host
  /** Adds a note to an explanation. Present when a call is only explained: then a policy starts nothing. */
  readonly explain: ((note: JsonObject) => void) | undefined
  /**
   * The outcome of the policies: `allowed` when a person approved. For compactors; absent where no policy was asked.
   */
  readonly judged: PolicyOutcome | undefined
  /** The sandbox that the policies require for the commands of the call; absent without such a verdict. */
  readonly sandbox: SandboxUse | undefined
  /** Time that people took to answer so far, in milliseconds; no part of the call's time. */
  readonly waited_ms: number
  /** Puts questions to the user; absent when no user can be asked. */
  readonly ask: Asker | undefined
  /** The client of the connection; absent where none can be asked. */
  readonly client: Client | undefined
  /**
   * Makes a call with the same session and approver; depth at most 4. The call has the rights of this call, or fewer
   * with `how`.
   */
  readonly call: CallTool<[input: JsonObject, how?: DelegatedRights], [how?: DelegatedRights]>
  /**
   * Services of the agent's conversation, for tools of its audience; absent for other tools. Throws VT_AGENT_NONE where
   * the caller has none.
   */
  readonly conversation: ConversationServices | undefined
  /** Keeps what scripts leave. Only for built-in plugins, where the caller does. */
  readonly scripts: ScriptJournal | undefined
  /** Reports progress: at most ten at once and ten a second, further reports are dropped; none after the result. */
  progress(update: Progress): void
  log(level: LogLevel, message: string): void
  /** Reports that the content of a resource has changed. */
  changed(uri: string): void
}
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export interface Progress {
  text?: string
  done?: number
  total?: number
}
/** One series of calls with common reads, limits, errors and processes. */
export interface Session {
  readonly id: string
  /** Returns state of this session under a key of the plugin, created on first use. */
  state<T>(key: string, make: () => T): T
  /** Contract: must not reject. Called once, when the session or the kernel closes. */
  onClose(run: () => void | Promise<void>): void
}
/** The part of the program that plugins can use; never the kernel itself. */
export interface Host {
  /** The `.vtcode` folder of the user. */
  readonly home: string
  /** The environment of the kernel, for values of settings; `HOME` is the folder that `~` means. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeouts: Readonly<Timeouts>
  /** Lists the slots that every caller sees, as far as `only` permits; during a call, as far as its rights permit. */
  slots(only?: readonly RightsScope[]): SlotInfo[]
  /** Resolves a call for `context.call`; nothing if it leads to no slot. Contract: never rejects. */
  resolve(tool: string, input?: unknown): Promise<PreparedCall | undefined>
  describe(tool: string): ToolInfo | undefined
  contributions(): ContributionInfo[]
  diagnostics(): Diagnostic[]
  origins(): Origin[]
  skills(how?: { fresh?: boolean }): Skills
  /**
   * Adds the manifests in the folder of a skill, in a new generation, until the last session that asked ends. If
   * consent is missing, nothing changes.
   */
  activateSkill(skill: Skill, session: Session): Promise<SkillActivation>
}
/** The state of the manifests of a skill. */
export interface SkillActivation {
  active: ContributionInfo[]
  /** Manifests that are not active, each with its `state` and `reason`. */
  inactive: ContributionInfo[]
}
/**
 * A resource or a prompt: a slot of its own (`resource/<name>`, `prompt/<name>`), called like any other, and no tool.
 */
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
/**
 * Contract: returns values for `argument` that begin with `value`, best first; loads nothing heavy. A throw means no
 * suggestion.
 */
export type Complete = (
  argument: string,
  value: string,
  place: { workspace: Workspace; host: Host; session: string },
) => string[] | Promise<string[]>

/** A manifest of kind provider: data or a module for surfaces; the kernel does not use it. */
export interface Provider {
  readonly name: string
  readonly contribution: Contribution
  /** Options of its plugin from the settings. */
  readonly options: Readonly<JsonObject>
  /** Loads the default export of its module. Throws VT_PLUGIN_IMPORT. */
  load(): Promise<(...args: any[]) => unknown>
}
/** The question to a person about a call. */
export interface Approval {
  call: Call
  reasons: string[]
  /**
   * The whole question as text, equal for every surface: reasons with their authors, then the action. Texts of others
   * add no lines.
   */
  question: string
  /** The extent of an approval for the session or for always; absent when only one call can be approved. */
  covers?: string
}
