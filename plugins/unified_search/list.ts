import { ok, type Context, type Handle, type Handler, type JsonObject, type Next } from '../../core/index.js'
import {
  comparePaths,
  takeFirstByPath,
  pluralize,
  fitPage,
  nextCall,
  toBaseName,
  listSearchNotices,
} from '../lib/base/index.js'
import { hasPositiveGlob } from '../lib/globs/index.js'
import {
  walkEntries,
  statEntries,
  openToSearch,
  listUnsortedFiles,
  type WalkOptions,
  type ListedEntry,
} from '../lib/search/index.js'
import { findByContent } from './list/by_content.js'
import { createFilter, createTests, resolveType } from './list/filter.js'
import { explainNoEntries } from './list/no_entries.js'
import { isDeepList, MAX_DEPTH, toListQuery, resolveDepth, toWalkOptions } from './list/list_query.js'
import { renderRow, renderTree } from './list/tree.js'
import type { Collected, ListInput, ListItem, ListOutput, ListQuery, Row } from './list/types.js'

/** Lists files in pages of one sorted list. */
const list: Handler<ListInput, ListOutput> = async ({ input, given }, context) => {
  await using target = await openToSearch(context, input.path)
  const collected = await collect(target, await toListQuery(input, context), context, input.globs)
  const total = collected.count ?? collected.rows.length
  const per_page = Math.min(input.max_results, input.max_items ?? Infinity)
  const start = (input.page - 1) * per_page
  const window = collected.rows.slice(start, start + per_page)
  // A walk knows all that the short form shows. What ripgrep found is checked.
  const entries = isKnownByWalk(input, target, context.settings.output.response_format)
    ? undefined
    : await statEntries(
        context,
        window.map(({ path }) => path),
      )
  const all = window.flatMap((row) => toItem(row, entries ? entries.get(row.path) : row, input) ?? [])
  const { items, ...size } = fitPage(all, input.page, per_page)
  const isSmaller = size.per_page < per_page
  const left = total - start - (isSmaller ? size.per_page : window.length)
  const has_more = left > 0
  const output: ListOutput = {
    items,
    total,
    ...size,
    has_more,
    mode: input.mode,
    path: input.path,
    truncated: has_more || collected.incomplete,
    ...(collected.incomplete && { total_is_lower_bound: true as const }),
    ...collected.counts,
    ...describeNext({ ...size, asked: input.page, total, start, has_more, isSmaller, fields: collected.fields }, given),
  }
  const notices = [...listSearchNotices(collected), ...(collected.notices ?? [])]
  const extra = notices.length > 0 ? { notices } : {}
  if (input.mode !== 'tree') return ok(output, { text: render(output), ...extra })
  if (total === 0) return ok({ ...output, tree: '' }, { text: render(output), ...extra })
  const picture = renderTree(items, input.path, collected.deeper ?? new Map(), left)
  return ok(
    { ...output, items: [], tree: picture },
    { text: [picture, output.message].filter(Boolean).join('\n'), ...extra },
  )
}
export default list

/** Returns whether a walk reports all that is shown of an entry: its kind. A followed link is still shown as a link. */
function isKnownByWalk(
  { mode, follow, response_format }: ListInput,
  { kind }: Handle,
  usual: 'concise' | 'detailed',
): boolean {
  const isWalked = kind === 'directory' && mode !== 'find_content' && mode !== 'largest' && !follow
  return isWalked && (response_format ?? usual) === 'concise'
}

interface Page {
  page: number
  /** The page of the call. */
  asked: number
  per_page: number
  total: number
  start: number
  has_more: boolean
  /** The answer has fewer entries than the call wants. */
  isSmaller: boolean
  fields: Collected['fields'] | undefined
}

/** Returns the message of a page and the call that continues. */
function describeNext(
  { page, asked, per_page, total, start, has_more, isSmaller, fields }: Page,
  given: JsonObject,
): Pick<ListOutput, 'message' | 'next'> {
  const createNext = (more: JsonObject): Next => nextCall('list', { ...given, ...more })
  if (fields) return { next: createNext(fields) }
  const pages = Math.ceil(total / per_page)
  const count = pluralize(total, 'entry', 'entries')
  if (has_more) {
    const smaller = isSmaller ? `max_results=${per_page}, ` : ''
    return {
      message: `Page ${page} of ${pages} (${count}). Next: ${smaller}page=${page + 1}.`,
      next: createNext({ ...(isSmaller && { max_results: per_page }), page: page + 1 }),
    }
  }
  if (total === 0 || start < total) return {}
  return {
    message: `Page ${asked} is past the last of ${pluralize(pages, 'page')} (${count}).`,
    next: createNext({ page: pages }),
  }
}

