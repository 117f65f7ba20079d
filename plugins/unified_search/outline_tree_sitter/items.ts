import type { Node, QueryMatch } from 'web-tree-sitter'
import { createPositions, type OutlineItem, type Member } from '../../lib/syntax/index.js'

/** What its declarations belong to; those of a function or of a value are its own affair. */
const holders = new Set(['class', 'struct', 'interface', 'enum', 'module', 'object'])

/** How the matches of a query are read. */
export interface Reading {
  /** The query says by `@exported` what is exported; without it all is. */
  telling: boolean
  /** What stands in an item is no item: of a class it is a member, of a function it is nothing. */
  outermost: boolean
  /** A function may be declared several times in a row before it is defined. */
  overloads: boolean
}

type Found = { start: number; end: number } & ({ item: OutlineItem } | { member: Member })

/** Items in source order with their members. Of two patterns for one node the first counts. */
export function itemsOf(
  matches: QueryMatch[],
  text: string,
  { telling, outermost, overloads }: Reading,
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
    const signature = firstLine(node)
    const named = captures.find((capture) => capture.name === 'name')?.node
    // A module is written as its source writes it, quotes and all.
    const name = kind === 'module' && named ? named.text : nameOf(named, signature)
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
      const isExported = role === 'item' && (!telling || captures.some((capture) => capture.name === 'exported'))
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
  const items = settled(
    all.sort((a, b) => a.start - b.start || b.end - a.end),
    outermost,
  )
  return overloads ? items.filter((item, at) => !isOverload(item, items[at + 1])) : items
}

/** Gives each member to the innermost item around it, in source order. */
function settled(all: Found[], outermost: boolean): OutlineItem[] {
  const items: OutlineItem[] = []
  const around: Found[] = []
  for (const found of all) {
    while (around.length > 0 && around.at(-1)!.end <= found.start) around.pop()
    const outer = around.at(-1)
    const holder = outer && 'item' in outer ? outer.item : undefined
    // A declaration that is exported is one with the statement that exports it.
    if (outermost && 'item' in found && holder?.name === found.item.name && holder.kind === found.item.kind) continue
    addFound(found, items, holder, !outer || !outermost)
    // Without that rule a member stands in items alone.
    if (outermost || 'item' in found) around.push(found)
  }
  return items
}

/** Adds an item, or a member to the item around it. */
function addFound(found: Found, items: OutlineItem[], holder: OutlineItem | undefined, isItem: boolean): void {
  if ('member' in found) holder?.members.push(found.member)
  else if (isItem) items.push(found.item)
  else if (holder && holders.has(holder.kind) && items.at(-1) === holder) holder.members.push(asMember(found.item))
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

const firstLine = (node: Node): string => node.text.slice(0, 400).split('\n', 1)[0]!.trim()

/** A name without its quotes; what has none is called by its first line. */
function nameOf(node: Node | undefined, signature: string): string {
  const text = node?.text ?? signature.split('{', 1)[0]!.trimEnd()
  return text
    .replace(/^(['"])(.*)\1$/s, '$2')
    .replace(/\s+/g, ' ')
    .slice(0, 200)
}
