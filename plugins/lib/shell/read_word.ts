import type {
  AnsiCQuotedPart,
  Assignment,
  Command,
  LiteralPart,
  SingleQuotedPart,
  SyntaxNode,
  Word as WordNode,
} from 'unbash'
import { forEachChild } from './unbash.js'
import { isStatic, literal, type Argv, type Word } from './words.js'

const QUOTING = ['Literal', 'SingleQuoted', 'DoubleQuoted', 'AnsiCQuoted', 'LocaleString']

/** Returns the words of a simple command. */
export const readWords = ({ name, args }: Command): Argv =>
  [name!, ...args].map((word) => (word.type === 'Word' ? readWord(word) : readAssignment(word)))

/** Reads `NAME=value` among the words of a built-in such as `export`. */
function readAssignment({ name, value, index, append, text }: Assignment): Word {
  const word = value?.type === 'Word' && index === undefined && !append ? readWord(value) : undefined
  return word && isStatic(word) ? literal(`${name}=${word.text}`) : { text, kind: 'dynamic' }
}

/** Returns a word of the syntax tree with its quotes removed. */
export function readWord(node: WordNode): Word {
  const { text } = node
  let kind: Word['kind'] = HOME.test(text) || hasBraces(node) ? 'dynamic' : 'static'
  let isOne = !hasBraces(node) && (!HOME.test(text) || text.startsWith('~/'))
  const visit = (part: SyntaxNode, isQuoted: boolean): void => {
    if (part.type === 'Glob' && kind === 'static') kind = 'glob'
    else if (part.type !== 'Glob' && !QUOTING.includes(part.type)) kind = 'dynamic'
    if (
      'text' in part &&
      !QUOTING.includes(part.type) &&
      !(isQuoted && !/[@*]/.test(part.text)) &&
      !USER_HOME.test(part.text)
    )
      isOne = false
    forEachChild(part, (child) => visit(child, isQuoted || part.type === 'DoubleQuoted'))
  }
  forEachChild(node, (part) => visit(part, false))
  return { text: node.value, kind, ...(kind === 'dynamic' && isOne && { isOne }) }
}

/** A word in which bash expands a home that the parser takes for a literal: `~/x`, `if=~/x`, `path=a:~/x`. */
const HOME = /^(?:[A-Za-z_]\w*\+?=(.*:)?)?~/s
/** The home of the user, which is one word unless the line changes it. */
const USER_HOME = /^\$\{?HOME\}?$/

/** Checks whether bash may expand braces that the parser takes for a literal: `a{},}`. */
function hasBraces({ text, parts }: WordNode): boolean {
  const bare = parts ? parts.map((part) => (part.type === 'Literal' ? part.text : '')).join('') : text
  return /\{.*(?:,|\.\.).*\}/s.test(bare.replace(/\\./gs, ''))
}

/** Returns the text of a node that no expansion changes. */
export const readLiteral = (node: WordNode | LiteralPart | SingleQuotedPart | AnsiCQuotedPart): string =>
  node.type === 'Word' && node.parts ? '' : node.value
