import { join } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { Call, JsonObject, SlotInfo } from '../../../core/shapes/index.js'
import { listPatchedPaths } from '../../../core/input/index.js'
import type { Dialect } from './entries.js'

/** A call as a hook receives it. One call may become several calls of another program. */
export interface HookCall {
  tool_name: string
  tool_input: JsonObject
  /** Names that a matcher may use for the call. */
  names: readonly string[]
  /** Converts a changed `tool_input` back to an input; absent if there is no way back. */
  back?: (input: JsonObject) => JsonObject
}

/** Returns the call in a dialect. Slots unknown to the other program keep their names. */
export function toHookCalls(call: Call, slot: SlotInfo, dialect: Dialect, root: string): HookCall[] {
  if (dialect === 'unified')
    return [{ ...toOwnCall(call, slot), names: [...toOwnCall(call, slot).names, ...listForeignNames(call.slot)] }]
  const tool = Object.hasOwn(TRANSLATIONS, call.slot) ? TRANSLATIONS[call.slot]! : undefined
  const calls = tool?.(call.given, (path) => join(root, path)) ?? []
  if (calls.length === 0) return [toOwnCall(call, slot)]
  return calls.map(([name, tool_input, back]) => {
    const tool_name = dialect === 'gemini' ? (GEMINI_TOOLS[name] ?? name) : name
    return { tool_name, tool_input, names: [tool_name], ...(back && calls.length === 1 && { back }) }
  })
}

/** Returns the call with its slot and all its names, however a model spelt it. */
const toOwnCall = ({ slot, given }: Call, { names, aliases }: SlotInfo): HookCall => ({
  tool_name: slot,
  tool_input: { ...given },
  names: [...names, ...aliases],
  back: (input) => input,
})

type ForeignCall = [name: string, input: JsonObject, back?: (input: JsonObject) => JsonObject]
type Translate = (given: Readonly<JsonObject>, absolute: (path: string) => string) => ForeignCall[]

/** Renames fields; absent fields stay absent. */
function renameFields(
  name: string,
  fields: Record<string, string>,
  convert: Record<string, { to: (value: any) => unknown; back: (value: any) => unknown }> = {},
): Translate {
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

const translateEdit: Translate = (given, absolute) => {
  const one = { path: 'file_path', old_str: 'old_string', new_str: 'new_string', replace_all: 'replace_all' }
  if (!Array.isArray(given['edits'])) return renameFields('Edit', one)(given, absolute)
  return (given['edits'] as JsonObject[]).map(({ old_str: old_string, new_str: new_string, replace_all = false }) => [
    'Edit',
    { file_path: absolute(toText(given['path'])), old_string, new_string, replace_all },
  ])
}

/** Returns one call per path: `Write` for a new file, `Edit` for a changed or removed one. */
const translatePaths =
  (paths: (given: Readonly<JsonObject>) => { path: string; is_new: boolean }[]): Translate =>
  (given, absolute) =>
    [...new Map(paths(given).map((one) => [one.path, one])).values()].map(({ path, is_new }) => [
      is_new ? 'Write' : 'Edit',
      { file_path: absolute(path) },
    ])

const translatePatch = translatePaths(listPatchedPaths)
const toTexts = (value: unknown): string[] => (typeof value === 'string' ? [value] : [])
const SHELL_WORDS = {
  to: (value: unknown) => (Array.isArray(value) ? value.join(' ') : value),
  back: (value: unknown) => value,
}
const MILLISECONDS = { to: (value: number) => value * 1000, back: (value: number) => Math.ceil(value / 1000) }

const TRANSLATIONS: Record<string, Translate> = {
  'unified_exec/run': renameFields(
    'Bash',
    { command: 'command', timeout_secs: 'timeout', background: 'run_in_background' },
    { command: SHELL_WORDS, timeout_secs: MILLISECONDS },
  ),
  'unified_file/read': renameFields('Read', { path: 'file_path', offset_lines: 'offset', page_size_lines: 'limit' }),
  'unified_file/write': renameFields('Write', { path: 'file_path', content: 'content' }),
  'unified_file/edit': translateEdit,
  apply_patch: translatePatch,
  'unified_file/patch': translatePatch,
  'unified_file/move': translatePaths(({ path, destination }) => [
    ...toTexts(path).map((one) => ({ path: one, is_new: false })),
    ...toTexts(destination).map((one) => ({ path: one, is_new: true })),
  ]),
  'unified_file/copy': translatePaths(({ destination }) =>
    toTexts(destination).map((path) => ({ path, is_new: true })),
  ),
  'unified_file/delete': translatePaths(({ path }) => toTexts(path).map((one) => ({ path: one, is_new: false }))),
  'unified_search/grep': renameFields('Grep', { pattern: 'pattern', path: 'path', globs: 'glob' }),
  'unified_search/list': renameFields('Glob', { name_pattern: 'pattern', path: 'path' }),
  'unified_search/web': renameFields('WebFetch', { url: 'url', prompt: 'prompt' }),
  defuddle_fetch: renameFields('WebFetch', { url: 'url' }),
  web_search: renameFields('WebSearch', { query: 'query' }),
  load_skill: renameFields('Skill', { name: 'skill' }),
  'unified_search/skill': renameFields('Skill', { name: 'skill' }),
}
const GEMINI_TOOLS: Record<string, string> = {
  Bash: 'run_shell_command',
  Read: 'read_file',
  Write: 'write_file',
  Edit: 'replace',
  Grep: 'search_file_content',
  Glob: 'glob',
  WebFetch: 'web_fetch',
  WebSearch: 'google_web_search',
}

/** Returns names of Claude Code that a matcher of this program may use. */
const listForeignNames = (slot: string): string[] => FOREIGN_NAMES[slot] ?? []
const CHANGE_TOOLS = ['Edit', 'Write']
const FOREIGN_NAMES: Record<string, string[]> = {
  'unified_exec/run': ['Bash'],
  'unified_file/read': ['Read'],
  'unified_file/write': ['Write'],
  'unified_file/edit': ['Edit', 'MultiEdit'],
  'unified_file/patch': CHANGE_TOOLS,
  apply_patch: CHANGE_TOOLS,
  'unified_file/move': CHANGE_TOOLS,
  'unified_file/copy': CHANGE_TOOLS,
  'unified_file/delete': ['Edit'],
  'unified_search/grep': ['Grep'],
  'unified_search/list': ['Glob'],
  'unified_search/web': ['WebFetch'],
  defuddle_fetch: ['WebFetch'],
  web_search: ['WebSearch'],
  load_skill: ['Skill'],
}
