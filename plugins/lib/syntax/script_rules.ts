import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from '../base/index.js'
import type { Language } from './languages.js'
import type { OutlineItem } from './outline.js'

/** Before the name of what ast-grep's own rules pass over: it counts where no other item has that name. */
const mark = '+'

type Rule = Record<string, unknown>
type Extractor = Rule & { id: string }

const named: Rule = { field: 'name', pattern: '$NAME' }
const variableNamed: Rule = { field: 'name', kind: 'identifier', pattern: '$NAME' }
const within = (...kinds: string[]): Rule => kinds.reduceRight<Rule | undefined>((inside, kind) => ({ kind, stopBy: 'neighbor', ...(inside && { inside }) }), undefined)!
const topLevel = within('program')

/** Declarations with a field `name`, what they are called, and whether scripts without types have them. */
const simple = [['function', 'function', true], ['class', 'class', true], ['interface', 'interface', false], ['type_alias', 'struct', false], ['enum', 'enum', false]] as const

/** Collects extractors, each with an id of its own. */
class Extractors {
  readonly all: Extractor[] = []
  constructor(private readonly language: Language) {}

  item(symbolType: string, rule: Rule, how: { name?: string; isImport?: boolean; isExported?: boolean; constraints?: Rule } = {}): string {
    const id = `r${this.all.length}`
    this.all.push({ id, language: this.language.title, role: 'item', symbolType, rule, name: '$NAME', isExported: true, ...how })
    return id
  }

  member(parentRuleIds: string[], symbolType: string, rule: Rule, isPublic: Rule | boolean = true, name = '$NAME'): void {
    this.all.push({ id: `r${this.all.length}`, language: this.language.title, role: 'member', parentRuleIds, symbolType, rule, name, isPublic })
  }
}

/** The rules by which the program outlines a script: those that it brings for the language, and behind them some for what they pass over. */
function extractorsOf(language: Language): Extractor[] {
  const plain = language.id === 'javascript'
  const rules = new Extractors(language)
  const exported = (rule: Rule): Rule => ({ kind: 'export_statement', has: { field: 'declaration', ...rule } })
  rules.item('module', { kind: 'import_statement', has: { field: 'source', pattern: '$NAME' } }, { isImport: true, isExported: false })
  rules.item('module', { kind: 'export_statement', has: { field: 'source', pattern: '$NAME' } })
  rules.item('module', { pattern: 'export { $$$SPECIFIERS };' }, { name: 'exports' })
  if (!plain) modules(rules, exported)
  const ids: Record<string, string[]> = {}
  for (const [word, symbol, always] of simple) {
    if (plain && !always) continue
    const rule = { kind: `${word}_declaration`, has: named }
    ids[word] = [rules.item(symbol, exported(rule)), rules.item(symbol, plain ? { ...rule, inside: topLevel } : rule, { isExported: false })]
  }
  variables(rules, plain)
  const hidden: Rule = plain ? { has: { kind: 'private_property_identifier' } } : { has: { kind: 'accessibility_modifier', regex: '^(private|protected)$' } }
  rules.member(ids['class']!, 'constructor', { pattern: { context: 'class A { constructor($$$ARGS) { $$$BODY } }', selector: 'method_definition' } }, true, 'constructor')
  rules.member(ids['class']!, 'method', { kind: 'method_definition', has: named }, { not: hidden })
  if (plain) rules.member(ids['class']!, 'field', { kind: 'field_definition', has: { field: 'property', pattern: '$NAME' } }, { not: hidden })
  else {
    rules.member(ids['class']!, 'field', { kind: 'public_field_definition', has: named }, { not: hidden })
    rules.member(ids['interface']!, 'method', { kind: 'method_signature', has: named })
    rules.member(ids['interface']!, 'field', { kind: 'property_signature', has: named })
    rules.member(ids['enum']!, 'enumMember', { pattern: { context: 'enum A { $NAME }', selector: 'property_identifier' } })
  }
  passedOver(rules, plain)
  return rules.all
}

/** Namespaces, and modules that are declared. */
function modules(rules: Extractors, exported: (rule: Rule) => Rule): void {
  const space = { kind: 'internal_module', has: named }
  const told = { kind: 'ambient_declaration', has: { ...space, stopBy: 'neighbor' } }
  const text = { field: 'name', kind: 'string', has: { kind: 'string_fragment', pattern: '$NAME' } }
  const module = { kind: 'ambient_declaration', has: { kind: 'module', stopBy: 'neighbor', has: text } }
  rules.item('module', exported({ any: [space, told] }))
  rules.item('module', space, { isExported: false })
  rules.item('module', told)
  rules.item('module', exported(module))
  rules.item('module', module)
}

