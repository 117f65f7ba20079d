import { createCommonJsRules } from './commonjs_rules.js'
import { exportRules } from './export_rules.js'
import { MARK, type Extractor, type KindRule, type SyntaxRule } from './extractor.js'
import type { Language } from './languages.js'
import type { OutlineItem } from './types.js'

type How = Partial<Extractor>

const named: SyntaxRule = { field: 'name', pattern: '$NAME' }
const identifier: SyntaxRule = { ...named, kind: 'identifier' }
const topLevel: SyntaxRule = { inside: { kind: 'program' } }
const statements: SyntaxRule = { any: [{ kind: 'lexical_declaration' }, { kind: 'variable_declaration' }] }
const matchAnyKind = (...kinds: string[]): SyntaxRule => ({ any: kinds.map((kind) => ({ kind })) })

/** Reads only the keyword: the text of each part of a statement would take quadratic time. */
const isConst: SyntaxRule = { has: { field: 'kind', regex: '^const$' } }
const VARIABLES = [
  ['constant', isConst],
  ['variable', { not: isConst }],
] as const

/** Declarations with a field `name`, and their kind in an outline. Scripts without types have the first two. */
const DECLARATIONS = [
  ['function', 'function'],
  ['class', 'class'],
  ['interface', 'interface'],
  ['type_alias', 'struct'],
  ['enum', 'enum'],
] as const

const EXPORTED_VARIABLE = /export\s+(?:const|let|var)\s/
/** End of a destructuring pattern: a bracket before `=` or before a type. */
const PATTERN_END = /[\]}]\s*[:=]/

const known = new Map<string, Extractor[]>()

/** Returns the rules for a script, for the program and the library of ast-grep; `undefined` for other languages. */
export function loadScriptRules(language: Language): Extractor[] | undefined {
  if (!['javascript', 'typescript', 'tsx'].includes(language.id)) return undefined
  let rules = known.get(language.id)
  if (!rules) known.set(language.id, (rules = new ScriptRules(language).all))
  return rules
}

class ScriptRules {
  readonly all: Extractor[] = []
  /** The script has no types, so only top-level declarations count. */
  private readonly isPlain: boolean

  constructor(private readonly language: Language) {
    this.isPlain = language.id === 'javascript'
    this.addModules()
    for (const [word, symbol] of this.isPlain ? DECLARATIONS.slice(0, 2) : DECLARATIONS)
      this.addDeclaration(word, symbol)
    if (!this.isPlain) this.addSignatures()
    if (this.isPlain) this.all.push(...createCommonJsRules(this.language, this.all.length))
    else this.addAbstractClasses()
    this.addClassMembers()
    this.addExportedVariables()
    this.addOwnVariables()
    if (this.isPlain) return
    // A type within a signature has properties of its own.
    const inBody = {
      inside: { kind: 'interface_body', inside: { kind: 'interface_declaration' } },
    }
    this.addMember('interface', 'method', { kind: 'method_signature', has: named, ...inBody })
    this.addMember('interface', 'field', { kind: 'property_signature', has: named, ...inBody })
    const inside = matchAnyKind('enum_body', 'enum_assignment')
    this.addMember('enum', 'enumMember', { kind: 'property_identifier', pattern: '$NAME', inside })
  }

  private addItem(symbolType: string, rule: KindRule, how: How = {}): void {
    this.add({ role: 'item', symbolType, rule, name: '$NAME', isExported: true, needs: [], ...how })
  }

  private addMember(parent: string, symbolType: string, rule: KindRule, isPublic = true): void {
    const parents = this.all.filter((one) => one.role === 'item' && one.symbolType === parent)
    const parentRuleIds = parents.map(({ id }) => id)
    this.add({ role: 'member', symbolType, rule, name: '$NAME', isPublic, parentRuleIds, needs: [parent] })
  }

  private add(extractor: Omit<Extractor, 'id' | 'language'>): void {
    this.all.push({ id: `r${this.all.length}`, language: this.language.title, ...extractor })
  }

