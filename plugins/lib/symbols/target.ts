import type { DocumentSymbol, Location, SymbolInformation } from 'vscode-languageserver-protocol'
import { isObject, type VtError } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'
import { createSlotError } from '../base/index.js'
import { toWorkspacePath, type OpenDocument } from '../language_server/index.js'

/** A symbol by its position, or by its name. Lines and columns begin with 1; columns are UTF-16 units. */
export interface TargetInput {
  path: string
  line?: number
  column?: number
  symbol?: string
}
/** A place in a file. Lines and characters begin with 0. */
export interface Place {
  path: string
  line: number
  character: number
}
/** A symbol that a server reported. */
export interface NamedSymbol extends Place {
  /** With the names of its containers, such as `Server.run`. */
  name: string
  kind: string
}
type Send = (method: string, params: object) => Promise<unknown>

/** Symbols of one answer that are read. */
const MAX_SYMBOLS = 20_000
/** Characters of a name, and of the containers before it, that are kept. */
const MAX_NAME = 512
const MAX_CANDIDATES = 20
/** The kinds of symbols, by their number in the protocol minus one. */
const KINDS = [
  ...['file', 'module', 'namespace', 'package', 'class', 'method', 'property', 'field', 'constructor', 'enum'],
  ...['interface', 'function', 'variable', 'constant', 'string', 'number', 'boolean', 'array', 'object', 'key'],
  ...['null', 'enum_member', 'struct', 'event', 'operator', 'type_parameter'],
]

/** Returns the place of the symbol that an input names. Throws VT_SYMBOL_NOT_FOUND, VT_SYMBOL_AMBIGUOUS. */
export async function findTarget(
  input: TargetInput,
  document: OpenDocument,
  send: Send,
  workspace: string,
): Promise<Place> {
  if (input.line !== undefined) return findInLine(input, document)
  const wanted = input.symbol!
  const own = await listDocumentSymbols(document, send)
  const here = own.filter(({ name }) => isNamed(name, wanted))
  // A file that was found by its text is no answer to a question about the whole project.
  const isChosen = input.path === document.path
  const found = here.length > 0 && isChosen ? here : [...here, ...(await listWorkspaceSymbols(wanted, send, workspace))]
  const places = new Map<string, NamedSymbol>()
  for (const symbol of found.slice(0, MAX_CANDIDATES)) {
    const defined = { ...symbol, ...(await findDefinition(symbol, document, send, workspace)) }
    places.set(`${defined.path}:${defined.line}:${defined.character}`, defined)
  }
  if (places.size === 1) return places.values().next().value!
  throw places.size === 0
    ? createUnknownError(wanted, document.path)
    : createAmbiguousError(wanted, [...places.values()])
}

/** Returns the definition of a symbol, which may be a name of an import; nothing where there are several or none. */
async function findDefinition(
  { path, line, character }: Place,
  document: OpenDocument,
  send: Send,
  workspace: string,
): Promise<Place | undefined> {
  const uri = toDocumentUri(path, document)
  const position = { line, character }
  const answer = await send('textDocument/definition', { textDocument: { uri }, position }).catch(() => undefined)
  const [item, ...others] = [answer].flat() as Partial<Location>[]
  const found = toWorkspacePath(workspace, item?.uri)
  const start = item?.range?.start
  return others.length > 0 || found === undefined || !isPlace(start)
    ? undefined
    : { path: found, line: start.line, character: start.character }
}

/** Returns the address of a file in the workspace, from that of an open document. */
export function toDocumentUri(path: string, { uri, path: known }: OpenDocument): string {
  if (path === known) return uri
  const root = new URL('../'.repeat(known.split('/').length - 1) || '.', uri)
  return new URL(path.split('/').map(encodeURIComponent).join('/'), root).href
}

function findInLine({ line = 1, column, symbol }: TargetInput, { path, text }: OpenDocument): Place {
  const content = text.split('\n')[line - 1]?.replace(/\r$/, '')
  if (content === undefined) throw createSlotError('VT_SYMBOL_NOT_FOUND', `'${visibleLine(path)}' has no line ${line}.`)
  if (column !== undefined) return { path, line: line - 1, character: Math.min(column - 1, content.length) }
  const name = symbol === undefined ? undefined : symbol.slice(symbol.lastIndexOf('.') + 1)
  const character = name === undefined ? content.search(/[\p{ID_Start}$_]/u) : findWord(content, name)
  if (character < 0) throw createUnknownError(symbol ?? 'a name', `${path}:${line}`)
  return { path, line: line - 1, character }
}

