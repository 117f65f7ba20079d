import type { Assignment, Command, ParsedScript, Redirected, SyntaxNode } from 'unbash'
import { commandsInTexts, evaluates, evaluatesName, evaluatesWords, makeCommands, programVariable, setsVariables, variablesOf } from './evaluate.js'
import { gap, headOf, isWhole, programName, readingsOf, readWord, Variables } from './expand.js'
import { mayBeAnything, writtenWords } from './targets.js'
import { forEachChild, parse } from './unbash.js'
import { literal, type Around, type Argv, type ParsedLine, type WordPiece, type Word } from './words.js'
import { baseName, feedsItself, unwrapCommand } from './wrappers.js'

const maxLength = 10_000
const maxDepth = 8
const maxTexts = 200
// Control characters, invisible ones, exotic spaces, and whatever looks like shell syntax without being it.
const deceptive = /[^\P{C}\n\t]|[^\P{Z} ]|[；｜＆＞＜＄｀（）｛｝＇＂＼＃！]/u

const shellInput = 'a shell reads its commands from elsewhere'
/** Stands for what somebody will type. */
const typed: Word = { text: '', kind: 'dynamic' }

/** Where a script or a command stands. */
interface Standing {
  depth: number
  variables: Variables
  /** What comes by the standard input: a text, or a file; `undefined`: only known when it runs. */
  stdin: string | Word | undefined
  /** Another reading of what stands in the line: it can be held against the line, and allows nothing. */
  again?: true
}

/** One pass over a command; what is only of use on the way stays in here. */
class Reader {
  readonly line: ParsedLine = { commands: [], readings: [], writes: [], inputs: [], assigned: [], isSimple: true }
  /** Everything that the line says as text. */
  private readonly texts = new Set<string>()
  private readonly files: Word[] = []
  private isEvaluating = false

  odd(reason: string, hides = true): void {
    this.line.unknown ??= reason
    if (hides) this.line.hidden ??= reason
  }

  script(source: string, standing: Standing): void {
    const { depth } = standing
    if (source.length > maxLength) return this.odd(`it has more than ${maxLength} characters`)
    if (deceptive.test(source)) this.odd('it holds invisible or look-alike characters')
    if (depth > maxDepth) return this.odd('shells are nested too deep in it')
    const script = parse(source)
    if (script.errors?.length) this.odd(`the shell would not read it (${script.errors[0]!.message})`)
    if (depth === 0 && !standing.again) this.line.isSimple = isSimple(script)
    this.visit(script, { ...standing, variables: variablesOf(script, new Variables(standing.variables)) })
  }

  private visit(node: SyntaxNode, standing: Standing): void {
    if (evaluates(node)) this.evaluating(['ArithmeticCommand', 'ArithmeticFor', 'ArithmeticExpansion'].includes(node.type))
    // Within a here-document the parser keeps faults to itself.
    if (node.type === 'CommandExpansion' && node.text.startsWith('$(') && parse(node.text.slice(2, -1)).errors?.length) this.odd('the shell would not read a part of it')
    if (node.type === 'TestCommand') this.odd('it evaluates an expression', false)
    if (node.type === 'Function') this.odd('it defines a function', false)
    if (node.type === 'Assignment') this.assigned(node.name, node.value ? (node.value.type === 'Word' ? [readWord(node.value)] : node.value.elements.map(readWord)) : [], standing)
    if (node.type === 'Word') this.text(readWord(node))
    if (node.type === 'HereDocBody') this.text(literal(node.text))
    if (node.type === 'Redirect') this.redirect(node.operator, node.target && readWord(node.target), standing)
    if (node.type === 'Command' && node.name) this.command(node, standing)
    forEachChild(node, (child) => this.visit(child, below(node, child, standing)))
  }

  private evaluating(isArithmetic: boolean): void {
    this.isEvaluating = true
    if (isArithmetic) this.odd('it evaluates an expression', false)
  }

