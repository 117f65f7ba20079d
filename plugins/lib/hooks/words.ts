import { join } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { Call, JsonObject, SlotInfo } from '../../../core/shapes/index.js'
import { patchedPaths } from '../../../core/input/index.js'
import type { Dialect } from './entries.js'

/** A call as a hook is told of it; one call may be several of another program's. */
export interface HookWord {
  tool_name: string
  tool_input: JsonObject
  /** What a matcher may call it. */
  names: readonly string[]
  /** The input that a changed `tool_input` means; absent where it means none. */
  back?: (input: JsonObject) => JsonObject
}

/** The call in the words of a dialect; slots that the other program has no word for keep theirs. */
export function hookWordsFor(call: Call, slot: SlotInfo, dialect: Dialect, root: string): HookWord[] {
  if (dialect === 'unified')
    return [{ ...ours(call, slot), names: [...ours(call, slot).names, ...foreignNames(call.slot)] }]
  const tool = Object.hasOwn(tools, call.slot) ? tools[call.slot]! : undefined
  const calls = tool?.(call.given, (path) => join(root, path)) ?? []
  if (calls.length === 0) return [ours(call, slot)]
  return calls.map(([name, tool_input, back]) => {
    const tool_name = dialect === 'gemini' ? (gemini[name] ?? name) : name
    return { tool_name, tool_input, names: [tool_name], ...(back && calls.length === 1 && { back }) }
  })
}

/** Its slot and every name of it: a hook is for what is called, however that is spelt. */
const ours = ({ slot, given }: Call, { names, aliases }: SlotInfo): HookWord => ({
  tool_name: slot,
  tool_input: { ...given },
  names: [...names, ...aliases],
  back: (input) => input,
})

type Said = [name: string, input: JsonObject, back?: (input: JsonObject) => JsonObject]
type Teller = (given: Readonly<JsonObject>, absolute: (path: string) => string) => Said[]

/** Fields by their name there; what was not said stays unsaid. */
function renamed(
  name: string,
  fields: Record<string, string>,
  convert: Record<string, { to: (value: any) => unknown; back: (value: any) => unknown }> = {},
): Teller {
  return (given, absolute) => {
    const entries = Object.entries(fields).flatMap(([own, theirs]) => {
      const value = given[own]
      if (value === undefined) return []
      if (theirs === 'file_path') return [[theirs, absolute(toText(value))]]
      return [[theirs, convert[own] ? convert[own].to(value) : value]]
    })
    const kept = Object.fromEntries(Object.entries(given).filter(([field]) => !Object.hasOwn(fields, field)))
    const back = (input: JsonObject): JsonObject => ({
      ...kept,
      ...Object.fromEntries(
        Object.entries(fields).flatMap(([own, theirs]) =>
          input[theirs] === undefined ? [] : [[own, convert[own] ? convert[own].back(input[theirs]) : input[theirs]]],
        ),
      ),
    })
    return [[name, Object.fromEntries(entries) as JsonObject, back]]
  }
}

const edit: Teller = (given, absolute) => {
  const one = { path: 'file_path', old_str: 'old_string', new_str: 'new_string', replace_all: 'replace_all' }
  if (!Array.isArray(given['edits'])) return renamed('Edit', one)(given, absolute)
  return (given['edits'] as JsonObject[]).map(({ old_str: old_string, new_str: new_string, replace_all = false }) => [
    'Edit',
    { file_path: absolute(toText(given['path'])), old_string, new_string, replace_all },
  ])
}

/** One event for each path: a new one is written, one that changes or goes is edited. */
const touched =
  (paths: (given: Readonly<JsonObject>) => { path: string; is_new: boolean }[]): Teller =>
  (given, absolute) =>
    [...new Map(paths(given).map((one) => [one.path, one])).values()].map(({ path, is_new }) => [
      is_new ? 'Write' : 'Edit',
      { file_path: absolute(path) },
    ])

const patch = touched(patchedPaths)
const text = (value: unknown): string[] => (typeof value === 'string' ? [value] : [])
const shell = {
  to: (value: unknown) => (Array.isArray(value) ? value.join(' ') : value),
  back: (value: unknown) => value,
}
const milliseconds = { to: (value: number) => value * 1000, back: (value: number) => Math.ceil(value / 1000) }

const tools: Record<string, Teller> = {
  'unified_exec/run': renamed(
    'Bash',
    { command: 'command', timeout_secs: 'timeout', background: 'run_in_background' },
    { command: shell, timeout_secs: milliseconds },
  ),
  'unified_file/read': renamed('Read', { path: 'file_path', offset_lines: 'offset', page_size_lines: 'limit' }),
  'unified_file/write': renamed('Write', { path: 'file_path', content: 'content' }),
  'unified_file/edit': edit,
  apply_patch: patch,
  'unified_file/patch': patch,
  'unified_file/move': touched(({ path, destination }) => [
    ...text(path).map((one) => ({ path: one, is_new: false })),
    ...text(destination).map((one) => ({ path: one, is_new: true })),
  ]),
  'unified_file/copy': touched(({ destination }) => text(destination).map((path) => ({ path, is_new: true }))),
  'unified_file/delete': touched(({ path }) => text(path).map((one) => ({ path: one, is_new: false }))),
  'unified_search/grep': renamed('Grep', { pattern: 'pattern', path: 'path', globs: 'glob' }),
  'unified_search/list': renamed('Glob', { name_pattern: 'pattern', path: 'path' }),
  'unified_search/web': renamed('WebFetch', { url: 'url', prompt: 'prompt' }),
  defuddle_fetch: renamed('WebFetch', { url: 'url' }),
  web_search: renamed('WebSearch', { query: 'query' }),
  load_skill: renamed('Skill', { name: 'skill' }),
  'unified_search/skill': renamed('Skill', { name: 'skill' }),
}
const gemini: Record<string, string> = {
  Bash: 'run_shell_command',
  Read: 'read_file',
  Write: 'write_file',
  Edit: 'replace',
  Grep: 'search_file_content',
  Glob: 'glob',
  WebFetch: 'web_fetch',
  WebSearch: 'google_web_search',
}

/** Names of Claude Code that a matcher among our own words may use. */
const foreignNames = (slot: string): string[] => known[slot] ?? []
const changes = ['Edit', 'Write']
const known: Record<string, string[]> = {
  'unified_exec/run': ['Bash'],
  'unified_file/read': ['Read'],
  'unified_file/write': ['Write'],
  'unified_file/edit': ['Edit', 'MultiEdit'],
  'unified_file/patch': changes,
  apply_patch: changes,
  'unified_file/move': changes,
  'unified_file/copy': changes,
  'unified_file/delete': ['Edit'],
  'unified_search/grep': ['Grep'],
  'unified_search/list': ['Glob'],
  'unified_search/web': ['WebFetch'],
  defuddle_fetch: ['WebFetch'],
  web_search: ['WebSearch'],
  load_skill: ['Skill'],
}
