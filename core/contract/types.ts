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
  RightsLeft,
  Settings,
  SlotInfo,
  ToolInfo,
  Waits,
} from '../shapes/index.js'
import type { LazyAbort } from '../system/index.js'
import type { Config, Origin } from '../config/index.js'
import type { Skills } from '../skills/index.js'
import type { Approval, LogLevel, Offer, Progress, Provider, SandboxUse } from './plugin_types.js'

/** Contract: uses the kernel's public methods only; the number is the exit code. */
export type SurfaceMain = (kernel: Kernel, argv: string[], io: Io) => Promise<number>
export interface Io {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  /** The terminal behind stderr as it is, for what moves its cursor; every other stream makes controls visible. */
  screen?: NodeJS.WritableStream
  env: Record<string, string | undefined>
  /** Aborted by SIGINT, SIGTERM and SIGHUP. */
  signal: AbortSignal
  /** Says no more than what went wrong. */
  quiet?: boolean
  /**
   * From now on SIGINT calls this instead of aborting `signal`; without a handler it aborts again. The handler says whether something
   * ended by it: a second press within a second of that ends the program.
   */
  interrupts?: (handler: (() => boolean) | undefined) => void
  /** What the front of the verb has said before the rest of the program was there. */
  front?: unknown
  /** Where somebody may be typing: gives a question the terminal for itself. */
  alone?: <T>(ask: (io: Io) => Promise<T>) => Promise<T>
}
export interface CallOptions {
  signal?: AbortSignal
  /** The same without a signal that nobody looks at: making one and listening to it costs as much as a policy does. */
  cancel?: Pick<LazyAbort, 'aborted' | 'on' | 'signal'>
  /** Answers an "ask"; without it an ask is VT_POLICY_NEEDS_APPROVAL. Contract: a throw counts as no, `undefined` as no answer yet. */
  approve?: (request: Approval) => Approved | Promise<Approved>
  /** Puts questions of a tool to the user; without it a tool that asks says that nobody is there. */
  ask?: Asker
  /** Asks the client of a connection; without it `context.client` is absent. */
  client?: Client
  onProgress?: (update: Progress) => void
  /** What plugins log during the call. */
  onLog?: (level: LogLevel, message: string) => void
  /** Id of the session the call belongs to; default: the kernel's own. */
  session?: string
  /** The mode of this call and of those it makes, lowered to what the settings permit; default: the kernel's. */
  mode?: Mode
  /** What is left of the rights of this call and of those it makes: they have no more than this, the kernel and an outer call leave them. */
  only?: RightsLeft
  /** The audiences that the caller belongs to: their tools can be called. For this call only. */
  audiences?: readonly string[]
  /** Makes the services that tools of an audience get as `context.conversation`. For this call only. */
  conversation?: OpenConversation
  /** Texts name an action that only reads as `tools({ splitReads: true })` lists it. */
  splitReads?: boolean
  /** Commands run in a sandbox or not at all (`strict`), or without one unless the settings require it (`none`); default: as the settings say. */
  sandbox?: 'strict' | 'none'
  /** Face the call came through, for the record. */
  surface?: string
}
/**
 * A word, or the whole answer; a scope counts for what `covers` said, and `followup` is told to the caller as the user's words,
 * `unanswered` as why a no is nobody's.
 */
export type Approved =
  | boolean
  | undefined
  | {
      decision: 'allow' | 'deny' | 'cancel'
      scope?: 'once' | 'session' | 'always'
      followup?: string
      unanswered?: string
    }
