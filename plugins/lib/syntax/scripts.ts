import type { SgNode } from '@ast-grep/napi'
import { pauses } from '../base/index.js'
import type { Language } from './languages.js'
import { shownName, type Member, type OutlineItem } from './outline.js'
import { itemsPassedOver } from './passed_over.js'
import { positionsIn, type Positions } from './positions.js'

/** Declarations that are named by their field `name`, and what ast-grep calls them. */
const simple: Record<string, string | undefined> = {
  function_declaration: 'function', class_declaration: 'class', interface_declaration: 'interface', type_alias_declaration: 'struct', enum_declaration: 'enum',
}
const any = (...kinds: string[]) => ({ rule: { any: kinds.map((kind) => ({ kind })) } })
const nested = any('export_statement', 'import_statement', 'internal_module', 'ambient_declaration', ...Object.keys(simple))
/** What a statement has to hold for one of those to stand in it. */
const mayHold = /\b(?:export|import|namespace|module|declare|function|class|interface|type|enum)\b/
type Kinds = ReturnType<typeof any>
const typedMembers: Record<string, Kinds | undefined> = {
  class: any('method_definition', 'public_field_definition'), interface: any('method_signature', 'property_signature'), enum: any('property_identifier'),
}
const plainMembers: typeof typedMembers = { class: any('method_definition', 'field_definition') }
const kindsOfMembers: Record<string, string | undefined> = {
  method_definition: 'method', public_field_definition: 'field', field_definition: 'field', method_signature: 'method', property_signature: 'field', property_identifier: 'enumMember',
}
/** The begin of a member that is named plainly; its group is the name. */
const plainMember = /^(?:(?:public|private|protected|static|readonly|override|declare|async)\s+)*(#?[A-Za-z_$][\w$]*)\s*[?!]?\s*[:(=;<,]/

/**
 * The items of a script in ast-grep's order and words, those with them that its rules pass over, from a tree that its library parsed.
 * `undefined` where something does not parse: how a parser goes on after an error depends on the encoding, and only the program reads bytes.
 */
export async function scriptItems(root: SgNode, text: string, language: Language): Promise<OutlineItem[] | undefined> {
  if (root.find({ rule: { kind: 'ERROR' } })) return undefined
  const script = new Script(text, language.id === 'javascript')
  const statements = root.namedChildren()
  const pause = pauses()
  for (const node of statements) {
    script.statement(node)
    await pause()
  }
  return itemsPassedOver(script.items, text, statements)
}

interface Declared {
  kind: string
  name: string
  /** Where the name stands, if it is written there. */
  node?: SgNode
  isImport?: boolean
  isExported: boolean
}

/** What is found in one text. Contract: nodes come in their order. */
class Script {
  readonly items: OutlineItem[] = []
  private readonly at: Positions

  constructor(
    private readonly text: string,
    /** Without types, and without items that stand in others. */
    private readonly plain: boolean,
  ) {
    this.at = positionsIn(text)
  }

  /** Takes a statement of the module, or else what stands in it. */
  statement(node: SgNode): void {
    const kind = node.kind() as string
    if (kind === 'comment') return
    if (kind === 'lexical_declaration') for (const one of node.namedChildren()) this.declarator(one, node)
    else if (!this.take(node, kind)) this.within(node)
  }

  private take(node: SgNode, kind: string): boolean {
    const declared = this.declaredBy(node, kind)
    if (declared) this.items.push(this.item(node, kind, declared))
    return declared !== undefined
  }

  /** Items in what is none itself. */
  private within(node: SgNode): void {
    if (this.plain || !mayHold.test(node.text())) return
    let end = 0
    for (const one of node.findAll(nested)) {
      const range = one.range()
      if (range.start.index >= end && this.take(one, one.kind() as string)) end = range.end.index
    }
  }

  private declarator(node: SgNode, statement: SgNode): void {
    if (!node.is('variable_declarator')) return
    const declared = this.variable(node, statement)
    if (declared) this.items.push(this.item(node, 'variable_declarator', declared))
    else this.within(node)
  }

  private variable(node: SgNode, statement: SgNode): Declared | undefined {
    const [name, value] = [node.field('name')!, node.field('value')]
    const isArrow = value?.is('arrow_function')
    const isConstant = statement.child(0)?.is('const')
    if (name.is('identifier')) {
      if (isArrow) return named(name, 'function', { isExported: false })
      // A variable with a type and a value goes by a rule that was written for constants.
      if (value) return named(name, isConstant || isTyped(node) ? 'constant' : 'variable', { isExported: false })
      return isConstant ? undefined : named(name, 'variable', { isExported: false })
    }
    return value && !isArrow && isTyped(node) ? named(name, 'constant', { isExported: false }) : undefined
  }

  private declaredBy(node: SgNode, kind: string): Declared | undefined {
    if (kind === 'import_statement') return named(node.field('source'), 'module', { isImport: true, isExported: false })
    if (kind === 'export_statement') return this.exported(node)
    if (kind === 'internal_module') return named(node.field('name'), 'module', { isExported: false })
    if (kind === 'ambient_declaration') return ambientModule(node)
    const symbol = simple[kind]
    return symbol === undefined ? undefined : named(node.field('name'), symbol, { isExported: false })
  }

  private exported(node: SgNode): Declared | undefined {
    const source = node.field('source')
    if (source) return named(source, 'module', { isExported: true })
    const declaration = node.field('declaration')
    if (!declaration) return isList(node) ? { kind: 'module', name: 'exports', isExported: true } : undefined
    const kind = declaration.kind() as string
    const symbol = kind === 'internal_module' ? 'module' : simple[kind]
    if (symbol !== undefined) return named(declaration.field('name'), symbol, { isExported: true })
    if (kind === 'ambient_declaration') return ambientModule(declaration)
    return kind === 'lexical_declaration' ? exportedVariable(declaration) : undefined
  }

  private item(node: SgNode, astKind: string, { kind, name, node: written, isImport = false, isExported }: Declared): OutlineItem {
    const { start, end } = node.range()
    const range = this.at.range({ start, end })
    const kinds = (this.plain ? plainMembers : typedMembers)[kind]
    const members = kinds ? this.members(node.findAll(kinds), kind) : []
    const first = this.line(start.index, start.index, end.index)
    const signature = !written || first.length === end.index - start.index || isFirstName(first, name) ? first : this.line(written.range().start.index, start.index, end.index)
    return { role: 'item', kind, name: shownName(name), signature, astKind, isImport, isExported, line_number: start.line + 1, end_line: end.line + 1, range, members }
  }

  private members(nodes: SgNode[], holder: string): Member[] {
    const members: Member[] = []
    let last = 0
    for (const one of nodes) {
      const { start, end } = one.range()
      // What stands in a member is none.
      if (start.index < last) continue
      last = end.index
      const astKind = one.kind() as string
      const first = this.line(start.index, start.index, end.index)
      const [, plain] = plainMember.exec(first) ?? []
      const written = plain !== undefined ? undefined : astKind === 'property_identifier' ? one : (one.field('name') ?? one.field('property'))
      const name = plain ?? written?.text()
      if (name === undefined) continue
      const kind = name === 'constructor' && isConstructor(one, astKind) ? name : kindsOfMembers[astKind]!
      const isPublic = kind === 'constructor' || holder !== 'class' || (this.plain ? !name.startsWith('#') : !isHidden(one, this.text.slice(start.index, end.index)))
      const signature = written && kind !== 'constructor' ? this.line(written.range().start.index, start.index, end.index) : first
      members.push({ role: 'member', kind, name: shownName(name), signature, isPublic, line_number: start.line + 1 })
    }
    return members
  }

  /** The line of a place, as far as it lies between two others. */
  private line(place: number, start: number, end: number): string {
    const line = this.text.indexOf('\n', place)
    return this.text.slice(Math.max(start, this.text.lastIndexOf('\n', place - 1) + 1), line < 0 ? end : Math.min(line, end)).trim()
  }
}

/** Whether a line begins with the name, or with keywords and the name. */
function isFirstName(line: string, name: string): boolean {
  const at = line.indexOf(name)
  return at >= 0 && /^(?:[a-z]+ +)*$/.test(line.slice(0, at))
}

const named = (node: SgNode | null, kind: string, how: Omit<Declared, 'kind' | 'name'>): Declared | undefined => (node ? { kind, name: node.text(), node, ...how } : undefined)

/** `declare namespace a` and `declare module 'a'`. */
function ambientModule(node: SgNode): Declared | undefined {
  for (const child of node.namedChildren()) {
    if (child.is('internal_module')) return named(child.field('name'), 'module', { isExported: true })
    const name = child.is('module') ? child.field('name') : null
    if (name?.is('string')) return named(name.children().find((part) => part.is('string_fragment')) ?? null, 'module', { isExported: true })
  }
  return undefined
}

/** `export { a };`, which no rule knows without its semicolon. */
function isList(node: SgNode): boolean {
  const [, clause, semicolon] = node.children()
  return clause?.is('export_clause') === true && semicolon?.is(';') === true
}

/** One constant or variable with a value, in a statement that a semicolon ends; of others ast-grep has no rule. */
function exportedVariable(declaration: SgNode): Declared | undefined {
  const [word, one, semicolon, ...more] = declaration.children()
  if (!word || !one || !semicolon?.is(';') || more.length > 0 || !one.is('variable_declarator') || !one.field('value')) return undefined
  const kind = word.is('const') ? 'constant' : 'variable'
  return named(one.field('name'), kind, { isExported: true })
}

const isTyped = (declarator: SgNode): boolean => declarator.field('type') !== null

/** Whether a method is a constructor without modifiers, types and comments. */
const isConstructor = (node: SgNode, kind: string): boolean => kind === 'method_definition' && node.namedChildren().length === 3

function isHidden(node: SgNode, text: string): boolean {
  return /\b(?:private|protected)\b/.test(text) && node.children().some((child) => child.is('accessibility_modifier') && child.text() !== 'public')
}