  /** Adds a rule for statements that export the described declaration. */
  private addExported(symbol: string, rule: SyntaxRule, how: How = {}, where: SyntaxRule = topLevel): void {
    const needs = ['export', ...(how.needs ?? [])]
    const declaration = { field: 'declaration', ...rule }
    this.addItem(symbol, { kind: 'export_statement', has: declaration, ...where }, { ...how, needs })
  }

  /** Adds rules for ambient declarations, exported or not. */
  private addDeclared(symbol: string, rule: SyntaxRule, how: How = {}, where: SyntaxRule = topLevel): void {
    const needs = ['declare', ...(how.needs ?? [])]
    const declaration = { kind: 'ambient_declaration', has: rule }
    this.addExported(symbol, declaration, { ...how, needs }, where)
    this.addItem(symbol, { ...declaration, ...where }, { ...how, needs })
  }

  private addModules(): void {
    const source = { has: { field: 'source', pattern: '$NAME' } }
    this.addItem('module', { kind: 'import_statement', ...source }, { isImport: true, isExported: false })
    this.addItem('module', { kind: 'export_statement', ...source }, { needs: ['export'] })
    // As in ast-grep, a list of exports counts if it ends with a semicolon.
    const has = { kind: 'export_clause', pattern: '$NAME' }
    const list = { regex: '^export\\s*\\{(?s:.*);$', not: { has: { field: 'source', pattern: '$SOURCE' } } }
    this.addItem('module', { kind: 'export_statement', has, ...list }, { name: 'exports', needs: ['export'] })
    for (const { symbolType, rule, how } of exportRules) this.addItem(symbolType, rule, how)
    if (this.isPlain) return
    const space = { kind: 'internal_module', has: named }
    const needs = [/namespace|module/]
    this.addExported('module', space, { needs }, {})
    this.addDeclared('module', space, { needs }, {})
    this.addItem('module', space, { isExported: false, needs })
    const text = { field: 'name', kind: 'string', has: { kind: 'string_fragment', pattern: '$NAME' } }
    this.addDeclared('module', { kind: 'module', has: text }, { needs }, {})
  }

  private addDeclaration(word: string, symbol: string): void {
    const rule = { kind: `${word}_declaration`, has: named }
    const needs = [word.replace('_alias', '')]
    this.addExported(symbol, rule, { needs }, {})
    this.addItem(symbol, { ...rule, ...(this.isPlain && topLevel) }, { isExported: false, needs })
  }

  private addSignatures(): void {
    const rule = { kind: 'function_signature', has: named }
    const how = { name: `${MARK}$NAME`, needs: ['function'] }
    this.addExported('function', rule, how)
    this.addDeclared('function', rule, how)
  }

  private addAbstractClasses(): void {
    const rule = { kind: 'abstract_class_declaration', has: named }
    const needs = ['abstract']
    this.addExported('class', rule, { needs })
    this.addDeclared('class', rule, { needs })
    this.addItem('class', { ...rule, ...topLevel }, { isExported: false, needs })
  }

  private addClassMembers(): void {
    const modifier = { has: { kind: 'accessibility_modifier', regex: '^(private|protected)$' } }
    const hidden = { any: [{ has: { kind: 'private_property_identifier' } }, ...(this.isPlain ? [] : [modifier])] }
    const add = (symbol: string, rule: KindRule): void => {
      this.addMember('class', symbol, { ...rule, ...hidden }, false)
      this.addMember('class', symbol, { ...rule, not: hidden })
    }
    const method = { kind: 'method_definition', has: named }
    const isConstructor = { has: { field: 'name', regex: '^constructor$' } }
    add('constructor', { ...method, all: [isConstructor] })
    add('method', { ...method, all: [{ not: isConstructor }] })
    if (this.isPlain) add('field', { kind: 'field_definition', has: { field: 'property', pattern: '$NAME' } })
    else add('field', { kind: 'public_field_definition', has: named })
    if (!this.isPlain) add('method', { kind: 'abstract_method_signature', has: named })
  }

