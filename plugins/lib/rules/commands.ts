import { findProgram, searchPath } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import { startsNothing } from '../git/index.js'
import { findTargets, isOpenTarget, type Argv, type ParsedCommand } from '../shell/index.js'
import type { CallFacts } from './facts.js'
import { changesFolder, commandFolders, targetOf } from './folders.js'
import { gitOptions, isGit, lookedAt, looksWithGit, programOfUser, showsContents } from './git.js'
import { isInside, meetsLinkOut, namesOfWord, reached, type WordPlace } from './named.js'
import { readOnlyFiles, showsFiles } from './read_only.js'
import { configuredPrograms, hooksOfLooking } from './repository.js'
import type { Rule, RuleSet } from './rule.js'
import { findWrites, type Writes } from './find_writes.js'

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
  for (const line of facts.lines()) {
    const places = [placeOf(facts), ...(await placesIn(line, facts))]
    const programs = line.commands
    const hit =
      rules.find((rule) => rule.command && rule.applies(facts) && programs.some((argv) => rule.command!.hits(argv))) ??
      fileHit(
        rules,
        'write',
        [...line.writes, ...programs.flatMap(findTargets)].map(({ text }) => text),
        places,
      ) ??
      fileHit(
        rules,
        'read',
        [...line.inputs.map(({ text }) => text), ...line.commands.flatMap((argv) => filesOf(argv) ?? [])],
        places,
      ) ??
      fileHit(
        rules.filter(({ anyWord }) => anyWord),
        'read',
        programs.flatMap((argv) => argv.map(({ text }) => text.replace(/^-[^=]*=|^@/, ''))),
        places,
      )
    if (hit) return hit
  }
  return undefined
}

function fileHit(
  rules: readonly Rule[],
  effect: 'read' | 'write',
  files: string[],
  places: WordPlace[],
): Rule | undefined {
  const those = rules.filter(({ lifts, path }) => lifts === effect && path)
  const names = [
    ...new Set(
      those.length > 0
        ? [...new Set(files)].flatMap((file) => places.flatMap((place) => namesOfWord(file, place)))
        : [],
    ),
  ]
  return those.find((rule) => names.some((name) => rule.path!(name)))
}

/** Returns what the command lines of a call are known to write: by a redirection, or because the words of a program name it. */
export async function findCommandWrites(facts: CallFacts): Promise<Writes> {
  const lines = await Promise.all(
    facts.lines().map(async (line) => findWrites(line, placeOf(facts), await placesIn(line, facts))),
  )
  const unclear = lines.find((line) => line.unclear !== undefined)?.unclear
  return { names: [...new Set(lines.flatMap(({ names }) => names))], ...(unclear !== undefined && { unclear }) }
}

/**
 * Returns why no rule on a slot may allow the call, as a clause: its text does not show whether another rule is about it. `inSandbox`:
 * the call would run where files that a rule denies to read are not there.
 */
export function hiddenFrom(facts: CallFacts, { deny, ask }: RuleSet, { inSandbox = false } = {}): string | undefined {
  const rules = [...deny, ...ask]
  const isRuled = rules.some((rule) => rule.command && rule.applies(facts))
  const isFullAuto = facts.call.mode === 'full-auto'
  // A rule about the home of this program is no reason: it is there for every call.
  const effects = rules.flatMap(({ path, anyWord, lifts }) => (path && !anyWord && lifts ? lifts : []))
  const reasons = facts.lines().flatMap((line) => [
    isRuled || isFullAuto ? line.hidden : undefined,
    // A user who lets a model start a shell in a terminal lets it type into the shell, unless a rule is about commands.
    isRuled ? line.typed : undefined,
    effects.includes('write') ? findOpenTarget(line) : undefined,
    effects.includes('read') && !inSandbox ? findOpenSource(line) : undefined,
  ])
  return reasons.find((reason) => reason !== undefined)
}

function findOpenTarget(line: ParsedCommand): string | undefined {
  const word = [...line.writes, ...line.commands.flatMap(findTargets)].find((target) => isOpenTarget(target, line))
  return word && `what it writes by '${word.text.slice(0, 80)}'`
}

function findOpenSource(line: ParsedCommand): string | undefined {
  const words = [...line.inputs, ...line.commands.filter(showsFiles).flat()]
  const word = words.find(({ kind }) => kind === 'dynamic')
  return word && `what it reads by '${word.text.slice(0, 80)}'`
}

/** Whether a call may run without a question as far as its command lines go. */
export async function judgeCommands(facts: CallFacts, rules: RuleSet): Promise<Judgement> {
  const lines = facts.lines()
  const odd = lines.length === 0 ? 'it starts a program' : oddity(facts)
  if (odd) return { free: undefined, reason: odd }
  let free: 'read' | 'allowed' = 'read'
  for (const line of lines) {
    const reason = objection(line)
    if (reason) return { free: undefined, reason }
    const places = await placesIn(line, facts)
    for (const argv of line.commands) {
      const reads = await readsOnly(argv, places, facts, rules)
      if (!reads && !(await coveringRule(argv, places, facts, rules.allow)))
        return { free: undefined, reason: await unknownUse(await culprit(argv, line, facts, rules), facts) }
      const loud = isGit(argv) ? await started(argv, places, facts, reads) : undefined
      if (loud) return { free: undefined, reason: loud }
      if (!reads) free = 'allowed'
    }
    for (const { text } of line.inputs)
      if (!(await inAll(text, places))) return { free: undefined, reason: `it reads '${text}'` }
  }
  return { free, reason: '' }
}

