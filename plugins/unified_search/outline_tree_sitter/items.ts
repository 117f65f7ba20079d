import type { Node, QueryMatch } from 'web-tree-sitter'
import { positionsIn, type OutlineItem, type Member } from '../../lib/syntax/index.js'

/**
 * Items in source order, each with the members inside it. Of two patterns that match one node the first counts. `telling`: the query says by
 * `@exported` what is exported; without it all is.
 */
export function itemsOf(matches: QueryMatch[], text: string, telling = false): OutlineItem[] {
  const at = positionsIn(text)
  const place = ({ row, column }: Node['startPosition']) => ({ line: row, column: at.column(row, column) })
  const items: OutlineItem[] = []
  const seen = new Set<number>()
  const members: { start: number; member: Member }[] = []
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
    const common = { role: role === 'import' ? 'item' : role, kind, name, signature, line_number: node.startPosition.row + 1 }
    const start = at.byte(node.startIndex)
    if (role === 'member') members.push({ start, member: { ...common, isPublic: !captures.some((capture) => capture.name === 'private') } })
    else {
      const isExported = role === 'item' && (!telling || captures.some((capture) => capture.name === 'exported'))
      const range = { byteOffset: { start, end: at.byte(node.endIndex) }, start: place(node.startPosition), end: place(node.endPosition) }
      items.push({ ...common, astKind: node.type, isImport: role === 'import', isExported, end_line: range.end.line + 1, range, members: [] })
    }
  }
  items.sort((a, b) => a.range.byteOffset.start - b.range.byteOffset.start)
  members.sort((a, b) => a.start - b.start)
  settle(members, items)
  return items
}

/** Gives each member to the innermost item around it; both in source order. */
function settle(members: { start: number; member: Member }[], items: OutlineItem[]): void {
  const around: OutlineItem[] = []
  let next = 0
  for (const { start, member } of members) {
    while (next < items.length && items[next]!.range.byteOffset.start <= start) around.push(items[next++]!)
    while (around.length > 0 && around.at(-1)!.range.byteOffset.end <= start) around.pop()
    around.at(-1)?.members.push(member)
  }
}

const firstLine = (node: Node): string => node.text.slice(0, 400).split('\n', 1)[0]!.trim()

/** A name without its quotes; what has none is called by its first line. */
function nameOf(node: Node | undefined, signature: string): string {
  const text = node?.text ?? signature.split('{', 1)[0]!.trimEnd()
  return text.replace(/^(['"])(.*)\1$/s, '$2').replace(/\s+/g, ' ').slice(0, 200)
}
