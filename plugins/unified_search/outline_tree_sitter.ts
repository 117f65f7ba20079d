import { readFile } from 'node:fs/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { Language as Grammar, Node, Query, QueryMatch } from 'web-tree-sitter'
import { VtError, type Context, type Handle, type Handler } from '../../core/index.js'
import { notice, refusal, some } from '../shared/answer.js'
import {
  answer, cached, filterOf, remember, subjects, tooLarge, versionIn, wantedLanguage,
  type Item, type Member, type OutlineInput, type Outlined, type Range,
} from '../shared/outline.js'
import { positionsIn } from '../shared/positions.js'

/** Languages that there is a grammar and a query for, both in the folder beside this file. */
const served = new Set(['bash', 'css', 'dart', 'elixir', 'haskell', 'hcl', 'html', 'json', 'lua', 'nix', 'scala', 'toml', 'yaml'])

/** The symbols of languages that ast-grep has no rules for, by tree-sitter grammars and queries of our own. */
const outline: Handler<OutlineInput> = async (call, context) => {
  const { input } = call
  const wanted = wantedLanguage(input)
  if (wanted && !served.has(wanted.id)) throw missing(wanted.title)
  const found = await subjects(context, input)
  const [only] = found.files
  if (found.single && only && !served.has(only.language.id)) throw missing(only.language.title)
  await filterOf(input, found.single)
  const own = found.files.filter(({ language }) => served.has(language.id))
  const others = new Set(found.files.filter((file) => !own.includes(file)).map(({ language }) => language.title))
  const files: Outlined[] = []
  for (const { path, language } of own.slice(0, input.max_results)) {
    const handle = await context.workspace.openFile(path).catch(gone)
    if (!handle) continue
    try {
      if (!tooLarge(handle, found.single)) files.push({ path, lang: language.title, items: await symbolsOf(handle, language.id) })
    } catch (error) {
      // A grammar that cannot be loaded takes its own language with it, no other.
      if (!(error instanceof GrammarProblem)) throw error
      if (found.single || wanted) throw missing(language.title)
      others.add(language.title)
    } finally {
      await handle.close()
    }
    await stillWanted(context)
  }
  const notices = others.size > 0 ? [notice('VT_OUTLINE_UNSUPPORTED', `No outline for: ${some([...others])}; no engine here reads them.`)] : []
  const beyond = own.slice(input.max_results).map(({ path }) => path)
  return answer({ files, beyond, backend: 'tree-sitter', notices, single: found.single, listing: found.listing }, call)
}
export default outline

const missing = (title: string) => refusal('VT_SEARCH_ENGINE_MISSING', `No engine here outlines ${title}.`)

function gone(error: unknown): undefined {
  if (error instanceof VtError) return undefined
  throw error
}

/** Lets other work of the process through between two files. */
async function stillWanted({ signal }: Context): Promise<void> {
  await turn()
  signal.throwIfAborted()
}

async function symbolsOf(handle: Handle, language: string): Promise<Item[]> {
  const version = await versionIn(handle, `tree-sitter:${language}`)
  const known = cached(version)
  if (known) return known
  const text = (await handle.read(0, handle.stat.bytes)).toString().replace(/^\uFEFF/, '')
  const items = await parse(text, language)
  remember(version, items)
  return items
}

class GrammarProblem extends Error {}

interface Loaded {
  grammar: Grammar
  query: Query
}
const loaded = new Map<string, Promise<Loaded>>()
let engine: Promise<typeof import('web-tree-sitter')> | undefined

async function start(): Promise<typeof import('web-tree-sitter')> {
  // On Node 20 the optimising compiler spends up to 3 s on a grammar; without it a grammar is there at once and parses half as fast.
  setFlagsFromString('--liftoff-only')
  const module = await import('web-tree-sitter')
  await module.Parser.init()
  return module
}

async function load(language: string): Promise<Loaded> {
  const { Language, Query } = await (engine ??= start())
  const beside = (file: string) => readFile(new URL(`./outline_tree_sitter/${file}`, import.meta.url))
  const [wasm, query] = await Promise.all([beside(`${language}.wasm`), beside(`${language}.scm`)])
  const grammar = await Language.load(wasm)
  return { grammar, query: new Query(grammar, query.toString()) }
}

async function parse(text: string, language: string): Promise<Item[]> {
  if (!loaded.has(language)) loaded.set(language, load(language).catch((error: unknown) => { throw new GrammarProblem(String(error)) }))
  const { grammar, query } = await loaded.get(language)!
  const { Parser } = await engine!
  const parser = new Parser()
  try {
    parser.setLanguage(grammar)
    const tree = parser.parse(text)
    if (!tree) return []
    try {
      return itemsOf(query.matches(tree.rootNode), text)
    } finally {
      tree.delete()
    }
  } finally {
    // Left to the garbage collector, a parser may be finalised after its memory is gone.
    parser.delete()
  }
}

/** Items in source order, each with the members inside it. Of two patterns that match one node the first counts. */
function itemsOf(matches: QueryMatch[], text: string): Item[] {
  const at = positionsIn(text)
  const place = ({ row, column }: Node['startPosition']) => ({ line: row, column: at.column(row, column) })
  const items: Item[] = []
  const seen = new Set<number>()
  const members: { start: number; member: Member }[] = []
  for (const { captures } of [...matches].sort((a, b) => a.patternIndex - b.patternIndex)) {
    const found = captures.find(({ name }) => name.includes('.'))
    if (!found || seen.has(found.node.id)) continue
    seen.add(found.node.id)
    const [role, kind] = found.name.split('.') as ['item' | 'member', string]
    const { node } = found
    const signature = firstLine(node)
    const name = nameOf(captures.find((capture) => capture.name === 'name')?.node, signature)
    const range = { byteOffset: { start: at.byte(node.startIndex), end: at.byte(node.endIndex) }, start: place(node.startPosition), end: place(node.endPosition) }
    const common = { role, kind, name, signature, line_number: range.start.line + 1 }
    if (role === 'member') members.push({ start: range.byteOffset.start, member: { ...common, isPublic: !captures.some((capture) => capture.name === 'private') } })
    else items.push({ ...common, astKind: node.type, isImport: false, isExported: true, end_line: range.end.line + 1, range, members: [] })
  }
  items.sort((a, b) => a.range.byteOffset.start - b.range.byteOffset.start)
  members.sort((a, b) => a.start - b.start)
  for (const { start, member } of members) items.findLast(({ range }) => inside(range, start))?.members.push(member)
  return items
}

const inside = ({ byteOffset }: Range, start: number): boolean => byteOffset.start <= start && start < byteOffset.end

const firstLine = (node: Node): string => node.text.slice(0, 400).split('\n', 1)[0]!.trim()

/** A name without its quotes; what has none is called by its first line. */
function nameOf(node: Node | undefined, signature: string): string {
  const text = node?.text ?? signature.replace(/\s*\{.*$/, '')
  return text.replace(/^(['"])(.*)\1$/s, '$2').replace(/\s+/g, ' ').slice(0, 200)
}
