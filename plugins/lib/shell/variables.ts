/** Variables whose values a shell evaluates. */
const EVALUATED_NAMES =
  /^(RANDOM|SRANDOM|SECONDS|LINENO|OPTIND|HISTCMD|BASHPID|EPOCHSECONDS|PPID|UID|EUID|MAILCHECK|COLUMNS|LINES)$/
/** Variables whose values a shell or another program runs as a command. */
const COMMAND_NAMES = new RegExp(
  `^(${[
    'PROMPT_COMMAND|(\\w+_)?(PAGER|EDITOR|VISUAL|ASKPASS|BROWSER)|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF',
    'GIT_PROXY_COMMAND|GIT_CONFIG_VALUE_\\d+|FCEDIT|RSYNC_RSH',
  ].join('|')})$`,
)
/** Variables that name a file which a shell runs. */
const FILE_NAMES = /^(BASH_ENV|ENV)$/
/** Variables that define functions, aliases and programs of a shell. */
const DEFINING_NAMES = /^(BASH_ALIASES|BASH_CMDS|BASH_FUNC_.*)$/
/** Variables that a shell expands. */
const PROMPT_NAMES = /^PS[0-4]$/
const PLAIN_PROMPT = /^[^$`\\]*\$? ?$/

/**
 * Use of a variable's value: evaluated, run as a command, read as the name of a file, or hidden if its programs
 * cannot be listed.
 */
export type VariableUse = 'evaluated' | 'command' | 'file' | 'hidden' | 'plain'

/** Returns how the value of a variable is used. `value`: `undefined` if only the run decides. */
export function findUse(name: string, value: string | undefined): VariableUse {
  if (EVALUATED_NAMES.test(name)) return 'evaluated'
  if (DEFINING_NAMES.test(name)) return 'hidden'
  if (PROMPT_NAMES.test(name)) return PLAIN_PROMPT.test(value ?? '$') ? 'plain' : 'hidden'
  if (COMMAND_NAMES.test(name)) return value === undefined ? 'hidden' : 'command'
  if (FILE_NAMES.test(name)) return value === undefined || /[$`]/.test(value) ? 'hidden' : 'file'
  return 'plain'
}
