import type { Context } from '../../../core/index.js'
import { sortByPath } from '../../lib/base/index.js'
import { explainNothing, listBinary, searchAsMeant } from '../../lib/grep/index.js'
import {
  countMatches,
  searchInProcess,
  toPatternRefusal,
  type Pattern,
  type SearchCounts,
} from '../../lib/search/index.js'
import { toWalkOptions } from './list_query.js'
import type { Collected, ListInput, ListQuery, Row } from './types.js'

/** Finds files that hold the pattern, with their counts. */
export async function findByContent(
  input: ListQuery,
  passes: (row: Row) => boolean,
  context: Context,
  globs: ListInput['globs'],
): Promise<Collected> {
  const asked: Pattern = {
    patterns: [input.content_pattern!],
    ...(input.case_sensitive !== undefined && { case_sensitive: input.case_sensitive }),
  }
  const query = {
    ...toWalkOptions(input),
    path: input.path,
    only: (path: string) => passes({ path, kind: 'file' }),
    ...(input.max_depth !== undefined && { max_depth: input.max_depth }),
  }
  const search = async (pattern: Pattern): Promise<SearchCounts> => {
    // ripgrep would follow links out of the workspace.
    const byRipgrep = input.follow ? undefined : await countMatches(context, { ...query, ...pattern })
    return byRipgrep ?? searchInProcess(context, { ...query, ...pattern })
  }
  const { found, notices, fields } = await searchAsMeant(asked, search)
    .then((read) => read!)
    .catch((error: unknown) => {
      throw toPatternRefusal(asked.patterns, error)
    })
  const nothing = found.total === 0 ? await explainNothing(context, query, globs) : undefined
  const pattern = fields?.['pattern']
  const more = typeof pattern === 'string' ? { content_pattern: pattern } : nothing?.fields
  return {
    ...found,
    rows: sortByPath(found.files, ({ file }) => file).map(({ file, count }) => ({
      path: file,
      kind: 'file',
      matches: count,
    })),
    notices: [...listBinary(found.binary), ...notices, ...(nothing?.notices ?? [])],
    ...(more && { fields: more }),
  }
}
