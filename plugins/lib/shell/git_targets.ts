import { readGitWords } from './git_starts.js'
import { findValues, isStatic, literal, type Argv, type Word } from './words.js'

const isOption = ({ text }: Word): boolean => /^-./.test(text)
const listOperands = (words: Argv): Word[] => words.filter((word) => !isOption(word))
/** Returns what follows one of the words of a subcommand, such as `add`. */
const listActionWords = (words: Argv, pattern: RegExp): Word[] => {
  const operands = listOperands(words)
  return pattern.test(operands[0]?.text ?? '') ? operands.slice(1) : []
}

/** Words that name written files and folders, by subcommand of git. */
const GIT_TARGETS: Record<string, (words: Argv) => Word[]> = {
  mv: listOperands,
  rm: listOperands,
  restore: listOperands,
  checkout: listOperands,
  'checkout-index': listOperands,
  clone: (words) => listOperands(words).slice(1),
  init: listOperands,
  submodule: (words) => listActionWords(words, /^add$/).slice(1),
  bundle: (words) => listActionWords(words, /^create$/).slice(0, 1),
  mailinfo: listOperands,
  mailsplit: listOperands,
  'merge-file': (words) => listOperands(words).slice(0, 1),
  'interpret-trailers': (words) => (words.some(({ text }) => text === '--in-place') ? listOperands(words) : []),
  'pack-objects': listOperands,
}
/** Options of any subcommand whose value is a written file or folder. */
const OUTPUT_OPTION =
  /^(-o|--(output|output-directory|export-marks|export-pack-edges|index-output|separate-git-dir|prefix))$/

/** Subcommands that write no file which their words name. */
const READS_NAMES = new RegExp(
  `^(${[
    'add|annotate|archive|blame|branch|cat-file|check-attr|check-ignore|cherry|cherry-pick|commit|count-objects',
    'describe|diff|diff-files|diff-index|diff-tree',
    'fetch|for-each-ref|format-patch|fsck|grep|hash-object|help|log|ls-files',
    'ls-remote|ls-tree|merge-base|name-rev|notes|pull|push|range-diff|reflog|remote|reset|rev-list|rev-parse|shortlog',
    'show|show-branch|show-ref|stage|status|tag|update-index|update-ref|var|verify-commit|verify-pack|version',
    'whatchanged|config|apply',
  ].join('|')})$`,
)

/** Returns the subcommand of git and the words after it; no name where only the run decides it. */
function readSubcommand(words: Argv): { name?: string; rest: Argv } {
  const [word, ...rest] = readGitWords(words).rest
  return { ...(word && isStatic(word) && { name: word.text }), rest }
}

/** Returns the words by which a command of git names files that it writes. */
export function findGitTargets(words: Argv): Word[] {
  const { name = '', rest } = readSubcommand(words)
  const operands = Object.hasOwn(GIT_TARGETS, name) ? GIT_TARGETS[name]!(rest) : []
  // An operand that only the run decides is mostly a branch.
  return [...operands.filter(({ kind }) => kind !== 'dynamic'), ...findValues(rest, OUTPUT_OPTION)]
}

/** Returns the words that name folders which a command of git removes, moves or restores with their content. */
export function findGitTrees(words: Argv): Word[] {
  const { name, rest } = readSubcommand(words)
  const has = (pattern: RegExp): boolean => rest.some(({ text }) => pattern.test(text))
  switch (name) {
    case 'mv':
    case 'checkout':
      return listOperands(rest)
    case 'rm':
      return has(/^-[a-zA-Z]*r/) ? listOperands(rest) : []
    case 'restore':
      return has(/^(-[a-zA-Z]*S|--staged)/) && !has(/^(-[a-zA-Z]*W|--worktree)/) ? [] : listOperands(rest)
    case 'clean': {
      const operands = listOperands(rest)
      return has(/^(-[a-zA-Z]*n|--dry-run)/) ? [] : operands.length > 0 ? operands : [literal('.')]
    }
    default:
      return []
  }
}

/** Checks whether a command of git may write files that its words name. */
export function canGitWriteNames(words: Argv): boolean {
  const { name } = readSubcommand(words)
  return name === undefined || !READS_NAMES.test(name)
}
