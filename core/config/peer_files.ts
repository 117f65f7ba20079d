import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { createDiagnostic, isObject, problem, type Diagnostic, type JsonObject, type Layer } from '../shapes/index.js'
import { resolveUserFolder } from '../system/index.js'
import { readBytes } from '../documents/index.js'
import { describeUnusedLines } from '../text/index.js'
import type { SettingsSource } from './source.js'

/** Ignore files of other programs at the root of a workspace. Their paths are hidden from every tool. */
const IGNORE_FILES = ['.aiignore', '.aiexclude', '.clineignore', '.codeiumignore', '.cursorignore', '.geminiignore']
/** Settings of Claude Code in a workspace. */
const CLAUDE_SETTINGS = ['.claude/settings.json', '.claude/settings.local.json']
/** Files of other programs whose rules count in a workspace. */
export const PEER_FILES: readonly string[] = [...IGNORE_FILES, ...CLAUDE_SETTINGS]
/** Parts of these settings that other settings here replace. */
const REPLACED_KEYS = ['hooks', 'env', 'enabledPlugins', 'statusLine', 'model', 'outputStyle']
const MAX_BYTES = 1_048_576

/**
 * Reads the ignore files of other programs and the rules of Claude Code in a workspace, as settings of its layer. Each
 * ignore file becomes one deny rule for reading. Throws VT_CONFIG_INVALID for a file that cannot be read, because what
 * it protects is unknown then.
 */
export function readPeerFiles(
  workspace: string,
  env: Readonly<Record<string, string | undefined>>,
  diagnostics: Diagnostic[],
): SettingsSource[] {
  const sources: SettingsSource[] = []
  for (const name of IGNORE_FILES) {
    const text = readPeerFile(join(workspace, name), workspace, diagnostics)
    if (text === undefined || !/^[ \t]*[^#\s]/m.test(text)) continue
    reportUnused(join(workspace, name), describeUnusedLines(text), diagnostics)
    const rule = { rule: `Read(# ${name}\n${text})`, reason: `${name} lists the path.` }
    sources.push(createSource(join(workspace, name), 'workspace', { deny: [rule] }))
  }
  const own = [{ file: join(resolveUserFolder({ env }), '.claude/settings.json'), layer: 'user' as const }]
  const theirs = CLAUDE_SETTINGS.map((name) => ({ file: join(workspace, name), layer: 'workspace' as const }))
  for (const { file, layer } of [...own, ...theirs]) {
    const text = readPeerFile(file, layer === 'user' ? undefined : workspace, diagnostics)
    if (text !== undefined) sources.push(...readClaudeSettings(file, layer, text, diagnostics))
  }
  return sources
}

// An ignore file may be longer than a rule of the settings.
const createSource = (file: string, layer: Layer, policy: JsonObject): SettingsSource => ({
  layer,
  file,
  value: { policy },
})

/**
 * Returns the text of a file; nothing if there is none. A pipe in its place in a workspace is reported, and does not
 * stop the program. Throws VT_CONFIG_INVALID for a file that cannot be read.
 */
function readPeerFile(file: string, within: string | undefined, diagnostics: Diagnostic[]): string | undefined {
  try {
    const stat = lstatSync(file, { throwIfNoEntry: false })
    if (!stat || stat.isDirectory()) return undefined
    if (within !== undefined && !stat.isFile() && !stat.isSymbolicLink())
      return void reportUnused(file, ['the whole file, because it is a pipe, socket or device'], diagnostics)
    return readBytes(file, { limit: MAX_BYTES, ...(within !== undefined && { within }) })
      .toString('utf8')
      .replace(/^\ufeff/, '')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOTDIR') return undefined
    throw problem(
      'VT_CONFIG_INVALID',
      { problem: `${file}: ${message}` },
      { hint: 'Make it a regular file of at most 1 MiB, or delete it.', details: { files: [file] } },
    )
  }
}

/**
 * Returns the deny and ask rules of settings of Claude Code. Rules that allow, lifecycle hooks and other parts are
 * reported once, because they need the user's own settings here.
 */
function readClaudeSettings(file: string, layer: Layer, text: string, diagnostics: Diagnostic[]): SettingsSource[] {
  const settings = parseSettings(file, text, diagnostics)
  if (!settings) return []
  const { permissions } = settings
  const { allow, deny, ask } = isObject(permissions) ? permissions : {}
  const keys = [
    ...(isFilled(allow) ? ['permissions.allow'] : []),
    ...REPLACED_KEYS.filter((key) => isFilled(settings[key])),
  ]
  if (keys.length > 0) diagnostics.push(createUnusedDiagnostic(file, keys.join(', '), 'info'))
  const [denied, asked] = [listRules(deny, 'deny', file), listRules(ask, 'ask', file)]
  reportUnused(file, [...denied.unused, ...asked.unused], diagnostics)
  const policy = { deny: denied.rules, ask: asked.rules }
  return policy.deny.length + policy.ask.length > 0 ? [createSource(file, layer, policy)] : []
}

function parseSettings(file: string, text: string, diagnostics: Diagnostic[]): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
    throw new Error('it is not an object')
  } catch {
    diagnostics.push(createUnusedDiagnostic(file, `the whole, which is not valid JSON`, 'warning'))
    return undefined
  }
}

/** Reports parts of settings of Claude Code that are not used, and how to use them here. */
const createUnusedDiagnostic = (file: string, key: string, severity: Diagnostic['severity']): Diagnostic => ({
  ...createDiagnostic('VT_POLICY_UNUSED', { file, key }, [file], severity),
  hint:
    'Copy what you need into ~/.vtcode/vtcode.config.yaml: rules to policy.allow, hooks to hooks with ' +
    '`dialect: claude`.',
})

const isFilled = (value: unknown): boolean =>
  isObject(value) ? Object.keys(value).length > 0 : Array.isArray(value) ? value.length > 0 : value !== undefined

/** A rule in the form that both programs share. */
const RULE = /^[A-Za-z_][\w*-]*(?:\([^\n]*\))?$/
const MAX_RULES = 500
const MAX_RULE = 500

/** Returns the rules of a list, and a description of each entry that is no rule. */
function listRules(
  list: unknown,
  name: string,
  file: string,
): { rules: { rule: string; reason: string }[]; unused: string[] } {
  const rules: { rule: string; reason: string }[] = []
  const unused = list === undefined || Array.isArray(list) ? [] : [`permissions.${name}, which is no list`]
  for (const [index, rule] of (Array.isArray(list) ? (list as unknown[]) : []).entries()) {
    const isRule = typeof rule === 'string' && rule.length <= MAX_RULE && RULE.test(rule.trim())
    if (isRule && rules.length < MAX_RULES) rules.push({ rule: rule.trim(), reason: `${file} has the rule.` })
    else unused.push(`permissions.${name}[${index}], which ${isRule ? `comes after ${MAX_RULES} others` : NO_RULE}`)
  }
  return { rules, unused }
}
const NO_RULE = `is no rule of at most ${MAX_RULE} characters such as Read(.env)`

const MAX_SHOWN = 5
/** Reports what protects nothing although its author meant it to. */
function reportUnused(file: string, unused: readonly string[], diagnostics: Diagnostic[]): void {
  if (unused.length === 0) return
  const more = unused.length > MAX_SHOWN ? [`${unused.length - MAX_SHOWN} more`] : []
  const key = [...unused.slice(0, MAX_SHOWN), ...more].join('; ')
  diagnostics.push({
    ...createDiagnostic('VT_POLICY_UNUSED', { file, key }, [file], 'warning'),
    hint: 'Correct these entries: what they name is not protected.',
  })
}
