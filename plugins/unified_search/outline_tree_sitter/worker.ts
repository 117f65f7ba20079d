import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { brotliDecompress } from 'node:zlib'
import { Language, Parser, Query } from 'web-tree-sitter'
import { programFile } from '../../../core/index.js'
import { doJobs } from '../../lib/base/index.js'
import type { OutlineItem } from '../../lib/syntax/index.js'
import { itemsOf } from './items.js'

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
}
const loaded = new Map<string, Promise<Grammar>>()

// On Node 20 the optimising compiler spends up to 3 s on a grammar; without it a grammar is there at once and parses half as fast.
setFlagsFromString('--liftoff-only')
await Parser.init()
doJobs<OutlineJob, ParsedOutline>(async ({ bytes, language }) => {
  if (!loaded.has(language)) loaded.set(language, load(language))
  const grammar = await loaded.get(language)!.catch((error: unknown) => String(error))
  if (typeof grammar === 'string') return { no_grammar: grammar }
  return { items: parse(Buffer.from(bytes).toString().replace(/^\uFEFF/, ''), grammar) }
})

async function load(name: string): Promise<Grammar> {
  const beside = (file: string) => readFile(programFile(`plugins/unified_search/outline_tree_sitter/${file}`))
  const [packed, query] = await Promise.all([beside(`${name}.wasm.br`), beside(`${name}.scm`)])
  const language = await Language.load(await promisify(brotliDecompress)(packed))
  return { language, query: new Query(language, query.toString()) }
}

function parse(text: string, { language, query }: Grammar): OutlineItem[] {
  const parser = new Parser()
  try {
    parser.setLanguage(language)
    const tree = parser.parse(text)
    if (!tree) return []
    try {
      return itemsOf(query.matches(tree.rootNode), text, query.captureNames.includes('exported'))
    } finally {
      tree.delete()
    }
  } finally {
    // Left to the garbage collector, a parser may be finalised after its memory is gone.
    parser.delete()
  }
}