function variables(rules: Extractors, plain: boolean): void {
  const identifier = { constraints: { NAME: { kind: 'identifier' } } }
  for (const [word, symbol] of [['const', 'constant'], ['let', 'variable']] as const) {
    rules.item(symbol, { pattern: `export ${word} $NAME = $VALUE;` }, identifier)
    if (!plain) rules.item(symbol, { pattern: `export ${word} $NAME: $TYPE = $VALUE;` }, identifier)
  }
  const inside = (regex: string): Rule => ({ inside: { kind: 'lexical_declaration', regex, inside: topLevel, stopBy: 'neighbor' } })
  const isArrow = { has: { field: 'value', kind: 'arrow_function' } }
  const valued = (regex: string): Rule => ({ kind: 'variable_declarator', all: [{ has: variableNamed }, { has: { field: 'value', pattern: '$VALUE' } }, { not: isArrow }], ...inside(regex) })
  rules.item('function', { kind: 'variable_declarator', all: [{ has: variableNamed }, isArrow], ...inside('') }, { isExported: false })
  rules.item('constant', valued('^const\\b'), { isExported: false })
  const typed = { pattern: { context: 'const $NAME: $TYPE = $VALUE;', selector: 'variable_declarator' } }
  if (!plain) rules.item('constant', { all: [typed, { not: isArrow }], ...inside('') }, { isExported: false })
  rules.item('variable', { kind: 'variable_declarator', all: [{ has: variableNamed }, { not: { has: { field: 'value', pattern: '$VALUE' } } }], ...inside('^let\\b') }, { isExported: false })
  rules.item('variable', valued('^let\\b'), { isExported: false })
}

/** What `itemsPassedOver` finds in a tree. Values that are taken apart are only noticed. */
function passedOver(rules: Extractors, plain: boolean): void {
  const marked = { name: `${mark}$NAME` }
  const statements = { any: [{ kind: 'lexical_declaration' }, { kind: 'variable_declaration' }] }
  const declarator = (name: Rule): Rule => ({ kind: 'variable_declarator', has: name })
  const apart = { has: declarator({ field: 'name', pattern: '$NAME', not: { kind: 'identifier' } }) }
  const single = { all: [{ has: declarator(variableNamed) }, { not: { has: { kind: 'variable_declarator', follows: { kind: 'variable_declarator', stopBy: 'end' } } } }] }
  const kinds = [['constant', { regex: '^const\\b' }], ['variable', { not: { regex: '^const\\b' } }]] as const
  /** A rule for all statements of a module that export, or declare, what it describes. */
  const each = (symbol: string, rule: Rule): string[] => [
    rules.item(symbol, { kind: 'export_statement', has: { field: 'declaration', ...rule }, inside: topLevel }, marked),
    ...(plain ? [] : [
      rules.item(symbol, { kind: 'export_statement', has: { field: 'declaration', kind: 'ambient_declaration', has: { stopBy: 'neighbor', ...rule } }, inside: topLevel }, marked),
      rules.item(symbol, { kind: 'ambient_declaration', has: { stopBy: 'neighbor', ...rule }, inside: topLevel }, marked),
    ]),
  ]
  each('constant', { ...statements, ...apart })
  for (const [symbol, word] of kinds) {
    each(symbol, { all: [statements, single, word] })
    const outer = plain ? [within('export_statement', 'program')] : [within('export_statement', 'program'), within('ambient_declaration', 'program'), within('ambient_declaration', 'export_statement', 'program')]
    rules.item(symbol, { ...declarator(variableNamed), inside: { stopBy: 'neighbor', all: [statements, word, { any: outer.map((inside) => ({ inside })) }] } }, marked)
  }
  if (plain) return
  each('function', { kind: 'function_signature', has: named })
  const abstract = { kind: 'abstract_class_declaration', has: named }
  const ids = [...each('class', abstract), rules.item('class', { ...abstract, inside: topLevel }, { ...marked, isExported: false })]
  const inBody = { inside: within('class_body', 'abstract_class_declaration') }
  const isPublic = { not: { any: [{ has: { kind: 'accessibility_modifier', regex: '^(private|protected)$' } }, { has: { kind: 'private_property_identifier' } }] } }
  rules.member(ids, 'constructor', { kind: 'method_definition', has: { field: 'name', regex: '^constructor$' }, ...inBody }, isPublic, 'constructor')
  for (const kind of ['method_definition', 'abstract_method_signature']) rules.member(ids, 'method', { kind, has: named, ...inBody }, isPublic)
  rules.member(ids, 'field', { kind: 'public_field_definition', has: named, ...inBody }, isPublic)
}

const files = new Map<string, string>()

/** A file of our own rules for a script, for the program to read; `undefined` for other languages. Made once, and again where it was cleared away. */
export function scriptRules(language: Language): string | undefined {
  if (!['javascript', 'typescript', 'tsx'].includes(language.id)) return undefined
  let file = files.get(language.id)
  if (file === undefined || !existsSync(file)) {
    file = join(tempFolder('rules'), `${language.id}.yml`)
    writeFileSync(file, extractorsOf(language).map((extractor) => JSON.stringify(extractor)).join('\n---\n'))
    files.set(language.id, file)
  }
  return file
}

/** The items that those rules found; `undefined` where a statement takes a value apart, whose names only a tree tells. */
export function settledItems(items: OutlineItem[]): OutlineItem[] | undefined {
  const known = new Set(items.flatMap(({ name }) => (name.startsWith(mark) ? [] : [name])))
  const settled: OutlineItem[] = []
  for (const item of items) {
    const name = item.name.startsWith(mark) ? item.name.slice(mark.length) : undefined
    if (name !== undefined && !/^[\w$\u0080-\uffff]/.test(name)) return undefined
    if (name === undefined) settled.push(item)
    else if (!known.has(name)) {
      known.add(name)
      settled.push({ ...item, name })
    }
  }
  return settled
}

/** Those that ast-grep's own rules find too. */
export const unmarkedItems = (items: OutlineItem[]): OutlineItem[] => items.filter(({ name }) => !name.startsWith(mark))
