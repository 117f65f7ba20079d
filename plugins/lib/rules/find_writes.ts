import { isHarmlessSetting } from '../git/index.js'
import {
  canGitWriteNames,
  findReadOnlyFiles,
  findTargets,
  findTrees,
  hasTargets,
  isElsewhere,
  programName,
  readGitConfig,
  withText,
  type Argv,
  type ParsedCommand,
  type Word,
} from '../shell/index.js'
import { canNameEntry, judgeName } from '../steering/index.js'
import { expandLine, listLineFolders, type LineFolders } from './expand_words.js'
import type { CallFacts } from './facts.js'
import { isFolderChange, listEnteredFolders, readCdTarget, toWorkingFolder } from './folders.js'
import { isGit } from './git.js'
import { readOpenWord } from './open_words.js'
import { listWordNames, resolveWord, type WorkingFolder } from './word_paths.js'

/** Files that command lines write, as far as their text shows. */
export interface Writes {
  /** Names of files that the lines write, or that an unknown program names in a folder of git or of this program. */
  names: string[]
  /**
   * Names that may be changed too: folders that a program handles with their content, and auto-executed config among
   * the words of an unknown program.
   */
  operands: string[]
  /** Clause that says which target only the run decides. */
  unclear?: string
}

const MAX_NAMES = 1024

export function findWrites(line: ParsedCommand, facts: CallFacts, places: readonly WorkingFolder[]): Writes {
  const start = toWorkingFolder(facts)
  const known = listLineFolders(line, facts)
  const commands = expandLine(line, known)
  const targets = commands.flatMap(findTargets)
  const written = known.paths.flatMap((folder) =>
    line.writes.flatMap((word) => (known.expand(word, folder) ?? [word.text]).map((text) => withText(word, text))),
  )
  const folders =
    targets.length + written.length > 0
      ? [start, ...places, ...findEnteredFolders(line, start, known)]
      : [start, ...places]
  const listNames = (words: readonly Word[]): string[] => [
    ...new Set(words.flatMap(({ text }) => folders.flatMap((place) => listWordNames(text, place)))),
  ]
  const mentions = commands.flatMap(findMentions)
  const names = listNames([...written, ...targets, ...mentions.filter(({ text }) => IN_PROTECTED_FOLDER.test(text))])
  const operands = listNames([...commands.flatMap(findTrees), ...mentions])
  const unclear =
    findUnclear(line, known, facts) ??
    (names.length > MAX_NAMES || operands.length > MAX_NAMES ? 'it names too many files' : undefined)
  return {
    names: names.slice(0, MAX_NAMES),
    operands: operands.slice(0, MAX_NAMES),
    ...(unclear !== undefined && { unclear }),
  }
}

function findUnclear(line: ParsedCommand, folders: LineFolders, facts: CallFacts): string | undefined {
  const { commands } = line
  const targets = [...line.writes, ...commands.flatMap(findTargets)]
  const open = targets.find((word) => isOpenTarget(word, line, folders, facts))
  if (open) return `the target of a write is '${open.text.slice(0, 80)}'`
  const isLost = commands.some((argv) => isFolderChange(argv) && readCdTarget(argv) === undefined)
  if (isLost && targets.some(({ text }) => INSIDE_GIT.test(text))) return 'the folder of a write is unknown'
  const isFed = commands.some((argv) => programName(argv[0]) === 'xargs' && argv.some(({ text }) => hasTargets(text)))
  return isFed ? 'the input of xargs names the files' : findSetting(commands)
}

