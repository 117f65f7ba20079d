import { statSync } from 'node:fs'
import { readSettings } from '../git/index.js'
import { findReadOnlyFiles, listOperands, readCommand, type Argv, type ReadOnlyUse } from '../shell/index.js'
import { isFolderChange, readCdTarget } from './folders.js'

const FORMAT_OPTIONS = [
  'format',
  'pretty',
  'oneline',
  'date',
  'abbrev-commit',
  'no-abbrev-commit',
  'abbrev',
  'decorate',
  'no-decorate',
  'color',
  'no-color',
  'no-notes',
]
const CHANGE_OPTIONS = [
  'stat',
  'shortstat',
  'numstat',
  'dirstat',
  'name-only',
  'name-status',
  'summary',
  'raw',
  'diff-filter',
  'find-renames',
  'no-renames',
  'relative',
]
const RANGE_OPTIONS = [
  'max-count',
  'skip',
  'since',
  'after',
  'until',
  'before',
  'author',
  'committer',
  'grep',
  'invert-grep',
  'regexp-ignore-case',
  'all',
  'branches',
  'tags',
  'remotes',
  'merges',
  'no-merges',
  'first-parent',
  'follow',
  'reverse',
  'topo-order',
  'date-order',
  'ancestry-path',
  'left-right',
  'cherry-pick',
]
const DIFF_OPTIONS = [
  'patch',
  'no-patch',
  'unified',
  'cached',
  'staged',
  'merge-base',
  'minimal',
  'patience',
  'histogram',
  'word-diff',
  'color-words',
  'check',
  'exit-code',
  'quiet',
  'ignore-all-space',
  'ignore-space-change',
  'ignore-blank-lines',
  'ignore-space-at-eol',
  'function-context',
  'binary',
  'full-index',
  'text',
]

/** Subcommands of git that only read, with options that start no program and write no file. */
const READ_ONLY_SUBCOMMANDS: Record<string, ReadOnlyUse> = {
  status: {
    short: 'sbu.z',
    long: [
      'short',
      'branch',
      'long',
      'porcelain',
      'untracked-files',
      'ignored',
      'no-renames',
      'show-stash',
      'ahead-behind',
      'no-ahead-behind',
    ],
    words: 'files',
  },
  log: {
    short: 'n:S:G:iE',
    long: [...FORMAT_OPTIONS, ...CHANGE_OPTIONS, ...RANGE_OPTIONS, 'graph'],
    words: 'files',
    count: true,
  },
  show: { short: 'psU.M.C.wbW', long: [...FORMAT_OPTIONS, ...CHANGE_OPTIONS, ...DIFF_OPTIONS], words: 'files' },
  diff: {
    short: 'puU.M.C.wbWaRzS:G:',
    long: [...CHANGE_OPTIONS, ...DIFF_OPTIONS, 'color', 'no-color', 'abbrev', 'pickaxe-all'],
    words: 'files',
  },
  blame: {
    short: 'L:wbcelnfpstM.C.',
    long: ['porcelain', 'line-porcelain', 'show-email', 'show-name', 'show-number', 'date', 'since', 'abbrev'],
    words: 'files',
  },
  branch: {
    short: 'avrl',
    long: ['all', 'verbose', 'remotes', 'list', 'show-current', 'color', 'no-color', 'no-column'],
    words: 'none',
  },
  tag: { short: 'l', long: ['list', 'no-column'], words: 'none' },
  remote: { short: 'v', long: ['verbose'], words: 'none' },
  reflog: { words: 'none' },
  shortlog: { short: 'nse', long: ['numbered', 'summary', 'email', ...RANGE_OPTIONS], words: 'files' },
  'rev-parse': {
    short: 'q',
    long: [
      'verify',
      'quiet',
      'short',
      'abbrev-ref',
      'symbolic-full-name',
      'show-toplevel',
      'show-prefix',
      'show-cdup',
      'git-dir',
      'is-inside-work-tree',
      'is-bare-repository',
    ],
    words: 'files',
  },
  'rev-list': {
    short: 'n:',
    long: ['count', 'oneline', 'abbrev-commit', ...RANGE_OPTIONS],
    words: 'files',
    count: true,
  },
  'merge-base': { short: 'a', long: ['all', 'is-ancestor', 'fork-point', 'octopus'], words: 'files' },
  describe: {
    long: ['tags', 'always', 'all', 'long', 'abbrev', 'exact-match', 'contains', 'match', 'exclude', 'first-parent'],
    words: 'files',
  },
  'ls-files': {
    short: 'cdmosuztv',
    long: [
      'cached',
      'deleted',
      'modified',
      'others',
      'stage',
      'unmerged',
      'exclude-standard',
      'full-name',
      'error-unmatch',
      'ignored',
      'directory',
    ],
    words: 'files',
  },
  'ls-tree': {
    short: 'rtdlz',
    long: ['name-only', 'name-status', 'full-name', 'full-tree', 'abbrev', 'long'],
    words: 'files',
  },
  'cat-file': { short: 'pset', words: 'files' },
}
const CONTENT_SUBCOMMANDS = ['show', 'diff', 'blame', 'cat-file']