  /** Adds rules for exported variables: the statement of one, the declarator of several, the name in a pattern. */
  private addExportedVariables(): void {
    const declarator = { kind: 'variable_declarator', has: identifier }
    const follows = { kind: 'variable_declarator', stopBy: 'end' }
    const several = { has: { kind: 'variable_declarator', follows } }
    const exporting = { kind: 'export_statement', ...topLevel }
    const ambient = { kind: 'ambient_declaration', inside: { any: [{ kind: 'program' }, exporting] } }
    const defaults = ['object_assignment_pattern', 'assignment_pattern']
    const inPattern = matchAnyKind('object_pattern', 'array_pattern', 'pair_pattern', 'rest_pattern', ...defaults)
    const isDefault = { inside: { ...matchAnyKind(...defaults), field: 'right' } }
    const marked = { name: `${MARK}$NAME`, needs: ['declare'] }
    for (const [symbol, word] of VARIABLES) {
      const single = { all: [statements, word, { has: declarator }, { not: several }] }
      const within = (outer: SyntaxRule): SyntaxRule => ({ inside: { all: [statements, word, { inside: outer }] } })
      this.addExported(symbol, single)
      this.addItem(symbol, { ...declarator, ...within(exporting) }, { needs: [EXPORTED_VARIABLE] })
      if (!this.isPlain) this.addDeclared(symbol, single, marked)
      if (!this.isPlain) this.addItem(symbol, { ...declarator, ...within(ambient) }, marked)
      const inside = { kind: 'variable_declarator', ...within(exporting), stopBy: { not: inPattern } }
      const all = [{ inside: inPattern }, { not: isDefault }]
      for (const kind of ['identifier', 'shorthand_property_identifier_pattern']) {
        const needs = [EXPORTED_VARIABLE, PATTERN_END]
        this.addItem(symbol, { kind, pattern: '$NAME', all, inside }, { needs })
      }
    }
  }

  /** Adds rules for top-level variables that are not exported. */
  private addOwnVariables(): void {
    const isArrow = { has: { field: 'value', kind: 'arrow_function' } }
    const isValued = { has: { field: 'value', pattern: '$VALUE' } }
    const add = (symbol: string, rule: SyntaxRule, word: SyntaxRule = {}): void => {
      const inside = { kind: 'lexical_declaration', ...word, ...topLevel }
      this.addItem(symbol, { kind: 'variable_declarator', has: identifier, inside, ...rule }, { isExported: false })
    }
    add('function', { all: [isArrow] })
    add('constant', { all: [isValued, { not: isArrow }] }, isConst)
    // As in ast-grep, a typed variable with a value is a constant, and a typed pattern has its text as name.
    const isTyped = { has: { field: 'type', pattern: '$TYPE' } }
    if (!this.isPlain) add('constant', { has: named, all: [isTyped, isValued, { not: isArrow }] })
    add('variable', { not: isArrow }, { not: isConst })
  }
}

/** Returns the items of a script that count, without their marks. */
export function unmarkItems(items: OutlineItem[]): OutlineItem[] {
  const isMarked = ({ kind, name }: OutlineItem): boolean => kind !== 'module' && name.startsWith(MARK)
  const names = new Set(items.flatMap((item) => (isMarked(item) ? [] : [item.name])))
  const exported = new Set<string>()
  const counted = items.flatMap((item) => {
    if (!isMarked(item)) return [item]
    const name = item.name.slice(MARK.length)
    if (item.isExported) exported.add(name)
    return names.has(name) ? [] : (names.add(name), [{ ...item, name }])
  })
  // `exports.run = run` exports a function that is declared elsewhere.
  return counted.map((item) =>
    !item.isExported && !item.isImport && exported.has(item.name) ? { ...item, isExported: true } : item,
  )
}
