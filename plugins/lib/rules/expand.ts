import type { SyntaxNode, Word as Node } from 'unbash'
import { forEachChild } from './unbash.js'
import { literal, type Argv, type WordPiece, type Word } from './words.js'

const quoting = ['SingleQuoted', 'DoubleQuoted', 'AnsiCQuoted', 'LocaleString']
/** Variables that every command gets and anybody may see, without an operator that would do more than put in their value. */
const open = /^(HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|PATH|LANG|LC_[A-Z]+|TZ|TERM|TMPDIR|EDITOR|CI|HOSTNAME|UID|\?|\$)$/
/** Variables that the shell itself fills with what a line says. */
const filled = /^(\d+|[@*_-]|BASH\w*|REPLY|MAPFILE|OPTARG|DIRSTACK|FUNCNAME|COPROC\w*|COMP\w*|SHELLOPTS)$/

/** The value that a word gives to a variable: text, with a gap where names of files come in; `undefined` when only the shell will know. */
export function valueOf(node: Node): string | undefined {
  const { kind, text: value } = readWord(node)
  return kind === 'static' ? value : kind === 'glob' ? value.replace(/[*?[](.*[*?\]])?/s, gap) : undefined
}

/** A word of the syntax tree, in its pieces where it is not static. */
export function readWord(node: Node): Word {
  // Bash puts the home into what looks like an assignment too, wherever it stands: `if=~/x`, `path=a:~/x`.
  const tilde = /^(?:[A-Za-z_]\w*\+?=)?(?=~)/.exec(node.text)?.[0]
  const later = /^([A-Za-z_]\w*\+?=).*:~/s.exec(node.text)?.[1]
  const pieces = (node.parts ?? [{ type: 'Literal', value: node.value }]).flatMap((part) => piecesOf(part as SyntaxNode, false))
  const kinds = new Set<Word['kind']>(tilde !== undefined || later !== undefined ? ['dynamic'] : [])
  const collect = (part: SyntaxNode): void => {
    kinds.add(kindOf(part))
    forEachChild(part, collect)
  }
  forEachChild(node, collect)
  const kind = (['dynamic', 'variable', 'glob'] as const).find((one) => kinds.has(one)) ?? 'static'
  if (kind === 'static') return hasBraces(node) ? { text: node.value, kind: 'dynamic', pieces: [{ is: 'other', of: 'any', quoted: false }] } : literal(node.value)
  if (later !== undefined) return { text: node.value, kind, pieces: [text(later, true), { is: 'other', of: 'any', quoted: true }] }
  if (tilde === undefined) return { text: node.value, kind, pieces }
  const before = tilde === '' ? [] : [text(tilde, false)]
  return { text: node.value, kind, pieces: [...before, { is: 'variable', name: 'HOME', quoted: true }, ...untilded(pieces, tilde.length)] }
}

/** Whether bash may make several words of one by braces that its reader takes for text: `a{},}`. */
function hasBraces({ text: whole, parts }: Node): boolean {
  const bare = parts ? parts.map((part) => (part.type === 'Literal' ? part.text : '')).join('') : whole
  return /\{.*(?:,|\.\.).*\}/s.test(bare.replace(/\\./gs, ''))
}

function kindOf(part: SyntaxNode): Word['kind'] {
  if (part.type === 'Literal' || quoting.includes(part.type)) return 'static'
  if (part.type === 'Glob') return 'glob'
  const expands = part.type === 'SimpleExpansion' || part.type === 'ParameterExpansion'
  return expands && open.test(nameIn(part.text)) ? 'variable' : 'dynamic'
}

const nameIn = (text: string): string => /^\$(?:\{(.+)\}|(.+))$/s.exec(text)?.slice(1).join('') ?? ''

