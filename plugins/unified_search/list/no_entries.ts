import type { Context, Handle, Notice } from '../../../core/index.js'
import { notice, pluralize } from '../../lib/base/index.js'
import { countLeftOut, includeLeftOut, listLeftOut } from '../../lib/grep/index.js'
import { createTests } from './filter.js'
import { MAX_DEPTH, resolveDepth, toWalkOptions } from './list_query.js'
import type { Collected, ListQuery, Row } from './types.js'

/** Explains a list without entries: counts the entries that pass the filters but were left out or lie deeper. */
export async function explainNoEntries(
  target: Handle,
  input: ListQuery,
  passes: (row: Row) => boolean,
  context: Context,
): Promise<Pick<Collected, 'notices' | 'fields'>> {
  const depth = resolveDepth(input)
  const above = target.path === '.' ? 0 : target.path.split('/').length
  // Without a filter, the first level of a left-out folder is the answer.
  const isFiltered = createTests(input).length + input.globs.length > 0
  let [deeper, isDeep] = [0, false]
  const left = await countLeftOut(context, target, { ...toWalkOptions(input), max_depth: MAX_DEPTH }, (entry) => {
    const isDeeper = entry.path.split('/').length - above > depth
    if (!passes(entry) || (isDeeper && !isFiltered)) return false
    isDeep ||= isDeeper
    if (isDeeper && !entry.left_out) deeper++
    return !isDeeper || entry.left_out !== undefined
  })
  // Without a filter, the state of the program is nothing that the call looks for.
  if (!isFiltered) left.excluded = left.excluded.filter((name) => name !== '.vtcode')
  const notices = listLeftOut(left, ['entry', 'entries'])
  if (deeper > 0) notices.push(createDeeperNotice(deeper, depth))
  const deep = isDeep ? { ...(input.mode === 'list' && { mode: 'recursive' }), max_depth: MAX_DEPTH } : {}
  const fields = { ...includeLeftOut(left), ...deep }
  return { notices, ...(Object.keys(fields).length > 0 && { fields }) }
}

function createDeeperNotice(deeper: number, depth: number): Notice {
  const count = pluralize(deeper, 'entry lies', 'entries lie')
  const levels = `${pluralize(depth, 'level')} that ${depth === 1 ? 'was' : 'were'} listed`
  return notice('VT_SEARCH_LEFT_OUT', `${count} below the ${levels}.`)
}
