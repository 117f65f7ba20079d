import type { Settings } from './settings_types.js'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = Record<string, unknown>

/** Returns whether a value is an object of JSON. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the properties whose value is defined, for a place where `undefined` is no value. */
export const omitUndefined = <T extends object>(all: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as typeof all

/**
 * A JSON Schema (2020-12) as data. The kernel reads these annotations: `format: workspace-path | workspace-glob |
 * command`, `x-aliases`, `x-exists`, `x-sensitive`.
 */
export type Schema = JsonObject

/** The greatest effect of a call. Policies decide by effects, never by names. */
export type Effect = 'read' | 'write' | 'exec' | 'net' | 'ask'
/** The extent to which the program acts without approval, the strictest first. */
export type Mode = 'plan' | 'ask' | 'auto' | 'full-auto'

/** A path of a call and its target at the time of the check. */
export interface CallPath {
  /** Workspace-relative, in the caller's spelling. */
  readonly given: string
  /** The target after all links; the path itself where the target is missing or not allowed. */
  readonly resolved: string
  /** The entry of that name: a link in the last segment is not followed. */
  readonly entry: string
}

/** A checked call. Frozen: exactly the approved call runs. */
export interface Call<Input = JsonObject> {
  readonly id: string
  /** `tool` or `tool/action`. */
  readonly slot: string
  /** Validated, defaults filled in, paths workspace-relative with `/`. */
  readonly input: Readonly<Input>
  /** The input after normalisation, without defaults: the base of a `next`. */
  readonly given: Readonly<JsonObject>
  readonly effects: readonly Effect[]
  /**
   * Every path of the call, in its properties or in a patch. Policies check these, and `context.workspace` reaches
   * these only.
   */
  readonly places: readonly CallPath[]
  readonly mode: Mode
  readonly session: string
  /** Start of the call, in milliseconds since the epoch. */
  readonly at: number
  readonly caller: {
    readonly surface: string
    readonly depth: number
    readonly alias?: string
    readonly sandbox?: 'strict' | 'none'
    /** The line of the script that makes the call. */
    readonly origin?: string
  }
  /** The rights of the kernel and of each outer call: all of them apply. */
  readonly only?: readonly RightsScope[] | undefined
}
/** A limit of the rights of a call; an absent member limits nothing. */
export interface RightsScope {
  /** Names as in the rule `Except(…)`, or `Except(…)` itself for all except those. */
  readonly tools?: readonly string[]
  /** Globs that each written path has to match, as given and as resolved. Read-only commands still run. */
  readonly writes?: readonly string[]
}

/** A complete, valid call for the next step. */
export interface Next {
  tool: string
  input: JsonObject
}
export interface Notice {
  code: string
  message: string
}
/** Content other than text, with the field names of MCP. `data` is base64. */
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
 * Input and output of each slot, which give typed calls; the types of our own slots are published with the program. A
 * plugin adds its own: `declare module 'vtcode' { interface Slots { 'acme/search': { input: …; output: … } } }`.
 */
export interface Slots {}
type SlotId = keyof Slots & string
type ToolWithActions = SlotId extends infer Id ? (Id extends `${infer Tool}/${string}` ? Tool : never) : never
type ActionOf<Tool extends string> = SlotId extends infer Id
  ? Id extends `${Tool}/${infer Action}`
    ? Action
    : never
  : never
type Side<Id, Name extends 'input' | 'output'> = Id extends SlotId
  ? Slots[Id] extends Record<Name, infer Shape extends JsonObject>
    ? Shape
    : JsonObject
  : JsonObject
/** Calls a tool with its action in the input, or a slot by its id. Other names, spellings and inputs are untyped. */
export interface CallTool<Untyped extends unknown[], Rest extends unknown[] = []> {
  <Tool extends ToolWithActions, Action extends string & ActionOf<Tool>>(
    tool: Tool,
    input: { action: Action } & Side<`${Tool}/${Action}`, 'input'>,
    ...rest: Rest
  ): Promise<Result<Side<`${Tool}/${Action}`, 'output'>>>
  <Slot extends SlotId>(slot: Slot, input: Side<Slot, 'input'>, ...rest: Rest): Promise<Result<Side<Slot, 'output'>>>
  (tool: string, ...untyped: Untyped): Promise<Result>
  (call: PreparedCall, ...rest: Rest): Promise<Result>
}

/** A program that is ready to start; all of its values are resolved. */
export interface Launch {
  /** Absolute path of an executable. */
  file: string
  /** Never read by a shell. */
  args: string[]
  cwd: string
  /** The complete environment. */
  env: Record<string, string>
}

export interface Diagnostic {
  code: string
  severity: 'error' | 'warning' | 'info'
  message: string
  hint?: string
  /** `path`, `path:line` or `path:line:column`. */
  files: string[]
}

export type ManifestEntry = Exclude<Settings['manifests'][number], string>
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
  /** The program of a command tool. */
  readonly program?: string
  /** The description of the provider, such as a server; text of others. */
  readonly about?: string
  /** Names of the slot: its id, its tool's name, the form with an underscore, former names. */
  readonly names: readonly string[]
  /** Aliases of the slot: rules and limits that name one of them apply to this slot. */
  readonly aliases: readonly string[]
  /** The name in rules for all tools of one server: `mcp__docs`. */
  readonly group?: string
  /** The output lists the changed files. */
  readonly reports_changes?: true
  /** All handlers keep the previous state. */
  readonly keeps_history?: true
  /** A call makes other calls for its caller, with their effects. */
  readonly runs_calls?: true
  /** A call continues the work of an earlier call. */
  readonly continues?: true
  /** Its answers stay in a conversation whose old answers are cleared. */
  readonly stays_in_context?: true
  /** The audience that lists and calls the tool; other callers cannot. */
  readonly audience?: string
  readonly modes?: readonly Mode[]
  /** Words of rules that cover several slots, including this one. */
  readonly families: readonly string[]
  /** Contribution ids in the order in which they are called. */
  readonly chain: readonly string[]
}
/** One tool in the form for a model: all its actions in one flat schema. */
export interface ToolInfo {
  name: string
  description: string
  input: Schema
  /** Only of a tool without actions that declares an output. */
  output?: Schema
  effects: Effect[]
  actions: string[]
}
/**
 * A resolved call, which replaces a name and an input. Only `resolve` creates one. Contract: gives no rights. Each call
 * checks the schema, the caller and the policies; after a reload, the name is resolved again.
 */
export interface PreparedCall {
  readonly slot: SlotInfo
  /** The effects that a call with this input can have. */
  readonly effects: readonly Effect[]
  /** The slot of the alias that the call uses. */
  readonly alias?: string
  /** The input in the form of the slot, without defaults; unchanged where the check would refuse it. */
  readonly input: Readonly<JsonObject>
}
/** Time limits of the program, in milliseconds. */
export interface Timeouts {
  /** Settings in code, which run in a process of their own. */
  settings: number
  /** A policy whose manifest sets no limit. */
  policy: number
  /** A compactor whose manifest sets no limit. */
  compactor: number
  /** A program that searches files for a handler. */
  engine: number
  /** A thread that parses one file. */
  parse: number
  /** A program that searches one file by its structure. */
  single_file: number
  /** The pause before a lost server is restarted; it doubles each time. */
  restart: number
  /** The shortest time in which an answer is read and a new call made. */
  reading: number
  /** Time for an aborted call that changes something; after it, the program continues without the call. */
  commit: number
  /** A plugin in its own process that does not read its answers. */
  unread: number
}
