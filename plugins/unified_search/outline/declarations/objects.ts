import { anyKind, hasField, hasKind, hasSeveral, describeImport, describeNamed, describeName } from './shapes.js'
import type { Declaration, LanguageDeclarations, TypeDeclaration } from './shapes.js'

const isJavaPublic = {
  any: [
    { has: { kind: 'modifiers', has: { pattern: 'public' } } },
    { inside: anyKind('interface_body', 'annotation_type_body') },
  ],
}

/** Node kinds of tree-sitter-java. */
export const java: LanguageDeclarations = {
  imports: [describeImport({ kind: 'import_declaration', any: [hasKind('scoped_identifier'), hasKind('identifier')] })],
  types: [
    { symbol: 'interface', kind: 'interface_declaration', keyword: 'interface' },
    { symbol: 'enum', kind: 'enum_declaration', keyword: 'enum' },
    { symbol: 'class', kind: 'class_declaration', keyword: 'class' },
    { symbol: 'struct', kind: 'record_declaration', keyword: 'record' },
    { symbol: 'interface', kind: 'annotation_type_declaration', keyword: '@interface' },
  ],
  names: ['identifier'],
  local: ['block'],
  members: [
    describeNamed('method', 'method_declaration'),
    describeNamed('method', 'annotation_type_element_declaration', { isPublic: true }),
    describeNamed('constructor', 'constructor_declaration'),
    describeNamed('constructor', 'compact_constructor_declaration'),
    ...['field_declaration', 'constant_declaration'].map((kind): Declaration => ({
      symbol: 'field',
      rule: { kind: 'variable_declarator', ...hasField('name'), inside: { kind } },
      isPublic: { inside: { kind, ...isJavaPublic } },
      isNameOnly: true,
    })),
    {
      symbol: 'field',
      rule: {
        kind: 'formal_parameter',
        ...hasField('name'),
        inside: { kind: 'formal_parameters', inside: { kind: 'record_declaration' } },
      },
      isPublic: true,
    },
    describeNamed('enumMember', 'enum_constant', { isPublic: true }),
  ],
  items: [],
  isPublic: isJavaPublic,
  signature: [
    ['^(?:@(?:\\w|\\.)+(?:\\([^()]*\\))?\\s+)+', ''],
    ['\\n[\\s\\S]*$', ''],
  ],
}

const isKotlinPublic = { not: { has: { kind: 'modifiers', regex: 'private|internal|protected' } } }
const kotlinClass = (symbol: string, keyword: string, where: Record<string, unknown>): TypeDeclaration => ({
  symbol,
  kind: 'class_declaration',
  keyword,
  where,
  name: { kind: 'type_identifier' },
})
const kotlinConst = { has: { kind: 'modifiers', regex: '\\bconst\\b' } }
const kotlinName = { kind: 'variable_declaration', ...hasKind('simple_identifier') }
const kotlinProperties = (symbol: string): Declaration[] => [
  { symbol: 'constant', rule: { kind: 'property_declaration', all: [kotlinConst, { has: kotlinName }] } },
  { symbol, rule: { kind: 'property_declaration', has: kotlinName } },
  {
    symbol,
    rule: { ...kotlinName, inside: { kind: 'multi_variable_declaration', inside: { kind: 'property_declaration' } } },
    isNameOnly: true,
  },
  { symbol: 'struct', rule: { kind: 'type_alias', ...hasKind('type_identifier') } },
]
const kotlinFunction = { kind: 'function_declaration', ...hasKind('simple_identifier') }

