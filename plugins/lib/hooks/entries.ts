import type { Contribution, JsonObject, Layer, Mode, Settings } from '../../../core/shapes/index.js'

/** One hook; the field names of Claude Code and our own. */
export interface HookEntry {
  type?: string
  command?: string | JsonObject
  /** Packages may leave places open for values of the user: here, in a command with arguments, and in headers. */
  args?: readonly (string | JsonObject)[]
  url?: string
  headers?: Readonly<Record<string, string | JsonObject>>
  /** Variables of our environment that `$NAME` in a header may name. */
  allowedEnvVars?: string[]
  /** A rule, `Tool` or `Tool(spec)`: for other calls the hook does not run. */
  if?: string
  timeout?: number
  timeout_secs?: number
  on_error?: OnError
  onError?: OnError
  async?: boolean
  /** Why it is not run, although it stands for a guard. */
  withheld?: string
}
export type OnError = 'deny' | 'ask' | 'allow'
/** Whose names of tools and inputs a hook is told: ours, or those of the program it was written for. */
export type Dialect = 'unified' | 'claude' | 'gemini'
/** Hooks with one matcher, as the settings or a package say them. */
export interface HookGroup {
  matcher?: string
  hooks?: HookEntry[]
  dialect?: Dialect
  /** Who said it: the merging of the settings writes it down. */
  layer?: Layer
  /** The plugin that brings it, and not the settings. */
  by?: Contribution & { readonly data: string }
  /** Of a plugin: variables of its programs, and where they run. */
  env?: JsonObject
  cwd?: string
}
/** The block `hooks` of the settings: event to groups. */
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

/** Words of Gemini for events of ours. */
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

// `PreToolUse` and `pre_tool_use` are one event.
const foldEventName = (event: string): string => {
  const plain = event.replaceAll('_', '').toLowerCase()
  return EVENT_BY_GEMINI_NAME[plain] ?? plain
}

/** The event that a name means; nothing for one that never happens here. */
export const parseEventName = (name: string): HookEvent | undefined =>
  events.find((event) => foldEventName(event) === foldEventName(name))

/** The name that an event has for Gemini. */
export const toGeminiEvent = (event: HookEvent): string => GEMINI_EVENTS[event] ?? event

/** The groups for an event, in the order of the settings. */
export const listGroups = (block: HookBlock | undefined, event: HookEvent): HookGroup[] =>
  Object.entries(block ?? {}).flatMap(([name, groups]) =>
    foldEventName(name) === foldEventName(event) ? [...groups] : [],
  )

/** A list of exact names, or a linear-time regular expression that may match anywhere. One that cannot be read matches everything: a guard is not lost to a slip. */
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

/** The blocks of the settings that hooks read. */
export type HookSettings = Pick<Settings, 'web' | 'secrets' | 'plugins' | 'trust'>

/** Where hooks run, and for whom. */
export interface HookEnvironment {
  root: string
  /** The `.vtcode` folder of the user. */
  home: string
  /** Where `${NAME}` is looked up. */
  env: Readonly<Record<string, string | undefined>>
  session: string
  mode: Mode
  settings: HookSettings
  signal: AbortSignal
}
