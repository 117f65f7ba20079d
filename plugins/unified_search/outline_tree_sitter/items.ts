import type { Node, QueryMatch } from 'web-tree-sitter'
import { createPositions, MARK, unmarkItems, type OutlineItem, type Member } from '../../lib/syntax/index.js'

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
  /** A function may be declared several times in a row before it is defined. */
  overloads: boolean
}

type Found = { start: number; end: number } & ({ item: OutlineItem } | { member: Member })

/** Returns items in source order with their members. The first pattern that matches a node counts. */
export function toItems(
  matches: QueryMatch[],
  text: string,
  { hasExportMarks, references, outermost, overloads }: Reading,
): OutlineItem[] {
  const at = createPositions(text)
  const place = ({ row, column }: Node['startPosition']) => ({ line: row, column: at.column(row, column) })
  const seen = new Set<number>()
  const all: Found[] = []
  for (const { captures } of [...matches].sort((a, b) => a.patternIndex - b.patternIndex)) {
    const found = captures.find(({ name }) => name.includes('.'))
    if (!found || seen.has(found.node.id)) continue
    seen.add(found.node.id)
    const [role, kind] = found.name.split('.') as ['item' | 'member' | 'import', string]
    const { node } = found
    const signature = readFirstLine(node)
    const named = captures.find((capture) => capture.name === 'name')?.node
    // The name of a module keeps its quotes.
    const written = kind === 'module' && named ? named.text : toName(named, signature)
    const isReference = captures.some((capture) => capture.name === 'reference')
    const name = isReference ? MARK + written : written
    const common = {
      role: role === 'import' ? 'item' : role,
      kind,
      name,
      signature,
      line_number: node.startPosition.row + 1,
    }
    const [start, end] = [at.byte(node.startIndex), at.byte(node.endIndex)]
    if (role === 'member')
      all.push({ start, end, member: { ...common, isPublic: !captures.some((capture) => capture.name === 'private') } })
    else {
      const isExported =
        role === 'item' && (!hasExportMarks || isReference || captures.some((capture) => capture.name === 'exported'))
      const range = { byteOffset: { start, end }, start: place(node.startPosition), end: place(node.endPosition) }
      all.push({
        start,
        end,
        item: {
          ...common,
          astKind: node.type,
          isImport: role === 'import',
          isExported,
          end_line: range.end.line + 1,
          range,
          members: [],
        },
      })
    }
  }
  const items = nestMembers(
    all.sort((a, b) => a.start - b.start || b.end - a.end),
    outermost,
  )
  if (references) return unmarkItems(items)
  return overloads ? items.filter((item, at) => !isOverload(item, items[at + 1])) : items
}

/** Assigns each member to the innermost item around it, in source order. */
function nestMembers(all: Found[], outermost: boolean): OutlineItem[] {
  const items: OutlineItem[] = []
  const around: Found[] = []
  for (const found of all) {
    while (around.length > 0 && around.at(-1)!.end <= found.start) around.pop()
    const outer = around.at(-1)
    const holder = outer && 'item' in outer ? outer.item : undefined
    // An exported declaration and its export statement are one item.
    if (outermost && 'item' in found && holder?.name === found.item.name && holder.kind === found.item.kind) continue
    addFound(found, items, holder, !outer || !outermost)
    // Without this rule a member is only inside items.
    if (outermost || 'item' in found) around.push(found)
  }
  return items
}

/** Adds an item, or a member to the item around it. */
function addFound(found: Found, items: OutlineItem[], holder: OutlineItem | undefined, isItem: boolean): void {
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
