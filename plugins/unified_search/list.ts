import {
  ok,
  problem,
  visibleLine,
  type Context,
  type EntryKind,
  type Handle,
  type Handler,
  type Next,
} from '../../core/index.js'
import {
  comparePaths,
  takeFirstByPath,
  pluralize,
  takeFitting,
  sortByPath,
  toBaseName,
  listSearchNotices,
} from '../lib/base/index.js'
import { hasPositiveGlob, compileGlob, isGlob } from '../lib/globs/index.js'
import {
  walkEntries,
  statEntries,
  openToSearch,
  toPatternRefusal,
  countMatches,
  searchInProcess,
  listUnsortedFiles,
  type WalkOptions,
  type ListedEntry,
} from '../lib/search/index.js'
import { renderTree } from './list/tree.js'

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
  /** ISO 8601. */
  modified: string
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
interface Row {
  path: string
  kind: EntryKind
  matches?: number
}
interface Collected {
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
}

/** Lists files in pages of one sorted list. */
const list: Handler<ListInput, ListOutput> = async ({ input, given }, context) => {
  await using target = await openToSearch(context, input.path)
  const collected = await collect(target, input, context)
  const total = collected.count ?? collected.rows.length
  const per_page = Math.min(input.max_results, input.max_items ?? Infinity)
  const start = (input.page - 1) * per_page
  const window = collected.rows.slice(start, start + per_page)
  const entries = await statEntries(
    context,
    window.map((row) => row.path),
  )
  const items = takeFitting(window.flatMap((row) => toItem(row, entries.get(row.path), input) ?? []))
  const has_more = start + window.length < total
  const pages = Math.ceil(total / per_page)
  const count = pluralize(total, 'entry', 'entries')
  const output: ListOutput = {
    items,
    total,
    page: input.page,
    per_page,
    has_more,
    mode: input.mode,
    path: input.path,
    truncated: has_more || collected.incomplete,
    ...(collected.incomplete && { total_is_lower_bound: true as const }),
    ...collected.counts,
    ...(has_more && {
      message: `Page ${input.page} of ${pages} (${count}). Next: page=${input.page + 1}.`,
      next: { tool: 'unified_search', input: { action: 'list', ...given, page: input.page + 1 } },
    }),
    ...(total > 0 &&
      start >= total && {
        message: `Page ${input.page} is past the last of ${pluralize(pages, 'page')} (${count}).`,
        next: { tool: 'unified_search', input: { action: 'list', ...given, page: pages } },
      }),
  }
  const notices = listSearchNotices(collected)
  const extra = notices.length > 0 ? { notices } : {}
  if (input.mode !== 'tree') return ok(output, { text: render(output), ...extra })
  const picture = renderTree(items, input.path, collected.deeper ?? new Map(), total - start - window.length)
  return ok(
    { ...output, items: [], tree: picture },
    { text: [picture, output.message].filter(Boolean).join('\n'), ...extra },
  )
}
export default list

const resolveDepth = ({ mode, max_depth }: ListInput): number =>
  max_depth ?? (mode === 'list' ? 1 : mode === 'tree' ? 3 : 64)

/** Collects every entry that passes the filters, in the order of the answer. */
async function collect(target: Handle, input: ListInput, context: Context): Promise<Collected> {
  const passes = createFilter(input)
  if (input.mode === 'find_content') return findByContent(input, passes, context)
  if (target.kind === 'file')
    return { rows: [{ path: target.path, kind: 'file' as const }].filter(passes), incomplete: false, complaints: [] }
  const [discovery, depth] = [toWalkOptions(input), resolveDepth(input)]
  if (resolveType(input) === 'file' && input.mode !== 'list' && input.mode !== 'tree')
    return collectFiles(target, { ...discovery, max_depth: depth }, input, context)
  // A tree counts deeper entries, and selecting globs keep folders only for files in them.
  const whole = input.mode === 'tree' || hasPositiveGlob(discovery.globs)
  const { entries, ignored, hidden, ...found } = await walkEntries(context, target, {
    ...discovery,
    max_depth: whole ? 64 : depth,
  })
  const all = entries.filter(passes)
  if (input.mode === 'tree') return { ...found, ...cutAtDepth(all, input.path, depth) }
  const rows = whole ? cutAtDepth(all, input.path, depth).rows : all
  if (input.mode === 'largest') return { ...found, rows: await sortBySize(rows, context) }
  if (input.mode === 'list')
    return { ...found, rows: sortDirectoriesFirst(rows), counts: { ignored_count: ignored, hidden_count: hidden } }
  return { ...found, rows }
}

