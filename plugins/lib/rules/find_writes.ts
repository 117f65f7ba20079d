import { isHarmlessSetting } from '../git/index.js'
import {
  findFolders,
  findTargets,
  hasTargets,
  isOpenTarget,
  programName,
  readGitConfig,
  withText,
  type Argv,
  type ParsedCommand,
  type Word,
} from '../shell/index.js'
import { isFolderChange, readCdTarget } from './folders.js'
import { listWordNames, resolveWord, type WorkingFolder } from './word_paths.js'
import { findReadOnlyFiles } from './read_only.js'

/** Files that command lines write, as far as their text shows. */
export interface Writes {
  /** Names of files that the lines write, or that an unknown program names in a folder of git or of this program. */
  names: string[]
  /** Clause that says which target only the run decides. */
  unclear?: string
}

const MAX_NAMES = 256

export function findWrites(line: ParsedCommand, start: WorkingFolder, places: readonly WorkingFolder[]): Writes {
  const { commands } = line
  const targets = [...line.writes, ...commands.flatMap(findTargets)]
  const folders = targets.length > 0 ? [start, ...places, ...findEnteredFolders(commands, start)] : [start, ...places]
  const names = new Set<string>()
  for (const { text } of [...targets, ...commands.flatMap(findMentions)]) {
    for (const place of folders)
      for (const name of listWordNames(text, place)) if (names.size < MAX_NAMES) names.add(name)
  }
  const unclear = findUnclear(targets, line)
  return { names: [...names], ...(unclear !== undefined && { unclear }) }
}

function findUnclear(targets: readonly Word[], line: ParsedCommand): string | undefined {
  const { commands } = line
  const open = targets.find((word) => isOpenTarget(word, line))
  if (open) return `the target of a write is '${open.text.slice(0, 80)}'`
  const isLost = commands.some((argv) => isFolderChange(argv) && readCdTarget(argv) === undefined)
  if (isLost && targets.some(({ text }) => INSIDE_GIT.test(text))) return 'the folder of a write is unknown'
  const isFed = commands.some((argv) => programName(argv[0]) === 'xargs' && argv.some(({ text }) => hasTargets(text)))
  return isFed ? 'the input of xargs names the files' : findSetting(commands)
}

/** Names with a meaning in a folder of git or of this program. */
const INSIDE_GIT = new RegExp(
  `^(\\./)?(${[
    'config|config\\.worktree|commondir|hooks|info|objects|alternates|attributes|tool-policy\\.json',
    '(pre|post)-[a-z-]+|[a-z]+-msg|fsmonitor-watchman',
  ].join('|')})(/|$)`,
)

/** Returns the folders that a `cd` or an option names, even where it is not certain that the line gets there. */
function findEnteredFolders(commands: readonly Argv[], place: WorkingFolder): WorkingFolder[] {
  const words = commands.flatMap((argv) =>
    isFolderChange(argv) ? argv.slice(1).filter(({ text }) => !text.startsWith('-')) : findFolders(argv),
  )
  return words.flatMap(({ text }) => {
    const folder = resolveWord(text, place)
    return folder === undefined ? [] : { ...place, folder }
  })
}

/** Programs whose script may write files by name. */
const SCRIPTED = /^(awk|gawk|mawk|sed|perl|ruby|ex|vi|vim|nvim)$/
/** Programs that read what they name, and those whose words are commands, which are judged by themselves. */
const READERS = new RegExp(
  `^(${[
    'e?grep|fgrep|rg|ag|fd|less|more|diff|sort|uniq|cut|tr|jq|strings|hexdump|xxd|od|nl|tac|column',
    'md5sum|sha\\w+sum|gzip|zcat',
    'tree|bat|test|\\[|export|declare|wc|find|env|xargs|sh|bash|sudo|eval|nohup|nice|timeout|time',
  ].join('|')})$`,
)
/** A path in a folder of git or of this program, or the folder itself. */
const IN_PROTECTED_FOLDER = /(^|\/)\.(git|vtcode)(\/|$)/i
/** Programs that read the whole folder. */
const READS_FOLDER = /^(git|tar)$/
const FOLDER = /^(\.\/)?\.(git|vtcode)\/?$/i

/** Returns words by which an unknown program names a protected file. */
function findMentions(argv: Argv): Word[] {
  const name = programName(argv[0])
  if (name === undefined || READERS.test(name) || findReadOnlyFiles(argv) !== undefined || isFolderChange(argv))
    return []
  if (hasTargets(name) && !SCRIPTED.test(name)) return []
  const words = SCRIPTED.test(name) ? argv.slice(1).filter(({ text }) => /[\s>]/.test(text)) : argv.slice(1)
  return words.flatMap((word) =>
    word.text
      .split(/[\s"'`()<>,;:|&=]+/)
      .filter((text) => IN_PROTECTED_FOLDER.test(text) && !(READS_FOLDER.test(name) && FOLDER.test(text)))
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
