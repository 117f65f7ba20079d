/** Every shape of the kernel; no code. Lines are 1-based, sizes are bytes, times are milliseconds unless a name says otherwise. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = Record<string, unknown>
/** A JSON Schema (2020-12) as data. Annotations the kernel reads: `format: workspace-path | workspace-glob | command`, `x-aliases`, `x-exists`, `x-sensitive`. */
export type Schema = JsonObject

// ── a call and its answer ────────────────────────────────────────────────────────────────────────

/** The worst a call can do. Policies judge by it, never by a name. */
export type Effect = 'read' | 'write' | 'exec' | 'net' | 'ask'
/** How much the program may do unasked, strictest first. */
export type Mode = 'plan' | 'ask' | 'auto' | 'full-auto'

/** Frozen: what was approved is what runs. */
export interface Call<Input = JsonObject> {
  readonly id: string
  /** `tool` or `tool/action`. */
  readonly slot: string
  /** Validated, defaults filled in, paths workspace-relative with `/`. */
  readonly input: Readonly<Input>
  /** What the caller said after normalisation, without defaults: the base of a `next`. */
  readonly given: Readonly<JsonObject>
  readonly effects: readonly Effect[]
  readonly mode: Mode
  readonly session: string
  /** When it began, in milliseconds since the epoch. */
  readonly at: number
  readonly caller: { readonly surface: string; readonly depth: number; readonly alias?: string; readonly sandbox?: NonNullable<CallOptions['sandbox']> }
}

/** A complete, valid call that would be the next step. */
export interface Next {
  tool: string
  input: JsonObject
}
export interface Notice {
  code: string
  message: string
}
/** What text cannot say; MCP's field names. `data` is base64. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string }
  | { type: 'resource'; resource: { uri: string; mimeType?: string } & ({ text: string } | { blob: string }) }

export interface Problem {
  code: string
  message: string
  hint: string
  /** True only if the unchanged call may succeed later (time, network, locks). */
  retryable: boolean
  details?: JsonObject
  next?: Next
}
export interface Success<Output = JsonObject> {
  ok: true
  /** The structured value of the slot. */
  output: Output
  /** The compact rendering for a model. */
  text?: string
  content?: ContentBlock[]
  notices?: Notice[]
}
export interface Failure {
  ok: false
  error: Problem
  notices?: Notice[]
}
export type Result<Output = JsonObject> = Success<Output> | Failure

/**
 * A policy's word about one call; there is no "allow". `hint`, `next` and `details` become those of the error; a denial may name
 * another code of the kernel's table than VT_POLICY_DENIED.
 */