/** Checks whether a target may be auto-executed config, because only the run decides what it names. */
function isOpenTarget(word: Word, line: ParsedCommand, folders: LineFolders, facts: CallFacts): boolean {
  if (word.kind === 'static' || isElsewhere(word, line)) return false
  // Another command of the line may make the file that a pattern matches.
  if (word.kind === 'glob' && /(^|\/)\.[^/]*[*?[]/.test(word.text)) return true
  const open = readOpenWord(word, folders, facts, line.writes.includes(word))
  if (open === undefined || (word.kind === 'glob' && folders.hasUnknown && !open.patterns.some(canNameEntry)))
    return false
  return open.isAnywhere || open.patterns.some(canNameEntry)
}

/** Names with a meaning in a folder of git or of this program. */
const INSIDE_GIT = new RegExp(
  `^(\\./)?(${[
    'config|config\\.worktree|commondir|hooks|info|objects|alternates|attributes|tool-policy\\.json',
    '(pre|post)-[a-z-]+|[a-z]+-msg|fsmonitor-watchman',
  ].join('|')})(/|$)`,
)

/** Returns the folders that a `cd` or an option names, even where it is not certain that the line gets there. */
function findEnteredFolders(
  line: ParsedCommand,
  place: WorkingFolder,
  { paths, expand }: LineFolders,
): WorkingFolder[] {
  return line.commands.flatMap(listEnteredFolders).flatMap((word) =>
    (expand(word, paths[0]!) ?? []).flatMap((text) => {
      const folder = resolveWord(text, place)
      return folder === undefined ? [] : { ...place, folder }
    }),
  )
}

/** Programs whose script may write files by name. */
const SCRIPTED = /^(awk|gawk|mawk|sed|perl|ruby|ex|vi|vim|nvim)$/
/** Programs that read what they name, and those whose words are commands, which are judged by themselves. */
const READERS = new RegExp(
  `^(${[
    'e?grep|fgrep|rg|ag|fd|less|more|diff|sort|uniq|cut|tr|jq|strings|hexdump|xxd|od|nl|tac|column',
    'md5sum|sha\\w+sum|gzip|zcat',
    'tree|bat|test|\\[|export|declare|wc|find|env|xargs|sh|bash|source|\\.|sudo|eval|nohup|nice|timeout|time',
  ].join('|')})$`,
)
/** A path in a folder of git or of this program, or the folder itself. */
const IN_PROTECTED_FOLDER = /(^|\/)\.(git|vtcode)(\/|$)/i
/** Programs that read the whole folder. */
const READS_FOLDER = /^(git|tar)$/
const FOLDER = /^(\.\/)?\.(git|vtcode)\/?$/i

const isMention = (text: string, argv: Argv): boolean =>
  IN_PROTECTED_FOLDER.test(text) || (judgeName(text) !== undefined && (!isGit(argv) || canGitWriteNames(argv.slice(1))))

/** Returns words by which an unknown program names auto-executed config. */
function findMentions(argv: Argv): Word[] {
  const name = programName(argv[0])
  if (name === undefined || READERS.test(name) || findReadOnlyFiles(argv) !== undefined || isFolderChange(argv))
    return []
  if (hasTargets(name) && !SCRIPTED.test(name)) return []
  const words = SCRIPTED.test(name) ? argv.slice(1).filter(({ text }) => /[\s>]/.test(text)) : argv.slice(1)
  return words.flatMap((word) =>
    word.text
      .split(/[\s"'`()<>,;:|&=]+/)
      .filter((text) => isMention(text, argv) && !(READS_FOLDER.test(name) && FOLDER.test(text)))
      .map((text) => withText(word, text)),
  )
}

/** Returns a clause if a command writes a git setting that starts a program. */
function findSetting(commands: readonly Argv[]): string | undefined {
  for (const [program, ...words] of commands) {
    const at = words.findIndex(({ text }) => text === 'config')
    const options = words.slice(at + 1)
    if (
      program?.text !== 'git' ||
      at < 0 ||
      options.some(({ text }) => /^(-l|--list|--get.*|--unset.*|--remove-section|get|list|unset)$/.test(text))
    )
      continue
    if (options.some(({ text }) => /^(-e|--edit|edit)$/.test(text)))
      return 'the edited git configuration may start programs'
    const setting = readGitConfig(options).find(({ key, value }) => !isHarmlessSetting(key, value.text))
    if (setting) return `git starts a program by ${setting.key.slice(0, 80)}`
  }
  return undefined
}
