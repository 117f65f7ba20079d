import { requireLibrary } from '../system/index.js'
import { checkNesting } from '../documents/index.js'
import { readKeyValues, type Fields } from './keyvalue.js'

/** What is wrong, and in which line of the file. */
export class FrontmatterError extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(message)
  }
}

// Both are CommonJS and needed only where skills lie: required on first use, because listing is synchronous.
let libraries: { matter: typeof import('gray-matter'); yaml: typeof import('yaml') } | undefined
const load = () => (libraries ??= { matter: requireLibrary('gray-matter'), yaml: requireLibrary('yaml') })

/**
 * The block between the `---` lines as fields, and what follows as it stands. Throws FrontmatterError. gray-matter reads every block that is more than
 * plain lines; it cannot say in which line a fault is, refuse a block that is not closed or that names another language, leave every
 * scalar text, and read a thousand skills in the time of a start (plain lines are read here thirty times as fast).
 */
export function readFrontmatter(text: string): { fields: Fields; body: string; repaired: boolean } {
  const { block, body } = cut(text)
  const simple = readKeyValues(block)
  if (simple) return { fields: simple, body, repaired: false }
  try {
    return { fields: parse(block), body, repaired: false }
  } catch (error) {
    const quoted = quoteValues(block)
    if (!(error instanceof FrontmatterError) || quoted === block) throw error
    try {
      return { fields: parse(quoted), body, repaired: true }
    } catch {
      throw error
    }
  }
}

/** Where the block begins and ends is decided here: gray-matter would take an unclosed one, `---x`, and the name of a language. */
function cut(text: string): { block: string; body: string } {
  const open = /^---[ \t]*\n/.exec(text)
  if (!open) throw new FrontmatterError('The file does not begin with a line --- and front matter.', 1)
  const close = /\n---[ \t]*(?:\n|$)/.exec(text.slice(open[0].length - 1))
  if (!close) throw new FrontmatterError('The front matter is not closed by a line ---.', 1)
  const start = open[0].length - 1
  const block = text.slice(open[0].length, Math.max(open[0].length, start + close.index))
  const early = block.search(/^---/m)
  if (early !== -1) throw new FrontmatterError('A line of the front matter begins with ---.', lineOf(block, early))
  return { block, body: text.slice(start + close.index + close[0].length) }
}

/** Line of the file at an offset of the block, which begins on line 2. */
const lineOf = (block: string, offset: number): number => block.slice(0, offset).split('\n').length + 1

function parse(block: string): Fields {
  const { matter, yaml } = load()
  guard(block, yaml.Lexer)
  const engine = {
    parse(source: string): object {
      const tree = yaml.parseDocument(source, {
        schema: 'failsafe',
        uniqueKeys: true,
        prettyErrors: false,
        logLevel: 'error',
        stringKeys: true,
      })
      const lines = (offset: number) => source.slice(0, offset).split('\n').length
      const [error] = tree.errors
      if (error) throw new FrontmatterError(`${error.message.replace(/\.+$/, '')}.`, lines(error.pos[0]))
      if (tree.contents === null) return {}
      if (!yaml.isMap(tree.contents)) throw new FrontmatterError('The front matter is not a map of keys and values.', 2)
      return tree.toJS({ maxAliasCount: 64 }) as object
    },
    stringify: deny,
  }
  try {
    // Always with options: without them gray-matter keeps one mutable object for all callers.
    return matter(`---\n${block}\n---\n`, { language: 'yaml', engines: { ...denied, yaml: engine } }).data
  } catch (error) {
    if (error instanceof FrontmatterError) throw error
    throw new FrontmatterError(`${(error as Error).message.split('\n')[0]}.`.replace(/\.+$/, '.'), 2)
  }
}

const deny = (): never => {
  throw new Error('Only YAML is read as front matter')
}
// gray-matter runs JavaScript front matter unless each of its names is taken away.
const denied = Object.fromEntries(
  ['js', 'javascript', 'json', 'coffee', 'coffeescript', 'cson', 'toml'].map((name) => [
    name,
    { parse: deny, stringify: deny },
  ]),
)

const MAX_MARKS = 2000

/**
 * What both libraries are spared: their time grows with the square of lines, keys and items. Deep nesting takes brackets or
 * indentation; most blocks have too little of either to be looked at closely.
 */
function guard(source: string, Lexer: typeof import('yaml').Lexer): void {
  if (source.split(/[\n:,]/, MAX_MARKS + 1).length > MAX_MARKS)
    throw new FrontmatterError(`The front matter holds more than ${MAX_MARKS} lines, keys and items.`, 2)
  if (source.split(/[[{]/, 65).length <= 64 && !/^[ \-?:\t]{201}/m.test(source)) return
  try {
    checkNesting(source, Lexer, '')
  } catch (error) {
    throw new FrontmatterError((error as Error).message, 2)
  }
}

/** Lines like `key: text with: colon`, `key: @name` or `key: [one] [other]`, which YAML refuses and people write, with their value quoted. */
const quoteValues = (block: string): string =>
  block.replace(
    /^([A-Za-z][\w-]*):[ \t]+(?!["'|>{&*!])((?!\[).*: .*|(?!\[).*:|[@`].*|\[[^\][\n]*\][ \t]*[^\s#,].*)$/gm,
    (_, key: string, value: string) => `${key}: ${JSON.stringify(value.trimEnd())}`,
  )