export type Verdict = ({ deny: string; code?: string } | { ask: string }) & {
  hint?: string
  next?: Next
  details?: JsonObject
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

// ── what plugins write ───────────────────────────────────────────────────────────────────────────

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
  (contribution: Contribution, premises: Premises): Made | Promise<Made>
  /**
   * With `expands` in its manifest: what those of its contributions that serve no slot bring, one contribution a slot; called while a
   * generation is built, once, with all of its kind. Contract: does not throw for one that is broken, but refuses it; a throw refuses the generation.
   */
  expand?(contributions: readonly Contribution[], premises: Premises): Promise<Contribution[]>
  /** What a call with this input would do, without doing it and without what is secret: for self-tests and consent. Throws as the call would. */
  render?(contribution: Contribution, input: JsonObject, premises: Premises, slot: SlotInfo): JsonObject
}
/** What an adapter stands on as long as the generation lives. */
export interface Premises {
  /** Blocks of the settings that the adapter's manifest names. */
  readonly settings: Readonly<JsonObject>
  readonly workspace: string
  /** The `.vtcode` folder of the user. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder where the plugin of a contribution may keep what it likes; it need not exist yet. */
  dataOf(contribution: Contribution): string
  /** The worst that the actions of its plugin may do: what they declare, and what belongs to the slots they serve. */
  rightsOf(contribution: Contribution): readonly Effect[]
  /** What the settings say under the options of a contribution. */
  optionsOf(contribution: Contribution): Readonly<JsonObject>
  /** Called once, when no call of the generation is left. Contract: must not reject. */
  onEnd(run: () => void | Promise<void>): void
  /** Somebody only looks at what is there: nothing of a plugin may be started to find out more. */
  readonly looking: boolean
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
/** Contract: uses the kernel's public methods only; the number is the exit code. */
export type SurfaceMain = (kernel: Kernel, argv: string[], io: Io) => Promise<number>
export interface Io {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
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
  /** Where somebody may be typing: gives a question the terminal for itself. */
  alone?: <T>(ask: (io: Io) => Promise<T>) => Promise<T>
}

export interface Context {
  /** Aborted by the caller, the time limit of the slot, or `close()`. */
  readonly signal: AbortSignal
  readonly plugin: { readonly name: string; readonly root: string; readonly data: string; readonly options: Readonly<JsonObject> }
  /** The blocks of the settings that the manifest names under `settings`. */
  readonly settings: Readonly<JsonObject>
  /** The contract of the slot that is being called. */
  readonly slot: SlotInfo
  readonly workspace: Workspace
  readonly session: Session
  readonly host: Host
  /** Present when a call is only explained: a policy says what it went by, and starts nothing. */
  readonly explain: ((note: JsonObject) => void) | undefined
  /** What became of the call before its policies: `allowed` when a question was answered by yes. For compactors; absent where no policy was asked. */
  readonly judged: Judged | undefined
  /** Puts questions to the user; absent when nobody can be asked. */
  readonly ask: Asker | undefined
  /** The program at the other end of the connection; absent where none can be asked. */
  readonly client: Client | undefined
  /** An ordinary call of the same session, approver and mode; depth at most 4. */
  call(tool: string, input: JsonObject): Promise<Result>
  /** Ten at once and ten a second, the rest is dropped; none after the result. */
  progress(update: Progress): void
  log(level: LogLevel, message: string): void
  /** Says that what is behind the URI of a resource is no longer what it was. */
  changed(uri: string): void
}
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
/** One short question to the user; without options the answer is free text. */
export interface Question {
  /** Names the answer. */
  id: string
  /** A word or two. */
  header: string
  question: string
  options?: { label: string; description: string }[]
  /** Context to show with the question. */
  focus_area?: string
  analysis_hints?: string[]
}
/** Answers by the id of the question: labels that were chosen, and what the user wrote in their own words. */
export type Answers = Record<string, { selected: string[]; other?: string }>
/** Contract: offers a free answer beside the options; `undefined` when the user declines; a throw means that nobody could be asked. */
export type Asker = (questions: readonly Question[], signal: AbortSignal) => Promise<Answers | undefined>
/** What the client of a connection can be asked for, in the words of MCP (2025-06-18 and later). */
export interface Client {
  /** As it announced them: `elicitation`, `sampling`, `roots`. */
  readonly capabilities: Readonly<JsonObject>
  /** What an earlier run of this very call left with its requests; nobody else can have written it. */
  readonly state: unknown
  /**
   * Puts requests under names of the handler's own and resolves with the answers by these names. Contract: until all are there it
   * rejects, the client is asked, and the handler runs again from its start, so nothing may have been done before it.
   */
  request(requests: Readonly<Record<string, ClientRequest>>, state?: unknown): Promise<Record<string, JsonObject>>
}
export interface ClientRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  params?: JsonObject
}
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
  slots(): SlotInfo[]
  describe(tool: string): ToolInfo | undefined
  contributions(): ContributionInfo[]
  diagnostics(): Diagnostic[]
  skills(how?: { fresh?: boolean }): Skills
  /**
   * Lets the manifests in the folder of a skill take part, in a new generation and until the last session that asked ends. Where the
   * user has to agree first, nothing changes.
   */
  bring(skill: Skill, session: Session): Promise<Brought>
}
/** What became of the manifests of a skill. */
export interface Brought {
  active: ContributionInfo[]
  /** What takes no part, each with its `state` and `reason`. */
  left: ContributionInfo[]
}

// ── programs of others ───────────────────────────────────────────────────────────────────────────

