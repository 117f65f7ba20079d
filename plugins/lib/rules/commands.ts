import { findProgram, searchPath } from '../../../core/base/index.js'
import type { CallFacts } from './facts.js'
import { changesFolder, commandFolders, targetOf } from './folders.js'
import { isGit, lookedAt, looksWithGit, showsContents } from './git.js'
import { isInside, namesOfWord, type WordPlace } from './named.js'
import { readOnlyFiles } from './read_only.js'
import { configuredPrograms, hooksOfLooking } from './repository.js'
import type { Rule, RuleSet } from './rule.js'
import { readCommand } from './shell.js'
import type { Argv, ParsedLine } from './words.js'

/** What the command lines of a call come to. */
export interface Judgement {
  /** `read`: known to read only. `allowed`: every part is covered by an allow rule or only reads. */
  free: 'read' | 'allowed' | undefined
  /** Why it is not free, as the end of a sentence. */
  reason: string
}

const harmless = /^(LC_\w+|LANG|TZ|NO_COLOR|CI)$/

/** The rule among `rules` that some part of the command lines hits: a program, a redirection, a file that a reading program names. */
export async function commandHit(facts: CallFacts, rules: readonly Rule[]): Promise<Rule | undefined> {
  for (const line of facts.commands().map(readCommand)) {
    const places = [placeOf(facts), ...(await placesIn(line, facts))]
    const hit =
      rules.find((rule) => rule.command && rule.applies(facts) && line.commands.some((argv) => rule.command!.hits(argv))) ??
      fileHit(rules, 'write', line.writes.map(({ text }) => text), places) ??
      fileHit(rules, 'read', [...line.inputs.map(({ text }) => text), ...line.commands.flatMap((argv) => filesOf(argv) ?? [])], places)
    if (hit) return hit
  }
  return undefined
}

function fileHit(rules: readonly Rule[], effect: 'read' | 'write', files: string[], places: WordPlace[]): Rule | undefined {
  const those = rules.filter(({ lifts, path }) => lifts === effect && path)
  const names = those.length > 0 ? files.flatMap((file) => places.flatMap((place) => namesOfWord(file, place))) : []
  return those.find((rule) => names.some((name) => rule.path!(name)))
}

/** Whether a call may run without a question as far as its command lines go. */
export async function judgeCommands(facts: CallFacts, rules: RuleSet): Promise<Judgement> {
  const lines = facts.commands().map(readCommand)
  const odd = lines.length === 0 ? 'it starts a program' : oddity(facts)
  if (odd) return { free: undefined, reason: odd }
  let free: 'read' | 'allowed' = 'read'
  for (const line of lines) {
    const reason = objection(line)
    if (reason) return { free: undefined, reason }
    const places = await placesIn(line, facts)
    for (const argv of line.commands) {
      const reads = await readsOnly(argv, places, facts, rules)
      if (!reads && !(await coveringRule(argv, places, facts, rules.allow))) return { free: undefined, reason: `\`${shownCommand(argv)}\` is not known to only read` }
      const loud = isGit(argv) ? await started(places, facts, reads) : undefined
      if (loud) return { free: undefined, reason: loud }
      if (!reads) free = 'allowed'
    }
    for (const { text } of line.inputs) if (!(await inAll(text, places))) return { free: undefined, reason: `it reads '${text}'` }
  }
  return { free, reason: '' }
}

/** What beside the command decides which program runs, and how its text is read. */
function oddity({ call: { input } }: CallFacts): string | undefined {
  const set = Object.keys((input.env ?? {}) as object).find((name) => !harmless.test(name))
  if (set !== undefined) return `it sets ${set}`
  if (input.login === true) return 'a login shell reads a profile first'
  return input.shell === undefined || input.shell === 'bash' || input.shell === 'sh' ? undefined : `its text is for ${String(input.shell)}`
}

