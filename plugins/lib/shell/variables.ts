import type { SyntaxNode } from 'unbash'
import { isStatic, programName, type Argv } from './words.js'

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
/** Variables that define functions, aliases and programs of a shell, or options and settings of a program. */
const DEFINING_NAMES = new RegExp(
  `^(${[
    'BASH_ALIASES|BASH_CMDS|BASH_FUNC_.*',
    'TAR_OPTIONS|GIT_CONFIG(_GLOBAL|_SYSTEM|_PARAMETERS)?|GIT_(EXEC_PATH|TEMPLATE_DIR)',
  ].join('|')})$`,
)
/** Variables by which git writes a file. */
const TRACE_NAMES = /^GIT_(TRACE|TRACE2|TR2)(_\w+)?$/
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
  if (TRACE_NAMES.test(name)) return value !== undefined && /^[\da-z]*$/.test(value) ? 'plain' : 'hidden'
  if (PROMPT_NAMES.test(name)) return value !== undefined && PLAIN_PROMPT.test(value) ? 'plain' : 'hidden'
  if (COMMAND_NAMES.test(name)) return value === undefined ? 'hidden' : 'command'
  if (FILE_NAMES.test(name)) return value === undefined || /[$`]/.test(value) ? 'hidden' : 'file'
  return 'plain'
}

/** Built-ins that set or evaluate the variables that their operands name; a subscript may hold a command. */
const VARIABLE_BUILTINS =
  /^(let|declare|typeset|local|export|readonly|unset|read|mapfile|readarray|getopts|wait|compgen|complete)$/
/** A format that prints its operands. Any other may set a variable, as `%n` does, and so may an option of `printf`. */
const PRINTING_FORMAT = /^(?!-)(?:[^%]|%%|%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[sdiouxXfFeEgGaAcbq])*$/

/** Checks whether a built-in may set or evaluate a variable that its words name. */
export function canSetVariables([program, ...words]: Argv): boolean {
  const name = programName(program) ?? ''
  if (name === 'test' || name === '[') return words.some((word) => !isStatic(word) || /^-[vR]$/.test(word.text))
  if (name !== 'printf') return words.length > 0 && VARIABLE_BUILTINS.test(name)
  const format = words[words[0]?.text === '--' ? 1 : 0]
  return format !== undefined && !(isStatic(format) && PRINTING_FORMAT.test(format.text))
}

/** Names that no shell and no common program gives a meaning. */
const PLAIN_NAME = /^[a-z_][a-z\d_]*$/

/** Returns the variable that a loop or `${NAME:=value}` sets, unless its name has no meaning. */
export function findSetVariable(node: SyntaxNode): string | undefined {
  let name: string | undefined
  if (node.type === 'For') name = node.name.value
  if (node.type === 'ParameterExpansion' && node.operation?.type === 'Default' && node.operation.operator.endsWith('='))
    name = node.parameter
  return name === undefined || PLAIN_NAME.test(name) ? undefined : name
}