/** A program ready to be started: nothing about it is looked up any more. */
export interface Launch {
  /** Absolute path of an executable. */
  file: string
  /** Never read by a shell. */
  args: string[]
  cwd: string
  /** All of its environment. */
  env: Record<string, string>
}

// ── the one way to a path ────────────────────────────────────────────────────────────────────────

export type EntryKind = 'file' | 'directory' | 'link' | 'other'
export interface EntryStat {
  kind: EntryKind
  bytes: number
  mtime_ms: number
  /** Nanoseconds; with `dev` and `ino` it is the identity of a version of the file. */
  mtime_ns: bigint
  dev: bigint
  ino: bigint
  mode: number
  nlink: number
}
/** An open regular file or directory that lies inside the workspace, whatever happens to its path meanwhile. */
export interface Handle extends AsyncDisposable {
  /** Workspace-relative, `/`-separated, as asked for; `.` is the root. */
  readonly path: string
  /** The same after following links inside the workspace. */
  readonly resolved: string
  readonly kind: 'file' | 'directory'
  readonly stat: EntryStat
  readonly fd: number
  /** A path that names this very object for as long as the handle is open; the `cwd` for a child program. */
  readonly ref: string
  /** Reads at most `length` bytes at `offset`, into `reused` if it is given; fewer only at the end of the file. */
  read(offset: number, length: number, reused?: Buffer): Promise<Buffer>
  /** What is in a directory, in code-unit order; names that are not UTF-8 carry `\xHH` escapes. */
  names(): { name: string; kind: EntryKind }[]
  /** A directory inside this one, by its name; a link is not followed. Throws VT_PATH_*. */
  enter(name: string): Handle
  close(): Promise<void>
}
/** Every method confines; none follows a link out. Throws VT_PATH_OUTSIDE, VT_PATH_NOT_FOUND, VT_PATH_SPECIAL, VT_PATH_PERMISSION, VT_INPUT_INVALID. */
export interface Workspace {
  /** Real path of the root. */
  readonly root: string
  /** Text only: the workspace-relative form of a path, or VT_PATH_OUTSIDE. Touches no disk. */
  normalize(path: string): string
  /** Where a path leads, through links in the last name too unless `follow` is false; nothing need be there yet. */
  resolve(path: string, how?: { follow?: boolean }): string
  /** Text only: whether no rule hides this path from tools. What an engine names is told only if it is seen. */
  sees(path: string): boolean
  /** Opens a regular file (VT_PATH_IS_DIRECTORY for a directory). */
  openFile(path: string): Promise<Handle>
  /** Opens a directory (VT_PATH_NOT_DIRECTORY for a file). */
  openDirectory(path: string): Promise<Handle>
  /** Opens whichever of the two it is. */
  open(path: string): Promise<Handle>
  /** Without following a link in the last segment. `undefined` when nothing is there. */
  stat(path: string): Promise<EntryStat | undefined>
  /** Whole file, at most 64 MiB or `max_bytes`. */
  read(path: string, range?: { offset?: number; length?: number }): Promise<Buffer>
  /** Whole file as UTF-8, without a BOM; refuses invalid UTF-8 with VT_FILE_BINARY. */
  text(path: string, how?: { max_bytes?: number }): Promise<string>
  /** Names in a directory, in code-unit order; names that are not UTF-8 carry `\xHH` escapes that every method of the workspace accepts back. */
  names(path: string): Promise<{ name: string; kind: EntryKind }[]>

