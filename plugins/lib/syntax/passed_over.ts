import type { SgNode } from '@ast-grep/napi'
import { pauses } from '../base/index.js'
import type { Language } from './languages.js'
import { astGrepLibrary, isEven } from './library.js'
import type { Member, OutlineItem } from './outline.js'
import { positionsIn, type Positions } from './positions.js'

const languagesOfScripts = new Set(['typescript', 'tsx', 'javascript'])
/** How a line begins that may declare what ast-grep has no rule for. */
const candidate = /^(?:(?:export|declare)\s+(?:(?:default|declare)\s+)*(?:abstract\s+class|const|let|var|function)|abstract\s+class)\s+([\w$]+|[{[])/gm

/**
 * The items of a script, those with them that ast-grep's rules pass over: exported constants whose line ends without a semicolon, several of one
 * statement or taken apart, abstract classes, functions and constants that are only declared.
 */
export async function withPassedOver(items: OutlineItem[], bytes: Buffer, language: Language): Promise<OutlineItem[]> {
  const text = bytes.toString()
  if (!languagesOfScripts.has(language.id) || !passesOver(items, text) || !isEven(text)) return items
  const library = await astGrepLibrary()
  return library ? itemsPassedOver(items, text, (await library.parseAsync(language.title, text)).root().children()) : items
}

/** Without a pattern where a name should be, which says that the statement takes a value apart. */
const keptOf = (items: OutlineItem[]): OutlineItem[] => items.filter(({ name, astKind }) => astKind !== 'export_statement' || !/^[{[]/.test(name))

function passesOver(items: OutlineItem[], text: string): boolean {
  const known = new Set(keptOf(items).map(({ name }) => name))
  return ![...text.matchAll(candidate)].every(([, name]) => known.has(name!))
}

/** The same where the statements of the script are known already. */
export async function itemsPassedOver(items: OutlineItem[], text: string, statements: SgNode[]): Promise<OutlineItem[]> {
  if (!passesOver(items, text)) return items
  const kept = keptOf(items)
  const known = new Set(kept.map(({ name }) => name))
  const at = positionsIn(text)
  const more: OutlineItem[] = []
  const pause = pauses()
  for (const node of statements) {
    more.push(...declaredBy(node, at).filter(({ name }) => !known.has(name) && known.add(name)))
    await pause()
  }
  // Of a statement that it has no rule for, ast-grep names what stands inside.
  const isInside = ({ range: { byteOffset } }: OutlineItem) => more.some(({ range: { byteOffset: outer } }) => outer.start < byteOffset.start && byteOffset.end <= outer.end)
  return [...kept.filter((item) => !isInside(item)), ...more].sort((a, b) => a.range.byteOffset.start - b.range.byteOffset.start)
}

/** What a statement of a module declares, of the kinds that ast-grep passes over. */
function declaredBy(statement: SgNode, at: Positions): OutlineItem[] {
  const isExport = statement.is('export_statement')
  const outer = isExport ? statement.field('declaration') : statement
  const isAmbient = outer?.is('ambient_declaration') === true
  const node = isAmbient ? outer.children().find((child) => child.isNamed()) : outer
  const isExported = isExport || isAmbient
  if (node?.is('abstract_class_declaration')) return [itemAt(statement, 'class', node.field('name')!.text(), { isExported, at, members: membersOf(node) })]
  if (!node || !isExported) return []
  if (node.is('function_signature')) return [itemAt(statement, 'function', node.field('name')!.text(), { isExported, at })]
  if (!node.is('lexical_declaration') && !node.is('variable_declaration')) return []
  const kind = node.text().startsWith('const') ? 'constant' : 'variable'
  const declarators = node.children().filter((child) => child.is('variable_declarator'))
  return declarators.flatMap((one) => namesOf(one.field('name')).map((name) => itemAt(declarators.length === 1 ? statement : one, kind, name, { isExported, at })))
}

/** The names that a declarator gives, one or those of a pattern; what they are by default is none. */
function namesOf(node: SgNode | null): string[] {
  if (node?.is('identifier') || node?.is('shorthand_property_identifier_pattern')) return [node.text()]
  if (node?.is('object_pattern') || node?.is('array_pattern') || node?.is('rest_pattern')) return node.children().flatMap(namesOf)
  if (node?.is('pair_pattern')) return namesOf(node.field('value'))
  if (node?.is('object_assignment_pattern') || node?.is('assignment_pattern')) return namesOf(node.field('left'))
  return []
}

const kindsOfMembers: Record<string, string> = { method_definition: 'method', abstract_method_signature: 'method', public_field_definition: 'field' }

function membersOf(node: SgNode): Member[] {
  const inside = node.field('body')?.children() ?? []
  return inside.flatMap((one) => {
    const kind = kindsOfMembers[String(one.kind())]
    const name = one.field('name')?.text()
    if (!kind || name === undefined) return []
    const isPublic = !name.startsWith('#') && !one.children().some((child) => child.is('accessibility_modifier') && child.text() !== 'public')
    return [{ role: 'member', kind: name === 'constructor' ? name : kind, name, signature: opening(one), isPublic, line_number: one.range().start.line + 1 }]
  })
}

const opening = (node: SgNode): string => node.text().slice(0, 400).split('\n', 1)[0]!.trim()

function itemAt(node: SgNode, kind: string, name: string, { isExported, at, members = [] }: { isExported: boolean; at: Positions; members?: Member[] }): OutlineItem {
  const { start, end } = node.range()
  const range = at.range({ start, end })
  return { role: 'item', kind, name, signature: opening(node), astKind: node.kind() as string, isImport: false, isExported, line_number: start.line + 1, end_line: end.line + 1, range, members }
}
