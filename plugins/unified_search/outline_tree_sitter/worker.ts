import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { brotliDecompress } from 'node:zlib'
import { Language, Parser, Query, type Node, type Range } from 'web-tree-sitter'
import { programFile } from '../../../core/index.js'
import { doJobs } from '../../lib/base/index.js'
import { outlinedByAstGrep, type ParsedOutline } from '../../lib/syntax/index.js'
import { toItems, type Reading } from './items.js'

export interface OutlineJob {
  bytes: Uint8Array
  /** Name of its grammar and its query, both in this folder. */
  language: string
}
/** The symbols, or why the grammar could not be loaded. */
export type OutlineJobResult = ParsedOutline | { no_grammar: string }

interface Grammar {
  language: Language
  query: Query
  /** Finds declarations also outside of the root, where errors moved them. */
  createBrokenQuery: () => Query
  reading: Reading
}
/** Languages whose types hold types. */
const NESTED = new Set(['csharp', 'go', 'java', 'kotlin', 'php', 'python', 'ruby', 'rust', 'swift'])
const loaded = new Map<string, Promise<Grammar>>()

// On Node 20 the optimising compiler spends up to 3 s on a grammar; without it parsing takes twice as long.
setFlagsFromString('--liftoff-only')
void Parser.init().then(() => doJobs<OutlineJob, OutlineJobResult>(outline))

async function outline({ bytes, language }: OutlineJob): Promise<OutlineJobResult> {
  const text = Buffer.from(bytes)
    .toString()
    .replace(/^\uFEFF/, '')
  const grammar = await getGrammar(language)
  if (typeof grammar === 'string') return { no_grammar: grammar }
  const { items, isBroken, embedded } = parse(text, grammar)
  if (embedded.length === 0) return { items, isBroken }
  const inner = await getGrammar('typescript')
  if (typeof inner === 'string') return { no_grammar: inner }
  // An import of a component names nothing in its script, so everything in it counts as exported.
  const script = parse(text, inner, embedded)
  const within = script.items.map((item) => ({ ...item, isExported: !item.isImport }))
  const all = [...items, ...within].sort((a, b) => a.range.byteOffset.start - b.range.byteOffset.start)
  return { items: all, isBroken: isBroken || script.isBroken }
}

function getGrammar(name: string): Promise<Grammar | string> {
  if (!loaded.has(name)) loaded.set(name, load(name))
  return loaded.get(name)!.catch((error: unknown) => String(error))
}

/** The root of a syntax tree at the begin of a pattern. */
const ROOT = /^\((?:program|source_file|module|translation_unit|compilation_unit|chunk) /gm

async function load(name: string): Promise<Grammar> {
  const readResource = (file: string) => readFile(programFile(`plugins/unified_search/outline_tree_sitter/${file}`))
  const [packed, query] = await Promise.all([readResource(`${name}.wasm.br`), readResource(`${name}.scm`)])
  const language = await Language.load(await promisify(brotliDecompress)(packed))
  const text = query.toString()
  const compiled = new Query(language, text)
  let broken: Query | undefined
  // Languages of both engines are read with the options of ast-grep.
  return {
    language,
    query: compiled,
    createBrokenQuery: () => (broken ??= new Query(language, text.replace(ROOT, '(_ '))),
    reading: {
      hasExportMarks: compiled.captureNames.includes('exported'),
      references: compiled.captureNames.includes('reference'),
      outermost: outlinedByAstGrep.has(name),
      paths: NESTED.has(name),
      overloads: ['typescript', 'tsx'].includes(name),
    },
  }
}

/** Parses a text, or parts of it, into items and the ranges of embedded scripts. */
function parse(
  text: string,
  { language, query, createBrokenQuery, reading }: Grammar,
  parts?: Range[],
): ParsedOutline & { embedded: Range[] } {
  const parser = new Parser()
  try {
    parser.setLanguage(language)
    const tree = parser.parse(text, null, parts && { includedRanges: parts })
    if (!tree) return { items: [], isBroken: true, embedded: [] }
    try {
      const isBroken = tree.rootNode.hasError
      const matches = (isBroken ? createBrokenQuery() : query).matches(tree.rootNode)
      const embedded = matches.flatMap(({ captures }) =>
        captures.filter(({ name }) => name === 'embedded').map(({ node }) => toRange(node)),
      )
      return { items: toItems(matches, text, reading), isBroken, embedded }
    } finally {
      tree.delete()
    }
  } finally {
    // The garbage collector may finalise a parser after its memory is freed.
    parser.delete()
  }
}

const toRange = ({ startIndex, endIndex, startPosition, endPosition }: Node): Range => ({
  startIndex,
  endIndex,
  startPosition,
  endPosition,
})
