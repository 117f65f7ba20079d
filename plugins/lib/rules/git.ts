import { statSync } from 'node:fs'
import { devNull } from 'node:os'
import { changesFolder, targetOf } from './folders.js'
import { namedFiles, readOnlyFiles, type ReadOnlyUse } from './read_only.js'
import { readCommand } from './shell.js'
import type { Argv } from './words.js'

const format = ['format', 'pretty', 'oneline', 'date', 'abbrev-commit', 'no-abbrev-commit', 'abbrev', 'decorate', 'no-decorate', 'color', 'no-color', 'no-notes']
const changed = ['stat', 'shortstat', 'numstat', 'dirstat', 'name-only', 'name-status', 'summary', 'raw', 'diff-filter', 'find-renames', 'no-renames', 'relative']
const range = [
  ...['max-count', 'skip', 'since', 'after', 'until', 'before', 'author', 'committer', 'grep', 'invert-grep', 'regexp-ignore-case', 'all', 'branches', 'tags'],
  ...['remotes', 'merges', 'no-merges', 'first-parent', 'follow', 'reverse', 'topo-order', 'date-order', 'ancestry-path', 'left-right', 'cherry-pick'],
]
const text = [
  ...['patch', 'no-patch', 'unified', 'cached', 'staged', 'merge-base', 'minimal', 'patience', 'histogram', 'word-diff', 'color-words', 'check', 'exit-code', 'quiet'],
  ...['ignore-all-space', 'ignore-space-change', 'ignore-blank-lines', 'ignore-space-at-eol', 'function-context', 'binary', 'full-index', 'text'],
]

/** The subcommands of git that look and change nothing, with the options that keep them so: none of these starts a program or writes a file. */
const shapes: Record<string, ReadOnlyUse> = {
  status: {
    short: 'sbu.z',
    long: ['short', 'branch', 'long', 'porcelain', 'untracked-files', 'ignored', 'no-renames', 'show-stash', 'ahead-behind', 'no-ahead-behind'],
    words: 'files',
  },
  log: { short: 'n:S:G:iE', long: [...format, ...changed, ...range, 'graph'], words: 'files', count: true },
  show: { short: 'psU.M.C.wbW', long: [...format, ...changed, ...text], words: 'files' },
  diff: { short: 'puU.M.C.wbWaRzS:G:', long: [...changed, ...text, 'color', 'no-color', 'abbrev', 'pickaxe-all'], words: 'files' },
  blame: { short: 'L:wbcelnfpstM.C.', long: ['porcelain', 'line-porcelain', 'show-email', 'show-name', 'show-number', 'date', 'since', 'abbrev'], words: 'files' },
  branch: { short: 'avrl', long: ['all', 'verbose', 'remotes', 'list', 'show-current', 'color', 'no-color', 'no-column'], words: 'none' },
  tag: { short: 'l', long: ['list', 'no-column'], words: 'none' },
  remote: { short: 'v', long: ['verbose'], words: 'none' },
  reflog: { words: 'none' },
  shortlog: { short: 'nse', long: ['numbered', 'summary', 'email', ...range], words: 'files' },
  'rev-parse': {
    short: 'q',
    long: ['verify', 'quiet', 'short', 'abbrev-ref', 'symbolic-full-name', 'show-toplevel', 'show-prefix', 'show-cdup', 'git-dir', 'is-inside-work-tree', 'is-bare-repository'],
    words: 'files',
  },
  'rev-list': { short: 'n:', long: ['count', 'oneline', 'abbrev-commit', ...range], words: 'files', count: true },
  'merge-base': { short: 'a', long: ['all', 'is-ancestor', 'fork-point', 'octopus'], words: 'files' },
  describe: { long: ['tags', 'always', 'all', 'long', 'abbrev', 'exact-match', 'contains', 'match', 'exclude', 'first-parent'], words: 'files' },
  'ls-files': { short: 'cdmosuztv', long: ['cached', 'deleted', 'modified', 'others', 'stage', 'unmerged', 'exclude-standard', 'full-name', 'error-unmatch', 'ignored', 'directory'], words: 'files' },
  'ls-tree': { short: 'rtdlz', long: ['name-only', 'name-status', 'full-name', 'full-tree', 'abbrev', 'long'], words: 'files' },
  'cat-file': { short: 'pset', words: 'files' },
}
const showing = ['show', 'diff', 'blame', 'cat-file']

export const isGit = (argv: Argv): boolean => argv[0]?.text === 'git'
/** What follows the options that change nothing: no pager, and to begin where one stands. */
function afterProgram([, ...words]: Argv): Argv {
  if (words[0]?.text === '--no-pager') return afterProgram(words)
  return words[0]?.text === '-C' && words[1]?.text === '.' && words[1].kind === 'static' ? afterProgram(words.slice(1)) : words
}

/** Whether a command tells what is in files, under whatever name or revision. */
export const showsContents = (argv: Argv): boolean => showing.includes(afterProgram(argv)[0]?.text ?? '')

/** The files and revisions a git command names when it only looks; `undefined` when it is not known to. */
export function lookedAt(argv: Argv): string[] | undefined {
  const [subcommand, ...words] = afterProgram(argv)
  if (subcommand?.kind !== 'static' || !Object.hasOwn(shapes, subcommand.text)) return undefined
  // `%G?` in a format has a signature checked by another program.
  return words.some(({ text }) => text.includes('%G')) ? undefined : namedFiles(words, shapes[subcommand.text]!)
}

/**
 * Whether a command looks with the help of git and does nothing else: then git gets `alone`. Not for a folder of somebody else, whom
 * git trusts only where the user's own configuration says so.
 */
export function looksWithGit(command: string | readonly string[], root: string): boolean {
  const { commands, unknown } = readCommand(command)
  if (unknown || !commands.some(isGit)) return false
  const looks = commands.every((argv) => (isGit(argv) ? lookedAt(argv) : changesFolder(argv) ? targetOf(argv) : readOnlyFiles(argv)) !== undefined)
  return looks && [undefined, statSync(root).uid].includes(process.getuid?.())
}

const settings = { 'core.fsmonitor': 'false', 'core.hooksPath': devNull, 'core.pager': 'cat', 'protocol.allow': 'never' }
/**
 * No configuration but the repository's own, and of that none of the hooks and no fetching of what a partial clone lacks. So an
 * attribute that names a filter or a textconv finds none, unless the repository's configuration brings it.
 */
export const gitAlone: Record<string, string> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: devNull,
  GIT_OPTIONAL_LOCKS: '0',
  GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  ...Object.fromEntries(Object.entries(settings).flatMap(([key, value], index) => [[`GIT_CONFIG_KEY_${index}`, key], [`GIT_CONFIG_VALUE_${index}`, value]])),
}
