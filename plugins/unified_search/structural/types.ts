import type { Call, Notice } from '../../../core/index.js'
import type { Range } from '../../lib/syntax/index.js'

export const workflows = ['query', 'scan', 'test', 'rewrite', 'inspect'] as const
export type Workflow = (typeof workflows)[number]

/** How the range that a fix replaces grows in one direction. */
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

export interface Captured {
  text: string
  range: Range
}
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
/** A match until it is shown: where it is, in bytes, and what reads the whole of it. */
export interface KeptMatch {
  file: string
  start: number
  end: number
  whole(): Native
}
/** What looking for a pattern in some files came to. */
export interface Looked {
  matches: KeptMatch[]
  /** Where files do not parse, by path, in bytes. */
  broken: Map<string, { start: number; end: number }[]>
  /** Files that could not be read, with the reason. */
  unread: string[]
}
export interface Reported {
  notices: Notice[]
}