/** Collects every entry that passes the filters, in the order of the answer, and explains a list without entries. */
async function collect(
  target: Handle,
  input: ListQuery,
  context: Context,
  globs: ListInput['globs'],
): Promise<Collected> {
  const passes = createFilter(input)
  if (input.mode === 'find_content') return findByContent(input, passes, context, globs)
  if (target.kind === 'file')
    return { rows: [{ path: target.path, kind: 'file' as const }].filter(passes), incomplete: false, complaints: [] }
  const found = await collectEntries(target, input, passes, context)
  if ((found.count ?? found.rows.length) > 0) return found
  return { ...found, ...(await explainNoEntries(target, input, passes, context)) }
}

async function collectEntries(
  target: Handle,
  input: ListQuery,
  passes: (row: Row) => boolean,
  context: Context,
): Promise<Collected> {
  const [discovery, depth] = [toWalkOptions(input), resolveDepth(input)]
  if (resolveType(input) === 'file' && input.mode !== 'list' && input.mode !== 'tree')
    return collectFiles(target, { ...discovery, max_depth: depth }, input, context)
  // A tree counts deeper entries, and selecting globs keep folders only for files in them.
  const whole = input.mode === 'tree' || hasPositiveGlob(discovery.globs)
  const { entries, ignored, hidden, ...found } = await walkEntries(context, target, {
    ...discovery,
    max_depth: whole ? MAX_DEPTH : depth,
  })
  const all = entries.filter(passes)
  if (input.mode === 'tree') return { ...found, ...cutAtDepth(all, input.path, depth) }
  const rows = whole ? cutAtDepth(all, input.path, depth).rows : all
  if (input.mode === 'largest') return { ...found, rows: await sortBySize(rows, context) }
  if (input.mode === 'list' && !isDeepList(input))
    return { ...found, rows: sortDirectoriesFirst(rows), counts: { ignored_count: ignored, hidden_count: hidden } }
  return { ...found, rows }
}

/** Collects files; sorts only those that are shown. */
async function collectFiles(
  target: Handle,
  discovery: WalkOptions,
  input: ListQuery,
  context: Context,
): Promise<Collected> {
  const found = await listUnsortedFiles(context, target, discovery)
  const toRow = (path: string): Row => ({ path, kind: 'file' })
  const passes = createTests({ ...input, entry_type: 'any' })
  const paths =
    passes.length === 0 ? found.files : found.files.filter((path) => passes.every((test) => test(toRow(path))))
  if (input.mode === 'largest') return { ...found, rows: await sortBySize(paths.map(toRow), context) }
  return {
    ...found,
    rows: takeFirstByPath(paths, (path) => path, input.page * input.max_results).map(toRow),
    count: paths.length,
  }
}

const sortDirectoriesFirst = (rows: Row[]): Row[] => [
  ...rows.filter(({ kind }) => kind === 'directory'),
  ...rows.filter(({ kind }) => kind !== 'directory'),
]

/** Returns the rows down to a level, and the number of rows below each directory of that level. */
function cutAtDepth(all: Row[], base: string, depth: number): { rows: Row[]; deeper: Map<string, number> } {
  const lowest = depth + (base === '.' ? 0 : base.split('/').length)
  const deeper = new Map<string, number>()
  const rows = all.filter(({ path }) => {
    const names = path.split('/')
    if (names.length <= lowest) return true
    const above = names.slice(0, lowest).join('/')
    deeper.set(above, (deeper.get(above) ?? 0) + 1)
    return false
  })
  return { rows, deeper }
}

async function sortBySize(rows: Row[], context: Context): Promise<Row[]> {
  const entries = await statEntries(
    context,
    rows.map((row) => row.path),
  )
  const size = (row: Row) => entries.get(row.path)?.bytes ?? 0
  return rows.sort((a, b) => size(b) - size(a) || comparePaths(a.path, b.path))
}

function toItem(
  { path, matches }: Row,
  entry: (Pick<Row, 'kind'> & Partial<ListedEntry>) | undefined,
  { mode, path: base, response_format }: ListInput,
): ListItem | undefined {
  if (!entry) return undefined
  const root = base === '.' ? 0 : base.split('/').length
  const sized = mode === 'largest' || (response_format === 'detailed' && entry.kind === 'file')
  return {
    path,
    type: entry.kind === 'directory' ? 'dir' : entry.kind === 'link' ? 'symlink' : entry.kind,
    ...(matches !== undefined && { matches }),
    ...(sized && { size: entry.bytes! }),
    name: toBaseName(path),
    depth: Math.max(1, path.split('/').length - root),
    ...(entry.mtime_ms !== undefined && { modified: new Date(entry.mtime_ms).toISOString() }),
    ...(entry.target !== undefined && { target: entry.target }),
  }
}

function render({ items, total, mode, message }: ListOutput): string {
  const lines = items.map((item) => renderRow(item, mode === 'largest'))
  return [...lines, message ?? pluralize(total, 'entry', 'entries')].join('\n')
}
