import type {
  Asker, CallTool, Client, ContributionInfo, Diagnostic, Effect, JsonObject, LazyAbort, Mode, OpenConversation, PluginFolder, PreparedCall, RightsLeft, Settings, SlotInfo,
  ToolInfo, Waits,
} from '../base/index.js'
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
  /** The mode of this call and of those it makes, lowered to what `kernel.mode` permits; default: the kernel's. */
  mode?: Mode
  /** What is left of the rights of this call and of those it makes: they have no more than this, the kernel and an outer call leave them. */
  only?: RightsLeft
  /** The audiences that the caller belongs to: their tools can be called. For this call only. */
  audiences?: readonly string[]
  /** Makes the services that tools of an audience get as `context.conversation`. For this call only. */
  conversation?: OpenConversation
  /** Texts name an action that only reads by the name of its own that `tools({ apart: true })` lists. */
  apart?: boolean
  /** Commands run in a sandbox or not at all (`strict`), or without one unless the settings require it (`none`); default: as the settings say. */
  sandbox?: 'strict' | 'none'
  /** Face the call came through, for the record. */
  surface?: string
}
/**
 * A word, or the whole answer; a scope counts for what `covers` said, and `followup` is told to the caller as the user's words,
 * `unanswered` as why a no is nobody's.
 */
export type Approved = boolean | undefined | { decision: 'allow' | 'deny' | 'cancel'; scope?: 'once' | 'session' | 'always'; followup?: string; unanswered?: string }
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
  /** The `.vtcode` folder of the user. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What was put aside among our own state in the workspace: where it was and where it is now. */
  readonly foreign: Map<string, string>
  readonly settings: Readonly<Settings>
  /** Lifecycle event to groups of hooks: those of the settings and, after them, of plugins. */
  readonly hooks: Readonly<Record<string, readonly JsonObject[]>>
  readonly generation: number
  /** Contract: never rejects. */
  readonly call: CallTool<[input?: unknown, options?: CallOptions], [options?: CallOptions]>
  /** The mode of a call that asks for this one: at most `policy.max_mode`, and full-auto only where the user enabled it. Without one: the kernel's. */
  mode(asked?: Mode): Mode
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
  /**
   * The tools as a model is shown them: those of everybody and of an `audience`; `only` leaves all other tools and actions out; `lean` shows what most calls need, and the way to the rest;
   * `apart` gives what only reads a name beside the tool that also changes; `mode` leaves out what its manifest keeps for others.
   */
  tools(how?: { audience?: string; only?: readonly string[]; mode?: Mode; lean?: boolean; apart?: boolean }): ToolInfo[]
  /** Renders a text that names tools as `{slot:tool/action}`. A sentence that names a tool which is not shown is left out. */
  told(text: string, how?: { apart?: boolean }): string
  contributions(): ContributionInfo[]
  /** Every folder of a plugin that was found, whatever became of what it holds. */
  plugins(): PluginFolder[]
  offers(kind: 'resource' | 'prompt'): Offer[]
  providers(): Provider[]
  /** At most 100 values for an argument of a prompt or a variable of a resource. Contract: never rejects. */
  complete(slot: string, argument: string, value: string, session?: string): Promise<string[]>
  diagnostics(): Diagnostic[]
  origins(): Origin[]
  /** Found when first asked for; with `fresh` looked for again. */
  skills(how?: { fresh?: boolean }): Skills
  /** Builds the next generation aside and swaps it in; calls in flight finish on theirs. */
  reload(): Promise<{ ok: boolean; generation: number; diagnostics: Diagnostic[] }>
  /** Starts what nobody waited for so far, and builds the next generation with what it brings. A call of a name that nobody has does so by itself. */
  settle(): Promise<void>
  /** Runs the surface with this verb. */
  surface(verb: string): Promise<SurfaceMain | undefined>
  /** Loads every module that may run, or those of one plugin, as its first call would; what fails is among the diagnostics. */
  probe(plugin?: string): Promise<Diagnostic[]>
  /** The files and folders whose change makes another generation. */
  watched(): readonly string[]
  /** Called after each successful reload; the return value stops it. */
  onReload(run: () => void): () => void
  /** Called with the URI of a resource that a plugin says has changed. */
  onChange(run: (uri: string) => void): () => void
  /** Another kernel with the same options in another workspace, or in another mode, which is closed by itself. */
  elsewhere(workspace: string, how?: Pick<KernelOptions, 'mode'>): Promise<Kernel>
  endSession(id: string): Promise<void>
  close(): Promise<void>
}
