import type { SyntaxNode, Word as Node } from 'unbash'
import { headOf, valueOf, type Variables } from './expand.js'
import { forEachChild, parse } from './unbash.js'
import type { Argv } from './words.js'

// Bash evaluates more than what it runs: an arithmetic operand, a subscript, a prompt. A command in one of them need not show in the
// syntax: it may come from any text of the line. So where a line evaluates anything, every text in it that holds a command counts.

/** Built-ins that evaluate an operand, or a subscript in the name of a variable. */
const evaluators = ['let', 'declare', 'typeset', 'local', 'export', 'readonly', 'unset', 'read', 'mapfile', 'readarray', 'getopts', 'wait', 'compgen', 'complete']
const declaring = ['declare', 'typeset', 'local', 'export', 'readonly']
/** Prompts are expanded; what is always a number is evaluated when it is set. */
const evaluated = /^(PS[0-4]|BASH_ENV|ENV|RANDOM|SRANDOM|SECONDS|LINENO|OPTIND|HISTCMD|BASHPID|EPOCHSECONDS|PPID|UID|EUID|MAILCHECK|COLUMNS|LINES)$/

export function evaluates(node: SyntaxNode): boolean {
  if (node.type === 'ArithmeticCommand' || node.type === 'ArithmeticFor' || node.type === 'ArithmeticExpansion') return true
  if (node.type === 'TestUnary') return node.operator === '-v' || node.operator === '-R'
  if (node.type === 'TestBinary') return /^-(eq|ne|lt|le|gt|ge)$/.test(node.operator)
  if (node.type === 'Assignment') return node.index !== undefined || evaluated.test(node.name)
  if (node.type === 'ParameterExpansion') return node.prefix === '!' || node.index !== undefined || ['Slice', 'Transform'].includes(node.operation?.type ?? '')
  return false
}

export const evaluatesName = (name: string): boolean => evaluated.test(name)

export function evaluatesWords(name: string, words: Argv): boolean {
  if (evaluators.includes(name)) return true
  const options = name === 'printf' ? /^-v/ : name === 'test' || name === '[' ? /^-[vR]$/ : undefined
  return options !== undefined && words.some((word) => word.kind !== 'static' ? headOf(word) === '' : options.test(word.text))
}

/** Lines that run what texts would run where they are evaluated. */
export const commandsInTexts = (texts: readonly string[]): string[] =>
  texts.filter((text) => /\$\(|\$\{[\s|]|`/.test(text)).map((text) => `: <<${delimiter}\n${text.replace(/\\+(?=[$`])/g, '')}\n${delimiter}\n`)
const delimiter = 'END_OF_EVALUATED_TEXT'

/** Whether a command may be made of texts of which none holds one: by pieces, or by the number of a dollar or a backtick. */
export const makeCommands = (texts: readonly string[]): boolean =>
  texts.some((text) => escaped.test(text) || text.split('`').length % 2 === 0) || (texts.some((text) => text.endsWith('$')) && texts.some((text) => /^[({]/.test(text)))
const escaped = /\\(x24|0?44|u0*24|x60|0?140|u0*60)(?![0-9a-f])/i

/** What the nodes below give to variables. */
export function variablesOf(node: SyntaxNode, variables: Variables): Variables {
  gather(node, variables)
  forEachChild(node, (child) => void variablesOf(child, variables))
  return variables
}

function gather(node: SyntaxNode, variables: Variables): void {
  if (node.type === 'Assignment') {
    const plain = node.value?.type === 'Word' && !node.append && node.index === undefined ? node.value : undefined
    variables.give(node.name, plain && valueOf(plain))
  }
  if (node.type === 'For' || node.type === 'Select') for (const word of node.wordlist ?? [undefined]) variables.give(node.name.value, word && valueOf(word))
  if (node.type === 'ParameterExpansion' && node.operation?.type === 'Default' && node.operation.operator.endsWith('=')) variables.give(node.parameter, undefined)
  if (node.type === 'ArithmeticBinary' && /^[^=!<>]*=$|^(<<|>>)=$/.test(node.operator)) changed(node.left, variables)
  if (node.type === 'ArithmeticUnary' && /^(\+\+|--)$/.test(node.operator)) changed(node.operand, variables)
  if (node.type === 'FileDescriptorVariable') variables.give(node.name, undefined)
  if (node.type === 'Coproc') variables.give(node.name?.value ?? 'COPROC', undefined)
  if (node.type === 'Command' && node.name) builtin(node.name, node.args.filter((word) => word.type === 'Word'), variables)
}

function changed(operand: SyntaxNode, variables: Variables): void {
  if (operand.type === 'ArithmeticWord' && /^\w+$/.test(operand.value)) variables.give(operand.value, undefined)
  else variables.loose = true
}

const setting = [...declaring, 'read', 'mapfile', 'readarray', 'getopts', 'printf', 'wait', 'unset', 'let']
/** These run text in the same shell, which may set anything; a file that is read is a program like any other. */
const reading = ['eval', 'trap', 'alias']

/** Whether a built-in may set variables of the shell that runs it. */
export const setsVariables = (name: string): boolean => setting.includes(name) || reading.includes(name) || name === 'source' || name === '.'

function builtin(program: Node, args: readonly Node[], variables: Variables): void {
  const name = valueOf(program)
  // What the name comes to is read again with the values of the line; there it must be none of these.
  if (name === undefined) return
  if (name === 'command' || name === 'builtin') {
    const at = args.findIndex(({ value }) => !value.startsWith('-'))
    if (at >= 0) builtin(args[at]!, args.slice(at + 1), variables)
  } else if (reading.includes(name)) {
    for (const word of args) {
      const text = valueOf(word)
      if (text === undefined || text.length > 10_000) variables.loose = true
      else variablesOf(parse(name === 'alias' ? text.replace(/^[^=]*=/, '') : text), variables)
    }
  } else if (setting.includes(name) && (name !== 'printf' || args.some(({ value }) => /^-v|[$`]/.test(value)))) {
    for (const word of args) sets(name, valueOf(word), variables)
  }
}

function sets(name: string, text: string | undefined, variables: Variables): void {
  const [, variable, value] = /^(\w+)(?:=(.*))?/s.exec(text ?? '') ?? []
  if (name === 'let' && text !== undefined) for (const [named] of text.matchAll(/[A-Za-z_]\w*/g)) variables.give(named, undefined)
  else if (text === undefined || (declaring.includes(name) && /^[-+]\w*[niluc]/.test(text))) variables.loose = true
  else if (variable !== undefined) variables.give(variable, declaring.includes(name) && value !== undefined ? value : undefined)
}

/**
 * What the value of a variable is for the programs that look at it: `script` is run, `head` is run with further words behind it, `function` is
 * the body of one, `file` names a file of commands, `text` is a command of a program such as git.
 */
export function programVariable(name: string): 'script' | 'head' | 'function' | 'file' | 'text' | undefined {
  if (name === 'PROMPT_COMMAND') return 'script'
  if (name === 'BASH_ALIASES' || name === 'BASH_CMDS') return 'head'
  if (name.startsWith('BASH_FUNC_')) return 'function'
  if (name === 'BASH_ENV' || name === 'ENV') return 'file'
  return naming.test(name) ? 'text' : undefined
}
const naming = /^((\w+_)?(PAGER|EDITOR|VISUAL|ASKPASS|BROWSER)|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|GIT_CONFIG_VALUE_\d+|FCEDIT|RSYNC_RSH)$/