/** What beside the command decides which program runs, and how its text is read. */
function oddity({ call: { input } }: CallFacts): string | undefined {
  const set = Object.keys((input.env ?? {}) as object).find((name) => !harmless.test(name))
  if (set !== undefined) return `it sets ${set}`
  if (input.login === true) return 'a login shell reads a profile first'
  return input.shell === undefined || input.shell === 'bash' || input.shell === 'sh'
    ? undefined
    : `its text is for ${toText(input.shell)}`
}

export function objection(line: ParsedCommand): string | undefined {
  const loud = line.assigned.find((name) => !harmless.test(name))
  if (line.dynamic !== undefined) return line.dynamic
  if (line.commands.length === 0) return 'no program was recognised in it'
  if (loud) return `it sets ${loud}`
  if (line.writes[0]) return `it writes to '${line.writes[0].text}'`
  return line.inputs.some(({ kind }) => kind !== 'static')
    ? 'it reads a file whose name is only known when it runs'
    : undefined
}

/** Git that looks is asked about because of what stands beside it: that is named. */
async function culprit(argv: Argv, line: ParsedCommand, facts: CallFacts, { allow }: RuleSet): Promise<Argv> {
  if (filesOf(argv) === undefined) return argv
  const places = await placesIn(line, facts)
  for (const other of line.commands)
    if (filesOf(other) === undefined && !(await coveringRule(other, places, facts, allow))) return other
  return argv
}

async function unknownUse(argv: Argv, { workspace }: CallFacts): Promise<string> {
  const program = await programOfUser(argv, workspace.root)
  const reason = `\`${shownCommand(argv)}\` is not known to only read`
  return program === undefined
    ? reason
    : `${reason}: the user's own git configuration has differences shown by '${program.slice(0, 80)}'`
}

/** Why git would start programs in one of the places, or be led elsewhere by its options. */
async function started(
  argv: Argv,
  places: WordPlace[],
  { workspace }: CallFacts,
  reads: boolean,
): Promise<string | undefined> {
  if (places.length === 0) return 'it changes to a folder that is not known before'
  const { folders, set, other } = gitOptions(argv)
  if (other !== undefined) return `git takes ${other} to work elsewhere or otherwise`
  const loud = set.find((one) => !startsNothing(one.split('=')[0]!, one.slice(one.indexOf('=') + 1)))
  if (loud !== undefined) return `it sets ${loud.split('=')[0]!.slice(0, 80)}`
  for (const place of places) {
    const folder = folders.reduce<string | undefined>(
      (at, name) => (at === undefined ? undefined : reached(name, { ...place, folder: at })),
      place.folder,
    )
    if (folder === undefined) return 'git works in a folder outside of the workspace'
    const why = await configuredPrograms(folder, workspace, reads ? hooksOfLooking : undefined)
    if (why) return why
  }
  return undefined
}

function filesOf(argv: Argv): string[] | undefined {
  if (changesFolder(argv)) return [targetOf(argv) ?? []].flat()
  return isGit(argv) ? lookedAt(argv) : readOnlyFiles(argv)
}

export async function readsOnly(argv: Argv, places: WordPlace[], facts: CallFacts, rules: RuleSet): Promise<boolean> {
  const files = filesOf(argv)
  if (
    !files ||
    !isInstalled(argv[0]!.text, facts.workspace.root) ||
    (isGit(argv) && !(await gitMayLook(argv, facts, rules)))
  )
    return false
  for (const file of new Set(files)) if (!(await inAll(file, places))) return false
  const patterns = files.length > 0 ? argv.filter(({ kind }) => kind === 'glob') : []
  for (const { text } of patterns) for (const place of places) if (await meetsLinkOut(text, place)) return false
  return places.length > 0
}

/**
 * Plan mode knows programs that cannot but read; elsewhere git may look where it will run with `gitAlone`, unless a rule keeps files
 * from being read: of a file's content git has more than one name.
 */
async function gitMayLook(
  argv: Argv,
  { call, workspace, commands }: CallFacts,
  { deny, ask }: RuleSet,
): Promise<boolean> {
  if (call.slot !== 'unified_exec/run' || call.mode === 'plan') return false
  if (showsContents(argv) && [...deny, ...ask].some(({ lifts, path }) => lifts === 'read' && path)) return false
  for (const command of commands()) if (!(await looksWithGit(command, workspace.root))) return false
  return true
}

/** The allow rule that answers for a command, and for the files it says have to lie inside. */
export async function coveringRule(
  argv: Argv,
  places: WordPlace[],
  facts: CallFacts,
  allow: readonly Rule[],
): Promise<Rule | undefined> {
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

export const commandFolder = ({ call: { input } }: CallFacts): string => toText(input.workdir ?? input.cwd ?? '.')
const placeOf = (facts: CallFacts): WordPlace => ({ folder: commandFolder(facts), workspace: facts.workspace })
export const placesIn = (line: ParsedCommand, facts: CallFacts): Promise<WordPlace[]> =>
  commandFolders(line, placeOf(facts))

async function inAll(word: string, places: WordPlace[]): Promise<boolean> {
  for (const place of places) if (!(await isInside(word, place))) return false
  return places.length > 0
}

const shownCommand = (argv: Argv): string => {
  const text = argv.map((word) => word.text).join(' ')
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
