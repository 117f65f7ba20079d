import { join } from 'node:path'
import { isInside } from '../../../core/system/index.js'
import { listEntries } from '../git/index.js'
import {
  findReadOnlyFiles,
  findSources,
  findTargets,
  findTrees,
  isElsewhere,
  programName,
  showsNoContent,
  withText,
  type Argv,
  type ParsedCommand,
  type Word,
} from '../shell/index.js'
import { expandLine, listLineFolders, type LineFolders } from './expand_words.js'
import type { CallFacts } from './facts.js'
import { isFolderChange, listWorkingFolders, readCdTarget, toWorkingFolder } from './folders.js'
import { isGit, readGitOperands } from './git.js'
import { canCover, readOpenWord } from './open_words.js'
import type { Rule, RuleSet } from './rule.js'
import { listMachinePaths, listWordNames, toKnownFolder, type WorkingFolder } from './word_paths.js'

/**
 * Returns the first rule that matches a part of the command lines: a program, a redirection, a file that a program
 * reads by its words.
 */
export async function findCommandRule(facts: CallFacts, rules: readonly Rule[]): Promise<Rule | undefined> {
  for (const line of facts.lines()) {
    const hit = findProgramRule(line, facts, rules) ?? (await findFileRule(line, facts, rules))
    if (hit) return hit
  }
  return undefined
}

const findProgramRule = ({ commands }: ParsedCommand, facts: CallFacts, rules: readonly Rule[]): Rule | undefined =>
  rules.find((rule) => rule.command && rule.applies(facts) && commands.some((argv) => rule.command!.matches(argv)))

async function findFileRule(line: ParsedCommand, facts: CallFacts, rules: readonly Rule[]): Promise<Rule | undefined> {
  const ofPaths = rules.filter(({ path }) => path)
  if (ofPaths.length === 0) return undefined
  const places = [toWorkingFolder(facts), ...(await listWorkingFolders(line, facts))]
  const folders = listLineFolders(line, facts)
  const find = (those: readonly Rule[], listWords: () => Word[], isWhole = false): Rule | undefined => {
    if (those.length === 0) return undefined
    const files = listFiles(listWords(), places, folders, facts)
    return findRuleOfFiles(those, isWhole ? addContent(files, facts.workspace.root) : files)
  }
  const ofWrites = ofPaths.filter(({ coveredEffect }) => coveredEffect === 'write')
  const expanded = ofWrites.length > 0 ? expandLine(line, folders) : []
  return (
    find(ofWrites, () => [...line.writes, ...expanded.flatMap(findTargets)]) ??
    find(ofWrites, () => expanded.flatMap(findTrees), true) ??
    find(
      ofPaths.filter(({ coveredEffect }) => coveredEffect === 'read'),
      () => listSources(line),
    ) ??
    find(
      ofPaths.filter(({ anyWord }) => anyWord),
      () => line.commands.flatMap((argv) => argv.map((word) => withText(word, word.text.replace(/^-[^=]*=|^@/, '')))),
    )
  )
}

/** Files of words. */
interface NamedFiles {
  /** Names relative to the workspace. */
  names: Set<string>
  /** Paths of the machine. */
  paths: Set<string>
}

const findRuleOfFiles = (rules: readonly Rule[], { names, paths }: NamedFiles): Rule | undefined =>
  rules.find(
    (rule) => [...names].some((name) => rule.path!(name)) || (rule.base !== undefined && [...paths].some(rule.path!)),
  )

/** Returns the files that words may name, in each folder that the line may enter. */
function listFiles(
  words: readonly Word[],
  places: readonly WorkingFolder[],
  folders: LineFolders,
  { workspace: { root, user } }: CallFacts,
): NamedFiles {
  const files: NamedFiles = { names: new Set(), paths: new Set() }
  const seen = new Set<string>()
  for (const word of words) {
    const key = `${word.kind} ${word.text}`
    if (seen.has(key)) continue
    seen.add(key)
    for (const place of places) for (const name of listWordNames(word.text, place)) files.names.add(name)
    for (const folder of folders.paths)
      for (const text of folders.expand(word, folder) ?? [word.text])
        for (const path of listMachinePaths(text, folder, user)) {
          files.paths.add(path)
          if (isInside(root, path)) files.names.add(path.slice(root.length + 1) || '.')
        }
  }
  return files
}

const MAX_TREE_FOLDERS = 1000
/** Adds the files that exist in folders of the workspace, outer ones first. */
function addContent({ names, paths }: NamedFiles, root: string): NamedFiles {
  const queue = [...names]
  for (const folder of queue)
    for (const { name, isFolder } of listEntries(join(root, folder))) {
      const path = join(folder, name)
      names.add(path)
      if (isFolder && queue.length < MAX_TREE_FOLDERS) queue.push(path)
    }
  return { names, paths }
}

