import type { Contribution, JsonObject, Layer, Mode, Settings } from '../../../core/shapes/index.js'

/** One hook, with the field names of Claude Code and of this program. */
export interface HookEntry {
  type?: string
  command?: string | JsonObject
  /** Packages may use placeholders for user values here, in a command with arguments, and in headers. */
  args?: readonly (string | JsonObject)[]
  url?: string
  headers?: Readonly<Record<string, string | JsonObject>>
  /** Environment variables that `$NAME` in a header may use. */
  allowedEnvVars?: string[]
  /** Rule `Tool` or `Tool(spec)`; the hook runs for matching calls only. */
  if?: string
  timeout?: number
  timeout_secs?: number
  on_error?: OnError
  onError?: OnError
  async?: boolean
  /** Reason why a guard hook does not run. */
  withheld?: string
}
export type OnError = 'deny' | 'ask' | 'allow'
/** Names of tools and inputs that a hook receives: those of this program, or of the program that it was written for. */
export type Dialect = 'unified' | 'claude' | 'gemini'
/** Hooks with one matcher, from settings or a package. */
export interface HookGroup {
  matcher?: string
  hooks?: HookEntry[]
  dialect?: Dialect
  /** Layer of the settings, recorded by the merge. */
  layer?: Layer
  /** The plugin that provides the group; absent for settings. */
  by?: Contribution & { readonly data: string }
  /** For a plugin: environment and working directory of its programs. */
  env?: JsonObject
  cwd?: string
}
/** The block `hooks` of the settings: groups by event. */
export type HookBlock = Readonly<Record<string, readonly HookGroup[]>>

const events = [
  'PreToolUse',
  'PermissionRequest',
  'PostToolUse',
  'PostToolUseFailure',
  'Notification',
  'SessionStart',
  'SessionEnd',
  'UserPromptSubmit',
  'Stop',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
] as const
export type HookEvent = (typeof events)[number]

/** Names that Gemini uses for these events. */
const GEMINI_EVENTS: Partial<Record<HookEvent, string>> = {
  PreToolUse: 'BeforeTool',
  PostToolUse: 'AfterTool',
  UserPromptSubmit: 'BeforeAgent',
  Stop: 'AfterAgent',
  PreCompact: 'PreCompress',
}
const EVENT_BY_GEMINI_NAME = Object.fromEntries(
  Object.entries(GEMINI_EVENTS).map(([event, name]) => [name.toLowerCase(), event.toLowerCase()]),
)

// `PreToolUse` and `pre_tool_use` name one event.
const foldEventName = (event: string): string => {
  const plain = event.replaceAll('_', '').toLowerCase()
  return EVENT_BY_GEMINI_NAME[plain] ?? plain
}

/** Returns the event of a name; `undefined` for an event that never occurs here. */
export const parseEventName = (name: string): HookEvent | undefined =>
  events.find((event) => foldEventName(event) === foldEventName(name))

/** Returns the name of an event in Gemini. */
export const toGeminiEvent = (event: HookEvent): string => GEMINI_EVENTS[event] ?? event

/** Returns the groups for an event, in the order of the settings. */
export const listGroups = (block: HookBlock | undefined, event: HookEvent): HookGroup[] =>
  Object.entries(block ?? {}).flatMap(([name, groups]) =>
    foldEventName(name) === foldEventName(event) ? [...groups] : [],
  )

/**
 * Checks whether a matcher covers one of the names. A matcher is a list of exact names or a linear-time regular
 * expression. An invalid one matches everything, so that an error disables no guard.
 */
export async function hasMatch(matcher: string | undefined, names: readonly string[]): Promise<boolean> {
  if (matcher === undefined || matcher === '' || matcher === '*') return true
  if (/^[\w\-,|\s/]+$/.test(matcher)) return matcher.split(/[,|]/).some((name) => names.includes(name.trim()))
  if (matcher.length > 512) return true
  const { RE2JS } = await import('re2js')
  try {
    const pattern = RE2JS.compile(matcher)
    return names.some((name) => pattern.matcher(name).find())
  } catch {
    return true
  }
}

/** Blocks of the settings that hooks read. */
export type HookSettings = Pick<Settings, 'web' | 'secrets' | 'plugins' | 'trust'>

/** Environment of running hooks. */
export interface HookEnvironment {
  root: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Variables for `${NAME}`. */
  env: Readonly<Record<string, string | undefined>>
  session: string
  mode: Mode
  settings: HookSettings
  signal: AbortSignal
}
