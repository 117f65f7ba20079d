import type { KindRule, SyntaxRule } from '../../../lib/syntax/index.js'

/** A declaration of a language: the rule of its node, which binds `$NAME`, and how it is listed. */
export interface Declaration {
  /** Kind of the symbol, as in the Language Server Protocol. */
  symbol: string
  rule: KindRule
  /** A fixed name, or `$OWNER.$NAME`. Default: `$NAME`. */
  name?: string
  /** Condition of a public declaration. Default: the condition of the language. */
  isPublic?: SyntaxRule | boolean
  isImport?: boolean
  /** The node is only the name, so no signature is made from it. */
  isNameOnly?: boolean
}

/** A declaration that holds members and that can be a member. */
export interface TypeDeclaration {
  symbol: string
  kind: string
  /** Word before the name in the signature of a member; a type without one holds members but is no member. */
  keyword?: string
  /** Further conditions of the node. */
  where?: SyntaxRule
  /** The child that names it. Default: the field `name`. */
  name?: SyntaxRule
}

export interface LanguageDeclarations {
  imports: Declaration[]
  types: TypeDeclaration[]
  /** Kinds of nodes that name a type. */
  names: string[]
  /** Kinds of nodes whose content belongs to no type around them. */
  local: string[]
  members: Declaration[]
  /** Declarations outside of types. */
  items: Declaration[]
  isPublic: SyntaxRule | boolean
  /** Replacements that make a signature from a declaration. Default: its first line. */
  signature?: readonly (readonly [pattern: string, by: string])[]
}

export const hasField = (field: string, more: SyntaxRule = {}): SyntaxRule => ({
  has: { field, pattern: '$NAME', ...more },
})
export const hasKind = (kind: string, more: SyntaxRule = {}): SyntaxRule => ({
  has: { kind, pattern: '$NAME', ...more },
})
export const anyKind = (...kinds: string[]): SyntaxRule => ({ any: kinds.map((kind) => ({ kind })) })

/** Describes a node with more than one child of a kind. */
export const hasSeveral = (kind: string): SyntaxRule => ({ has: { kind, follows: { kind, stopBy: 'end' } } })

/** Describes a node with the field `name`. */
export const describeNamed = (symbol: string, kind: string, more: Partial<Declaration> = {}): Declaration => ({
  symbol,
  rule: { kind, ...hasField('name') },
  ...more,
})

/** Describes a node that is a name itself: one of several in a declaration. */
export const describeName = (
  symbol: string,
  kind: string,
  inside: SyntaxRule,
  more: Partial<Declaration> = {},
): Declaration => ({ symbol, rule: { kind, pattern: '$NAME', inside }, isNameOnly: true, ...more })

export const describeImport = (rule: KindRule): Declaration => ({
  symbol: 'module',
  rule,
  isImport: true,
  isPublic: false,
})
