import { anyKind, hasField, hasKind, describeImport, describeNamed, describeName } from './shapes.js'
import type { Declaration, LanguageDeclarations } from './shapes.js'

const patterns = ['pattern_list', 'tuple_pattern', 'list_pattern', 'list_splat_pattern']
/** Describes a name in the pattern on the left of an assignment. */
const inPattern = {
  ...anyKind(...patterns),
  stopBy: { not: anyKind(...patterns) },
  inside: { kind: 'assignment', field: 'left' },
}
const isChained = { has: { field: 'right', kind: 'assignment' } }
const pythonNames = (symbol: string, isName: Record<string, unknown>): Declaration[] => [
  {
    symbol,
    rule: {
      kind: 'assignment',
      not: isChained,
      has: { field: 'left', kind: 'identifier', pattern: '$NAME', ...isName },
    },
  },
  ...[inPattern, { kind: 'assignment', field: 'left', ...isChained }].map((inside) => {
    const name = describeName(symbol, 'identifier', inside)
    return { ...name, rule: { ...name.rule, ...isName } }
  }),
]
const upper = { regex: '^[A-Z_][A-Z0-9_]*$' }
const pythonAlias: Declaration = {
  symbol: 'struct',
  rule: {
    kind: 'type_alias_statement',
    has: { field: 'left', has: { kind: 'identifier', pattern: '$NAME', stopBy: 'end' } },
  },
}

/** Node kinds of tree-sitter-python. */
export const python: LanguageDeclarations = {
  imports: [
    describeImport({
      kind: 'import_statement',
      has: {
        field: 'name',
        any: [
          { kind: 'dotted_name', pattern: '$NAME' },
          { kind: 'aliased_import', ...hasField('name') },
        ],
      },
    }),
    describeImport({ kind: 'import_from_statement', ...hasField('module_name') }),
  ],
  types: [{ symbol: 'class', kind: 'class_definition', keyword: 'class' }],
  names: ['identifier'],
  local: ['function_definition', 'lambda'],
  members: [describeNamed('method', 'function_definition'), pythonAlias, ...pythonNames('field', {})],
  items: [
    describeNamed('function', 'function_definition'),
    pythonAlias,
    ...pythonNames('constant', upper),
    ...pythonNames('variable', { not: upper }),
  ],
  isPublic: true,
}

const rubyConstants: Declaration[] = [
  { symbol: 'constant', rule: { kind: 'assignment', has: { field: 'left', kind: 'constant', pattern: '$NAME' } } },
  describeName('constant', 'constant', { kind: 'left_assignment_list' }),
]

/** Node kinds of tree-sitter-ruby. */
export const ruby: LanguageDeclarations = {
  imports: [
    describeImport({
      kind: 'call',
      all: [
        { has: { field: 'method', regex: '^require(?:_relative)?$' } },
        { has: { field: 'arguments', has: { kind: 'string', pattern: '$NAME' } } },
      ],
    }),
  ],
  types: [
    { symbol: 'module', kind: 'module', keyword: 'module' },
    { symbol: 'class', kind: 'class', keyword: 'class' },
  ],
  names: ['constant', 'scope_resolution'],
  local: [],
  members: [describeNamed('method', 'method'), describeNamed('method', 'singleton_method'), ...rubyConstants],
  items: [describeNamed('function', 'method'), describeNamed('function', 'singleton_method'), ...rubyConstants],
  isPublic: true,
}

const isHidden = { has: { kind: 'visibility_modifier', regex: '^(?:private|protected)$' } }
const isPhpPublic = { not: isHidden }
const phpConstant: Declaration = {
  symbol: 'constant',
  rule: { kind: 'const_element', ...hasKind('name'), inside: { kind: 'const_declaration' } },
  isPublic: { not: { inside: { kind: 'const_declaration', ...isHidden } } },
}

/** Node kinds of tree-sitter-php. */
export const php: LanguageDeclarations = {
  imports: [describeImport({ kind: 'namespace_use_clause', any: [hasKind('qualified_name'), hasKind('name')] })],
  types: [
    { symbol: 'interface', kind: 'interface_declaration', keyword: 'interface' },
    { symbol: 'class', kind: 'class_declaration', keyword: 'class' },
    { symbol: 'interface', kind: 'trait_declaration', keyword: 'trait' },
    { symbol: 'enum', kind: 'enum_declaration', keyword: 'enum' },
  ],
  names: ['name'],
  local: ['anonymous_class', 'compound_statement'],
  members: [
    describeNamed('method', 'method_declaration'),
    {
      symbol: 'property',
      rule: { kind: 'property_element', ...hasField('name') },
      isPublic: { inside: { kind: 'property_declaration', ...isPhpPublic } },
    },
    phpConstant,
    describeNamed('enumMember', 'enum_case', { isPublic: true }),
  ],
  items: [describeNamed('function', 'function_definition', { isPublic: true }), phpConstant],
  isPublic: isPhpPublic,
}