  /**
   * Holds these paths against every other holder, in this and in other processes, until disposed of. What is read, decided and
   * written under it is one step; what a process that is gone left half-way is completed before. Throws VT_FILE_IO (retryable)
   * when another process does not let go, VT_PATCH_RECOVERY.
   */
  lock(paths: readonly string[], signal?: AbortSignal): Promise<AsyncDisposable>
  /**
   * Writes a whole file so that at every instant the old or the new one is there, whatever fails, and the new one is on disk on
   * return. A link is followed inside the workspace and stays. Missing parents are made. Throws VT_PATH_EXISTS, VT_FILE_STALE, VT_FILE_IO.
   */
  write(path: string, bytes: Uint8Array, over: Over, how?: { mode?: number }): Promise<Written>
  /** Carries out all operations or none, whatever happens: a process that ends half-way is completed by the next. Throws VT_PATCH_RECOVERY too. */
  transact(operations: readonly Operation[]): Promise<Written[]>
  /** Removes a file, a link or an empty directory; with `recursive` what is in it too, links as links. Throws VT_PATH_NOT_EMPTY. */
  remove(path: string, how?: { recursive?: boolean }): Promise<void>
  /**
   * Gives an entry another name, a link as a link. Missing parents of `to` are made. Throws VT_PATH_EXISTS unless it may replace a
   * file, VT_PATH_OUTSIDE for a link that would lead out from there, unless it is only put `aside`.
   */
  rename(from: string, to: string, how?: { replace?: boolean; aside?: boolean }): Promise<void>
  /** Copies an entry with its modes and everything in it, all or nothing. Throws VT_PATH_EXISTS unless it may replace a file, VT_INPUT_TOO_LARGE. */
  copy(from: string, to: string, how?: { replace?: boolean }): Promise<Extent>
  /** A second name for the very bytes of a file that is about to be replaced, or a copy of them where there can be none. */
  keep(path: string, as: string): Promise<void>
  /** How much an entry is; links are not followed. Throws VT_PATH_PERMISSION where another file system is mounted inside. */
  measure(path: string): Promise<Extent>
}
/** What a write may replace: nothing, anything, or only the version that was seen. */
export type Over = 'nothing' | 'anything' | Version
/** A file as it was when it was read. */
export interface Version {
  stat: EntryStat
  /** SHA-256 of all its bytes, in hex. */
  sha256: string
  /** The bytes themselves, where they are still at hand: to put them back they need not be read again. */
  bytes?: Uint8Array
}
/** One step of a change of several files. */
export type Operation =
  | { op: 'write'; path: string; bytes: Uint8Array; over: 'nothing' | Version; mode?: number }
  | { op: 'remove'; path: string; over: Version }
export interface Written {
  /** Workspace-relative, after following links. */
  resolved: string
  stat: EntryStat
  created: boolean
  /** What of the old file could not be carried over: `hardlinks`, `owner`, `attributes` (extended ones and access lists). */
  lost: string[]
}
export interface Extent {
  /** What a directory holds, at any depth; 1 for anything else. */
  entries: number
  bytes: number
}

// ── manifests and settings ───────────────────────────────────────────────────────────────────────

export type Kind = 'action' | 'policy' | 'compactor' | 'surface' | 'adapter' | 'provider' | 'resource' | 'prompt' | 'hooks'
export type Stage = 'override' | 'primary' | 'fallback'
export type Layer = 'builtin' | 'admin' | 'user' | 'workspace' | 'call'