export function objection(line: ParsedLine): string | undefined {
  const loud = line.assigned.find((name) => !harmless.test(name))
  if (line.unknown) return line.unknown
  if (line.commands.length === 0) return 'no program was recognised in it'
  if (loud) return `it sets ${loud}`
  if (line.writes[0]) return `it writes to '${line.writes[0].text}'`
  return line.inputs.some(({ kind }) => kind !== 'static') ? 'it reads a file whose name is only known when it runs' : undefined
}

/** Why git would start programs in one of the places. */
async function started(places: WordPlace[], { workspace }: CallFacts, reads: boolean): Promise<string | undefined> {
  if (places.length === 0) return 'it changes to a folder that is not known before'
  for (const { folder } of places) {
    const loud = await configuredPrograms(folder, workspace, reads ? hooksOfLooking : undefined)
    if (loud) return loud
  }
  return undefined
}

function filesOf(argv: Argv): string[] | undefined {
  if (changesFolder(argv)) return [targetOf(argv) ?? []].flat()
  return isGit(argv) ? lookedAt(argv) : readOnlyFiles(argv)
}

export async function readsOnly(argv: Argv, places: WordPlace[], facts: CallFacts, rules: RuleSet): Promise<boolean> {
  const files = filesOf(argv)
  if (!files || !isInstalled(argv[0]!.text, facts.workspace.root) || (isGit(argv) && !gitMayLook(argv, facts, rules))) return false
  for (const file of files) if (!(await inAll(file, places))) return false
  return places.length > 0
}

/**
 * Plan mode knows programs that cannot but read, and full-auto only what is listed; elsewhere git may look where it will run with
 * `alone`, unless a rule keeps files from being read: of a file's content git has more than one name.
 */
function gitMayLook(argv: Argv, { call, workspace, commands }: CallFacts, { deny, ask }: RuleSet): boolean {
  if (call.slot !== 'unified_exec/run' || !['ask', 'auto'].includes(call.mode)) return false
  if (showsContents(argv) && [...deny, ...ask].some(({ lifts, path }) => lifts === 'read' && path)) return false
  return commands().every((command) => looksWithGit(command, workspace.root))
}

/** The allow rule that answers for a command, and for the files it says have to lie inside. */
export async function coveringRule(argv: Argv, places: WordPlace[], facts: CallFacts, allow: readonly Rule[]): Promise<Rule | undefined> {
  if (argv[0]?.kind !== 'static' || !isInstalled(argv[0].text, facts.workspace.root)) return undefined
  for (const rule of allow) {
    if (!rule.command?.covers(argv) || !rule.applies(facts)) continue
    const inside = await Promise.all((rule.command.files?.(argv) ?? []).map((file) => inAll(file, places)))
    if (inside.every(Boolean)) return rule
  }
  return undefined
}

const builtins = ['echo', 'printf', 'true', 'false', 'test', '[', 'pwd', 'cd']
const installed = new Map<string, boolean>()
/** Found by its bare name outside the workspace; a program that the workspace brings is not the one that is meant. */
function isInstalled(name: string, root: string): boolean {
  if (builtins.includes(name)) return true
  const key = `${root}\0${name}`
  const known = installed.get(key) ?? findProgram(name, searchPath(process.env.PATH, root)) !== undefined
  installed.set(key, known)
  return known
}

export const commandFolder = ({ call: { input } }: CallFacts): string => String(input.workdir ?? input.cwd ?? '.')
const placeOf = (facts: CallFacts): WordPlace => ({ folder: commandFolder(facts), workspace: facts.workspace })
export const placesIn = (line: ParsedLine, facts: CallFacts): Promise<WordPlace[]> => commandFolders(line, placeOf(facts))

async function inAll(word: string, places: WordPlace[]): Promise<boolean> {
  for (const place of places) if (!(await isInside(word, place))) return false
  return places.length > 0
}

export const shownCommand = (argv: Argv): string => {
  const text = argv.map((word) => word.text).join(' ')
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
