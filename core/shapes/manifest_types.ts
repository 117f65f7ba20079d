import type { Effect, JsonObject, Mode, Schema } from './types.js'

export type Kind =
  | 'action'
  | 'policy'
  | 'compactor'
  | 'surface'
  | 'adapter'
  | 'provider'
  | 'language_server'
  | 'job_engine'
  | 'resource'
  | 'prompt'
  | 'hooks'
export type Stage = 'override' | 'primary' | 'fallback'
export type Layer = 'builtin' | 'admin' | 'user' | 'workspace' | 'call'

/** One checked manifest file (`manifests/schema/manifest.1.json`). */
export interface Manifest {
  name?: string
  kind?: Kind
  description?: string
  title?: string
  version?: string
  /** For contributions of an adapter: the description of their common provider, such as a server. */
  about?: string
  /** Action: the slot that the action serves. */
  action?: string
  stage?: Stage
  dialect?: string | string[]
  input?: Schema
  output?: Schema
  /** Members of the output that only `response_format: detailed` shows: `/`-separated, `*` for every item. */
  detailed?: string[]
  effects?: Effect[]
  /** A failure of the action has changed nothing; its error says so. */
  atomic?: boolean
  /** Inputs, checked and with defaults, that do nothing: a call with such an input has no effects. */
  effectless?: Schema
  /** The output lists the files that the action changed. */
  reports_changes?: boolean
  /** The action keeps the previous state, so that after a kill the program can find out whether the change was made. */
  keeps_history?: boolean
  /** The action makes calls for its caller: the effects of a call are those of these calls. */
  runs_calls?: boolean
  /** The action continues the work of an earlier call: an equal call is no repetition. */
  continues?: boolean
  /** The answers stay in a conversation whose old answers are cleared. */
  stays_in_context?: boolean
  /** The action lists other tools, also those that are loaded later. */
  tells_of_tools?: boolean
  /** The audience of the tool: only its callers list and call the tool. */
  audience?: 'agent'
  /** The modes in which models see the tool; default: all. */
  modes?: readonly Mode[]
  /**
   * Words of rules that cover the action, in addition to those that follow from its input and effects; only in our own
   * manifests.
   */
  families?: string[]
  /** The properties that a lean list shows; without them, such a list has only the name of the tool. */
  lean?: string[]
  /**
   * Visibility in lists: never, or only where there are skills other than the built-in ones. The tool can always be
   * called.
   */
  shown?: 'never' | 'with_skills'
  /** A call of the action is a call of the tool that its input names. */
  forwards?: boolean
  errors?: Record<string, { message?: string; hint?: string; retryable?: boolean }>
  concurrency?: number
  timeout_secs?: number
  /** Former tool names that still route here. */
  aliases?: string[]
  /** Rules that find this action for a call without `action`, or with a synonym of it. */
  infer?: Inference
  /** One input that passes the schema, or a whole call in the form of a dialect; error texts quote it. */
  example?: JsonObject | string
  module?: string
  run?: unknown[]
  alias?: JsonObject
  /** Policy and compactor: slots it judges or shrinks, `*` allowed; default all. */
  slots?: string[]
  order?: number
  /** Surface: the word after `vtcode`. */
  verb?: string
  /** Surface: its mode, unless the caller gives another. */
  mode?: Mode
  /** Surface: the mode if neither the settings nor the caller give one. */
  default_mode?: Mode
  /** Surface: it only inspects. A server whose tools are not known yet is not started for it. */
  inspects?: boolean
  starts_later?: boolean
  /** Adapter: the manifest key that it serves, such as `run`. */
  key?: string
  /** Provider: its data. */
  provider?: JsonObject & { name: string }
  /** Provider in code: the component that it provides; default: models. */
  component?: string
  /** Language server: its program and its files. */
  language_server?: LanguageServerData
  /** Job engine: the schemes of the URLs that it serves. */
  schemes?: string[]
  /** Resource: its URI, or a template whose `{name}`s are the handler's input. */
  uri?: string
  template?: string
  mime_type?: string
  /** Prompt: texts that fill it in. */
  arguments?: PromptArgument[]
  /** Adapter: a manifest with its key may provide several slots. */
  expands?: boolean
  /** Adapter that expands: a manifest with this member under the key is one slot. */
  one_slot?: string
  /** Adapter: additional effects of a call by a member under the key: member to value to effects. */
  effects_by?: Record<string, Record<string, Effect[]>>
  /** Adapter: the position, under the key, of the program that it starts. */
  program?: string | number
  mcp?: JsonObject
  http?: JsonObject
  /** Hooks: lifecycle event to groups, as in the settings. Only plugins have them, in a `hooks.json`. */
  hooks?: Record<string, readonly JsonObject[]>
  /** Blocks of the settings that the module gets as `context.settings`. */
  settings?: string[]
  options?: Schema
  examples?: JsonObject[]
  meta?: JsonObject
  [key: string]: unknown
}
/** The program of a language server, and the files that it serves. */
export interface LanguageServerData {
  /** A bare name, which is looked up, or a path from the folder of the manifest. */
  command: string
  args?: string[]
  env?: Record<string, string>
  /** The npm package that contains the program; that of the project comes first. */
  package?: { name: string; minimum_major?: number; maximum_major?: number }
  /** Ending of file names to the identifier of their language. */
  languages: Record<string, string>
  /** Files that mark the root of a project; the nearest folder with one of them above a file is its root. */
  root_markers?: string[]
  /** The file of a project whose `references` name other projects, such as `tsconfig.json`. */
  project_file?: string
  /** Files that restart the server when they change. */
  restart_files?: string[]
  initialization_options?: JsonObject
  /** The answers to requests for configuration, by section. */
  settings?: JsonObject
  /** The point at which answers are complete: at once, at the end of its progress, or at a line of its log. */
  ready?: 'at_once' | 'progress' | 'log'
  /** The beginning of that line. */
  ready_log?: string
  /** Of several servers for a file, the lowest comes first. */
  order?: number
}
export interface PromptArgument {
  name: string
  description?: string
  required?: boolean
}
/** Rules that choose an action: JSON Schemas over the caller's input. */
export interface Inference {
  /** Synonyms of the action. */
  synonyms?: string[]
  /** Inputs that select this action. */
  when?: Schema
  /** Inputs that select the action when no action's `when` matches. */
  otherwise?: Schema
  /**
   * Retired names: a call with such a name runs this action with the fields that the action knows, and gets the notice
   * VT_ACTION_DEPRECATED.
   */
  former?: { word: string; when?: Schema }[]
  /** Values to fill in when the input matches; `action` is the word that the caller used. */
  presets?: { when: Schema; set: JsonObject }[]
}