function piecesOf(part: SyntaxNode, quoted: boolean): WordPiece[] {
  if (part.type === 'DoubleQuoted' || part.type === 'LocaleString') return [text('', true), ...part.parts.flatMap((child) => piecesOf(child as SyntaxNode, true))]
  if (part.type === 'Literal') return [text(part.value, quoted)]
  if (part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted') return [text(part.value, true)]
  if (part.type === 'ArithmeticExpansion') return [{ is: 'other', of: 'number', quoted }]
  if (part.type === 'ProcessSubstitution') return [{ is: 'other', of: 'feed', quoted }]
  if (part.type !== 'SimpleExpansion' && part.type !== 'ParameterExpansion') return [{ is: 'other', of: 'any', quoted }]
  const name = nameIn(part.text)
  if (/^[#?$!]$|^#\w+$/.test(name)) return [{ is: 'other', of: 'number', quoted }]
  return /^\w+$/.test(name) && !filled.test(name) ? [{ is: 'variable', name, quoted }] : [{ is: 'other', of: 'any', quoted }]
}

const text = (value: string, quoted: boolean): WordPiece => ({ is: 'text', text: value, quoted })
const untilded = ([first, ...rest]: WordPiece[], from: number): WordPiece[] => (first?.is === 'text' ? [text(first.text.slice(from).replace(/^~[^/]*/, ''), first.quoted), ...rest] : first ? [first, ...rest] : rest)

/** What a line gives to its variables; `undefined` among the values: something only known when it runs. */
export class Variables {
  private readonly values = new Map<string, Set<string | undefined>>()
  /** Something sets variables that the text does not name, or changes how words are split. */
  loose = false
  constructor(private readonly outer?: Variables) {}

  give(name: string, value: string | undefined): void {
    const known = this.values.get(name) ?? new Set()
    this.values.set(name, known.add(value))
    if (name === 'IFS') this.loose = true
  }
  has(name: string): boolean {
    return this.loose || this.values.has(name) || this.outer?.has(name) === true
  }
  /** The values that the line may have given to a variable, none included; `isOpen`: it may have another one. What the line does not set is inherited. */
  of(name: string): { values: readonly string[]; isOpen: boolean } | 'inherited' {
    if (!this.has(name)) return 'inherited'
    const known = [...(this.values.get(name) ?? [])].filter((value) => value !== undefined)
    const isOpen = this.loose || this.outer?.has(name) === true || this.values.get(name)?.has(undefined) === true || known.length > 8
    return { values: ['', ...known.slice(0, 8)], isOpen }
  }
}

const mostReadings = 32

/** Every argv that the values known to the line can make of one. */
export function readingsOf(argv: Argv, variables: Variables): Argv[] {
  const all = new Set(argv.flatMap(({ pieces = [] }) => pieces.flatMap((piece) => (piece.is === 'variable' ? piece.name : []))))
  let bindings: Record<string, string | undefined>[] = [{}]
  for (const name of all) {
    const known = variables.of(name)
    if (known === 'inherited') continue
    const values = known.isOpen ? [undefined, ...known.values] : known.values
    if (bindings.length * values.length <= mostReadings) bindings = bindings.flatMap((one) => values.map((value) => ({ ...one, [name]: value })))
  }
  const inherited = [...all].filter((name) => variables.of(name) === 'inherited')
  // What is inherited is nothing, or one word of the user's; as a program it stays unknown.
  const users = inherited.length > 0 ? ['', '0'].map((value) => Object.fromEntries(inherited.map((name) => [name, value]))) : [{}]
  return bindings.flatMap((values) => users.map((user) => argv.flatMap((word, at) => (word.pieces ? fields(word, at === 0 ? values : { ...values, ...user }, at === 0 ? variables : undefined) : word))))
}

/** Stands in the text of a program for a part of its path that is not known. */
export const gap = '\u0001'
/** The last part of the path of a program, unless it is only known when it runs. */
export function programName({ kind, text }: Word): string | undefined {
  const name = text.slice(text.lastIndexOf('/') + 1)
  return kind === 'static' && !name.includes(gap) ? name : undefined
}

function fields(word: Word, values: Record<string, string | undefined>, variables: Variables | undefined): Word[] {
  const made: { text: string; loose: boolean; there: boolean }[] = [{ text: '', loose: false, there: false }]
  const add = (value: string, there: boolean, loose = false): void => {
    const last = made.at(-1)!
    made[made.length - 1] = { text: last.text + value, there: last.there || there, loose: last.loose || loose }
  }
  for (const piece of word.pieces!) {
    const value = piece.is === 'text' ? piece.text : piece.is === 'variable' ? values[piece.name] : piece.of === 'number' ? '0' : undefined
    if (value === undefined) add(gap, true, !variables || !(piece.quoted || isOfUser(piece, variables)))
    else if (piece.quoted || piece.is === 'text') add(value, piece.quoted || value !== '')
    else
      value.split(/[ \t\n]+/).forEach((field, index) => {
        if (index > 0) made.push({ text: '', loose: false, there: false })
        add(field, field !== '', /[*?[\\]/.test(field))
      })
  }
  return made.filter(({ there }) => there).map(({ text: whole, loose }) => (loose ? word : literal(whole)))
}

/** One word of the user's own, which the line leaves alone: the folder of a program may come from it. */
const isOfUser = (piece: WordPiece, variables: Variables): boolean => piece.is === 'variable' && open.test(piece.name) && variables.of(piece.name) === 'inherited'

/** Whether a word stays one word whatever it will be. */
export const isWhole = ({ kind, pieces = [] }: Word): boolean => kind === 'static' || pieces.every((piece) => piece.is === 'text' || piece.quoted)
/** What a word begins with for certain. */
export function headOf({ kind, text: whole, pieces = [] }: Word): string {
  if (kind === 'static') return whole
  const end = pieces.findIndex(({ is }) => is !== 'text')
  return pieces.slice(0, end < 0 ? undefined : end).map((piece) => (piece.is === 'text' ? piece.text : '')).join('')
}
/** What it ends with for certain. */
export function tailOf(word: Word): string {
  if (word.kind === 'static') return word.text
  const { pieces = [] } = word
  return pieces.slice(pieces.findLastIndex(({ is }) => is !== 'text') + 1).map((piece) => (piece.is === 'text' ? piece.text : '')).join('')
}
