import { forEachChild, parse, type Word as Node, type SyntaxNode } from 'unbash'
import type { Argv, ParsedLine, Word } from './words.js'
import { unwrapCommand } from './wrappers.js'

const maxLength = 10_000
const maxDepth = 8
// Control characters, invisible ones, exotic spaces, and whatever looks like shell syntax without being it.
const deceptive = /[^\P{C}\n\t]|[^\P{Z} ]|[；｜＆＞＜＄｀（）｛｝＇＂＼＃！]/u

/** Reads a command: a string as bash does, an array as one argv without a shell. */
export function readCommand(command: string | readonly string[]): ParsedLine {
  const line: ParsedLine = { commands: [], writes: [], inputs: [], assigned: [] }
  if (typeof command === 'string') readScript(command, line, 0)
  else addCommand(command.map(literal), line, 0)
  return line
}

const literal = (text: string): Word => ({ text, kind: 'static' })

function readScript(source: string, line: ParsedLine, depth: number): void {
  if (source.length > maxLength) line.unknown ??= `it has more than ${maxLength} characters`
  else if (deceptive.test(source)) line.unknown ??= 'it holds invisible or look-alike characters'
  else if (depth > maxDepth) line.unknown ??= 'shells are nested too deep in it'
  if (source.length <= maxLength && depth <= maxDepth) visit(parse(source), line, depth)
}

// A subscript inside an expression is expanded when it is evaluated, and may hold a command that quoting hides from us.
const evaluating = ['TestCommand', 'ArithmeticCommand', 'ArithmeticFor', 'ArithmeticExpansion']

function visit(node: SyntaxNode, line: ParsedLine, depth: number): void {
  if (node.type === 'Script' && node.errors?.length) line.unknown ??= `the shell would not read it (${node.errors[0]!.message})`
  if (node.type === 'Command' && node.name) {
    const words = node.args.map((argument) => (argument.type === 'Word' ? read(argument) : { text: argument.text, kind: 'dynamic' as const }))
    addCommand([read(node.name), ...words], line, depth)
  }
  if (node.type === 'Assignment') line.assigned.push(node.name)
  if (node.type === 'Function') line.unknown ??= 'it defines a function'
  if (evaluating.includes(node.type)) line.unknown ??= 'it evaluates an expression'
  if (node.type === 'Redirect') redirect(node.operator, node.target ? read(node.target) : undefined, line)
  forEachChild(node, (child) => visit(child, line, depth))
}

function redirect(operator: string, target: Word | undefined, line: ParsedLine): void {
  if (!target || (operator.endsWith('&') && /^(\d+|-)$/.test(target.text))) return
  if (operator.startsWith('<') && operator !== '<>') line.inputs.push(target)
  else if (target.kind !== 'static' || target.text !== '/dev/null') line.writes.push(target)
}

function addCommand(argv: Argv, line: ParsedLine, depth: number): void {
  line.commands.push(argv)
  const inner = unwrapCommand(argv)
  line.assigned.push(...(inner.assigned ?? []))
  if (inner.unknown) line.unknown ??= inner.unknown
  for (const further of inner.commands ?? []) {
    if (further.length > 0 && depth < maxDepth) addCommand(further, line, depth + 1)
  }
  for (const source of inner.scripts ?? []) readScript(source, line, depth + 1)
}

const quoted = ['Literal', 'SingleQuoted', 'DoubleQuoted', 'AnsiCQuoted']
/** Variables that every command gets and anybody may see, without an operator that would do more than put in their value. */
const open = /^(HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|PATH|LANG|LC_[A-Z]+|TZ|TERM|TMPDIR|EDITOR|CI|HOSTNAME|UID|\?|\$)$/
const variable = (text: string): string => /^\$(?:\{(.+)\}|(.+))$/s.exec(text)?.slice(1).join('') ?? ''

function read(word: Node): Word {
  const kinds = new Set<Word['kind']>(word.text.startsWith('~') ? ['dynamic'] : [])
  const collect = (node: SyntaxNode): void => {
    const expands = node.type === 'SimpleExpansion' || node.type === 'ParameterExpansion'
    kinds.add(quoted.includes(node.type) ? 'static' : node.type === 'Glob' ? 'glob' : expands && open.test(variable(node.text)) ? 'variable' : 'dynamic')
    forEachChild(node, collect)
  }
  forEachChild(word, collect)
  const kind = (['dynamic', 'variable', 'glob'] as const).find((one) => kinds.has(one)) ?? 'static'
  return { text: word.value, kind }
}