/** Node kinds of tree-sitter-kotlin (fwcd). The members of a companion belong to its class. */
export const kotlin: LanguageDeclarations = {
  imports: [
    describeImport({ kind: 'import_header', has: { kind: 'import_alias', ...hasKind('type_identifier') } }),
    describeImport({ kind: 'import_header', ...hasKind('identifier') }),
  ],
  types: [
    kotlinClass('enum', 'enum class', { has: { kind: 'enum_class_body' } }),
    kotlinClass('interface', 'interface', { has: { pattern: 'interface' } }),
    kotlinClass('class', 'class', {
      not: { any: [{ has: { kind: 'enum_class_body' } }, { has: { pattern: 'interface' } }] },
    }),
    { symbol: 'object', kind: 'object_declaration', keyword: 'object', name: { kind: 'type_identifier' } },
  ],
  names: ['type_identifier'],
  local: ['function_body', 'lambda_literal', 'object_literal', 'anonymous_initializer', 'getter', 'setter'],
  members: [
    { symbol: 'method', rule: kotlinFunction },
    { symbol: 'constructor', name: 'constructor', rule: { kind: 'secondary_constructor' } },
    { symbol: 'enumMember', rule: { kind: 'enum_entry', ...hasKind('simple_identifier') }, isPublic: true },
    {
      symbol: 'property',
      rule: { kind: 'class_parameter', all: [{ has: { kind: 'binding_pattern_kind' } }, hasKind('simple_identifier')] },
    },
    ...kotlinProperties('property'),
  ],
  items: [{ symbol: 'function', rule: kotlinFunction }, ...kotlinProperties('variable')],
  isPublic: isKotlinPublic,
}

const isSwiftPublic = { has: { kind: 'modifiers', regex: '\\b(?:public|open)\\b' } }
const swiftClass = (symbol: string, keyword: string): TypeDeclaration => ({
  symbol,
  kind: 'class_declaration',
  keyword,
  where: { has: { field: 'declaration_kind', pattern: keyword } },
})
const oneName = { kind: 'property_declaration', not: hasSeveral('pattern') }
const swiftFunction = { kind: 'function_declaration', ...hasKind('simple_identifier') }
const boundName = { kind: 'pattern', has: { field: 'bound_identifier', pattern: '$NAME' } }
const swiftProperties = (symbol: string): Declaration[] => [
  { symbol, rule: { ...oneName, has: boundName } },
  {
    symbol,
    rule: {
      kind: 'simple_identifier',
      pattern: '$NAME',
      inside: { kind: 'pattern', stopBy: { not: { kind: 'pattern' } }, inside: { kind: 'property_declaration' } },
    },
    isNameOnly: true,
    isPublic: { inside: { kind: 'property_declaration', stopBy: 'end', ...isSwiftPublic } },
  },
  { symbol: 'struct', rule: { kind: 'typealias_declaration', ...hasKind('type_identifier') } },
]

/** Node kinds of tree-sitter-swift (alex-pinkus). */
export const swift: LanguageDeclarations = {
  imports: [describeImport({ kind: 'import_declaration', ...hasKind('identifier') })],
  types: [
    swiftClass('class', 'class'),
    swiftClass('struct', 'struct'),
    swiftClass('enum', 'enum'),
    swiftClass('object', 'actor'),
    swiftClass('object', 'extension'),
    { symbol: 'interface', kind: 'protocol_declaration', keyword: 'protocol' },
  ],
  names: ['type_identifier', 'user_type'],
  local: ['function_body', 'computed_property', 'lambda_literal', 'willset_didset_block'],
  members: [
    { symbol: 'constructor', name: 'init', rule: { kind: 'init_declaration' } },
    { symbol: 'method', name: 'subscript', rule: { kind: 'subscript_declaration' } },
    { symbol: 'method', rule: swiftFunction },
    {
      symbol: 'method',
      rule: { kind: 'protocol_function_declaration', ...hasKind('simple_identifier') },
      isPublic: true,
    },
    { symbol: 'property', rule: { kind: 'protocol_property_declaration', has: boundName }, isPublic: true },
    {
      symbol: 'typeParameter',
      rule: { kind: 'associatedtype_declaration', ...hasKind('type_identifier') },
      isPublic: true,
    },
    describeName('enumMember', 'simple_identifier', { kind: 'enum_entry' }, { isPublic: true }),
    ...swiftProperties('property'),
  ],
  items: [{ symbol: 'function', rule: swiftFunction }, ...swiftProperties('variable')],
  isPublic: isSwiftPublic,
}
