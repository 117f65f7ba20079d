import type { Context } from '../../../core/contract/index.js'
import type { MatchPosition, Pattern, SearchCounts, SearchQuery, WantedMatches } from '../search/index.js'
import type { GrepOutput } from './grep_text.js'

export interface GrepInput {
  pattern?: string
  patterns?: string[]
  logic?: 'AND' | 'OR'
  path: string
  case_sensitive?: boolean
  context_lines: number
  max_results: number
  skip: number
  literal: boolean
  count?: 'exact'
  globs?: string | string[]
  file_extensions?: string[]
  include_hidden: boolean
  include_ignored: boolean
}

/** Counts and finds matches. Both methods return `undefined` when the engine cannot be started. */
export interface SearchEngine {
  backend: GrepOutput['backend']
  search(context: Context, query: SearchQuery): Promise<SearchCounts | undefined>
  findPositions(context: Context, pattern: Pattern, files: WantedMatches[]): Promise<MatchPosition[][] | undefined>
}
