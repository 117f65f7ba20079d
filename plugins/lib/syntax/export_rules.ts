import type { Extractor, KindRule, SyntaxRule } from './extractor.js'

interface ExportRule {
  symbolType: string
  rule: KindRule
  how: Partial<Extractor>
}

const DEFAULTS = [
  ['function', 'function_expression'],
  ['function', 'generator_function'],
  ['function', 'arrow_function'],
  ['class', 'class'],
] as const
const inOwnList: SyntaxRule = {
  inside: {
    kind: 'export_clause',
    inside: { kind: 'export_statement', not: { has: { field: 'source', pattern: '$SOURCE' } } },
  },
}

/** Rules for exports under names that no declaration has: defaults without a name, and entries of a list with `as`. */
export const exportRules: readonly ExportRule[] = [
  ...DEFAULTS.map(([symbolType, kind]) => ({
    symbolType,
    rule: { kind: 'export_statement', has: { field: 'value', kind, pattern: '$NAME' } },
    how: { name: 'default', needs: ['default'] },
  })),
  {
    symbolType: 'constant',
    rule: { kind: 'export_specifier', has: { field: 'alias', pattern: '$NAME' }, ...inOwnList },
    how: { needs: ['export', ' as '] },
  },
]
