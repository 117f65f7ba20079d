import type { Assignment, Command, Redirect, Redirected, SyntaxNode } from 'unbash'
import { readLiteral, readWord, readWords } from './read_word.js'
import { findTargets } from './targets.js'
import { forEachChild, parse } from './unbash.js'
import { findSetVariable, findUse, canSetVariables } from './variables.js'
import {
  baseName,
  hasKnownName,
  isStatic,
  literal,
  type Argv,
  type CommandInput,
  type ParsedCommand,
  type Word,
} from './words.js'
import { unwrapCommand } from './wrappers.js'

const MAX_CHARACTERS = 10_000
const MAX_DEPTH = 8
// Control characters, invisible ones, unusual spaces, and characters that only look like shell syntax.
const DECEPTIVE = /[^\P{C}\n\t]|[^\P{Z} ]|[；｜＆＞＜＄｀（）｛｝＇＂＼＃！]/u

/** Syntax whose commands are all visible and whose words can be judged. Any other syntax makes a line dynamic. */
const PLAIN_SYNTAX = new Set(
  `Script Statement CompoundList Command Pipeline Time Negation AndOr If Elif For While Case CaseItem Subshell
  BraceGroup Redirected Redirect FileDescriptor HereDoc HereDocDelimiter HereDocBody HereString Assignment Word
  Literal Glob SingleQuoted DoubleQuoted AnsiCQuoted LocaleString SimpleExpansion ParameterExpansion Default Remove
  Replace CaseModification Names CommandExpansion ProcessSubstitution BraceExpansion ExtendedGlob`.split(/\s+/),
)

