import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { brotliDecompress } from 'node:zlib'
import { Language, Parser, Query, type Node, type Range } from 'web-tree-sitter'
import { programFile } from '../../../core/index.js'
import { doJobs } from '../../lib/base/index.js'
import { outlinedByAstGrep, type OutlineItem } from '../../lib/syntax/index.js'
import { itemsOf, type Reading } from './items.js'

export interface OutlineJob {
  bytes: Uint8Array
  /** By the name of its grammar and its query, both in this folder. */
  language: string
}
/** The symbols, or why the grammar could not be loaded. */
export type ParsedOutline = { items: OutlineItem[] } | { no_grammar: string }

interface Grammar {
  language: Language
  query: Query
  reading: Reading
}
const loaded = new Map<string, Promise<Grammar>>()

// On Node 20 the optimising compiler spends up to 3 s on a grammar; without it a grammar is there at once and parses half as fast.
setFlagsFromString('--liftoff-only')
void Parser.init().then(() => doJobs<OutlineJob, ParsedOutline>(outline))

async function outline({ bytes, language }: OutlineJob): Promise<ParsedOutline> {
  const text = Buffer.from(bytes)
    .toString()
    .replace(/^\uFEFF/, '')
  const grammar = await grammarOf(language)
  if (typeof grammar === 'string') return { no_grammar: grammar }
  const { items, embedded } = parse(text, grammar)
  if (embedded.length === 0) return { items }
  const inner = await grammarOf('typescript')
  if (typeof inner === 'string') return { no_grammar: inner }
  // Who imports a component names nothing of its script: all of it is as public as the rest.
  const within = parse(text, inner, embedded).items.map((item) => ({ ...item, isExported: !item.isImport }))
  return { items: [...items, ...within].sort((a, b) => a.range.byteOffset.start - b.range.byteOffset.start) }
}

function grammarOf(name: string): Promise<Grammar | string> {
  if (!loaded.has(name)) loaded.set(name, load(name))
  return loaded.get(name)!.catch((error: unknown) => String(error))
}

async function load(name: string): Promise<Grammar> {
  const beside = (file: string) => readFile(programFile(`plugins/unified_search/outline_tree_sitter/${file}`))
  const [packed, query] = await Promise.all([beside(`${name}.wasm.br`), beside(`${name}.scm`)])
  const language = await Language.load(await promisify(brotliDecompress)(packed))
  const compiled = new Query(language, query.toString())
  // Languages of both engines are read as ast-grep reads them.
  return {
    language,
    query: compiled,
    reading: {
      telling: compiled.captureNames.includes('exported'),
      outermost: outlinedByAstGrep.has(name),
      overloads: ['typescript', 'tsx'].includes(name),
    },
  }
}

/** The items of a text, or of parts of it, and the parts that are scripts. */
function parse(
  text: string,
  { language, query, reading }: Grammar,
  parts?: Range[],
): { items: OutlineItem[]; embedded: Range[] } {
  const parser = new Parser()
  try {
    parser.setLanguage(language)
    const tree = parser.parse(text, null, parts && { includedRanges: parts })
    if (!tree) return { items: [], embedded: [] }
    try {
      const matches = query.matches(tree.rootNode)
      const embedded = matches.flatMap(({ captures }) =>
        captures.filter(({ name }) => name === 'embedded').map(({ node }) => rangeOf(node)),
      )
      return { items: itemsOf(matches, text, reading), embedded }
    } finally {
      tree.delete()
    }
  } finally {
    // Left to the garbage collector, a parser may be finalised after its memory is gone.
    parser.delete()
  }
}

const rangeOf = ({ startIndex, endIndex, startPosition, endPosition }: Node): Range => ({
  startIndex,
  endIndex,
  startPosition,
  endPosition,
})