/** Returns the files and folders of a command that only reads, or of a `cd`; `undefined` if it may do more. */
export function listReadFiles(argv: Argv): string[] | undefined {
  if (isFolderChange(argv)) return [readCdTarget(argv) ?? []].flat()
  return isGit(argv) ? readGitOperands(argv) : findReadOnlyFiles(argv)
}

/** Programs that do not show the files which their words name. */
const NOT_SHOWING = new RegExp(
  `^(${[
    'touch|truncate|rm|rmdir|unlink|shred|mkdir|mkfifo|chmod|chown|chgrp',
    'export|declare|typeset|local|readonly|unset|return|exit|shift|kill|wait|set',
  ].join('|')})$`,
)
/** Returns the words by which a line may name files that it reads. */
function listSources({ commands, inputs }: Pick<ParsedCommand, 'commands' | 'inputs'>): Word[] {
  const words = commands.flatMap((argv) => {
    // Git has several names for one file.
    const files = isFolderChange(argv) || isGit(argv) ? undefined : listReadFiles(argv)
    if (files || NOT_SHOWING.test(programName(argv[0]) ?? ''))
      return (files ?? []).map((text): Word => ({ text, kind: 'static' }))
    return findSources(argv)
  })
  return [...inputs, ...words]
}

/**
 * Returns a clause if a line names a folder around the files of a rule such as `Read(~/keys/**)`, or a path outside
 * the workspace that may be among them.
 */
export function findProtectedFolder(line: ParsedCommand, rules: readonly Rule[], facts: CallFacts): string | undefined {
  const bases = rules.flatMap(({ base, coveredEffect }) => (coveredEffect === 'read' && base !== undefined ? base : []))
  if (bases.length === 0) return undefined
  const { root, user } = facts.workspace
  const folders = listLineFolders(line, facts)
  const found = listSources(line).find(({ text }) =>
    folders.paths
      .flatMap((folder) => listMachinePaths(toKnownFolder(text), folder, user))
      .some((path) => bases.some((base) => isInside(path, base) || (isInside(base, path) && !isInside(root, path)))),
  )
  return found === undefined ? undefined : `a rule is about files in '${found.text.slice(0, 80)}'`
}

/**
 * Returns a clause if no rule on a slot may allow the call, because its text may hide a match of another rule.
 * `inSandbox`: files that a rule denies to read are absent in the sandbox.
 */
export function findHiddenReason(
  facts: CallFacts,
  { deny, ask }: RuleSet,
  { inSandbox = false } = {},
): string | undefined {
  const rules = [...deny, ...ask]
  const isRuled = rules.some((rule) => rule.command && rule.applies(facts))
  const isFullAuto = facts.call.mode === 'full-auto'
  // The rule about the home of this program is no reason: every call has that rule.
  const ofPaths = rules.filter(({ path, anyWord }) => path && !anyWord)
  const written = ofPaths.filter(({ coveredEffect }) => coveredEffect === 'write')
  const read = inSandbox ? [] : ofPaths.filter(({ coveredEffect }) => coveredEffect === 'read')
  const reasons = facts.lines().map((line) => {
    const folders = written.length + read.length > 0 ? listLineFolders(line, facts) : undefined
    return (
      (isRuled || isFullAuto ? line.hidden : undefined) ??
      // A user who allows a shell in a terminal allows input to it, unless a rule is about commands.
      (isRuled ? line.typed : undefined) ??
      (folders && findOpenTarget(line, folders, written, facts)) ??
      (folders && findOpenSource(line, folders, read, facts)) ??
      findProtectedFolder(line, read, facts)
    )
  })
  return reasons.find((reason) => reason !== undefined)
}

/** Returns a clause if only the run decides whether a line writes a file that a rule covers. */
function findOpenTarget(
  line: ParsedCommand,
  folders: LineFolders,
  rules: readonly Rule[],
  facts: CallFacts,
): string | undefined {
  const isOpen = (target: Word, isRedirection: boolean): boolean => {
    const open = isElsewhere(target, line) ? undefined : readOpenWord(target, folders, facts, isRedirection)
    return open !== undefined && rules.some((rule) => canCover(rule, open, facts.workspace.root))
  }
  const word =
    line.writes.find((target) => isOpen(target, true)) ??
    line.commands.flatMap(findTargets).find((target) => isOpen(target, false))
  return word && `the target of a write is '${word.text.slice(0, 80)}'`
}

/** Returns a clause if only the run decides whether a line reads a file that a rule covers. */
function findOpenSource(
  line: ParsedCommand,
  folders: LineFolders,
  rules: readonly Rule[],
  facts: CallFacts,
): string | undefined {
  if (rules.length === 0) return undefined
  const showing = line.commands.filter((argv) => !showsNoContent(argv) && !isFolderChange(argv))
  const word = listSources({ ...line, commands: showing }).find((source) => {
    const open = readOpenWord(source, folders, facts)
    return open !== undefined && rules.some((rule) => canCover(rule, open, facts.workspace.root))
  })
  return word && `a file that it reads is '${word.text.slice(0, 80)}'`
}
