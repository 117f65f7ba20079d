import type { OutlineItem, SyntaxRule } from '../../../lib/syntax/index.js'
import { csharp, go, rust } from './compiled.js'
import { php, python, ruby } from './dynamic.js'
import { java, kotlin, swift } from './objects.js'
import type { Declaration, LanguageDeclarations, TypeDeclaration } from './shapes.js'

const languages: Record<string, LanguageDeclarations | undefined> = {
  csharp,
  go,
  java,
  kotlin,
  php,
  python,
  ruby,
  rust,
  swift,
}

/** Separates the type that holds a member from its name: no name of a language has it. */
const SEPARATOR = '\u001f'
const HOLDERS = ['class', 'struct', 'interface', 'enum', 'module', 'object']

/** One rule of `ast-grep outline --outline-rules` (ast-grep 0.51). */
type Rule = Record<string, unknown>

/** Returns the rules for the program; `undefined` for languages that use those of the program itself. */
export function createDeclarationRules(id: string, title: string): Rule[] | undefined {
  const language = languages[id]
  return language && new DeclarationRules(title, language).all
}

class DeclarationRules {
  readonly all: Rule[] = []
  private readonly parents: string[] = []
  private readonly owner: SyntaxRule | undefined

  constructor(
    private readonly title: string,
    private readonly language: LanguageDeclarations,
  ) {
    const { imports, types, items, members, local } = language
    const outer = types.map((type) => toRule(type, '$OWNER'))
    const kinds = [...types.map(({ kind }) => kind), ...local].map((kind) => ({ kind }))
    this.owner = outer.length > 0 ? { inside: { any: outer, stopBy: { any: kinds } } } : undefined
    for (const one of imports) this.addItem(one)
    for (const type of types) this.addItem({ symbol: type.symbol, rule: { kind: type.kind, ...toRule(type, '$NAME') } })
    for (const one of items) this.addItem(one)
    for (const type of types) this.addInnerType(type)
    for (const one of members) this.addMember(one)
  }

  private addItem(declaration: Declaration): void {
    const { isPublic = this.language.isPublic, isImport = false, symbol } = declaration
    const id = this.add(declaration, { role: 'item', isImport, isExported: isPublic }, [])
    if (!isImport && HOLDERS.includes(symbol)) this.parents.push(id)
  }

  private addMember(declaration: Declaration, more: Rule = {}): void {
    const { isPublic = this.language.isPublic, name = '$NAME' } = declaration
    const owned = this.owner ? `$OWNER${SEPARATOR}${name}` : name
    const role = { role: 'member', parentRuleIds: this.parents, isPublic, ...more }
    this.add({ ...declaration, name: owned }, role, this.owner ? [this.owner] : [])
  }

  /** Adds a type inside another by the node of its name: what is in a member of ast-grep is not read. */
  private addInnerType(type: TypeDeclaration): void {
    const { keyword, symbol, kind, where, name } = type
    if (keyword === undefined) return
    const { isPublic } = this.language
    const isVisible = typeof isPublic === 'boolean' ? isPublic : { inside: { kind, ...isPublic } }
    for (const named of this.language.names) {
      const inside = { kind, ...(!name && { field: 'name' }), all: [where, this.owner].filter(isRule) }
      const rule = { kind: named, pattern: '$NAME', all: [{ inside }] }
      const signature = `${keyword} $NAME`
      this.addNamed({ symbol, rule, isNameOnly: true, isPublic: isVisible }, signature)
    }
  }

  private addNamed(declaration: Declaration, signature: string): void {
    const name = `$OWNER${SEPARATOR}$NAME`
    const role = { role: 'member', parentRuleIds: this.parents, isPublic: declaration.isPublic, signature }
    this.add({ ...declaration, name }, role, [])
  }

  /** Adds a rule and returns its id. */
  private add(
    { symbol, rule, name = '$NAME', isNameOnly, isImport }: Declaration,
    more: Rule,
    conditions: SyntaxRule[],
  ): string {
    const id = `r${this.all.length}`
    const signature = isNameOnly || isImport ? [] : (this.language.signature ?? [])
    const all = [...((rule['all'] as SyntaxRule[] | undefined) ?? []), ...conditions]
    const whole = { ...rule, all: signature.length > 0 ? [...all, { pattern: '$DECLARATION' }] : all }
    const common = { id, language: this.title, symbolType: symbol, rule: whole, name }
    this.all.push({ ...common, ...toSignature(signature), ...more })
    return id
  }
}

const isRule = (rule: SyntaxRule | undefined): rule is SyntaxRule => rule !== undefined

function toRule({ kind, where, name = { field: 'name' } }: TypeDeclaration, variable: string): SyntaxRule {
  return { kind, all: [where, { has: { ...name, pattern: variable } }].filter(isRule) }
}

/** Returns the replacements of a signature, each of the text that the one before gave. */
function toSignature(steps: NonNullable<LanguageDeclarations['signature']>): Rule {
  if (steps.length === 0) return {}
  const transform = Object.fromEntries(
    steps.map(([replace, by], at) => [
      `STEP${at}`,
      { replace: { source: at === 0 ? '$DECLARATION' : `$STEP${at - 1}`, replace, by } },
    ]),
  )
  return { transform, signature: `$STEP${steps.length - 1}` }
}

/** Returns items whose members are named by the types that hold them: `Inner.run` in an item `Outer`. */
export function nameMembers(items: OutlineItem[]): OutlineItem[] {
  return items.map((item) => {
    const paths = new Map<string, string>([[item.name, '']])
    const members = item.members.map((member) => {
      const [owner, name] = member.name.split(SEPARATOR) as [string, string?]
      if (name === undefined) return member
      const path = `${paths.get(owner) ?? `${owner}.`}${name}`
      if (HOLDERS.includes(member.kind)) paths.set(name, `${path}.`)
      return { ...member, name: path }
    })
    return { ...item, members }
  })
}
