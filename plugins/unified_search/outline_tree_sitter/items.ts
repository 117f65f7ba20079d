import type { Node, QueryMatch } from 'web-tree-sitter'
import {
  createPositions,
  MARK,
  unmarkItems,
  type OutlineItem,
  type Member,
  type Positions,
} from '../../lib/syntax/index.js'

/** Kinds whose nested declarations become members. */
const HOLDERS = new Set(['class', 'struct', 'interface', 'enum', 'module', 'object'])

/** Options for reading the matches of a query. */
export interface Reading {
  /** The query marks exports by `@exported`; otherwise everything is exported. */
  hasExportMarks: boolean
  /** The query marks exports of what may be declared elsewhere in the file by `@reference`. */
  references: boolean
  /** A declaration inside a class is a member; one inside a function is ignored. */
  outermost: boolean
  /** A declaration inside a type inside another is a member of the outer one, named by a path. */
  paths: boolean
  /** A function may be declared several times in a row before it is defined. */
  overloads: boolean
}

type Found = { start: number; end: number } & (
  | { item: OutlineItem; isUnlisted: boolean }
  | { member: Member }
  /** Ignores everything inside. */
  | { isLocal: true }
)

/** Returns items in source order with their members. The first pattern that matches a node counts. */
export function toItems(
  matches: QueryMatch[],
  text: string,
  { hasExportMarks, references, outermost, paths, overloads }: Reading,
): OutlineItem[] {
  const at = createPositions(text)
  const seen = new Set<number>()
  const all: Found[] = []
  for (const { captures } of [...matches].sort((a, b) => a.patternIndex - b.patternIndex)) {
    const found = captures.find(({ name }) => name.includes('.'))
    if (!found || seen.has(found.node.id)) continue
    seen.add(found.node.id)
    const one = toFound(captures, found, at, hasExportMarks)
    if (one) all.push(one)
  }
  const items = nestMembers(
    all.sort((a, b) => a.start - b.start || b.end - a.end),
    outermost,
    paths,
  )
  if (references) return unmarkItems(items)
  return overloads ? items.filter((item, at) => !isOverload(item, items[at + 1])) : items
}

type Captures = QueryMatch['captures']

/** Returns what a match declares; `undefined` for a node that is skipped. */
function toFound(
  captures: Captures,
  { name: capture, node }: Captures[number],
  at: Positions,
  hasExportMarks: boolean,
): Found | undefined {
  const [role, kind] = capture.split('.') as ['item' | 'member' | 'import' | 'skip', string]
  const [start, end] = [at.byte(node.startIndex), at.byte(node.endIndex)]
  if (role === 'skip') return kind === 'local' ? { start, end, isLocal: true } : undefined
  const has = (mark: string): boolean => captures.some(({ name }) => name === mark)
  const signature = readFirstLine(node)
  const name = toFullName(captures, kind, signature)
  const common = { kind, name, signature, line_number: node.startPosition.row + 1 }
  if (role === 'member') return { start, end, member: { role, ...common, isPublic: !has('private') } }
  const isExported = role === 'item' && (!hasExportMarks || has('reference') || has('exported'))
  const place = ({ row, column }: Node['startPosition']) => ({ line: row, column: at.column(row, column) })
  const range = { byteOffset: { start, end }, start: place(node.startPosition), end: place(node.endPosition) }
  const end_line = range.end.line + 1
  const flags = { astKind: node.type, isImport: role === 'import', isExported }
  return {
    start,
    end,
    isUnlisted: has('unlisted'),
    item: { role: 'item', ...common, ...flags, end_line, range, members: [] },
  }
}

/** Returns a name after that of its owner, with the mark of a reference. */
function toFullName(captures: Captures, kind: string, signature: string): string {
  const find = (mark: string): Node | undefined => captures.find(({ name }) => name === mark)?.node
  const named = find('name')
  // The name of a module keeps its quotes.
  const written = kind === 'module' && named ? named.text : toName(named, signature)
  if (find('reference')) return MARK + written
  const owner = find('owner')
  return owner ? `${owner.text}.${written}` : written
}

/** Assigns each member to the innermost item around it, in source order. */
function nestMembers(all: Found[], outermost: boolean, paths: boolean): OutlineItem[] {
  const items: OutlineItem[] = []
  const around: Found[] = []
  for (const found of all) {
    while (around.length > 0 && around.at(-1)!.end <= found.start) around.pop()
    const outer = around.at(-1)
    const holder = outer && 'item' in outer ? outer.item : undefined
    // An exported declaration and its export statement are one item.
    if (outermost && 'item' in found && holder?.name === found.item.name && holder.kind === found.item.kind) continue
    if (paths && outer) addByPath(found, around)
    else addFound(found, items, holder, !outer || !outermost)
    // Without this rule a member is only inside items.
    if (outermost || 'item' in found) around.push(found)
  }
  return items
}

/** Adds a declaration to the outermost of the types around it, named by the types between. */
function addByPath(found: Found, around: readonly Found[]): void {
  const types = around.flatMap((one) => ('item' in one && HOLDERS.has(one.item.kind) ? [one.item] : []))
  if (types.length < around.length || 'isLocal' in found || ('item' in found && found.isUnlisted)) return
  const member = 'member' in found ? found.member : asMember(found.item)
  const isMethod = member.kind === 'function' && types.at(-1)!.kind !== 'module'
  const kind = isMethod
    ? 'method'
    : member.kind === 'variable' && types.at(-1)!.kind === 'class'
      ? 'field'
      : member.kind
  const path = [...types.slice(1).map(({ name }) => name), member.name].join('.')
  types[0]!.members.push({ ...member, kind, name: path })
}

/** Adds an item, or a member to the item around it. */
function addFound(found: Found, items: OutlineItem[], holder: OutlineItem | undefined, isItem: boolean): void {
  if ('isLocal' in found) return
  if ('member' in found) holder?.members.push(found.member)
  else if (isItem) items.push(found.item)
  else if (holder && HOLDERS.has(holder.kind) && items.at(-1) === holder) holder.members.push(asMember(found.item))
}

const isOverload = (item: OutlineItem, next: OutlineItem | undefined): boolean =>
  item.kind === 'function' && next?.kind === 'function' && next.name === item.name

const asMember = ({ kind, name, signature, isExported, line_number }: OutlineItem): Member => ({
  role: 'member',
  kind,
  name,
  signature,
  isPublic: isExported,
  line_number,
})

const readFirstLine = (node: Node): string => node.text.slice(0, 400).split('\n', 1)[0]!.trim()

/** Returns a name without its quotes, or the first line of a nameless declaration. */
function toName(node: Node | undefined, signature: string): string {
  const text = node?.text ?? signature.split('{', 1)[0]!.trimEnd()
  return text
    .replace(/^(['"])(.*)\1$/s, '$2')
    .replace(/\s+/g, ' ')
    .slice(0, 200)
}
