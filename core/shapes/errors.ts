import { escapeTemplates, redactText, toText, visibleLine } from '../text/index.js'
import type { Diagnostic, JsonObject, Next, Problem } from './types.js'

type Row = [message: string, hint: string, retryable?: true]

/**
 * Codes of the kernel: `[message, hint]`, where `{name}` is replaced by the value with that name. The message quotes
 * the wrong value; the hint names the next step. Codes are never reused. The codes of a slot are in its manifest.
 */
export const codes = {
  VT_TOOL_UNKNOWN: ['Tool {tool} not found; nearest: {known}.', 'Use one of these names, or list the tools.'],
  VT_ACTION_MISSING: ['{tool} needs an action; possible: {candidates}.', 'Give "action". {example}'],
  VT_ACTION_UNKNOWN: ["{tool} has no action '{action}'; known: {known}.", 'Use one of the known actions. {example}'],
  VT_ACTION_DEPRECATED: [
    "The action '{action}' of {tool} was removed; {instead} ran instead.{ignored}",
    'Call {instead} by its name.',
  ],
  VT_ACTION_DECLINED: [
    'Every handler of {slot} declined the call.',
    '`vtcode doctor` lists the handlers and the reason of each.',
  ],
  VT_INPUT_MISSING: ['Missing {fields}.', '{example}'],
  VT_INPUT_UNKNOWN: ["Unknown property '{field}'{nearest}; valid: {valid}.", '{way}{example}'],
  VT_INPUT_NOT_ALLOWED: ["'{field}' belongs to {owner}, not to {slot}.", 'Leave it out. {way}{example}'],
  VT_INPUT_INVALID: ['{problem}', '{example}'],
  VT_INPUT_CONFLICT: ['{fields} exclude each other.', 'Give only one of them. {example}'],
  VT_INPUT_TOO_LARGE: ['The input is {size}; at most {limit} is accepted.', 'Split it into several calls.'],
  VT_INPUT_CAPPED: ["'{field}' {value} was lowered to its maximum {maximum}.", 'Continue with `next` for more.'],
  VT_POLICY_CAPPED: [
    "'{field}' is at most {maximum} a call, by the policy for {slot}.",
    'Continue with `next` for more.',
  ],
  VT_POLICY_ALLOW_IGNORED: [
    '{file} allows {name}; this was ignored, because a workspace may only tighten.',
    'Allow it in ~/.vtcode/vtcode.config.yaml under policy.allow.',
  ],
  VT_POLICY_NO_MATCH: [
    'The policy allows {name}, which matches nothing: ' +
      'in an allow rule, * is valid only in mcp__<server>__* or <tool>/*{nearest}.',
    'Write the whole name. Rules under deny and ask accept any *.',
  ],
  VT_POLICY_UNKNOWN_TOOL: [
    'The policy names {name}, a tool that does not exist{nearest}.',
    'Correct the name; the rule has no effect.',
  ],
  VT_POLICY_ONE_SPELLING: [
    'The policy names {name}, which is only one of several names of {slots}: {reason}.',
    'Name {slots} instead.',
  ],
  VT_POLICY_UNUSED: ["'{key}' in {file} is not used.", 'Remove it; approvals are never taken from a workspace.'],
  VT_POLICY_FULL_AUTO: [
    'The mode full-auto of the settings is not enabled; the mode is auto.',
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
    'Fix it as `vtcode doctor` says; until then, only calls that read run.',
  ],
  VT_HOOK_NEVER: [
    "'hooks' names {event}, an event that never occurs here{nearest}.",
    'Correct the name; its hooks do not run.',
  ],
  VT_HOOK_MISSING: ['The hook `{hook}` names a file that is missing: {path}.', 'Correct the path in `hooks`.'],
  VT_CALL_REISSUED: [
    'A lifecycle hook changed the input; {slot} ran with {input}.',
    'Read the answer as the result of this input.',
  ],
  VT_CALL_ABORTED: ['The call was aborted by the caller.', 'Call again when the result is wanted.'],
  VT_CALL_INTERRUPTED: [
    'The call was interrupted after its start; its changes until then remain.',
    'Check the changes before you continue.',
  ],
  VT_CALL_FAILED: ['The plugin {plugin} failed: {reason}', 'See `vtcode doctor`; the other tools still work.'],
  VT_CALL_TIMEOUT: [
    '{slot} did not answer within {seconds} s.',
    'Request less, or raise timeout_secs of the plugin in the settings.',
    true,
  ],
  VT_CALL_BAD_RESULT: [
    'The plugin {plugin} returned {what}.',
    'A handler returns { ok: true, output } or { ok: false, error } made of plain JSON data, or undefined to decline.',
  ],
  VT_PLUGIN_RESULT: [
    'The plugin {plugin} returned an invalid answer: {problem}.',
    'The plugin is at fault, not the call; its changes remain. ' +
      'Its author can check it with `vtcode plugins validate`.',
  ],
  VT_PLUGIN_FAILED: [
    'The plugin {plugin} failed with {code}, a code that plugins may not use: {reason}',
    'The error comes from the plugin, not from vtcode; details.theirs has its text.',
  ],
  VT_AGENT_NONE: [
    'Only an agent can call {slot}, within its conversation.',
    'Nothing was done. Start an agent: `vtcode exec`, `vtcode ask`, `vtcode chat`.',
  ],
  VT_CALL_DEPTH: [
    'Calls are nested more than {limit} deep at {slot}.',
    'A plugin probably calls itself through another; `vtcode plugins list` shows the chain.',
  ],
  VT_PATH_OUTSIDE: ["'{path}' leads outside the workspace.", 'Use a path inside the workspace.'],
  VT_PATH_NOT_FOUND: ["'{path}' does not exist{similar}.", 'List the existing files with {slot:unified_search/list}.'],
  VT_PATH_EXISTS: ["'{path}' exists already.", 'Choose another name.'],
  VT_PATH_IS_DIRECTORY: ["'{path}' is a directory; a file is needed.", 'List it with {slot:unified_search/list}.'],
  VT_PATH_NOT_DIRECTORY: [
    "'{path}' is not a directory.",
    'Use the path of a directory. Read a file with {slot:unified_file/read}.',
  ],
  VT_PATH_NOT_EMPTY: [
    "The directory '{path}' is not empty.",
    'Set {field:recursive}: true to delete it with its content.',
  ],
  VT_PATH_SPECIAL: ["'{path}' is a {kind}; only regular files and directories are opened.", 'Leave it out.'],
  VT_PATH_PERMISSION: [
    "The operating system refuses '{path}' ({reason}).",
    'Ask the user to change its permissions, or leave it out.',
  ],
  VT_PATH_LOOP: ["'{path}' passes through a loop of links.", 'Name the file itself instead of the link.'],
  VT_FILE_BINARY: ["'{path}' is not text.", 'Read a range of bytes instead.'],
  VT_PATCH_RECOVERY: [
    "An unfinished change of several files cannot be completed: another program changed '{path}' meanwhile.",
    "Compare it with the new content in '{journal}', merge it yourself, then delete that folder. Nothing was written.",
  ],
  VT_STATE_FOREIGN: [
    "'{path}'{others} has no valid seal: vtcode did not write it here for this user.",
    "It was moved to '{moved_to}' and is not used. " +
      'It may come from the repository, another home or an older version. Check it, then delete it.',
  ],
  VT_PLATFORM: [
    'vtcode does not run on {system} itself.',
    'Install it in WSL (`wsl --install`) and start it there; see docs/platforms.md.',
  ],
  VT_FILE_STALE: [
    "'{path}' changed since it was read.",
    'Read the changed lines. Then repeat the call for the current text.',
  ],
  VT_FILE_IO: ["'{path}': {reason}.", 'The operating system reports an error; check the disk and try again.', true],

  VT_MANIFEST_INVALID: ['{problem}', 'Fix the file; `vtcode plugins list` shows its state. Other plugins still work.'],
  VT_MANIFEST_LIMIT: ['{problem}', 'Make the file smaller or simpler.'],
  VT_MANIFEST_PATH: [
    "The module '{module}' {problem}.",
    'Name a file inside the folder of the plugin, relative to the manifest.',
  ],
  VT_MANIFEST_DUPLICATE: [
    "Two manifests of {plugin} have the name '{name}': {files}.",
    'Rename one of them; the first is used.',
  ],
  VT_MANIFEST_MISSING: [
    "'{path}' in `manifests` does not exist.",
    'Correct the path in the settings, or remove the entry.',
  ],
  VT_MANIFEST_OUTSIDE: [
    "'{path}' in `manifests` of the workspace is outside the workspace.",
    'Name it in your own settings, ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_PLUGIN_RENAMED: [
    'Two plugins have the name {name}; the one in {root} gets the name {other}.',
    'Rename the folder of one of them.',
  ],
  VT_TEXT_CLEANED: [
    'Control or invisible characters were removed from the texts of {id}.',
    'Before you trust the file, check it with an editor that shows such characters.',
  ],
  VT_SLOT_COLLISION: ['{winner} and {loser} both serve {slot}; {winner} comes first.', '{fix}'],
  VT_SLOT_OVERRIDDEN: [
    '{id} serves {slot}.',
    'Set `use: { "{slot}": builtin }` in the settings to restore the built-in handler.',
  ],
  VT_SLOT_UNKNOWN: [
    '{id} is {role} of {slot}, which no plugin declares{nearest}.',
    'Correct the name of the slot, or leave out `stage` to declare a new slot with description and effects.',
  ],
  VT_SLOT_UNBOUND: [
    '{slot} is bound to {ids}, which cannot run: {reason}.',
    'Fix the plugin or change `use` in the settings.',
  ],
  VT_SLOT_CONTRACT: [
    '{id} repeats {fields}, which belong to the slot {slot}.',
    'Remove them; an override inherits the contract.',
  ],
  VT_SLOT_PROPERTY_CONFLICT: [
    "{id}: property '{property}' has another type in {other}.",
    'Use one type for one name in all actions of a tool.',
  ],
  VT_SLOT_TWIN: ['{slot} looks like the existing {twin}.', 'Choose a clearly different name.'],
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
    'Check it and agree with `vtcode trust`.',
  ],
  VT_PLUGIN_LOCK: ['{id} {problem}.', '{way}'],
  VT_PLUGIN_ENGINE: ['{id} works with vtcode {range}; this is {version}.', 'Update the plugin, or the program.'],
  VT_PLUGIN_KEPT: [
    'A workspace can disable tools only: its {patterns} does not disable {ids}.',
    'To disable a guard, name it under `plugins.disable` in ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_PLUGIN_REQUIRES: ['{id} needs {needs}.', 'Install the missing parts, or remove the plugin.'],
  VT_COMPACT_IGNORED: ['The compactor {id} was skipped: {reason}.', 'The result is complete. See `vtcode doctor`.'],
  VT_CONFIG_INVALID: ['{problem}', 'Fix the file; `vtcode config validate` checks it.'],
  VT_CONFIG_AMBIGUOUS: ['There are {count} settings files, but only one can be used: {files}.', 'Keep one of them.'],
  VT_CONFIG_UNTRUSTED: [
    '{file} is code of the workspace and was not read.',
    'Check it and agree with `vtcode trust`, or write the settings as YAML.',
  ],
  VT_CONFIG_LOOSENS: [
    "A workspace may only tighten '{key}'; {value} was ignored.",
    'Set it in ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_CONFIG_OWN_ONLY: [
    "'{key}' is valid in your own settings only; it was ignored.",
    'Set it in ~/.vtcode/vtcode.config.yaml.',
  ],
  VT_CONFIG_CONSENT: [
    "'{key}' of the workspace needs your consent; it was ignored.",
    'Check it and agree with `vtcode trust`.',
  ],
  VT_CONFIG_ENV: [
    '{field} names the variable {name}, which {reason}.',
    'Set it before you start the program, or give a default: ${{name}:-text}.',
  ],
  VT_CONFIG_EXPOSED: [
    '{file} decides what may run, but it belongs to another user or everybody can write it.',
    'Run chown to own it and chmod o-w.',
  ],
  VT_CONFIG_FOREIGN: [
    '{file} was not read: root does not own it, or other users can write it.',
    'Run chown root and chmod go-w.',
  ],
  VT_TRUST_STORE: [
    'The trust store {file} cannot be used: {reason}.',
    'Repair it; until then, code of the workspace does not run.',
  ],
  VT_TRUST_REFUSED: [
    'Trust is not granted from a program that vtcode started.',
    'Run `vtcode trust` in a terminal of your own.',
  ],
  VT_SECRET_MISSING: ['{field} of {id} needs {what}, which is not set.', '{way}'],
  VT_SECRET_REFUSED: ['{field} of {id}: {reason}.', 'Correct the source of the value.'],
  VT_SKILL_INVALID: ['{problem}', 'Fix the file; `vtcode skills validate` checks it. The other skills still load.'],
  VT_SKILL_MENDED: [
    '{problem}',
    'The skill is used anyway; `vtcode skills validate` lists the faults that other programs refuse.',
  ],
  VT_SKILL_NAME: [
    "The name {name} {problem}; the skill gets the name '{folder}'.",
    'Give the skill the name of its folder: lower-case letters, digits and single hyphens.',
  ],
  VT_SKILL_KEY: [
    "The key '{key}' {problem}.",
    'Use the keys of the open format: name, description, license, compatibility, metadata, allowed-tools.',
  ],
  VT_SKILL_SPLIT: [
    'Other readers end the front matter at the --- inside line {line}.',
    'Write the value without three hyphens.',
  ],
  VT_SKILL_LIMIT: ['{root}: {problem}.', 'Name fewer or smaller folders under skills.roots.'],
  VT_SKILL_ROOT: ["'{path}' in `skills.roots` {problem}.", 'Correct the path in the settings, or remove the entry.'],
  VT_SKILL_SHADOWED: [
    "The name '{name}' means {winner}; {loser} is available by this qualified name only: {reason}.",
    'Rename one of them, or use the qualified name.',
  ],
  VT_UI_NO_TTY: ['The screen cannot be drawn: {reason}.', '{way}'],
  VT_INTERNAL: [
    'Internal error of the program or of a plugin: {reason}',
    'Details are in {report}; `vtcode resume` continues a session.',
  ],
  VT_RELOAD_REFUSED: ['The new generation was refused: {reason}.', 'Fix the file; the old generation keeps running.'],
} as const satisfies Record<string, Row>

