import type { Effect, JsonObject, Mode, Schema } from './types.js'

export type Kind =
  | 'action'
  | 'policy'
  | 'compactor'
  | 'surface'
  | 'adapter'
  | 'provider'
  | 'resource'
  | 'prompt'
  | 'hooks'
export type Stage = 'override' | 'primary' | 'fallback'
export type Layer = 'builtin' | 'admin' | 'user' | 'workspace' | 'call'

/** One checked manifest file, `manifests/schema/manifest.1.json`. */
export interface Manifest {
  name?: string
  kind?: Kind
  description?: string
  title?: string
  version?: string
  /** Of what an adapter found: what says who brought it of all that they bring. */
  about?: string
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
  /** Its output says which files it changed. */
  reports_changes?: boolean
  /** It keeps what it replaces, so that after a kill it can be told whether the change was made. */
  keeps_history?: boolean
  /** It continues what an earlier call began: the same call again is no repetition. */
  continues?: boolean
  /** Its answers stay in a conversation whose old answers are cleared. */
  stays_in_context?: boolean
  /** It tells of other tools, also of those that are not needed yet. */
  tells_of_tools?: boolean
  /** The face that it belongs to, and nobody else lists or calls. */
  audience?: 'agent'
  /** The modes in which it is shown to models; default: all. */
  modes?: readonly Mode[]
  /** Words of rules that speak about it beside those that follow from its input and effects; of our own manifests only. */
  families?: string[]
  /** The properties that a lean list shows; without it such a list has the name of the tool only. */
  lean?: string[]
  /** In lists: never, or only where there are skills besides those that come with the program; it can always be called. */
  shown?: 'never' | 'with_skills'
  /** A call of it is a call of the tool that its input names. */
  forwards?: boolean
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
  /** Surface: it works in this mode unless the caller says another. */
  mode?: Mode
  /** Surface: the mode where neither the settings nor the caller say one. */
  default_mode?: Mode
  /** Of a surface: it tells what is there; a server whose tools are not known yet is not started to ask for them. */
  inspects?: boolean
  starts_later?: boolean
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
  /** Adapter that expands: with this member under the key a manifest is one slot. */
  one_slot?: string
  /** Adapter: what more a call does by a member under the key, member to value to effects. */
  effects_by?: Record<string, Record<string, Effect[]>>
  /** Adapter: where under the key the program stands that it starts. */
  program?: string | number
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
/** JSON Schemas over the caller's input decide: one rule language for choosing an action. */
export interface Inference {
  /** Other words for the action. */
  synonyms?: string[]
  /** Inputs that decide for this action. */
  when?: Schema
  /** Inputs that decide for it when no action's `when` holds. */
  otherwise?: Schema
  /** Retired words: a call with one runs this action with the fields that it knows, and the notice VT_ACTION_DEPRECATED. */
  former?: { word: string; when?: Schema }[]
  /** Values filled in when the input matches; `action` is the word the caller used. */
  presets?: { when: Schema; set: JsonObject }[]
}

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
  /** The hash of the bytes that the manifest was read from: consent to its files is consent to those. */
  readonly read?: string
}
export type State =
  | 'active'
  | 'standby'
  | 'shadowed'
  | 'inactive'
  | 'untrusted'
  | 'unlocked'
  | 'invalid'
  | 'quarantined'
export interface ContributionInfo {
  id: string
  kind: Kind | 'unknown'
  layer: Layer
  file: string
  state: State
  slot?: string
  stage?: Stage
  verb?: string
  /** Of an adapter: the key that it serves. */
  key?: string
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
