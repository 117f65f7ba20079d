import { inert, redactText, toText, visibleLine } from '../text/index.js'
import type { Diagnostic, JsonObject, Next, Problem } from './types.js'

type Row = [message: string, hint: string, retryable?: true]

/**
 * The kernel's codes: `[message, hint]`, `{name}` is replaced by the value given under that name. The message says what is
 * wrong and quotes the value, the hint says what to do next. Codes are never reused. The codes of a slot stand in its manifest.
 */
export const codes = {
  VT_TOOL_UNKNOWN: ['Tool {tool} not found; nearest: {known}.', 'Use one of these names, or one of the list of tools.'],
  VT_ACTION_MISSING: ['{tool} needs an action; possible here: {candidates}.', 'Give "action". {example}'],
  VT_ACTION_UNKNOWN: ["{tool} has no action '{action}'; known: {known}.", 'Use one of the known actions. {example}'],
  VT_ACTION_DEPRECATED: [
    "{tool} has no action '{action}' any more; {instead} ran.{ignored}",
    'Call {instead} by its name.',
  ],
  VT_ACTION_DECLINED: [
    'No plugin took the call to {slot}.',
    '`vtcode doctor` shows who serves the slot and why each declined.',
  ],
  VT_INPUT_MISSING: ['Missing {fields}.', '{example}'],
  VT_INPUT_UNKNOWN: ["Unknown property '{field}'{nearest}; valid: {valid}.", '{way}{example}'],
  VT_INPUT_NOT_ALLOWED: [
    "'{field}' belongs to {owner}, not to {slot}.",
    'Leave it out, or call {owner}. {way}{example}',
  ],
  VT_INPUT_INVALID: ['{problem}', '{example}'],
  VT_INPUT_CONFLICT: ['{fields} exclude each other.', 'Give only one of them. {example}'],
  VT_INPUT_TOO_LARGE: ['The input is {size}; at most {limit} is accepted.', 'Split it into several calls.'],
  VT_INPUT_CAPPED: ["'{field}' {value} was lowered to its maximum {maximum}.", 'Continue with `next` for more.'],
  VT_POLICY_CAPPED: [
    "'{field}' is at most {maximum} a call, by the policy for {slot}.",
    'Continue with `next` for more.',
  ],
  VT_POLICY_ALLOW_IGNORED: [
    '{file} allows {name}; a workspace may only tighten, so that was ignored.',
    'Allow it in ~/.vtcode/vtcode.config.yaml under policy.allow.',
  ],
  VT_POLICY_NO_MATCH: [
    'The policy allows {name}, which can match nothing: a name with * is allowed only as mcp__<server>__* or <tool>/*{nearest}.',
    'Write the name out, or deny and ask by it: they take any *.',
  ],
  VT_POLICY_UNKNOWN_TOOL: [
    'The policy names {name}, a tool that does not exist{nearest}.',
    'Correct the name; what it says about this name changes nothing.',
  ],
  VT_POLICY_ONE_SPELLING: [
    'The policy names {name}, one name of {slots} among others: {reason}.',
    'Name {slots} instead.',
  ],
  VT_POLICY_UNUSED: ["'{key}' in {file} is not used.", 'Remove it; approvals are never taken from a workspace.'],
  VT_POLICY_FULL_AUTO: [
    'The settings say full-auto, which is not enabled; the mode is auto.',
    'Set automation.full_auto.enabled in ~/.vtcode/vtcode.config.yaml, or start with `--mode full-auto`.',
  ],
  VT_POLICY_ONLY: ['{problem}', 'Correct `only`; nothing was done.'],
  VT_POLICY_DENIED: ['{reason}', 'Nothing was done. {way}'],
  VT_POLICY_NEEDS_APPROVAL: ['{reason}', 'Nothing was done. {way}'],
  VT_POLICY_REPEATED: ['{reason}', 'Nothing was done. {way}'],
  VT_POLICY_RATE: ['{reason}', 'Nothing was done. {way}', true],
  VT_GUARD_DUPLICATE: ['{reason}', 'Nothing was done. {way}'],
  VT_POLICY_UNAVAILABLE: [
    'The policy {id} is not available: {reason}',
    '`vtcode doctor` says what to fix; until then only reading calls run.',
  ],
  VT_HOOK_NEVER: [
    "'hooks' names {event}, an event that is never fired here{nearest}.",
    'Correct the name; its hooks do not run.',
  ],
  VT_CALL_REISSUED: ['A lifecycle hook changed the input; {slot} ran with {input}.', 'Judge the answer by this input.'],
  VT_CALL_ABORTED: ['The call was aborted by the caller.', 'Call again when the result is wanted.'],
  VT_CALL_INTERRUPTED: [
    'The call was interrupted after it had started; what it did before that stays.',
    'Check what was changed before you continue.',
  ],
  VT_CALL_FAILED: ['The plugin {plugin} failed: {reason}', 'See `vtcode doctor`; the other tools still work.'],
  VT_CALL_TIMEOUT: [
    '{slot} did not answer within {seconds} s.',
    'Ask for less, or raise timeout_secs of the plugin in the settings.',
    true,
  ],
  VT_CALL_BAD_RESULT: [
    'The plugin {plugin} returned {what}.',
    'A handler returns { ok: true, output } or { ok: false, error } made of plain JSON data, or undefined to decline.',
  ],
  VT_PLUGIN_RESULT: [
    'The plugin {plugin} broke the contract of its answers: {problem}.',
    'The plugin is at fault, not the call. What it did before it answered stays; `vtcode plugins validate` shows its author where.',
  ],
  VT_PLUGIN_FAILED: [
    'The plugin {plugin} failed and speaks of {code}, a code that is not for a plugin to use: {reason}',
    'Nothing of vtcode said so; details.theirs holds the words of the plugin.',
  ],
  VT_AGENT_NONE: [
    "{slot} belongs to an agent's conversation.",
    'Nothing was done. The agent calls it: `vtcode exec`, `vtcode ask`, `vtcode chat`.',
  ],
  VT_CALL_DEPTH: [
    'Calls are nested more than {limit} deep at {slot}.',
    'A plugin calls itself through another; `vtcode plugins list` shows the chain.',
  ],
  VT_PATH_OUTSIDE: ["'{path}' leads outside the workspace.", 'Use a path inside the workspace.'],
  VT_PATH_NOT_FOUND: ["'{path}' does not exist{similar}.", 'Use {slot:unified_search/list} to see what is there.'],
  VT_PATH_EXISTS: ["'{path}' exists already.", 'Choose another name, or say that it is to be overwritten.'],
  VT_PATH_IS_DIRECTORY: ["'{path}' is a directory; a file is needed.", 'List it with {slot:unified_search/list}.'],
  VT_PATH_NOT_DIRECTORY: [
    "'{path}' is not a directory.",
    'Use the path of a directory. Read a file with {slot:unified_file/read}.',
  ],
  VT_PATH_NOT_EMPTY: [
    "The directory '{path}' is not empty.",
    'Say {field:recursive}: true to delete it with everything in it.',
  ],
  VT_PATH_SPECIAL: [
    "'{path}' is a {kind}; only regular files and directories are opened.",
    'It cannot be read as a file; leave it out.',
  ],
  VT_PATH_PERMISSION: [
    "The operating system refuses '{path}' ({reason}).",
    'Ask the user to change its permissions, or leave it out.',
  ],
  VT_PATH_LOOP: ["'{path}' passes through a loop of links.", 'Name the file itself instead of the link.'],
  VT_FILE_BINARY: ["'{path}' is not text.", 'Read a range of bytes instead.'],
  VT_PATCH_RECOVERY: [
    "An unfinished change of several files cannot be completed: '{path}' was changed by others meanwhile.",
    "Compare it with the new content in '{journal}', merge it yourself, then delete that folder. Nothing was written.",
  ],
  VT_STATE_FOREIGN: [
    "'{path}'{others} has no valid seal of this user: this program did not write it, not here.",
    "It was moved to '{aside}' and is not used; a repository may have brought it, or another home or an older version made it. Look at it, then delete it.",
  ],
  VT_PLATFORM: [
    'vtcode does not run on {system} itself.',
    'Install it in WSL (`wsl --install`) and start it there; docs/platforms.md says what holds where.',
  ],
  VT_FILE_STALE: ["'{path}' changed since it was read.", 'Read it again and redo the change on the fresh text.'],
  VT_FILE_IO: ["'{path}': {reason}.", 'The operating system reports an error; check the disk and try again.', true],

  VT_MANIFEST_INVALID: [
    '{problem}',
    'Fix the file; `vtcode plugins list` shows its state. The other plugins still work.',
  ],
  VT_MANIFEST_LIMIT: ['{problem}', 'Make the file smaller or simpler.'],
  VT_MANIFEST_PATH: [
    "The module '{module}' {problem}.",
    'Name a file inside the folder of the plugin, relative to the manifest.',
  ],
  VT_MANIFEST_DUPLICATE: [
    "Two manifests of {plugin} are called '{name}': {files}.",
    'Give one of them another name; the first is used.',
  ],
  VT_MANIFEST_MISSING: [
    "'{path}' in `manifests` does not exist.",
    'Correct the path in the settings, or remove the entry.',
  ],
  VT_MANIFEST_OUTSIDE: [
    "'{path}' in `manifests` of the workspace leads out of it.",
    'Name it in your own settings, ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_PLUGIN_RENAMED: [
    'Two plugins are called {name}; the one in {root} is known as {other}.',
    'Rename the folder of one of them.',
  ],
  VT_TEXT_CLEANED: [
    'Control or invisible characters were removed from the texts of {id}.',
    'Show the file with an editor that displays them before trusting it.',
  ],
  VT_SLOT_COLLISION: [
    '{slot} is claimed by {winner} and by {loser}; {winner} comes first.',
    'Bind the slot with `use` in the settings, or rename one of them.',
  ],
  VT_SLOT_OVERRIDDEN: ['{slot} is served by {id}.', 'Set `use: { "{slot}": builtin }` in the settings to go back.'],
  VT_SLOT_UNKNOWN: [
    '{id} is an {stage} of {slot}, which no plugin declares{nearest}.',
    'Correct `action`, or leave out `stage` to declare a new slot with description and effects.',
  ],
  VT_SLOT_UNBOUND: [
    '{slot} is bound to {ids}, which cannot run: {reason}.',
    'Fix the plugin or change `use` in the settings.',
  ],
  VT_SLOT_CONTRACT: [
    '{id} repeats {fields}, which belong to the slot {slot}.',
    'Leave them out; an override inherits the contract.',
  ],
  VT_SLOT_PROPERTY_CONFLICT: [
    "{id}: property '{property}' has another type in {other}.",
    'Use one type for one name in all actions of a tool.',
  ],
  VT_SLOT_TWIN: ['{slot} looks like the existing {twin}.', 'Choose a name that cannot be mistaken for another.'],
  VT_SCHEMA_PATTERN: [
    'The pattern {pattern} is not a linear-time regular expression: {reason}.',
    'Write it without look-around and back-references.',
  ],
  VT_SCHEMA_INVALID: ['The schema of {id} cannot be used: {reason}.', 'Fix `input` of the manifest.'],
  VT_PLUGIN_IMPORT: ['{module} of {id} {problem}.', 'Fix the module, then reload; the other tools still work.'],
  VT_PLUGIN_CRASHED: ['{id} failed outside a call: {reason}.', 'Catch errors in timers and promises of the plugin.'],
  VT_PLUGIN_EFFECT: [
    '{id} does not declare the effect {effect}.',
    'Add it to `effects` of the manifest; nothing was done.',
  ],
  VT_PLUGIN_UNTRUSTED: [
    '{id} comes with the workspace and may run code; it is not trusted yet.',
    'Look at it and agree with `vtcode trust`.',
  ],
  VT_PLUGIN_LOCK: ['{id} {problem}.', '{way}'],
  VT_PLUGIN_ENGINE: ['{id} works with vtcode {range}; this is {version}.', 'Update the plugin, or the program.'],
  VT_PLUGIN_KEPT: [
    'A workspace takes away tools only: its {patterns} does not take away {ids}.',
    'To take away what guards you, name it under `plugins.disable` in ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_PLUGIN_REQUIRES: ['{id} needs {needs}.', 'Install what is missing, or remove the plugin.'],
  VT_COMPACT_IGNORED: ['The compactor {id} was skipped: {reason}.', 'The result is complete; see `vtcode doctor`.'],
  VT_CONFIG_INVALID: ['{problem}', 'Fix the file; `vtcode config validate` checks it.'],
  VT_CONFIG_AMBIGUOUS: ['Two settings files where only one is used: {files}.', 'Keep one of them.'],
  VT_CONFIG_UNTRUSTED: [
    '{file} is code of the workspace and was not read.',
    'Look at it and agree with `vtcode trust`; or write the settings as YAML.',
  ],
  VT_CONFIG_LOOSENS: [
    "'{key}' of a workspace may only tighten; {value} was ignored.",
    'Set it in ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_CONFIG_OWN_ONLY: [
    "'{key}' counts in your own settings only and was ignored.",
    'Set it in ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_CONFIG_CONSENT: [
    "'{key}' of the workspace counts once you agree to it and was ignored.",
    'Look at it and agree with `vtcode trust`.',
  ],
  VT_CONFIG_ENV: [
    '{field} names the variable {name}, which {reason}.',
    'Set it where the program is started, or give a default: ${{name}:-text}.',
  ],
  VT_CONFIG_EXPOSED: [
    '{file} belongs to another user or can be written by everybody, and it decides what may run.',
    'chown it to yourself and chmod o-w it.',
  ],
  VT_CONFIG_FOREIGN: [
    '{file} is not owned by root or is writable by others and was not read.',
    'chown root and chmod go-w it.',
  ],
  VT_TRUST_STORE: [
    'The trust store {file} cannot be used: {reason}.',
    'Everything of the workspace that runs code stays off until it is repaired.',
  ],
  VT_TRUST_REFUSED: [
    'Trust is not granted from a program that vtcode started.',
    'Run `vtcode trust` in a terminal of your own.',
  ],
  VT_SECRET_MISSING: ['{field} of {id} needs {what}, which is not set.', '{way}'],
  VT_SECRET_REFUSED: ['{field} of {id}: {reason}.', 'Correct where the value comes from.'],
  VT_SKILL_INVALID: ['{problem}', 'Fix the file; `vtcode skills validate` checks it. The other skills still load.'],
  VT_SKILL_MENDED: ['{problem}', 'It is used anyway; `vtcode skills validate` shows what other programs would refuse.'],
  VT_SKILL_NAME: [
    "The name {name} {problem}; the skill is known as '{folder}'.",
    'Give the skill the name of its folder: lower-case letters, digits and single hyphens.',
  ],
  VT_SKILL_KEY: [
    "The key '{key}' {problem}.",
    'The open format knows name, description, license, compatibility, metadata and allowed-tools.',
  ],
  VT_SKILL_SPLIT: [
    'Other readers end the front matter at the --- inside line {line}.',
    'Write the value without three hyphens.',
  ],
  VT_SKILL_LIMIT: ['{root}: {problem}.', 'Name fewer or smaller folders under skills.roots.'],
  VT_SKILL_ROOT: ["'{path}' in `skills.roots` {problem}.", 'Correct the path in the settings, or remove the entry.'],
  VT_SKILL_SHADOWED: [
    "The name '{name}' means {winner}; {loser} is reached by that name only: {reason}.",
    'Rename one of them, or use the qualified name.',
  ],
  VT_UI_NO_TTY: ['The screen cannot be drawn: {reason}.', '{way}'],
  VT_INTERNAL: [
    'This is a fault of the program or of a plugin: {reason}',
    'Details are in {report}; `vtcode resume` continues a session.',
  ],
  VT_RELOAD_REFUSED: ['The new generation was refused: {reason}.', 'Fix the file; the old generation keeps running.'],
} as const satisfies Record<string, Row>

export type Code = keyof typeof codes
export type Values = Record<string, string | number | undefined>

const fill = (text: string, values: Values): string => {
  const shown = (key: string): string =>
    key === 'path' || key === 'similar' ? visibleLine(toText(values[key] ?? '')) : toText(values[key] ?? '')
  // `way` is the template of a policy. Every other value may hold text of others, which is never rendered as one.
  const valueOf = (key: string): string => (key === 'way' ? shown(key) : inert(shown(key)))
  return text.replace(/\{(\w+)\}/g, (_, key: string) => valueOf(key)).trim()
}

/** The texts of a code; an unknown code has none. */
export function texts(
  code: string,
  values: Values = {},
): { message: string; hint: string; retryable: boolean } | undefined {
  const row: Row | undefined = Object.hasOwn(codes, code) ? codes[code as Code] : undefined
  return row && { message: fill(row[0], values), hint: fill(row[1], values), retryable: row[2] ?? false }
}

/** The one error class: thrown while loading, turned into a `Failure` while calling. */
export class VtError extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.message)
    this.name = problem.code
    this.problem = problem
  }
  get code(): string {
    return this.problem.code
  }
}