/** A text that runs a command where it is evaluated, or a part of one; escapes can spell either. */
const SUBSTITUTION = /\$\(|\$\{[\s|]|`|\$$|\\(x24|0*44|u0*24|x60|0*140|u0*60)(?![0-9a-f])/i

/** A word that names a folder of the user, or the characters that separate words. */
const USER_FOLDERS = /(^|[^A-Z_])(HOME|TMPDIR|IFS)([[=+]|$)/

const READS_ELSEWHERE = 'a shell reads its commands from elsewhere'
/** Input that a person or program types into a terminal. */
const TYPED = Symbol('typed')
/** Standard input of a command: a text, later typed input, or `undefined` if only the run decides. */
type Input = string | typeof TYPED | undefined

/** Reads one command line; collects its parts even if the line as a whole is dynamic. */
class Reader {
  readonly line: ParsedCommand = {
    commands: [],
    writes: [],
    inputs: [],
    assigned: [],
    changesFolders: false,
    isSimple: true,
  }
  /** Files from which a shell reads commands. */
  private readonly scriptFiles: Word[] = []
  private isEvaluating = false
  private hasSubstitution = false

  /** Marks the line as dynamic. */
  private mark(reason: string): void {
    this.line.dynamic ??= reason
  }

  /** Marks the line: it may start programs that its commands do not show. */
  private hide(reason: string): void {
    this.mark(reason)
    this.line.hidden ??= reason
  }

  readScript(source: string, depth: number, input: Input): void {
    if (source.length > MAX_CHARACTERS) return this.hide(`it has more than ${MAX_CHARACTERS} characters`)
    if (depth > MAX_DEPTH) return this.hide('shells are nested too deep in it')
    if (DECEPTIVE.test(source)) this.hide('it holds invisible or look-alike characters')
    const script = parse(source)
    if (script.errors?.length) this.hide(`the shell would reject it (${script.errors[0]!.message})`)
    if (depth === 0) {
      const [only, ...more] = script.commands
      this.line.isSimple =
        more.length === 0 &&
        only?.command.type === 'Command' &&
        !only.background &&
        only.command.redirects.every(({ type }) => type === 'Redirect')
    }
    this.visit(script, depth, input)
  }

  private visit(node: SyntaxNode, depth: number, input: Input): void {
    if (!PLAIN_SYNTAX.has(node.type))
      this.mark(node.type === 'Function' ? 'it defines a function' : 'it evaluates an expression')
    this.readExpansion(node)
    const set = findSetVariable(node)
    if (set !== undefined) this.assign(set, undefined, depth)
    this.isEvaluating ||= isEvaluated(node)
    if (node.type === 'Assignment') this.assign(node.name, node.value, depth, node.index !== undefined)
    if (node.type === 'HereDocBody') this.readText(node.text)
    if (node.type === 'Word' || node.type === 'Literal' || node.type === 'SingleQuoted' || node.type === 'AnsiCQuoted')
      this.readText(readLiteral(node))
    if (node.type === 'Redirect') this.redirect(node)
    if (node.type === 'Command' && node.name) this.readArgv(readWords(node), depth, findInput(node, input))
    forEachChild(node, (child) => this.visit(child, depth, passInput(node, child, input)))
  }

  /** Checks whether a text would run a command if evaluated, or names a variable of the user's folders. */
  private readText(text: string): void {
    this.line.changesFolders ||= USER_FOLDERS.test(text)
    this.hasSubstitution ||= SUBSTITUTION.test(text)
  }

  private readExpansion(node: SyntaxNode): void {
    if (node.type === 'ParameterExpansion' && (node.prefix === '!' || node.operation?.type === 'Transform'))
      this.hide('it expands the value of a variable')
    // The parser reports no faults inside of a here-document.
    if (node.type === 'CommandExpansion' && node.text.startsWith('$(') && parse(node.text.slice(2, -1)).errors?.length)
      this.hide('the shell would reject a part of it')
  }

  /** Records that the line sets a variable. `value`: the text, its syntax, or `undefined` if only the run decides. */
  private assign(name: string, value: Assignment['value'] | string | undefined, depth: number, hasIndex = false): void {
    this.line.assigned.push(name)
    this.isEvaluating ||= hasIndex
    this.readText(name)
    const word = typeof value === 'string' ? literal(value) : value?.type === 'Word' ? readWord(value) : undefined
    this.setVariable(name, word && isStatic(word) ? word.text : undefined, depth)
  }

  /** Reads the value of a variable, which may start a program. `value`: `undefined` if only the run decides. */
  private setVariable(name: string, value: string | undefined, depth: number): void {
    const use = findUse(name, value)
    if (use === 'evaluated') this.isEvaluating = true
    else if (use === 'command') this.readSetting(value!, depth + 1)
    else if (use === 'file') this.scriptFiles.push(literal(value!))
    else if (use === 'hidden') this.hide(`it sets ${name}`)
  }

  private redirect({ operator, target }: Redirect): void {
    const word = target && readWord(target)
    if (!word || (operator.endsWith('&') && /^(\d+|-)$/.test(word.text))) return
    const [reads, writes] = [operator.startsWith('<'), !operator.startsWith('<') || operator === '<>']
    if (reads) this.line.inputs.push(word)
    if (writes && (!isStatic(word) || word.text !== '/dev/null')) this.line.writes.push(word)
  }

  readArgv(argv: Argv, depth: number, input: Input): void {
    const { line } = this
    line.commands.push(argv)
    if (depth > MAX_DEPTH) return this.hide('programs are nested too deep in it')
    if (canSetVariables(argv)) {
      this.isEvaluating = true
      this.mark('it sets or evaluates variables')
    }
    const inner = unwrapCommand(argv)
    if (inner.dynamic !== undefined) this.mark(inner.dynamic)
    if (inner.hidden !== undefined) this.hide(inner.hidden)
    for (const { text } of inner.assigned ?? [])
      this.assign(text.replace(/=.*/s, ''), text.replace(/^[^=]*=/, ''), depth)
    this.scriptFiles.push(...(inner.files ?? []))
    for (const command of inner.commands ?? []) if (command.length > 0) this.readArgv(command, depth + 1, input)
    for (const source of inner.scripts ?? []) this.readScript(source, depth + 1, input)
    for (const source of inner.settings ?? []) this.readSetting(source, depth + 1)
    if (inner.readsInput) this.readInput(input, depth + 1)
  }

  /** Reads the standard input of a shell as commands. */
  private readInput(input: Input, depth: number): void {
    if (input === undefined) return this.hide(READS_ELSEWHERE)
    this.mark(READS_ELSEWHERE)
    if (input === TYPED) this.line.typed = READS_ELSEWHERE
    else this.readScript(input, depth, undefined)
  }

  /** Reads a value that may be a command: only its programs count. */
  private readSetting(source: string, depth: number): void {
    const reader = new Reader()
    reader.readScript(source, depth, undefined)
    this.line.commands.push(...reader.line.commands)
    if (reader.line.hidden !== undefined) this.hide(reader.line.hidden)
  }

  /** Checks the parts of the line in combination. */
  finish(): ParsedCommand {
    const { line } = this
    if (line.changesFolders && line.commands.some(([program]) => !isStatic(program!)))
      this.hide('it may set a variable that names a program')
    if (this.isEvaluating && this.hasSubstitution) this.hide('a text in it may be evaluated')
    if (this.scriptFiles.some((file) => !hasKnownName(file) || /^\/(dev|proc)\//.test(file.text)))
      this.hide('a shell reads a file that is only known when it runs')
    const made = [...line.writes, ...line.commands.flatMap(findTargets)].map(({ text }) => baseName(text))
    const run = [
      ...this.scriptFiles,
      ...line.commands.flatMap(([program]) => (program!.text.includes('/') ? program! : [])),
    ]
    if (run.some(({ text }) => made.includes(baseName(text)))) this.hide('it runs what it writes itself')
    return line
  }

  /** Reads the variables and the input that come with a call. */
  readSurroundings({ env = {}, stdin = '' }: CommandInput): void {
    this.readText(stdin)
    for (const [name, value] of Object.entries(env)) {
      this.readText(name)
      this.readText(value)
      this.setVariable(name, value, 0)
    }
  }
}

/** Reads a command: a string as bash does, an array as the words of one program without a shell. */
export function readCommand(command: string | readonly string[], surroundings: CommandInput = {}): ParsedCommand {
  const reader = new Reader()
  const input = surroundings.stdin ?? (surroundings.isTerminal ? TYPED : undefined)
  reader.readSurroundings(surroundings)
  if (typeof command === 'string') reader.readScript(command, 0, input)
  else if (command.length > 0) reader.readArgv(command.map(literal), 0, input)
  return reader.finish()
}

/** Returns the standard input that the redirections of a command give it. */
function findInput({ redirects }: Command | Redirected, outer: Input): Input {
  let input = outer
  for (const redirect of redirects) {
    const { descriptor } = redirect
    if (descriptor && (descriptor.type !== 'FileDescriptor' || descriptor.value !== 0)) continue
    if (redirect.type === 'HereDoc') input = redirect.body.parts?.length ? undefined : redirect.body.text
    else if (redirect.type === 'HereString')
      input = redirect.target && isStatic(readWord(redirect.target)) ? readWord(redirect.target).text : undefined
    else if (redirect.operator.startsWith('<')) input = undefined
  }
  return input
}

/** Returns the standard input of a part of a node. */
function passInput(node: SyntaxNode, child: SyntaxNode, input: Input): Input {
  if (node.type === 'Pipeline' && node.commands.indexOf(child as (typeof node.commands)[number]) > 0) return undefined
  if (node.type === 'Coproc' || node.type === 'ProcessSubstitution') return undefined
  return node.type === 'Redirected' && child === node.command ? findInput(node, input) : input
}

/** Checks whether bash evaluates an operand, in which a subscript may hold a command. */
function isEvaluated(node: SyntaxNode): boolean {
  if (node.type === 'TestUnary') return node.operator === '-v' || node.operator === '-R'
  if (node.type === 'TestBinary') return /^-(eq|ne|lt|le|gt|ge)$/.test(node.operator)
  if (node.type === 'ParameterExpansion') return node.index !== undefined || node.operation?.type === 'Slice'
  return node.type.startsWith('Arithmetic')
}
