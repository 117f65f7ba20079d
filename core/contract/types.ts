import type {
  Asker,
  CallTool,
  Client,
  ContributionInfo,
  Diagnostic,
  Effect,
  JsonObject,
  Mode,
  OpenConversation,
  PluginFolder,
  PreparedCall,
  RightsScope,
  Settings,
  SlotInfo,
  ToolInfo,
  Timeouts,
} from '../shapes/index.js'
import type { ScriptJournal } from './inner_calls.js'
import type { LazyAbort } from '../system/index.js'
import type { Config, Origin } from '../config/index.js'
import type { Skills } from '../skills/index.js'
import type { Approval, LogLevel, Offer, Progress, Provider, SandboxUse, Session } from './plugin_types.js'

/** Contract: uses the kernel's public methods only; returns the exit code. */
export type SurfaceMain = (kernel: Kernel, argv: string[], io: Io) => Promise<number>
export interface Io {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  /** The unescaped terminal of stderr, for cursor movement; all other streams escape control characters. */
  screen?: NodeJS.WritableStream
  env: Record<string, string | undefined>
  /** Aborted by SIGINT, SIGTERM and SIGHUP. */
  signal: AbortSignal
  /** Prints only failures. */
  quiet?: boolean
  /**
   * Sets a handler for SIGINT, which then does not abort `signal`; `undefined` removes it. The handler returns whether
   * it cancelled something; if it did, another Ctrl-C within one second ends the program.
   */
  onInterrupt?: (handler: (() => boolean) | undefined) => void
  /** The result of the verb's front, which ran before the rest of the program was loaded. */
  front?: unknown
  /** Present where a person may be typing: gives a question the whole terminal. */
  withTerminal?: <T>(ask: (io: Io) => Promise<T>) => Promise<T>
}
export interface CallOptions {
  signal?: AbortSignal
  /** Replaces `signal`. Cheaper than `signal`, which needs a controller and a listener. */
  cancel?: Pick<LazyAbort, 'aborted' | 'on' | 'signal'>
  /**
   * Answers a verdict "ask"; without it, the call fails with VT_POLICY_NEEDS_APPROVAL. Contract: a throw means no,
   * `undefined` no answer yet.
   */
  approve?: (request: Approval) => ApprovalAnswer | Promise<ApprovalAnswer>
  /** Puts questions of a tool to the user; without it, such a tool reports that no user is there. */
  ask?: Asker
  /** Asks the client of a connection; without it, `context.client` is absent. */
  client?: Client
  onProgress?: (update: Progress) => void
  /** Receives messages that plugins log during the call. */
  onLog?: (level: LogLevel, message: string) => void
  /** Session of the call; default: the kernel's own. */
  session?: string
  /** Mode of this call and of those that it makes, lowered to the permitted one; default: the kernel's. */
  mode?: Mode
  /** Limits of this call and of those that it makes, in addition to those of the kernel and of outer calls. */
  only?: RightsScope
  /** Audiences of the caller: it can call their tools. For this call only. */
  audiences?: readonly string[] | undefined
  /** Creates the services that tools of an audience get as `context.conversation`. For this call only. */
  conversation?: OpenConversation
  /** Hints and next calls use the separate names of read-only actions, as in `tools({ splitReads: true })`. */
  splitReads?: boolean
  /**
   * Commands run in a sandbox or not at all (`strict`), or without one unless the settings require it (`none`);
   * default: as the settings say.
   */
  sandbox?: 'strict' | 'none'
  /** Surface of the call, for the record. */
  surface?: string
  /** Keeps the results and the values of scripts; without it, values live as long as the session. */
  scripts?: ScriptJournal
  /** The line of the script that makes the call; questions show it. For this call only. */
  origin?: string
}
/**
 * The answer to an approval: a boolean or an object. A scope is limited to `Approval.covers`; `followup` is reported to
 * the caller as the user's words, `unanswered` as the reason why no person answered.
 */
export type ApprovalAnswer =
  | boolean
  | undefined
  | {
      decision: 'allow' | 'deny' | 'cancel'
      scope?: 'once' | 'session' | 'always'
      followup?: string
      unanswered?: string
    }
