import { findProgram, listSearchFolders } from '../../../core/system/index.js'
import { toText, truncateLine } from '../../../core/text/index.js'
import { isHarmlessSetting } from '../git/index.js'
import type { Argv, ParsedCommand } from '../shell/index.js'
import type { CallFacts } from './facts.js'
import { findProtectedFolder, listReadFiles } from './file_rules.js'
import { listWorkingFolders } from './folders.js'
import { readGitOptions, isGit, isGitInspection, findUserDiffProgram, canShowContents } from './git.js'
import { isWordInside, canLeaveByLink, resolveWord, type WorkingFolder } from './word_paths.js'
import { findConfiguredPrograms, READ_HOOKS } from '../git/index.js'
import type { Rule, RuleSet } from './rule.js'
import { findWrites, type Writes } from './find_writes.js'

/** Judgement of all command lines of a call. */
export interface Judgement {
  /** Approval is not needed: `read` = known to only read; `allowed` = every part only reads or has an allow rule. */
  free: 'read' | 'allowed' | undefined
  /** Clause that says why approval is needed; empty if it is not. */
  reason: string
}

const HARMLESS_VARIABLES = /^(LC_\w+|LANG|TZ|NO_COLOR|CI)$/

/** Returns the files that the command lines of a call write: by a redirection, or as words of a program. */
export async function findCommandWrites(facts: CallFacts): Promise<Writes> {
  const lines = await Promise.all(
    facts.lines().map(async (line) => findWrites(line, facts, await listWorkingFolders(line, facts))),
  )
  const unclear = lines.find((line) => line.unclear !== undefined)?.unclear
  const join = (key: 'names' | 'operands'): string[] => [...new Set(lines.flatMap((line) => line[key]))]
  return { names: join('names'), operands: join('operands'), ...(unclear !== undefined && { unclear }) }
}

/** Judges whether the command lines of a call may run without approval. */
export async function judgeCommands(facts: CallFacts, rules: RuleSet): Promise<Judgement> {
  const lines = facts.lines()
  const odd = lines.length === 0 ? 'it starts a program' : findInputObjection(facts)
  if (odd) return { free: undefined, reason: odd }
  let free: 'read' | 'allowed' = 'read'
  for (const line of lines) {
    const reason = findObjection(line)
    if (reason) return { free: undefined, reason }
    const places = await listWorkingFolders(line, facts)
    for (const argv of line.commands) {
      const reads = await isReadOnly(argv, places, facts, rules)
      if (!reads && !(await findCoveringRule(argv, places, facts, rules.allow)))
        return {
          free: undefined,
          reason: await describeUnknownUse(await findUnknownCommand(argv, line, facts, rules), facts),
        }
      const loud = isGit(argv) ? await findGitObjection(argv, places, facts, reads) : undefined
      if (loud) return { free: undefined, reason: loud }
      if (!reads) free = 'allowed'
    }
    const around = findProtectedFolder(line, [...rules.deny, ...rules.ask], facts)
    if (around) return { free: undefined, reason: around }
    for (const { text } of line.inputs)
      if (!(await isInsideAll(text, places))) return { free: undefined, reason: `it reads '${text}'` }
  }
  return { free, reason: '' }
}

/** Returns a clause if other input than the command decides which program runs or how its text is read. */
function findInputObjection({ call: { input } }: CallFacts): string | undefined {
  const set = Object.keys((input.env ?? {}) as object).find((name) => !HARMLESS_VARIABLES.test(name))
  if (set !== undefined) return `it sets ${set}`
  if (input.login === true) return 'a login shell reads a profile first'
  return input.shell === undefined || input.shell === 'bash' || input.shell === 'sh'
    ? undefined
    : `its text is for ${toText(input.shell)}`
}

export function findObjection(line: ParsedCommand): string | undefined {
  const loud = line.assigned.find((name) => !HARMLESS_VARIABLES.test(name))
  if (line.dynamic !== undefined) return line.dynamic
  if (line.commands.length === 0) return 'no program was recognised in it'
  if (loud) return `it sets ${loud}`
  if (line.writes[0]) return `it writes to '${line.writes[0].text}'`
  return line.inputs.some(({ kind }) => kind !== 'static')
    ? 'it reads a file whose name is only known when it runs'
    : undefined
}

/**
 * Returns the command to name as the reason. If a git command that only reads is refused, another command of the line
 * is the cause.
 */