export const isGit = (argv: Argv): boolean => argv[0]?.text === 'git'
/** Skips global options without effect: `--no-pager` and `-C .`. */
function skipGlobalOptions([, ...words]: Argv): Argv {
  if (words[0]?.text === '--no-pager') return skipGlobalOptions(words)
  return words[0]?.text === '-C' && words[1]?.text === '.' && words[1].kind === 'static'
    ? skipGlobalOptions(words.slice(1))
    : words
}

/** Checks whether a command prints contents of files, under any name or revision. */
export const canShowContents = (argv: Argv): boolean =>
  CONTENT_SUBCOMMANDS.includes(skipGlobalOptions(argv)[0]?.text ?? '')

/** Returns the files and revisions of a git command that only reads; `undefined` if it may do more. */
export function readGitOperands(argv: Argv): string[] | undefined {
  const [subcommand, ...words] = skipGlobalOptions(argv)
  if (subcommand?.kind !== 'static' || !Object.hasOwn(READ_ONLY_SUBCOMMANDS, subcommand.text)) return undefined
  // `%G?` in a format starts a program that checks signatures.
  return words.some(({ text }) => /%[-+ ]?G/.test(text))
    ? undefined
    : listOperands(words, READ_ONLY_SUBCOMMANDS[subcommand.text]!)
}

/**
 * Checks whether a command only reads and uses git; git then runs with `gitAlone`. False for a folder of another
 * user, which git trusts only by the user's configuration, and if the user's configuration shows differences by a
 * program.
 */
export async function isGitInspection(command: string | readonly string[], root: string): Promise<boolean> {
  const { commands, dynamic } = readCommand(command)
  if (dynamic !== undefined || !commands.some(isGit)) return false
  if (!commands.every(onlyReads) || ![undefined, statSync(root).uid].includes(process.getuid?.())) return false
  for (const argv of commands) if ((await findUserDiffProgram(argv, root)) !== undefined) return false
  return true
}

const onlyReads = (argv: Argv): boolean =>
  (isGit(argv) ? readGitOperands(argv) : isFolderChange(argv) ? readCdTarget(argv) : findReadOnlyFiles(argv)) !==
  undefined

/**
 * Checks whether a command line changes no file: known programs that only read, and no redirection into a file. With
 * git only if it runs isolated.
 */
export function changesNothing(command: string | readonly string[], isGitIsolated: boolean): boolean {
  const { commands, writes, dynamic, hidden } = readCommand(command)
  if (dynamic !== undefined || hidden !== undefined || writes.length > 0 || commands.length === 0) return false
  return commands.every((argv) => onlyReads(argv) && (isGitIsolated || !isGit(argv)))
}

/** Returns the program by which the user's own configuration shows differences for this command. */
export async function findUserDiffProgram(argv: Argv, root: string): Promise<string | undefined> {
  if (!isGit(argv) || skipGlobalOptions(argv)[0]?.text !== 'diff') return undefined
  const settings = await readSettings(root, root)
  return (
    settings.findLast(({ scope, key }) => ['system', 'global'].includes(scope) && key === 'diff.external')?.value ||
    undefined
  )
}

const PLAIN_OPTIONS = new RegExp(
  `^(${[
    '-p|-P|--paginate|--no-pager|--no-replace-objects|--no-optional-locks',
    '--(literal|glob|noglob|icase)-pathspecs|--version|--help|-v|-h',
  ].join('|')})$`,
)

/** Reads the options before the subcommand: folders to enter, settings, and the first option with another effect. */
export function readGitOptions([, ...words]: Argv): { folders: string[]; set: string[]; other?: string } {
  const found: { folders: string[]; set: string[]; other?: string } = { folders: [], set: [] }
  for (let at = 0; words[at] && words[at]!.text.startsWith('-'); at += 1) {
    const { text } = words[at]!
    if (PLAIN_OPTIONS.test(text)) continue
    const value = text === '-C' || text === '-c' ? words[(at += 1)] : undefined
    if (value?.kind !== 'static') return { ...found, other: text }
    found[text === '-C' ? 'folders' : 'set'].push(value.text)
  }
  return found
}