export interface Extra {
  hint?: string
  retryable?: boolean
  details?: JsonObject
  next?: Next
}

/** An error of core's table, its texts filled with `values`. */
export function problem(code: Code, values: Values = {}, extra: Extra = {}): VtError {
  return new VtError({ code, ...texts(code, values)!, ...extra })
}

/** A diagnostic of core's table for the loading phase, its texts filled with `values`. */
export function report(
  code: Code,
  values: Values,
  files: string[],
  severity: Diagnostic['severity'] = 'error',
): Diagnostic {
  const { message, hint } = texts(code, values)!
  return { code, severity, message, hint, files }
}

/** What a failed read has to say about its file. */
export function fromError(error: unknown, file: string): Diagnostic {
  if (!(error instanceof VtError)) {
    return report('VT_MANIFEST_INVALID', { problem: `${file} cannot be read: ${(error as Error).message}.` }, [file])
  }
  const { code, message, hint, details } = error.problem
  return { code, severity: 'error', message, hint, files: (details?.['files'] as string[] | undefined) ?? [file] }
}

/** The first line of an error's message, without secrets. The text is redacted first: half of a secret would no longer be recognised. */
export const firstLine = (error: unknown): string =>
  redactText(toText(error instanceof Error ? error.message : error))
    .split('\n')[0]!
    .slice(0, 200)