/** A manifest and its origin. */
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
  /** The manifest belongs to a loaded skill: only `use` lets it override anything. */
  readonly skill?: true
  /** Values for the options of the plugin, from its entry in `manifests`. */
  readonly options?: JsonObject
  /** The value of `isolate` in its entry of the user's own `manifests`. */
  readonly isolate?: 'process' | 'inline'
  readonly manifest: Manifest
  readonly slot?: string
  readonly stage?: Stage
  /** The contribution that provides this one, such as the server of a tool: consent to it covers this one. */
  readonly provider?: Contribution
  /** The name in rules for all tools of the provider, such as `mcp__docs`. */
  readonly group?: string
  /** The settings, which have their own consent, define the contribution; there is no manifest file. */
  readonly fromSettings?: true
  /** The hash of the bytes read from the manifest file: consent to its files covers these bytes. */
  readonly manifestHash?: string
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
  /** Adapter: the key that it serves. */
  key?: string
  description?: string
  /** Codes that the manifest declares. */
  errors?: Manifest['errors']
  language_server?: LanguageServerData
  reason?: string
  /** The layer whose settings exclude it by a pattern. */
  removed_by?: Layer
}

/** A folder of a plugin, in our format or in that of another program. */
export interface PluginFolder {
  readonly name: string
  readonly root: string
  readonly layer: Layer
  /** `vtcode`, or the name of the other program. */
  readonly format: string
  /** The reason when nothing of a package is used. */
  readonly problem?: string
}
