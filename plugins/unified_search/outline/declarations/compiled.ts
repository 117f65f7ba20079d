import { anyKind, hasField, hasKind, hasSeveral, describeImport, describeNamed, describeName } from './shapes.js'
import type { Declaration, LanguageDeclarations } from './shapes.js'

const goTypes = [
  ['struct', { has: { field: 'type', kind: 'struct_type' } }],
  ['interface', { has: { field: 'type', kind: 'interface_type' } }],
  ['typeParameter', { not: { has: { any: [{ kind: 'struct_type' }, { kind: 'interface_type' }] } } }],
] as const
const alone = { not: { regex: '^type\\s*\\(' } }
const inStruct = { kind: 'field_declaration_list', inside: { kind: 'struct_type', inside: { kind: 'type_spec' } } }
const isUpper = { regex: '^[*]?(?:\\w+\\.)?\\p{Lu}' }

/** Describes constants or variables of Go: the declaration of one name, or each name of several. */
const goNames = (symbol: string, kind: string): Declaration[] => [
  {
    symbol,
    rule: { kind, not: hasSeveral('identifier'), has: { kind: 'identifier', pattern: '$NAME', not: { regex: '^_$' } } },
  },
  describeName(symbol, 'identifier', { kind, ...hasSeveral('identifier') }),
]

/** Node kinds of tree-sitter-go. */
export const go: LanguageDeclarations = {
  imports: [
    describeImport({ kind: 'import_spec', ...hasKind('interpreted_string_literal_content', { stopBy: 'end' }) }),
  ],
  types: [],
  names: [],
  local: [],
  members: [
    describeName('field', 'field_identifier', { kind: 'field_declaration', inside: inStruct }, { isPublic: isUpper }),
    {
      symbol: 'field',
      rule: {
        kind: 'field_declaration',
        inside: inStruct,
        not: { has: { kind: 'field_identifier' } },
        any: [
          hasKind('type_identifier'),
          { has: { kind: 'qualified_type', ...hasField('name') } },
          { has: { kind: 'generic_type', ...hasField('type') } },
        ],
      },
      isPublic: isUpper,
    },
    describeNamed('method', 'method_elem', { isPublic: isUpper }),
  ],
  items: [
    ...goTypes.flatMap(([symbol, where]): Declaration[] => {
      const spec = { kind: 'type_spec', all: [where, hasField('name')] }
      return [
        { symbol, rule: { kind: 'type_declaration', ...alone, has: spec } },
        { symbol, rule: spec },
      ]
    }),
    {
      symbol: 'typeParameter',
      rule: { kind: 'type_declaration', ...alone, has: { kind: 'type_alias', ...hasField('name') } },
    },
    describeNamed('typeParameter', 'type_alias'),
    describeNamed('function', 'function_declaration'),
    {
      symbol: 'method',
      name: '$OWNER.$NAME',
      rule: {
        kind: 'method_declaration',
        all: [
          { has: { field: 'receiver', has: { kind: 'type_identifier', pattern: '$OWNER', stopBy: 'end' } } },
          hasField('name'),
        ],
      },
    },
    ...goNames('constant', 'const_spec'),
    ...goNames('variable', 'var_spec'),
  ],
  isPublic: true,
}

const isRustPublic = {
  any: [
    { has: { kind: 'visibility_modifier' } },
    { inside: { kind: 'declaration_list', inside: { kind: 'trait_item' } } },
  ],
}
const rustNamed = [
  describeNamed('function', 'function_item'),
  describeNamed('constant', 'const_item'),
  describeNamed('variable', 'static_item'),
  describeNamed('struct', 'type_item'),
  describeNamed('function', 'macro_definition', {
    isPublic: {
      follows: { kind: 'attribute_item', regex: 'macro_export', stopBy: { not: { kind: 'attribute_item' } } },
    },
  }),
].map((one) => ({ ...one, rule: { ...one.rule, ...hasField('name', { not: { regex: '^_$' } }) } }))