/** One checked manifest file, `manifests/schema/manifest.1.json`. */
export interface Manifest {
  name?: string
  kind?: Kind
  description?: string
  title?: string
  version?: string
  /** Action: the slot it serves. */
  action?: string
  stage?: Stage
  dialect?: string | string[]
  input?: Schema
  output?: Schema
  /** Members of the output that only `response_format: detailed` shows: `/`-separated, `*` for every item. */
  detailed?: string[]
  effects?: Effect[]
  /** A failure of it has changed nothing: its refusals say so. */
  atomic?: boolean
  /** Inputs, checked and with their defaults, that do nothing at all: a call with one has no effects. */
  effectless?: Schema
  errors?: Record<string, { message?: string; hint?: string; retryable?: boolean }>
  concurrency?: number
  timeout_secs?: number
  /** Former tool names that still route here. */
  aliases?: string[]
  /** How a call without `action`, or with another word for it, finds this action. */
  infer?: Inference
  /** One input that passes the schema, or a whole call in the words of a dialect; quoted by error texts. */
  example?: JsonObject | string
  module?: string
  run?: unknown[]
  alias?: JsonObject
  /** Policy and compactor: slots it judges or shrinks, `*` allowed; default all. */
  slots?: string[]
  order?: number
  /** Surface: the word after `vtcode`. */
  verb?: string
  /** Of a surface: it tells what is there; a server whose tools are not known yet is not started to ask for them. */
  looks?: boolean
  /** Adapter: the manifest key it serves, such as `run`. */
  key?: string
  /** Provider: what it provides, as data. */
  provider?: JsonObject & { name: string }
  /** Provider in code: the component that it provides; without it models. */
  component?: string
  /** Resource: its URI, or a template whose `{name}`s are the handler's input. */
  uri?: string
  template?: string
  mime_type?: string
  /** Prompt: texts that fill it in. */
  arguments?: PromptArgument[]
  /** Adapter: manifests with its key may bring several slots. */
  expands?: boolean
  mcp?: JsonObject
  http?: JsonObject
  /** Hooks: lifecycle event to groups, as in the settings. Only plugins bring them, in a `hooks.json`. */
  hooks?: Record<string, readonly JsonObject[]>
  /** Blocks of the settings handed to the module as `context.settings`. */
  settings?: string[]
  options?: Schema
  examples?: JsonObject[]
  meta?: JsonObject
  [key: string]: unknown
}
export interface PromptArgument {
  name: string
  description?: string
  required?: boolean
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
export type Complete = (argument: string, value: string, place: { workspace: Workspace; host: Host; session: string }) => string[] | Promise<string[]>
/** JSON Schemas over the caller's input decide: one rule language for choosing an action. */
export interface Inference {
  /** Other words for the action. */
  synonyms?: string[]
  /** Inputs that decide for this action. */
  when?: Schema
  /** Inputs that decide for it when no action's `when` holds. */
  otherwise?: Schema
  /** Retired words: a call with one answers VT_ACTION_DEPRECATED and names this action as the next step. */
  former?: { word: string; when?: Schema }[]
  /** Values filled in when the input matches; `action` is the word the caller used. */
  presets?: { when: Schema; set: JsonObject }[]
}

/** Where a package made for another program lies, and what its texts may name. */
export interface PackagePlace {
  readonly root: string
  /** Read only this file of it: a list of servers. */
  readonly file?: string
  readonly plugin: string
  readonly layer: Layer
  readonly data: string
  readonly workspace: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly options: Readonly<JsonObject>
}
/** Contract: runs nothing of the package and does not throw; what cannot be used is a diagnostic. */
export type PackageReader = (place: PackagePlace) => {
  format: string
  manifests: readonly { file: string; manifest: Manifest }[]
  /** Manifests in our own form that it brings for this program. */
  native?: { folder: string; vtcode?: string; options: Readonly<Record<string, JsonObject>> }
  diagnostics: readonly Diagnostic[]
  /** Its skills, looked for when somebody asks for skills; without it they lie in `skills`. Contract: does not throw. */
  skills?: () => PackageSkills
  /** Without it nothing of the package counts, its skills neither. */
  usable?: boolean
}

/** What of a package is text for models. */
export interface PackageSkills {
  /** Folders of skills, and folders that are one; real paths inside the package. */
  folders: readonly string[]
  /** Commands and prompts, which are read as skills. */
  texts: readonly PackageText[]
  diagnostics: readonly Diagnostic[]
}
export type PackageText = Pick<Skill, 'name' | 'description' | 'metadata' | 'allowed_tools' | 'hidden' | 'prompt' | 'file'> & Partial<Pick<Skill, 'argument_hint'>> & { readonly body: string }

/** A manifest with where it came from. */
export interface Contribution {
  /** `<plugin>:<name>`. */
  readonly id: string
  readonly name: string
  readonly plugin: string
  readonly kind: Kind
  readonly layer: Layer
  /** Absolute path of the manifest file. */
  readonly file: string
  /** Absolute folder that the module may not leave. */
  readonly root: string
  /** It came with a skill that was loaded: only `use` lets it override anything. */
  readonly skill?: true
  /** Values for the options of the plugin, from its entry in `manifests`. */
  readonly options?: JsonObject
  /** What its entry in the user's own `manifests` says of where its module runs. */
  readonly isolate?: 'process' | 'inline'
  readonly manifest: Manifest
  readonly slot?: string
  readonly stage?: Stage
  /** What brought it, such as the server of a tool: consent to that is consent to this. */
  readonly bringer?: Contribution
  /** Said by the settings, which have their own consent, rather than by a manifest. */
  readonly said?: true
}
export type State = 'active' | 'standby' | 'shadowed' | 'inactive' | 'untrusted' | 'unlocked' | 'invalid' | 'quarantined'
export interface ContributionInfo {
  id: string
  kind: Kind | 'unknown'
  layer: Layer
  file: string
  state: State
  slot?: string
  stage?: Stage
  verb?: string
  description?: string
  /** Codes that its manifest declares. */
  errors?: Manifest['errors']
  reason?: string
}

/** A folder of a plugin, its own or made for another program. */
export interface PluginFolder {
  readonly name: string
  readonly root: string
  readonly layer: Layer
  /** `vtcode`, or the other program's. */
  readonly format: string
}

/** A folder with a `SKILL.md`, https://agentskills.io/specification: what is known of it without loading it. */
export interface Skill {
  /** Names exactly this one: `workspace:<name>`, `workspace/apps/web:<name>`, `user:`, `admin:`, `builtin:`, `<plugin>:`, `root<i>:`. */
  readonly id: string
  readonly name: string
  /** Without control and invisible characters, at most 1,024 code points. */
  readonly description: string
  readonly layer: Layer
  readonly scope: 'workspace' | 'user' | 'bundled'
  /** Real path of the folder. */
  readonly folder: string
  /** Real path of its `SKILL.md`. */
  readonly file: string
  readonly state: State
  readonly reason?: string
  /** The instructions, where they are a command or a prompt of a package; else they are read from `file`. */
  readonly body?: string
  /** Folders that hold the same files. */
  readonly also_at: readonly string[]
  readonly license?: string
  readonly compatibility?: string
  readonly metadata: Readonly<Record<string, string>>
  /** Information for the user, never a grant. */
  readonly allowed_tools: readonly string[]
  readonly when_to_use?: string
  readonly argument_hint?: string
  /** Only the user can load it. */
  readonly hidden: boolean
  /** Marked as something users call by its name: `user-invocable: true`, or hidden from models and not `user-invocable: false`. */
  readonly prompt: boolean
}
/** The skills of a generation. */
export interface Skills {
  /** In the order of precedence, in every state. */
  readonly all: readonly Skill[]
  /** What looked like a skill and is none: `path` or `path:line`, and why. */
  readonly skipped: readonly { path: string; reason: string }[]
  readonly diagnostics: readonly Diagnostic[]
  /** By bare or qualified name, what may be loaded. */
  find(name: string): Skill | undefined
  /** What a model is told of: active, not hidden, pinned ones first. */
  readonly catalogue: readonly Skill[]
}

export interface Diagnostic {
  code: string
  severity: 'error' | 'warning' | 'info'
  message: string
  hint?: string
  /** `path`, `path:line` or `path:line:column`. */
  files: string[]
}

/** Settings after merging; the schema `manifests/schema/config.1.json` says what each block holds. */
export interface Settings {
  manifests: (string | ManifestEntry)[]
  use: Record<string, string | string[] | false>
  policy: { mode: Mode; max_mode: Mode; [key: string]: unknown }
  [block: string]: unknown
}
/** What a configuration file says: any part of the settings. */
export type Config = { [K in keyof Settings]?: Settings[K] extends object ? Partial<Settings[K]> | Settings[K] : Settings[K] } & JsonObject
export interface ManifestEntry {
  from: string
  only?: string[]
  except?: string[]
  required?: boolean
  dev?: boolean
  isolate?: 'process' | 'inline'
  options?: JsonObject
}
/** Where a settings value came from, and what it overrode or why it was ignored. */
export interface Origin {
  /** Keys joined by `.`; items of a list that layers extend have their index at the end. */
  path: string
  layer: Layer
  /** Absolute file, or what else said it: `VTCODE__POLICY__MODE`, `options`, `defaults`. */
  file: string
  line?: number
  value: unknown
  overridden: { layer: Layer; file: string; line?: number; value: unknown; reason?: string }[]
}

// ── what surfaces see ────────────────────────────────────────────────────────────────────────────

/** What a manifest of kind provider adds: data or a module that means something to a surface, nothing to the kernel. */
export interface Provider {
  readonly name: string
  readonly contribution: Contribution
  /** What the settings say under the options of its plugin. */
  readonly options: Readonly<JsonObject>
  /** Its module's default export. Throws VT_PLUGIN_IMPORT. */
  load(): Promise<(...args: any[]) => unknown>
}
/** The contract of one slot. */
export interface SlotInfo {
  readonly slot: string
  readonly tool: string
  readonly action?: string
  readonly title?: string
  readonly description: string
  readonly effects: readonly Effect[]
  readonly dialect?: readonly string[]
  readonly input: Schema
  readonly output?: Schema
  readonly detailed: readonly string[]
  readonly errors: Readonly<Record<string, { message?: string; hint?: string; retryable?: boolean }>>
  readonly example?: JsonObject | string
  /** What a command tool starts. */
  readonly program?: string
  /** Contribution ids in the order they are asked. */
  readonly chain: readonly string[]
}
/** One tool as a model sees it: all its actions behind one flat schema. */
export interface ToolInfo {
  name: string
  description: string
  input: Schema
  /** Of a tool without actions that declares one. */
  output?: Schema
  effects: Effect[]
  actions: string[]
}
export interface CallOptions {
  signal?: AbortSignal
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
  /** Commands run in a sandbox or not at all (`strict`), or without one unless the settings require it (`none`); default: as the settings say. */
  sandbox?: 'strict' | 'none'
  /** Face the call came through, for the record. */
  surface?: string
}
/** What a person is asked about a call. */
export interface Approval {
  call: Call
  reasons: string[]
  /** What a yes for the session or for always would cover; absent when it can only be given once. */
  covers?: string
}
/** A word, or the whole answer; a scope counts for what `covers` said, and `followup` is told to the caller. */
export type Approved = boolean | undefined | { decision: 'allow' | 'deny' | 'cancel'; scope?: 'once' | 'session' | 'always'; followup?: string }
/** What the policies say about a call that is not made. */
export interface Explanation {
  call?: { slot: string; alias?: string; input: JsonObject; effects: readonly Effect[] }
  /** What a slot that is served by data would do: the `argv` it would start, the `request` it would send. */
  would?: JsonObject
  mode: Mode
  verdict: 'run' | 'ask' | 'deny' | 'refused'
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
  /** The mode when neither the settings nor `mode` say one. */
  default_mode?: Mode
  /** Vocabularies of tool names that are advertised; default: `unified`. Every name can be called in each of them. */
  dialects?: readonly string[]
  /** Stands for `~`; the user's settings and the trust store live in its `.vtcode` (or where VTCODE_HOME points). */
  home?: string
  env?: Record<string, string | undefined>
  surface?: string
  log?: (level: string, message: string) => void
}
export interface Kernel {
  readonly workspace: string
  readonly settings: Readonly<Settings>
  /** Lifecycle event to groups of hooks: those of the settings and, after them, of plugins. */
  readonly hooks: Readonly<Record<string, readonly JsonObject[]>>
  readonly generation: number
  /** Contract: never rejects. */
  call(tool: string, input?: unknown, options?: CallOptions): Promise<Result>
  /** What would come of a call: every policy is asked, nothing is done. Contract: never rejects. */
  explain(tool: string, input?: unknown, options?: CallOptions): Promise<Explanation>
  list(): SlotInfo[]
  describe(tool: string): ToolInfo | undefined
  tools(): ToolInfo[]
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
  /** Runs the surface with this verb. */
  surface(verb: string): Promise<SurfaceMain | undefined>
  /** Loads every module that may run, or those of one plugin, as its first call would; what fails is among the diagnostics. */
  probe(plugin?: string): Promise<Diagnostic[]>
  /** Called after each successful reload; the return value stops it. */
  onReload(run: () => void): () => void
  /** Called with the URI of a resource that a plugin says has changed. */
  onChange(run: (uri: string) => void): () => void
  /** Another kernel with the same options in another workspace, which is closed by itself. */
  elsewhere(workspace: string): Promise<Kernel>
  endSession(id: string): Promise<void>
  close(): Promise<void>
}