async function findUnknownCommand(
  argv: Argv,
  line: ParsedCommand,
  facts: CallFacts,
  { allow }: RuleSet,
): Promise<Argv> {
  if (listReadFiles(argv) === undefined) return argv
  const places = await listWorkingFolders(line, facts)
  for (const other of line.commands)
    if (listReadFiles(other) === undefined && !(await findCoveringRule(other, places, facts, allow))) return other
  return argv
}

async function describeUnknownUse(argv: Argv, { workspace }: CallFacts): Promise<string> {
  const program = await findUserDiffProgram(argv, workspace.root)
  const reason = `\`${formatCommand(argv)}\` is not known to only read`
  return program === undefined
    ? reason
    : `${reason}: the user's own git configuration has differences shown by '${program.slice(0, 80)}'`
}

/** Returns a clause if git would start programs in one of the folders, or if its options change where it works. */
async function findGitObjection(
  argv: Argv,
  places: WorkingFolder[],
  { workspace }: CallFacts,
  reads: boolean,
): Promise<string | undefined> {
  if (places.length === 0) return 'it changes to a folder that is not known before'
  const { folders, set, other } = readGitOptions(argv)
  if (other !== undefined) return `git takes ${other} to work elsewhere or otherwise`
  const loud = set.find((one) => !isHarmlessSetting(one.split('=')[0]!, one.slice(one.indexOf('=') + 1)))
  if (loud !== undefined) return `it sets ${loud.split('=')[0]!.slice(0, 80)}`
  for (const place of places) {
    const folder = folders.reduce<string | undefined>(
      (at, name) => (at === undefined ? undefined : resolveWord(name, { ...place, folder: at })),
      place.folder,
    )
    if (folder === undefined) return 'git works in a folder outside of the workspace'
    const why = await findConfiguredPrograms(folder, workspace, reads ? READ_HOOKS : undefined)
    if (why) return why
  }
  return undefined
}

export async function isReadOnly(
  argv: Argv,
  places: WorkingFolder[],
  facts: CallFacts,
  rules: RuleSet,
): Promise<boolean> {
  const files = listReadFiles(argv)
  if (!files || !isInstalled(argv[0]!.text, facts) || (isGit(argv) && !(await canGitRead(argv, facts, rules))))
    return false
  for (const file of new Set(files)) if (!(await isInsideAll(file, places))) return false
  const patterns = files.length > 0 ? argv.filter(({ kind }) => kind === 'glob') : []
  for (const { text } of patterns) for (const place of places) if (await canLeaveByLink(text, place)) return false
  return places.length > 0
}

/**
 * Checks whether git only reads, for the slot that runs it with a hardened environment. A rule that denies or asks
 * before reading files excludes commands that print contents, because git has several names for one file.
 */
async function canGitRead(
  argv: Argv,
  { call, workspace, commands }: CallFacts,
  { deny, ask }: RuleSet,
): Promise<boolean> {
  if (call.slot !== 'unified_exec/run') return false
  if (canShowContents(argv) && [...deny, ...ask].some(({ coveredEffect, path }) => coveredEffect === 'read' && path))
    return false
  for (const command of commands()) if (!(await isGitInspection(command, workspace.root))) return false
  return true
}

/** Returns the allow rule that covers a command and keeps its files inside the workspace. */
export async function findCoveringRule(
  argv: Argv,
  places: WorkingFolder[],
  facts: CallFacts,
  allow: readonly Rule[],
): Promise<Rule | undefined> {
  if (argv[0]?.kind !== 'static' || !isInstalled(argv[0].text, facts)) return undefined
  for (const rule of allow) {
    if (!rule.command?.covers(argv) || !rule.applies(facts)) continue
    const inside = await Promise.all((rule.command.findFiles?.(argv) ?? []).map((file) => isInsideAll(file, places)))
    if (inside.every(Boolean)) return rule
  }
  return undefined
}

const BUILTINS = ['echo', 'printf', 'true', 'false', 'test', '[', 'pwd', 'cd']
const installedPrograms = new Map<string, boolean>()
/** Checks that a program exists outside the workspace; one of that name in the workspace is another. */
function isInstalled(name: string, { searchPath, workspace: { root } }: CallFacts): boolean {
  if (BUILTINS.includes(name)) return true
  const key = `${root}\0${searchPath}\0${name}`
  const known = installedPrograms.get(key) ?? findProgram(name, listSearchFolders(searchPath, root)) !== undefined
  installedPrograms.set(key, known)
  return known
}

async function isInsideAll(word: string, places: WorkingFolder[]): Promise<boolean> {
  for (const place of places) if (!(await isWordInside(word, place))) return false
  return places.length > 0
}

const formatCommand = (argv: Argv): string => truncateLine(argv.map((word) => word.text).join(' '), 80)
