export type SyntaxRule = Record<string, unknown>
export type KindRule = SyntaxRule & { kind: string }

/** One rule of `ast-grep outline --outline-rules` (ast-grep 0.51), which binds `$NAME`. */
export interface Extractor {
  id: string
  language: string
  role: 'item' | 'member'
  symbolType: string
  rule: KindRule
  /** `$NAME` with or without a mark, or a fixed word. */
  name: string
  isImport?: boolean
  isExported?: boolean
  /** A member counts only in items of these rules. */
  parentRuleIds?: string[]
  isPublic?: boolean
  /** Texts that a file must hold for the rule to find something; used by the library only. */
  needs: (string | RegExp)[]
}
/**
 * Marks a name that may be declared elsewhere: of a function without a body, a variable without a value, an export of
 * CommonJS. Such an item counts if no other item has its name.
 */
export const MARK = '+'