  private text({ kind, text, pieces = [] }: Word): void {
    for (const one of kind === 'static' ? [text] : pieces.flatMap((piece) => (piece.is === 'text' ? piece.text : []))) if (/[$`\\({]/.test(one)) this.texts.add(one.trim())
  }

  private redirect(operator: string, target: Word | undefined, { variables }: Standing): void {
    if (!target || (operator.endsWith('&') && /^(\d+|-)$/.test(target.text))) return
    if (operator.startsWith('<') && operator !== '<>') this.line.inputs.push(target)
    else if (target.kind !== 'static' || target.text !== '/dev/null') {
      const readings = target.kind === 'static' ? [] : readingsOf([literal('>'), target], variables)
      if (!isTold(readings)) this.written([target])
      this.line.writes.push(target, ...readings.flatMap(([, ...words]) => words.filter(({ kind }) => kind === 'static')))
    }
  }

  private written(words: Word[]): void {
    const word = words.find(mayBeAnything)
    if (word) this.line.untold ??= `what it writes by '${word.text.slice(0, 80)}'`
  }

  private assigned(name: string, values: Argv, standing: Standing): void {
    if (!standing.again) this.line.assigned.push(name)
    this.isEvaluating ||= evaluatesName(name)
    const kind = programVariable(name)
    if (kind === 'file') this.files.push(...values)
    if (kind === undefined || kind === 'file') return
    for (const value of values) {
      for (const [, ...words] of readingsOf([literal(name), value], standing.variables)) {
        const text = words.map((word) => word.text).join(' ')
        if (words.every((word) => word.kind === 'static')) this.script(kind === 'function' ? `f${text}` : kind === 'head' ? `${text} "$@"` : text, { ...standing, depth: standing.depth + 1, again: true })
        else if (kind !== 'text') this.line.hidden ??= `it sets ${name} to what is only known when it runs`
      }
    }
  }

  private command(node: Command, standing: Standing): void {
    const words = node.args.map((argument) => (argument.type === 'Word' ? readWord(argument) : assignment(argument)))
    this.argv([readWord(node.name!), ...words], { ...standing, stdin: inputOf(node, standing.stdin) })
  }

  argv(argv: Argv, standing: Standing): void {
    const { line } = this
    ;(standing.again ? line.readings : line.commands).push(argv)
    const isKnown = argv.every(({ kind }) => kind === 'static')
    if (isKnown) return this.open(argv, standing)
    const before = line.hidden
    const files = this.files.length
    this.open(argv, standing)
    // With its variables read it may be known what it starts.
    if (before === undefined) delete line.hidden
    this.files.length = files
    const readings = readingsOf(argv, standing.variables)
    if (!isTold(readings)) this.written(writtenWords(argv))
    for (const reading of readings) {
      if (reading.length === 0) continue
      line.readings.push(reading)
      const name = programName(reading[0]!)
      if (argv[0]!.kind !== 'static' && name !== undefined && setsVariables(name)) line.hidden ??= 'a built-in that sets variables is only known when it runs'
      this.open(reading, { ...standing, again: true })
    }
  }

  private open(argv: Argv, standing: Standing): void {
    const { line } = this
    const name = programName(argv[0]!)
    if (name !== undefined && evaluatesWords(name, argv.slice(1))) this.isEvaluating = true
    const inner = unwrapCommand(argv)
    const next = { ...standing, depth: standing.depth + 1 }
    for (const word of inner.assigned ?? []) this.assigned(/^[^=]*/.exec(headOf(word))![0], [word.kind === 'static' ? literal(word.text.replace(/^[^=]*=/, '')) : word], standing)
    if (inner.unknown) line.unknown ??= inner.unknown
    if (inner.hidden) line.hidden ??= inner.hidden
    this.files.push(...(inner.files ?? []))
    if (/^(declare|typeset|local|export|readonly)$/.test(name ?? '')) {
      for (const { kind, text } of argv.slice(1)) if (kind === 'static' && text.includes('=')) this.assigned(text.slice(0, text.indexOf('=')), [literal(text.slice(text.indexOf('=') + 1))], { ...standing, again: true })
    }
    for (const further of inner.commands ?? []) {
      if (further.length > 0 && standing.depth < maxDepth) this.argv(further, next)
      else if (further.length > 0) this.odd('programs are nested too deep in it')
    }
    for (const source of inner.scripts ?? []) this.script(source, next)
    for (const source of inner.perhaps ?? []) this.script(source, { ...next, again: true })
    if (!inner.stdin) return
    if (standing.stdin === typed) {
      line.unknown ??= shellInput
      line.later ??= shellInput
    } else if (standing.stdin === undefined) this.odd(shellInput)
    else if (typeof standing.stdin === 'string') this.script(standing.stdin, next)
    else this.files.push(standing.stdin)
  }

  /** What the line as a whole says of its parts. */
  finish(standing: Standing): ParsedLine {
    const { line } = this
    if (this.isEvaluating) this.evaluateTexts(standing)
    const made = [...line.writes, ...[...line.commands, ...line.readings].flatMap(writtenWords)].map(({ text }) => baseName(text)).filter((name) => name !== '')
    const runs = [...line.commands, ...line.readings].flatMap(([program]) => (program?.text.includes('/') ? (programName(program) ?? []) : []))
    if (this.files.some((file) => feedsItself(file, made)) || runs.some((name) => made.includes(name))) line.hidden ??= 'it runs what it writes itself'
    const further = [...line.commands, ...line.readings]
    if (further.some(takesActions) && further.some((argv) => !startsFind(argv) && argv.some(({ text }) => /-(exec|ok)/.test(text)))) line.hidden ??= 'find may get an action from a text in it'
    return line
  }

  private evaluateTexts(standing: Standing): void {
    for (let seen = 0; seen < this.texts.size; ) {
      const further = [...this.texts].slice(seen)
      seen = this.texts.size
      if (seen > maxTexts) return this.odd('it holds too many texts that may be evaluated')
      for (const source of commandsInTexts(further)) this.script(source, { ...standing, depth: standing.depth + 1, again: true })
    }
    if (makeCommands([...this.texts])) this.line.hidden ??= 'texts in it may be made into a command'
  }

  /** Variables and input that come with the line. */
  surround({ env = {}, stdin }: Around, standing: Standing): void {
    for (const [name, value] of Object.entries(env)) {
      standing.variables.give(name, value)
      this.text(literal(value))
      this.assigned(name, [literal(value)], { ...standing, again: true })
    }
    if (stdin !== undefined) this.text(literal(stdin))
  }
}

function isSimple({ commands: [only, ...more] }: ParsedScript): boolean {
  return more.length === 0 && only?.command.type === 'Command' && !only.background && only.command.redirects.every(({ type }) => type === 'Redirect')
}

const isTold = (readings: Argv[]): boolean => readings.length > 0 && readings.every((argv) => argv.every(({ kind, text }) => kind === 'static' && !text.includes(gap)))
const startsFind = ([program]: Argv): boolean => program !== undefined && programName(program) === 'find'
/** A find with words that only the run will show. */
const takesActions = (argv: Argv): boolean => startsFind(argv) && argv.some((word) => !isWhole(word))

/** Reads a command: a string as bash does, an array as one argv without a shell. */
export function readCommand(command: string | readonly string[], around: Around = {}): ParsedLine {
  const reader = new Reader()
  const standing: Standing = { depth: 0, variables: new Variables(), stdin: around.stdin ?? (around.isTerminal ? typed : undefined) }
  reader.surround(around, standing)
  if (typeof command === 'string') reader.script(command, standing)
  else if (command.length > 0) reader.argv(command.map(literal), standing)
  return reader.finish(standing)
}

/** `NAME=value` among the words of a built-in such as `export`. */
function assignment({ name, value, index, append, text }: Assignment): Word {
  const word = value?.type === 'Word' && index === undefined && !append ? readWord(value) : undefined
  const pieces: readonly WordPiece[] = word?.pieces ?? [{ is: 'other', of: 'any', quoted: true }]
  // The value is not split here.
  return word?.kind === 'static' ? literal(`${name}=${word.text}`) : { text, kind: 'dynamic', pieces: [{ is: 'text', text: `${name}=`, quoted: true }, ...pieces.map((piece) => ({ ...piece, quoted: true }))] }
}

/** Where a part of a node stands: what a pipe or a redirection feeds it, only the run will show. */
function below(node: SyntaxNode, child: SyntaxNode, standing: Standing): Standing {
  if (node.type === 'Pipeline' && node.commands.indexOf(child as (typeof node.commands)[number]) > 0) return { ...standing, stdin: undefined }
  if (node.type === 'Coproc' || node.type === 'ProcessSubstitution') return { ...standing, stdin: undefined }
  return node.type === 'Redirected' && child === node.command ? { ...standing, stdin: inputOf(node, standing.stdin) } : standing
}

/** What the redirections of a command make of its standard input. */
function inputOf(node: Command | Redirected, stdin: Standing['stdin']): Standing['stdin'] {
  let input = stdin
  for (const redirect of node.redirects) {
    const { descriptor } = redirect
    if (descriptor && (descriptor.type !== 'FileDescriptor' || descriptor.value !== 0)) continue
    if (redirect.type === 'HereDoc') input = redirect.body.parts?.length ? undefined : redirect.body.text
    else if (redirect.type === 'HereString' || redirect.operator === '<' || redirect.operator === '<>') {
      const word = redirect.target && readWord(redirect.target)
      input = redirect.type === 'HereString' ? (word?.kind === 'static' ? word.text : undefined) : word
    } else if (redirect.operator === '<&') input = undefined
  }
  return input
}
