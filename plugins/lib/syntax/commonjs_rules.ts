import { MARK, type Extractor, type KindRule, type SyntaxRule } from './extractor.js'
import type { Language } from './languages.js'

const anyKind = (...kinds: string[]): SyntaxRule => ({ any: kinds.map((kind) => ({ kind })) })
const FUNCTIONS = anyKind('function_expression', 'arrow_function', 'generator_function')
/** Kinds of a value, and the symbol of what holds it. Other values may be declared elsewhere in the file. */
const VALUES = [
  ['function', FUNCTIONS],
  ['class', { kind: 'class' }],
  ['constant', { not: { any: [FUNCTIONS, { kind: 'class' }] } }],
] as const

/** Values of `module.exports` whose names come from elsewhere. */
const NAMED_APART = [{ kind: 'identifier' }, { kind: 'object' }, { kind: 'assignment_expression' }]
const MODULE = { field: 'left', regex: '^module\\.exports$' }
const topLevel: SyntaxRule = { inside: { kind: 'expression_statement', inside: { kind: 'program' } } }
/** The object of `module.exports = {…}` or `exports = module.exports = {…}`. */
const exportedObject: SyntaxRule = {
  inside: {
    kind: 'object',
    inside: {
      kind: 'assignment_expression',
      has: MODULE,
      any: [topLevel, { inside: { kind: 'assignment_expression', ...topLevel } }],
    },
  },
}

/** Returns the rules for exports of CommonJS and for methods of objects; their ids follow `count` others. */
export function createCommonJsRules({ title }: Language, count: number): Extractor[] {
  const all: Extractor[] = []
  const add = (symbolType: string, rule: KindRule, needs: Extractor['needs'], how: Partial<Extractor> = {}): void => {
    const name = symbolType === 'constant' ? `${MARK}$NAME` : '$NAME'
    const common = { id: `r${count + all.length}`, language: title, role: 'item' as const, isExported: true }
    all.push({ ...common, symbolType, rule, name, needs, ...how })
  }
  const addStatement = (
    symbol: string,
    left: SyntaxRule,
    right: SyntaxRule,
    needs: Extractor['needs'],
    how?: Partial<Extractor>,
  ): void => {
    const sides = { all: [{ has: left }, { has: { field: 'right', ...right } }] }
    add(
      symbol,
      { kind: 'expression_statement', has: { kind: 'assignment_expression', ...sides }, inside: { kind: 'program' } },
      needs,
      how,
    )
  }
  const ownName = { field: 'name', pattern: '$NAME' }
  const property = { has: { field: 'property', pattern: '$NAME' } }
  // Compilers declare exports as `void 0` first.
  const isSet = { not: { regex: '\\bvoid 0$' } }
  const member = {
    field: 'left',
    kind: 'member_expression',
    all: [{ has: { field: 'object', regex: '^(?:module\\.)?exports$' } }, property],
  }
  for (const [symbol, value] of VALUES) {
    addStatement(symbol, member, { all: [value, isSet] }, ['exports'])
    const isNamed = symbol === 'constant' ? { kind: 'identifier', pattern: '$NAME' } : { ...value, has: ownName }
    addStatement(symbol, MODULE, isNamed, ['module.exports'])
    // A value without a name is named after what it is assigned to.
    const isNameless = { all: [value, { not: { any: [...NAMED_APART, { has: ownName }] } }] }
    addStatement(symbol, { ...MODULE, pattern: '$NAME' }, isNameless, ['module.exports'], { name: '$NAME' })
    const pair = [{ has: { field: 'key', pattern: '$NAME' } }, { has: { field: 'value', ...value } }]
    add(symbol, { kind: 'pair', all: pair, ...exportedObject }, ['module.exports'])
  }
  add('function', { kind: 'method_definition', has: ownName, ...exportedObject }, ['module.exports'])
  add('constant', { kind: 'shorthand_property_identifier', pattern: '$NAME', ...exportedObject }, ['module.exports'])
  // Methods of prototypes, and of an object that the script made.
  const holder = { regex: '\\.prototype$|^\\w+$', not: { regex: '^(?:module|exports)$' } }
  const method = { field: 'left', kind: 'member_expression', pattern: '$NAME', has: { field: 'object', ...holder } }
  addStatement('method', method, FUNCTIONS, [/\.\w+\s*=/], { isExported: false })
  return all
}