/** Returns the position of a whole word in a line, or -1. */
function findWord(content: string, word: string): number {
  // An empty text is found everywhere, so the search for it would not end.
  if (word === '') return -1
  const isPart = (at: number): boolean => /[\p{ID_Continue}$]/u.test(content[at] ?? '')
  for (let at = content.indexOf(word); at >= 0; at = content.indexOf(word, at + 1))
    if (!isPart(at - 1) && !isPart(at + word.length)) return at
  return -1
}

/** Lists the symbols of an open document. */
export async function listDocumentSymbols({ uri, path, text }: OpenDocument, send: Send): Promise<NamedSymbol[]> {
  const answer = await send('textDocument/documentSymbol', { textDocument: { uri } })
  const lines = text.split('\n')
  const found: NamedSymbol[] = []
  const pending: { item: unknown; container: string }[] = [answer].flat().map((item) => ({ item, container: '' }))
  for (const { item, container } of pending) {
    if (!isObject(item) || found.length >= MAX_SYMBOLS) continue
    const symbol = item as Partial<DocumentSymbol & SymbolInformation>
    const place = symbol.selectionRange?.start ?? symbol.location?.range.start
    if (typeof symbol.name !== 'string' || !isPlace(place)) continue
    const name = joinName(symbol.containerName ?? container, symbol.name)
    // Some servers report the begin of a declaration instead of that of its name.
    const at = symbol.selectionRange ? -1 : findWord(lines[place.line] ?? '', symbol.name)
    found.push({ path, line: place.line, character: at < 0 ? place.character : at, name, kind: toKind(symbol.kind) })
    for (const child of symbol.children ?? []) pending.push({ item: child, container: name })
  }
  return found
}

/** Lists the symbols of the project whose name is exactly this one, such as `Server.run` or `run`. */
export async function listWorkspaceSymbols(wanted: string, send: Send, workspace: string): Promise<NamedSymbol[]> {
  const found = await searchSymbols(wanted.slice(wanted.lastIndexOf('.') + 1), send, workspace)
  return found.filter(({ name }) => isNamed(name, wanted))
}

/** Lists the symbols that the server finds for a query. */
export async function searchSymbols(query: string, send: Send, workspace: string): Promise<NamedSymbol[]> {
  const answer = await send('workspace/symbol', { query })
  return (Array.isArray(answer) ? answer : []).slice(0, MAX_SYMBOLS).flatMap((item: unknown) => {
    const { name, kind, containerName, location } = (item ?? {}) as Partial<SymbolInformation>
    const path = toWorkspacePath(workspace, location?.uri)
    const place = location?.range?.start
    if (path === undefined || typeof name !== 'string' || !isPlace(place)) return []
    const whole = joinName(containerName, name)
    return [{ path, line: place.line, character: place.character, name: whole, kind: toKind(kind) }]
  })
}

/** Adds the end of the containers to a name. Each name is short, so nested symbols cost no more than others. */
function joinName(container: unknown, name: string): string {
  const [before, own] = [typeof container === 'string' ? container.slice(-MAX_NAME) : '', name.slice(0, MAX_NAME)]
  return before === '' || own === '' ? before + own : `${before}.${own}`
}

/** A name fits with all or only the last of its containers. */
const isNamed = (name: string, wanted: string): boolean => {
  const plain = name.replace(/\(.*$/s, '')
  return plain === wanted || plain.endsWith(`.${wanted}`)
}
const toKind = (kind: unknown): string => KINDS[Number(kind) - 1] ?? 'symbol'

export const isPlace = (place: unknown): place is { line: number; character: number } =>
  isObject(place) &&
  [place['line'], place['character']].every((part) => Number.isSafeInteger(part) && Number(part) >= 0)

const createUnknownError = (name: string, path: string): VtError =>
  createSlotError('VT_SYMBOL_NOT_FOUND', `'${visibleLine(name)}' was not found from '${visibleLine(path)}'.`)

const createAmbiguousError = (name: string, candidates: NamedSymbol[]): VtError =>
  createSlotError(
    'VT_SYMBOL_AMBIGUOUS',
    `'${visibleLine(name)}' is the name of ${candidates.length} symbols: ${candidates
      .slice(0, MAX_CANDIDATES)
      .map(({ path, line, name: whole }) => `${visibleLine(whole)} in ${visibleLine(path)}:${line + 1}`)
      .join(', ')}.`,
  )
