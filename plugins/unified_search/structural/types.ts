import type { Call, Notice } from '../../../core/index.js'
import type { Captured } from '../../lib/patterns/index.js'
import type { Range } from '../../lib/syntax/index.js'

export const WORKFLOWS = ['query', 'scan', 'test', 'rewrite', 'inspect'] as const
export type Workflow = (typeof WORKFLOWS)[number]

/** Expansion of the range of a fix in one direction. */
export interface Expand {
  regex?: string
  kind?: string
  pattern?: string
  stop_by?: unknown
}
export interface StructuralInput {
  workflow: Workflow
  pattern?: string
  kind?: string
  rewrite?: string
  fix_config?: { template: string; expand_start?: Expand; expand_end?: Expand }
  lang?: string
  selector?: string
  strictness?: string
  /** `true` is `pattern`. */
  debug_query?: 'pattern' | 'ast' | 'cst' | 'sexp' | true
  config_path: string
  filter?: string
  skip_snapshot_tests?: boolean
  path: string
  paths?: string[]
  globs?: string | string[]
  context_lines: number
  max_results: number
  skip: number
  include_hidden: boolean
}
export type StructuralCall = Pick<Call<StructuralInput>, 'input' | 'given'>

/** One record of ast-grep's `--json=stream`; `scan` adds the facts of the rule. */
export interface Native {
  file: string
  text: string
  lines: string
  language: string
  range: Range
  charCount?: { leading: number; trailing: number }
  metaVariables?: {
    single: Record<string, Captured>
    multi: Record<string, Captured[]>
    transformed: Record<string, string>
  }
  replacement?: string
  replacementOffsets?: { start: number; end: number }
  ruleId?: string
  severity?: string
  message?: string
  note?: string | null
  labels?: unknown[]
  metadata?: Record<string, unknown>
}
/** A match that is parsed when shown; positions in bytes. */
export interface LazyMatch {
  file: string
  start: number
  end: number
  read(): Native
}
/** Results of a search of some files. */
export interface Findings {
  matches: LazyMatch[]
  /** Syntax errors by path, in bytes. */
  broken: Map<string, { start: number; end: number }[]>
  /** Unreadable files with the reason. */
  unread: string[]
}
export interface Reported {
  notices: Notice[]
}
