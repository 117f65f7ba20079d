import { requireLibrary } from '../system/index.js'
import { checkNesting } from '../documents/index.js'
import { readKeyValues, type Fields } from './keyvalue.js'

/** A fault in a front matter, with its line in the file. */
export class FrontmatterError extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(message)
  }
}

// Both libraries are CommonJS and loaded on first use with `require`, because listing is synchronous.
let libraries: { matter: typeof import('gray-matter'); yaml: typeof import('yaml') } | undefined
const loadLibraries = () => (libraries ??= { matter: requireLibrary('gray-matter'), yaml: requireLibrary('yaml') })

/**
 * Splits a text into the fields between the `---` lines and the body. Throws FrontmatterError. Plain lines are parsed
 * here, thirty times as fast, so that a start can read a thousand skills; gray-matter parses everything else.
 * gray-matter cannot report the line of a fault, reject an unclosed block or another language, or keep scalars as text.
 */
export function readFrontmatter(text: string): { fields: Fields; body: string; repaired: boolean } {
  const { block, body } = splitFrontmatter(text)
  const simple = readKeyValues(block)
  if (simple) return { fields: simple, body, repaired: false }
  try {
    return { fields: parseBlock(block), body, repaired: false }
  } catch (error) {
    const quoted = quoteValues(block)
    if (!(error instanceof FrontmatterError) || quoted === block) throw error
    try {
      return { fields: parseBlock(quoted), body, repaired: true }
    } catch {
      throw error
    }
  }
}

/** Finds both ends of the block. gray-matter would accept an unclosed block, `---x`, and the name of a language. */
function splitFrontmatter(text: string): { block: string; body: string } {
  const open = /^---[ \t]*\n/.exec(text)
  if (!open) throw new FrontmatterError('The file does not begin with a line --- and front matter.', 1)
  const close = /\n---[ \t]*(?:\n|$)/.exec(text.slice(open[0].length - 1))
  if (!close) throw new FrontmatterError('The front matter is not closed by a line ---.', 1)
  const start = open[0].length - 1
  const block = text.slice(open[0].length, Math.max(open[0].length, start + close.index))
  const early = block.search(/^---/m)
  if (early !== -1)
    throw new FrontmatterError('A line of the front matter begins with ---.', toLineNumber(block, early))
  return { block, body: text.slice(start + close.index + close[0].length) }
}

/** Returns the line of the file at an offset of the block, which begins on line 2. */
const toLineNumber = (block: string, offset: number): number => block.slice(0, offset).split('\n').length + 1

function parseBlock(block: string): Fields {
  const { matter, yaml } = loadLibraries()
  checkComplexity(block, yaml.Lexer)
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
    stringify: rejectLanguage,
  }
  try {
    // Without options gray-matter keeps one mutable object for all callers.
    return matter(`---\n${block}\n---\n`, { language: 'yaml', engines: { ...rejectedEngines, yaml: engine } }).data
  } catch (error) {
    if (error instanceof FrontmatterError) throw error
    throw new FrontmatterError(`${(error as Error).message.split('\n')[0]}.`.replace(/\.+$/, '.'), 2)
  }
}

const rejectLanguage = (): never => {
  throw new Error('Front matter must be YAML')
}
// gray-matter runs JavaScript front matter unless each of its names is removed.
const rejectedEngines = Object.fromEntries(
  ['js', 'javascript', 'json', 'coffee', 'coffeescript', 'cson', 'toml'].map((name) => [
    name,
    { parse: rejectLanguage, stringify: rejectLanguage },
  ]),
)

const MAX_SEPARATORS = 2000

/**
 * Rejects blocks that are expensive for both libraries, whose time grows with the square of lines, keys and items. Deep
 * nesting needs brackets or indentation; a block with little of both is not parsed here.
 */
function checkComplexity(source: string, Lexer: typeof import('yaml').Lexer): void {
  if (source.split(/[\n:,]/, MAX_SEPARATORS + 1).length > MAX_SEPARATORS)
    throw new FrontmatterError(`The front matter has more than ${MAX_SEPARATORS} lines, keys and items.`, 2)
  if (source.split(/[[{]/, 65).length <= 64 && !/^[ \-?:\t]{201}/m.test(source)) return
  try {
    checkNesting(source, Lexer, '')
  } catch (error) {
    throw new FrontmatterError((error as Error).message, 2)
  }
}

/** Quotes values that people write and YAML rejects: `key: text with: colon`, `key: @name`, `key: [one] [other]`. */
const quoteValues = (block: string): string =>
  block.replace(
    /^([A-Za-z][\w-]*):[ \t]+(?!["'|>{&*!])((?!\[).*: .*|(?!\[).*:|[@`].*|\[[^\][\n]*\][ \t]*[^\s#,].*)$/gm,
    (_, key: string, value: string) => `${key}: ${JSON.stringify(value.trimEnd())}`,
  )