/** What the policies say about a call that is not made. */
export interface Explanation {
  call?: { slot: string; alias?: string; input: JsonObject; effects: readonly Effect[] }
  /** What a slot that is served by data would do: the `argv` it would start, the `request` it would send. */
  would?: JsonObject
  mode: Mode
  verdict: 'run' | 'ask' | 'deny' | 'refused'
  /** Where its commands would run. */
  sandbox?: SandboxUse
  /** The policy whose word it is. */
  decided_by?: string
  reason?: string
  hint?: string
  chain: { policy: string; verdict: 'none' | 'ask' | 'deny'; reason?: string; notes: JsonObject[] }[]
}
export interface KernelOptions {
  /** Folder to work in; default: the nearest ancestor of the working folder with settings, `.vtcode` or `.git`. */
  workspace?: string
  /** Settings of the call layer: data, `a.b=value`, or the path of a settings file that stands instead of the workspace's; later ones win. */
  config?: Config | string | readonly (Config | string)[]
  mode?: Mode
  /** What is left of the rights of every call: each of them holds. Throws VT_POLICY_ONLY. */
  only?: readonly RightsLeft[]
  /** The mode when neither the settings nor `mode` say one. */
  default_mode?: Mode
  /** The verb that is run: its manifest may say which mode it works in. */
  verb?: string
  /** Vocabularies of tool names that are advertised; default: `unified`. Every name can be called in each of them. */
  dialects?: readonly string[]
  /** Stands for `~`; the user's settings and the trust store live in its `.vtcode` (or where VTCODE_HOME points). */
  home?: string
  /** Where settings, keys and secrets are looked up; default: that of the process, with which programs run in any case. */
  env?: Record<string, string | undefined>
  surface?: string
  log?: (level: string, message: string) => void
  /** Gives up what is being started for the first generation, such as a server that does not answer; the kernel comes without it. */
  signal?: AbortSignal
  /** Shorter waits than are shipped, for tests; nothing but this sets them. */
  waits?: Partial<Waits>
}
export interface Kernel {
  readonly workspace: string
  readonly settings: Readonly<Settings>
  /** Contract: never rejects. */
  readonly call: CallTool<[input?: unknown, options?: CallOptions], [options?: CallOptions]>
  /**
   * Resolves a call, for `call` and `explain` to take; nothing where it leads to no slot.
   * Contract: never rejects, asks no policy, runs nothing.
   */
  resolve(tool: string, input?: unknown): Promise<PreparedCall | undefined>
  /** What would come of a call: every policy is asked, nothing is done. Contract: never rejects. */
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
/** Which tools are listed, and how. */
export interface ToolsOptions {
  /** Adds the tools of this audience. */
  audience?: string
  /** Leaves out all other tools and actions. */
  only?: readonly string[]
  /** Leaves out what the manifest keeps for other modes. */
  mode?: Mode
  /** Shows what most calls need, and the way to the rest. */
  lean?: boolean
  /** Gives an action that only reads a name of its own where its tool also changes something. */
  splitReads?: boolean
}
/** The state of a kernel and the services of surfaces; calls need none of it. */
export interface KernelInspection {
  /** The `.vtcode` folder of the user. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What was moved aside among our own state in the workspace: its path and its new place. */
  readonly foreign: Map<string, string>
  /** Lifecycle event to groups of hooks: those of the settings and, after them, of plugins. */
  readonly hooks: Readonly<Record<string, readonly JsonObject[]>>
  readonly generation: number
  /** Returns the mode of a call that asks for this one: at most `policy.max_mode`; full-auto where the user enabled it. */
  resolveMode(asked?: Mode): Mode
  /** Renders a text that names tools as `{slot:tool/action}`. A sentence that names a tool which is not shown is left out. */
  renderText(text: string, reader?: Pick<ToolsOptions, 'splitReads'>): string
  contributions(): ContributionInfo[]
  /** Every plugin folder that was found, with those whose contents are not used. */
  plugins(): PluginFolder[]
  offers(kind: 'resource' | 'prompt'): Offer[]
  providers(): Provider[]
  /** At most 100 values for an argument of a prompt or a variable of a resource. Contract: never rejects. */
  complete(slot: string, argument: string, value: string, session?: string): Promise<string[]>
  origins(): Origin[]
  /** Found on first use; with `fresh` found again. */
  skills(how?: { fresh?: boolean }): Skills
  /** Starts what was left for later, such as servers, and builds the next generation with it. */
  loadDeferred(): Promise<void>
  /** Loads the surface with this verb. */
  loadSurface(verb: string): Promise<SurfaceMain | undefined>
  /** Loads every module that may run, or those of one plugin; failures are among the diagnostics. */
  loadModules(plugin?: string): Promise<Diagnostic[]>
  /** The files and folders whose change makes another generation. */
  watchedFiles(): readonly string[]
  /** Called after each successful reload; the return value stops it. */
  onReload(run: () => void): () => void
  /** Called with the URI of a resource that a plugin reports as changed. */
  onChange(run: (uri: string) => void): () => void
  /** Opens a kernel with the same options in another workspace, or in another mode; it is closed by itself. */
  openSibling(workspace: string, how?: Pick<KernelOptions, 'mode'>): Promise<Kernel>
}
