import type { Settings } from './settings_types.js'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = Record<string, unknown>

/** Whether it is what JSON calls an object. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the properties whose value is defined, for a place where `undefined` is no value. */
export const definedOnly = <T extends object>(all: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as typeof all

/** A JSON Schema (2020-12) as data. Annotations the kernel reads: `format: workspace-path | workspace-glob | command`, `x-aliases`, `x-exists`, `x-sensitive`. */
export type Schema = JsonObject

/** The worst a call can do. Policies judge by it, never by a name. */
export type Effect = 'read' | 'write' | 'exec' | 'net' | 'ask'
/** How much the program may do unasked, strictest first. */
export type Mode = 'plan' | 'ask' | 'auto' | 'full-auto'

/** A path of a call, and where it led when the call was checked. Links count as they were then. */
export interface Place {
  /** Workspace-relative, as the call says it. */
  readonly given: string
  /** Every link followed; the path itself where it leads nowhere that may be used. */
  readonly resolved: string
  /** The same for the entry of that name, a link in the last segment not followed. */
  readonly entry: string
}

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
  /** Every path that the call names, in its properties or in a patch. Policies judge these, and its workspace leads to these only. */
  readonly places: readonly Place[]
  readonly mode: Mode
  readonly session: string
  /** When it began, in milliseconds since the epoch. */
  readonly at: number
  readonly caller: {
    readonly surface: string
    readonly depth: number
    readonly alias?: string
    readonly sandbox?: 'strict' | 'none'
  }
  /** What is left of the rights, of the kernel's and of each call that this one is a part of: all of them hold. */
  readonly only?: readonly RightsLeft[] | undefined
}
/** What is left of the rights of a call; of what is not said nothing was taken away. */
export interface RightsLeft {
  /** Names as in the rule `Except(…)`, or `Except(…)` itself for all but those. */
  readonly tools?: readonly string[]
  /** Globs that each written path has to match, as given and as resolved. Commands that only read still run. */
  readonly writes?: readonly string[]
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
 * What each slot takes and answers, so that a call which names one is typed; those of the program come with the published types.
 * A plugin adds its own: `declare module 'vtcode' { interface Slots { 'acme/search': { input: …; output: … } } }`.
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
/** By the name of a tool with its action in the input, or by the id of a slot; any other name, spelling or input is called untyped. */
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
  /** What a command tool starts. */
  readonly program?: string
  /** What says who brought it, such as a server, of all that they bring: words of a stranger. */
  readonly about?: string
  /** Its own names: its id, that of its tool, with an underscore, former ones. */
  readonly names: readonly string[]
  /** Names of aliases that lead to it: rules and limits that say one of them speak about this slot. */
  readonly aliases: readonly string[]
  /** Its output says which files it changed. */
  readonly reports_changes?: true
  /** All who serve it keep what they replace. */
  readonly keeps_history?: true
  /** It continues what an earlier call began. */
  readonly continues?: true
  /** Its answers stay in a conversation whose old answers are cleared. */
  readonly stays_in_context?: true
  /** It belongs to a face of this name, which lists it and calls it; nobody else does. */
  readonly audience?: string
  readonly modes?: readonly Mode[]
  /** Words of rules that speak about several slots, this one among them. */
  readonly families: readonly string[]
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
/**
 * A resolved call, which is made or explained in place of a name and an input. Only `resolve` makes one.
 * Contract: it gives no rights. Each call checks the schema, its caller and the policies; after a reload the name is
 * resolved again.
 */
export interface PreparedCall {
  readonly slot: SlotInfo
  /** The worst that a call with this input can do. */
  readonly effects: readonly Effect[]
  /** The slot of the alias that the call names. */
  readonly alias?: string
  /** The input in the words of the slot, without its defaults; unchanged where the check would refuse it. */
  readonly input: Readonly<JsonObject>
}
/** How long the program waits for what may never come, in milliseconds. */
export interface Waits {
  /** Code of settings that runs aside. */
  settings: number
  /** A policy whose manifest says nothing else. */
  policy: number
  /** A compactor whose manifest says nothing else. */
  compactor: number
  /** A program that a handler searches files with. */
  engine: number
  /** A thread that parses one file. */
  parse: number
  /** A program that searches one file alone by its structure. */
  single_file: number
  /** The pause before a server that was lost is started again; it doubles each time. */
  restart: number
  /** Nobody reads an answer and asks again faster than this. */
  reading: number
  /** Until a call that changed something and was aborted is left behind. */
  commit: number
  /** A plugin in a process of its own that leaves its answers unread. */
  unread: number
}
