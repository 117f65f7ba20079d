import { isAbsolute, join } from 'node:path'
import type { Call, Context, JsonObject } from '../../core/index.js'
import { environment, run } from './process.js'
import { findProgram, searchPath } from './programs.js'

/** One hook of the settings; the field names of Claude Code and our own. */
export interface HookEntry {
  type?: string
  command?: string
  args?: string[]
  timeout?: number
  timeout_secs?: number
  on_error?: 'deny' | 'ask' | 'allow'
  onError?: 'deny' | 'ask' | 'allow'
  async?: boolean
}
/** What a hook said. `block` is its exit code 2; what went wrong is `failed`. */
export type Said = { kind: 'said'; json: JsonObject } | { kind: 'block'; reason: string; json: JsonObject } | { kind: 'failed'; reason: string }
export interface Ran {
  entry: HookEntry
  said: Said
}

/** The names of other programs for our slots, which matchers may use. */
const known: Record<string, string[]> = {
  'unified_exec/run': ['Bash'],
  'unified_file/read': ['Read'],
  'unified_file/write': ['Write'],
  'unified_file/edit': ['Edit', 'MultiEdit'],
  'unified_file/patch': ['Edit', 'Write'],
  apply_patch: ['Edit', 'Write'],
  'unified_file/move': ['Edit', 'Write'],
  'unified_file/copy': ['Edit', 'Write'],
  'unified_file/delete': ['Edit'],
  'unified_search/grep': ['Grep'],
  'unified_search/list': ['Glob'],
  'unified_search/web': ['WebFetch'],
  defuddle_fetch: ['WebFetch'],
  web_search: ['WebSearch'],
  load_skill: ['Skill'],
}
const permissionModes = { plan: 'plan', ask: 'default', auto: 'acceptEdits', 'full-auto': 'dontAsk' }

const fold = (event: string): string => event.replaceAll('_', '').toLowerCase()

/** The hooks that the settings name for an event of this call, identical ones once, in the order of the file. */
export async function hooksFor(event: string, call: Call, { settings }: Context): Promise<HookEntry[]> {
  const blocks = settings.hooks as Record<string, { matcher?: string; hooks?: HookEntry[] }[]> | undefined
  if (!blocks) return []
  const found = new Map<string, HookEntry>()
  for (const [name, groups] of Object.entries(blocks)) {
    if (fold(name) !== fold(event)) continue
    for (const { matcher, hooks = [] } of groups) {
      if (await matches(matcher, call)) for (const entry of hooks) found.set(JSON.stringify(entry), entry)
    }
  }
  return [...found.values()]
}

/** Names that stand for the call: its slot, its tool, the name it was called by and what other programs call it. */
const namesOf = ({ slot, caller }: Call): string[] => [slot, slot.split('/')[0]!, ...(caller.alias ? [caller.alias] : []), ...(known[slot] ?? [])]

/** A list of exact names, or a linear-time regular expression that may match anywhere. One that cannot be read matches everything: a guard is not lost to a slip. */
async function matches(matcher: string | undefined, call: Call): Promise<boolean> {
  if (matcher === undefined || matcher === '' || matcher === '*') return true
  const names = namesOf(call)
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

/** Runs hooks side by side with the event on standard input; answers in their order. Those that are `async` are started and not waited for. */
export function runHooks(event: string, entries: readonly HookEntry[], call: Call, context: Context, extra: JsonObject): Promise<Ran[]> {
  const { root } = context.workspace
  const input = {
    session_id: call.session,
    cwd: root,
    hook_event_name: event,
    transcript_path: join(root, '.vtcode/sessions', call.session, 'calls.jsonl'),
    permission_mode: permissionModes[call.mode],
    tool_name: call.slot,
    tool_input: call.given,
    tool_use_id: call.id,
    ...extra,
  }
  const waiting = entries.flatMap((entry) => {
    const work = runHook(event, entry, input, context).then((said) => ({ entry, said }))
    return entry.async === true && event !== 'PreToolUse' ? [] : [work]
  })
  return Promise.all(waiting)
}

const largest = { stdout: 1024 * 1024, text: 10_000 }

async function runHook(event: string, entry: HookEntry, input: JsonObject, context: Context): Promise<Said> {
  const { root } = context.workspace
  const failed = (reason: string): Said => ({ kind: 'failed', reason: `The hook \`${shown(entry)}\` ${reason}.` })
  if ((entry.type ?? 'command') !== 'command' || !entry.command) return failed(`is of the type ${JSON.stringify(entry.type ?? 'none')}, which is not served`)
  const [name, args] = entry.args ? [entry.command, entry.args] : ['sh', ['-c', entry.command]]
  const file = isAbsolute(name) ? name : name.includes('/') ? join(root, name) : findProgram(name, searchPath(process.env.PATH, root))
  if (file === undefined) return failed('is not found')

  const own = { PROJECT_DIR: root, SESSION_ID: String(input['session_id']), HOOK_EVENT: event, TRANSCRIPT_PATH: String(input['transcript_path']) }
  const named = Object.fromEntries(Object.entries(own).flatMap(([name, value]) => [[`VTCODE_${name}`, value], [`CLAUDE_${name}`, value]]))
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  const keep = (chunks: Buffer[]) => (chunk: Buffer): void | false => {
    chunks.push(chunk)
    return Buffer.concat(chunks).length > largest.stdout ? false : undefined
  }
  const seconds = Math.min(600, Math.max(1, entry.timeout_secs ?? entry.timeout ?? 60))
  try {
    const program = { file, args, cwd: root, env: { ...environment(), ...named }, input: Buffer.from(`${JSON.stringify(input)}\n`) }
    const ended = await run(program, { signal: context.signal, seconds }, keep(stdout), keep(stderr))
    if (!ended) return failed('cannot be started')
    if (ended.timed_out) return failed(`did not answer within ${seconds} s`)
    if (ended.stopped) return failed('printed more than 1 MiB')
    return readAnswer(ended.exit_code, Buffer.concat(stdout).toString().trim(), Buffer.concat(stderr).toString().trim(), failed)
  } catch (error) {
    return failed(`failed: ${(error as Error).message}`)
  }
}

/** Exit 0 with JSON or text, exit 2 to block with the reason in the JSON or on stderr; all else is a failure. */
function readAnswer(code: number | undefined, stdout: string, stderr: string, failed: (reason: string) => Said): Said {
  let json: JsonObject = {}
  if (stdout.startsWith('{')) {
    try {
      json = JSON.parse(stdout) as JsonObject
    } catch {
      if (code !== 2) return failed('prints what begins like JSON and is none')
    }
  }
  if (code === 2) return { kind: 'block', reason: cut(String(json['reason'] ?? (stderr || 'A lifecycle hook blocks this.'))), json }
  if (code !== 0) return failed(code === undefined ? 'was ended by a signal' : `ended with the exit code ${code}`)
  return { kind: 'said', json }
}

/** What a hook says about the call itself. */
export const specific = (json: JsonObject): JsonObject => (typeof json['hookSpecificOutput'] === 'object' && json['hookSpecificOutput'] !== null ? (json['hookSpecificOutput'] as JsonObject) : {})
/** Texts of a hook are cut, not believed to be short. */
export const cut = (text: string): string => (text.length > largest.text ? `${text.slice(0, largest.text - 1)}…` : text)
const shown = ({ command = '', args = [] }: HookEntry): string => [command, ...args].join(' ').slice(0, 120)
