import type { EntryKind, JsonObject, Next, Notice } from '../../../core/index.js'

export interface ListInput {
  path: string
  mode: 'list' | 'recursive' | 'tree' | 'find_name' | 'find_content' | 'largest'
  max_results: number
  page: number
  pattern?: string
  name_pattern?: string
  content_pattern?: string
  file_extensions?: string[]
  entry_type?: 'any' | 'file' | 'dir'
  case_sensitive?: boolean
  include_hidden: boolean
  include_ignored: boolean
  follow: boolean
  max_depth?: number
  max_items?: number
  globs?: string | string[]
  response_format?: 'concise' | 'detailed'
}
export interface ListItem {
  path: string
  type: 'file' | 'dir' | 'symlink' | 'other'
  matches?: number
  size?: number
  name: string
  depth: number
  /** ISO 8601. The short form has none. */
  modified?: string
  target?: string
}
export interface ListOutput {
  items: ListItem[]
  total: number
  page: number
  per_page: number
  has_more: boolean
  mode: ListInput['mode']
  path: string
  truncated: boolean
  total_is_lower_bound?: true
  tree?: string
  ignored_count?: number
  hidden_count?: number
  message?: string
  next?: Next
}

/** An entry without its stat. */
export interface Row {
  path: string
  kind: EntryKind
  matches?: number
}
export interface Collected {
  /** All entries, or the first of `count`. */
  rows: Row[]
  count?: number
  incomplete: boolean
  complaints: string[]
  skipped?: string[]
  fallback?: boolean
  /** Number of entries below each directory at the lowest level shown. */
  deeper?: Map<string, number>
  counts?: { ignored_count: number; hidden_count: number }
  /** Notices about the pattern and the files, besides those of every search. */
  notices?: Notice[]
  /** Fields of the call that finds more. */
  fields?: JsonObject
}

/** A call with its globs and patterns as the engines read them. */
export interface ListQuery extends Omit<ListInput, 'globs' | 'pattern'> {
  globs: string[]
  patterns?: string[]
  /** Forms of a name pattern that is a glob. */
  names?: string[]
}