/** The verdicts of the policies on a call that is not made. */
export interface Explanation {
  call?: { slot: string; alias?: string; input: JsonObject; effects: readonly Effect[] }
  /** Preview of a slot without a module: the `argv` to start, or the `request` to send. */
  would?: JsonObject
  mode: Mode
  /** `refused`: the call fails before any policy is asked, with `reason` and `hint`. */
  verdict: 'run' | 'ask' | 'deny' | 'refused'
  /** Sandbox of its commands. */
  sandbox?: SandboxUse
  /** Id of the deciding policy. */
  decided_by?: string
  reason?: string
  hint?: string
  chain: { policy: string; verdict: 'none' | 'ask' | 'deny'; reason?: string; notes: JsonObject[] }[]
}
export interface KernelOptions {
  /**
   * Folder of the workspace; default: the nearest ancestor of the working folder with settings, `.vtcode` or `.git`.
   */
  workspace?: string
  /**
   * Settings of the call layer: data, `a.b=value`, or the path of a settings file that replaces the workspace's; later
   * ones win.
   */
  config?: Config | string | readonly (Config | string)[]
  mode?: Mode
  /** Limits of every call: all of them apply. Throws VT_POLICY_ONLY. */
  only?: readonly RightsScope[]
  /** Mode if neither the settings nor `mode` give one. */
  default_mode?: Mode
  /** Verb of the run: its manifest may set the mode. */
  verb?: string
  /** Dialects of advertised tool names; default: `unified`. The names of every dialect can be called. */
  dialects?: readonly string[]
  /** Replaces `~`; the user's settings and the trust store are in its `.vtcode` (or in VTCODE_HOME). */
  home?: string
  /**
   * Environment for settings, keys and secrets; default: that of the process. Commands, hooks, tools and servers get
   * its PATH, HOME and locale. Git and ripgrep, when tools use them, run in the environment of the process.
   */
  env?: Record<string, string | undefined>
  surface?: string
  log?: (level: string, message: string) => void
  /**
   * Cancels pending starts of the first generation, such as a server that does not answer; the kernel opens without
   * them.
   */
  signal?: AbortSignal
  /** Shorter time limits, for tests; nothing else sets them. */
  timeouts?: Partial<Timeouts>
}
export interface Kernel {
  readonly workspace: string
  readonly settings: Readonly<Settings>
  /** Contract: never rejects. */
  readonly call: CallTool<[input?: unknown, options?: CallOptions], [options?: CallOptions]>
  /**
   * Resolves a call for `call` and `explain`; `undefined` if no slot matches. Contract: never rejects, asks no policy,
   * runs nothing.
   */
  resolve(tool: string, input?: unknown): Promise<PreparedCall | undefined>
  /** Explains a call: every policy is asked, nothing runs. Contract: never rejects. */
  explain(tool: string, input?: unknown, options?: CallOptions): Promise<Explanation>
  explain(call: PreparedCall, options?: CallOptions): Promise<Explanation>
  list(): SlotInfo[]
  describe(tool: string): ToolInfo | undefined
  tools(listing?: ToolsOptions): ToolInfo[]
  diagnostics(): Diagnostic[]
  /** Builds the next generation and swaps it in; calls in flight finish on theirs. */
  reload(): Promise<{ ok: boolean; generation: number; diagnostics: Diagnostic[] }>
  endSession(id: string): Promise<void>
  close(): Promise<void>
  readonly inspection: KernelInspection
}
/** The selection and form of a list of tools. */
export interface ToolsOptions {
  /** Adds the tools of this audience. */
  audience?: string
  /** Leaves out all other tools and actions. */
  only?: readonly string[]
  /** Leaves out tools that the manifest limits to other modes. */
  mode?: Mode
  /** Lists only lean tools with their usual fields, and how to find the rest. */
  lean?: boolean
  /** Lists a read-only action under its own name if its tool also changes something. */
  splitReads?: boolean
}
/** State of a kernel and services for surfaces; calls need none of it. */
export interface KernelInspection {
  /** The `.vtcode` folder of the user. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Files of `.vtcode` that were moved away: old path and new path. */
  readonly quarantined: Map<string, string>
  /** Lifecycle event to groups of hooks: those of the settings, then those of plugins. */
  readonly hooks: Readonly<Record<string, readonly JsonObject[]>>
  readonly generation: number
  /**
   * Returns the mode of a call that requests a mode: at most `policy.max_mode`; full-auto only where the user enabled
   * it.
   */
  resolveMode(requested?: Mode): Mode
  /** Renders a text that names tools as `{slot:tool/action}`. A sentence that names a hidden tool is left out. */
  renderText(text: string, reader?: Pick<ToolsOptions, 'splitReads'>): string
  contributions(): ContributionInfo[]
  /** Every plugin folder that was found, also unused ones. */
  plugins(): PluginFolder[]
  offers(kind: 'resource' | 'prompt'): Offer[]
  providers(): Provider[]
  jobEngines(): Provider[]
  /** Lists at most 100 values for an argument of a prompt or a variable of a resource. Contract: never rejects. */
  complete(slot: string, argument: string, value: string, session?: string): Promise<string[]>
  origins(): Origin[]
  /** Finds skills on first use, and again if `fresh` is true. */
  skills(how?: { fresh?: boolean }): Skills
  /** Runs deferred work, such as starting servers, and builds the next generation with the results. */
  loadDeferred(): Promise<void>
  /** Loads the surface with this verb. */
  loadSurface(verb: string): Promise<SurfaceMain | undefined>
  /** Loads every module that may run, or those of one plugin; the diagnostics contain the failures. */
  loadModules(plugin?: string): Promise<Diagnostic[]>
  /** Files and folders whose change leads to a new generation. */
  watchedFiles(): readonly string[]
  /** Returns an open session; nothing before its first call and after its end. */
  findSession(id: string): Session | undefined
  /** Calls `run` after each successful reload; the returned function stops it. */
  onReload(run: () => void): () => void
  /** Calls `run` with the URI of a resource that a plugin reports as changed. */
  onChange(run: (uri: string) => void): () => void
  /**
   * Opens a kernel with the same options in another workspace or mode, with `config` after those of the call layer; its
   * owner closes it.
   */
  openSibling(workspace: string, how?: { mode?: Mode; config?: Config }): Promise<Kernel>
}