/** Node kinds of tree-sitter-rust. */
export const rust: LanguageDeclarations = {
  imports: [{ ...describeImport({ kind: 'use_declaration', ...hasField('argument') }), isPublic: isRustPublic }],
  types: [
    { symbol: 'module', kind: 'mod_item', keyword: 'mod' },
    { symbol: 'struct', kind: 'struct_item', keyword: 'struct' },
    { symbol: 'struct', kind: 'union_item', keyword: 'union' },
    { symbol: 'enum', kind: 'enum_item', keyword: 'enum' },
    { symbol: 'interface', kind: 'trait_item', keyword: 'trait' },
    { symbol: 'object', kind: 'impl_item', name: { field: 'type' } },
  ],
  names: ['type_identifier', 'identifier'],
  local: ['block', 'enum_variant'],
  members: [
    describeNamed('field', 'field_declaration'),
    describeNamed('enumMember', 'enum_variant', { isPublic: true }),
    ...[describeNamed('method', 'function_item'), describeNamed('method', 'function_signature_item')].map((one) => ({
      ...one,
      rule: { ...one.rule, inside: { kind: 'declaration_list', inside: anyKind('impl_item', 'trait_item') } },
    })),
    describeNamed('struct', 'associated_type'),
    ...rustNamed,
  ],
  items: [describeNamed('function', 'function_signature_item'), ...rustNamed],
  isPublic: isRustPublic,
  signature: [
    ['\\s*\\{[\\s\\S]*$|;\\s*$', ''],
    ['\\n[\\s\\S]*$', ''],
  ],
}

const isCsharpPublic = {
  any: [
    { has: { kind: 'modifier', regex: '^public$' } },
    { inside: { kind: 'declaration_list', inside: { kind: 'interface_declaration' } } },
  ],
}
const csharpVariable = (kind: string) => ({ kind: 'variable_declaration', inside: { kind } })

/** Node kinds of tree-sitter-c-sharp. */
export const csharp: LanguageDeclarations = {
  imports: [describeImport({ kind: 'using_directive', has: { pattern: '$NAME' } })],
  types: [
    { symbol: 'interface', kind: 'interface_declaration', keyword: 'interface' },
    { symbol: 'class', kind: 'class_declaration', keyword: 'class' },
    { symbol: 'struct', kind: 'struct_declaration', keyword: 'struct' },
    { symbol: 'struct', kind: 'record_declaration', keyword: 'record' },
    { symbol: 'enum', kind: 'enum_declaration', keyword: 'enum' },
  ],
  names: ['identifier'],
  local: ['block'],
  members: [
    describeNamed('constructor', 'constructor_declaration'),
    describeNamed('method', 'method_declaration'),
    describeNamed('property', 'property_declaration'),
    { symbol: 'property', name: 'this', rule: { kind: 'indexer_declaration' } },
    describeNamed('event', 'event_declaration'),
    ...(['field', 'event'] as const).map((symbol): Declaration => {
      const kind = symbol === 'field' ? 'field_declaration' : 'event_field_declaration'
      return {
        ...describeNamed(symbol, 'variable_declarator', { isNameOnly: true }),
        rule: { kind: 'variable_declarator', ...hasField('name'), inside: csharpVariable(kind) },
        isPublic: { inside: { kind: 'variable_declaration', inside: { kind, ...isCsharpPublic } } },
      }
    }),
    describeNamed('enumMember', 'enum_member_declaration', { isPublic: true }),
    describeNamed('function', 'delegate_declaration'),
    {
      ...describeNamed('property', 'parameter', { isPublic: true }),
      rule: {
        kind: 'parameter',
        ...hasField('name'),
        inside: { kind: 'parameter_list', inside: { kind: 'record_declaration' } },
      },
    },
  ],
  items: [describeNamed('function', 'delegate_declaration')],
  isPublic: isCsharpPublic,
  signature: [
    ['\\s*(?:\\{[\\s\\S]*$|=>[\\s\\S]*$|;\\s*$)', ''],
    ['\\s*\\n\\s*', ' '],
    ['\\(\\s+', '('],
    ['\\s+\\)', ')'],
  ],
}