export type Code = keyof typeof codes
export type Values = Record<string, string | number | undefined>

const fill = (text: string, values: Values): string => {
  const formatValue = (key: string): string =>
    key === 'path' || key === 'similar' ? visibleLine(toText(values[key] ?? '')) : toText(values[key] ?? '')
  // `way` is a template of a policy. Every other value may hold text of others, which is never rendered as a
  // template.
  const escapeValue = (key: string): string => (key === 'way' ? formatValue(key) : escapeTemplates(formatValue(key)))
  return text.replace(/\{(\w+)\}/g, (_, key: string) => escapeValue(key)).trim()
}

/** Returns the texts of a code; nothing for an unknown code. */
export function renderTexts(
  code: string,
  values: Values = {},
): { message: string; hint: string; retryable: boolean } | undefined {
  const row: Row | undefined = Object.hasOwn(codes, code) ? codes[code as Code] : undefined
  return row && { message: fill(row[0], values), hint: fill(row[1], values), retryable: row[2] ?? false }
}

/** The error class of the program: thrown while loading, converted to a `Failure` during a call. */
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

/** Creates an error of this table, with its texts filled in. */
export function problem(code: Code, values: Values = {}, extra: Extra = {}): VtError {
  return new VtError({ code, ...renderTexts(code, values)!, ...extra })
}

/** Creates a diagnostic of this table, with its texts filled in. */
export function createDiagnostic(
  code: Code,
  values: Values,
  files: string[],
  severity: Diagnostic['severity'] = 'error',
): Diagnostic {
  const { message, hint } = renderTexts(code, values)!
  return { code, severity, message, hint, files }
}

/** Converts the error of a failed read of a file to a diagnostic. */
export function toDiagnostic(error: unknown, file: string): Diagnostic {
  if (!(error instanceof VtError)) {
    return createDiagnostic(
      'VT_MANIFEST_INVALID',
      { problem: `${file} cannot be read: ${(error as Error).message}.` },
      [file],
    )
  }
  const { code, message, hint, details } = error.problem
  return { code, severity: 'error', message, hint, files: (details?.['files'] as string[] | undefined) ?? [file] }
}

/**
 * Returns the first line of an error's message, without secrets. Redaction comes first, because half of a secret is not
 * recognised.
 */
export const firstLine = (error: unknown): string =>
  redactText(toText(error instanceof Error ? error.message : error))
    .split('\n')[0]!
    .slice(0, 200)