/** Collects files; sorts only those that are shown. */
async function collectFiles(
  target: Handle,
  discovery: WalkOptions,
  input: ListInput,
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

function toWalkOptions(input: ListInput): WalkOptions {
  return {
    include_hidden: input.include_hidden,
    include_ignored: input.include_ignored,
    follow: input.follow,
    globs: [input.globs ?? []].flat(),
  }
}

const resolveType = ({ entry_type, mode }: ListInput) =>
  entry_type ?? (mode === 'find_content' || mode === 'largest' ? 'file' : 'any')

function createFilter(input: ListInput): (row: Row) => boolean {
  const tests = createTests(input)
  return (row) => tests.every((test) => test(row))
}

function createTests(input: ListInput): ((row: Row) => boolean)[] {
  const wanted = resolveType(input)
  const sensitive = (text: string) => input.case_sensitive ?? text !== text.toLowerCase()
  const relative =
    input.path === '.'
      ? (path: string) => path
      : (path: string) => path.slice(input.path.length + 1) || toBaseName(path)
  const tests: ((row: Row) => boolean)[] = []
  if (wanted !== 'any') tests.push((row) => row.kind === (wanted === 'dir' ? 'directory' : 'file'))
  if (input.file_extensions?.length) {
    const endings = input.file_extensions.map((extension) => `.${extension.replace(/^\./, '')}`)
    tests.push((row) => row.kind !== 'directory' && endings.some((ending) => row.path.endsWith(ending)))
  }
  if (input.pattern !== undefined) {
    const matches = compileGlob(input.pattern, sensitive(input.pattern))
    tests.push((row) => matches(relative(row.path)))
  }
  if (input.name_pattern !== undefined) {
    const matches = createNameTest(input.name_pattern, sensitive(input.name_pattern))
    // A pattern with a slash matches paths, not names.
    const toTestedName = input.name_pattern.includes('/') ? relative : toBaseName
    tests.push((row) => matches(toTestedName(row.path)))
  }
  return tests
}

/**
 * Creates a test whether a name matches a glob or holds a text. Throws VT_INPUT_INVALID for a glob of too many parts.
 */
function createNameTest(pattern: string, sensitive: boolean): (name: string) => boolean {
  if (isGlob(pattern)) {
    try {
      return compileGlob(pattern, sensitive)
    } catch (error) {
      throw problem('VT_INPUT_INVALID', {
        problem: `'name_pattern' ${JSON.stringify(pattern.slice(0, 80))} ${(error as Error).message}.`,
      })
    }
  }
  const wanted = sensitive ? pattern : pattern.toLowerCase()
  return (name) => (sensitive ? name : name.toLowerCase()).includes(wanted)
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

/** Finds files that hold the pattern, with their counts. */
async function findByContent(input: ListInput, passes: (row: Row) => boolean, context: Context): Promise<Collected> {
  const patterns = [input.content_pattern!]
  const query = {
    ...toWalkOptions(input),
    path: input.path,
    patterns,
    only: (path: string) => passes({ path, kind: 'file' }),
    ...(input.case_sensitive !== undefined && { case_sensitive: input.case_sensitive }),
    ...(input.max_depth !== undefined && { max_depth: input.max_depth }),
  }
  // ripgrep would follow links out of the workspace.
  const byRipgrep = input.follow ? undefined : countMatches(context, query)
  const found = await Promise.resolve(byRipgrep)
    .then((answer) => answer ?? searchInProcess(context, query))
    .catch((error: unknown) => {
      throw toPatternRefusal(patterns, error)
    })
  return {
    ...found,
    rows: sortByPath(found.files, ({ file }) => file).map(({ file, count }) => ({
      path: file,
      kind: 'file',
      matches: count,
    })),
  }
}

function toItem(
  { path, matches }: Row,
  entry: ListedEntry | undefined,
  { mode, path: base, response_format }: ListInput,
): ListItem | undefined {
  if (!entry) return undefined
  const root = base === '.' ? 0 : base.split('/').length
  const sized = mode === 'largest' || (response_format === 'detailed' && entry.kind === 'file')
  return {
    path,
    type: entry.kind === 'directory' ? 'dir' : entry.kind === 'link' ? 'symlink' : entry.kind,
    ...(matches !== undefined && { matches }),
    ...(sized && { size: entry.bytes }),
    name: toBaseName(path),
    depth: Math.max(1, path.split('/').length - root),
    modified: new Date(entry.mtime_ms).toISOString(),
    ...(entry.target !== undefined && { target: entry.target }),
  }
}

function render({ items, total, mode, message }: ListOutput): string {
  const lines = items.map(({ path, type, matches, size }) => {
    const more =
      matches !== undefined
        ? `: ${pluralize(matches, 'match', 'matches')}`
        : mode === 'largest'
          ? `: ${size} bytes`
          : ''
    return visibleLine(path) + (type === 'dir' ? '/' : '') + more
  })
  return [...lines, message ?? pluralize(total, 'entry', 'entries')].join('\n')
}
