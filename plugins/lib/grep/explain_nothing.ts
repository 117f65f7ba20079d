import type { JsonObject, Notice } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { listBinaryExtensions, openToSearch, type SearchQuery } from '../search/index.js'
import { countLeftOut, includeLeftOut, listLeftOut, listNoFiles } from './left_out.js'

/** Reasons of a search that found nothing. */
export interface Nothing {
  notices: Notice[]
  /** Number of files that were searched; absent if it is not known exactly. */
  reached?: number
  /** Fields of the call that includes what was left out. */
  fields?: JsonObject
}

/** Counts what a search of files without a match reached and left out. */
export async function explainNothing(
  context: Context,
  query: Omit<SearchQuery, 'patterns'>,
  /** The globs as the caller wrote them. */
  globs: string | string[] = [],
): Promise<Nothing> {
  await using target = await openToSearch(context, query.path)
  if (target.kind === 'file') return { notices: [] }
  const left = await countLeftOut(
    context,
    target,
    query,
    ({ path, kind }) => kind === 'file' && query.only?.(path) !== false,
    listBinaryExtensions(query),
  )
  const fields = includeLeftOut(left)
  return {
    notices: [
      ...listNoFiles(left, query.path, { ...query, globs: [globs].flat() }),
      ...listLeftOut(left, ['file', 'files']),
    ],
    ...(!left.incomplete && { reached: left.reached }),
    ...(fields && { fields }),
  }
}
