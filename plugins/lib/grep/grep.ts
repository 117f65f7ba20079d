import { ok, problem, type Call, type Notice } from '../../../core/shapes/index.js'
import type { Context, Handler } from '../../../core/contract/index.js'
import {
  formatNames,
  pluralize,
  takeFirstByPath,
  takeFitting,
  nextCall,
  notice,
  createSlotError,
  listSearchNotices,
} from '../base/index.js'
import {
  SEARCH_TIMEOUT_SECONDS,
  filterExisting,
  toPatternRefusal,
  type CountedFile,
  type Pattern,
  type SearchCounts,
  type SearchQuery,
} from '../search/index.js'
import { explainNothing } from './explain_nothing.js'
import { readGlobs } from './globs.js'
import { renderGrep, type GrepOutput } from './grep_text.js'
import type { GrepInput, SearchEngine } from './grep_types.js'
import { readMatches, selectPage, type PageMatches } from './page.js'
import { searchAsMeant, type ReadSearch } from './pattern_habits.js'

const MAX_LISTED_FILES = 50

/** Creates the handler of a text search: one run counts all matches, then only the files of this page are read. */
export const createGrep =
  (engine: SearchEngine): Handler<GrepInput, GrepOutput> =>
  async ({ input, given }, context) => {
    const asked = toPattern(input)
    if (asked.patterns.includes('')) throw emptyPattern(input.path)
    const query: Omit<SearchQuery, 'patterns'> = {
      path: input.path,
      where: input.skip + input.max_results,
      may_stop: input.count !== 'exact',
      every: input.logic !== 'OR' && asked.patterns.length > 1,
      include_hidden: input.include_hidden,
      include_ignored: input.include_ignored,
      globs: await readGlobs(context, input.path, input.globs),
      file_extensions: input.file_extensions ?? [],
    }
    const read = await searchAsMeant(asked, (pattern) => engine.search(context, { ...query, ...pattern })).catch(
      (error: unknown) => {
        const next = nextCall('grep', { ...given, literal: true })
        throw toPatternRefusal(asked.patterns, error, input.literal ? undefined : next)
      },
    )
    if (!read) return undefined
    const { found, pattern } = read
    if (found.incomplete && found.total === 0) throw createTimeout(input.path)
    const first = takeFirstByPath(
      found.files,
      ({ file }) => file,
      Math.max(MAX_LISTED_FILES, input.skip + input.max_results),
    )
    const binary = new Set(found.binary.map(({ file }) => file))
    const page = selectPage(
      first.filter(({ file }) => !binary.has(file)),
      input.skip,
      input.max_results,
    )
    const shown = await readMatches(engine, context, pattern, page, input)
    if (!shown) return undefined
    const nothing = found.total === 0 ? await explainNothing(context, query, input.globs) : undefined
    const fields = read.fields ?? nothing?.fields
    const explained: Explained = {
      notices: [...read.notices, ...(nothing?.notices ?? [])],
      ...(nothing?.reached !== undefined && { searched: nothing.reached }),
      ...(fields && { fields }),
    }
    return createAnswer(engine, { ...found, first }, shown, explained, { input, given }, context)
  }

/** Additions to an answer without matches. */
interface Explained extends Pick<ReadSearch<SearchCounts>, 'notices' | 'fields'> {
  /** Exact number of files that were searched. */
  searched?: number
}

const toPattern = ({ pattern, patterns, literal, case_sensitive }: GrepInput): Pattern => ({
  patterns: patterns ?? [pattern!],
  literal,
  ...(case_sensitive !== undefined && { case_sensitive }),
})

const emptyPattern = (path: string) =>
  problem(
    'VT_INPUT_INVALID',
    { problem: "'pattern' is empty; it would match every line." },
    {
      hint: 'Read a file with {slot:unified_file/read}. List a directory with {slot:unified_search/list}.',
      next: nextCall('list', { path }),
    },
  )

const createTimeout = (path: string) =>
  createSlotError('VT_SEARCH_TIMEOUT', `Nothing was found in '${path}' within ${SEARCH_TIMEOUT_SECONDS} s.`, {
    retryable: true,
  })

/** Creates the answer; `first` begins with the first files in path order. */
async function createAnswer(
  { backend }: SearchEngine,
  found: SearchCounts & { first: CountedFile[] },
  { matches, requested, gone }: PageMatches,
  { notices: explained, searched, fields }: Explained,
  { input, given }: Pick<Call<GrepInput>, 'input' | 'given'>,
  context: Context,
) {
  const lost = new Set(gone.filter((file) => !matches.some((match) => match.file === file)))
  const total = found.total - found.first.reduce((sum, { file, count }) => sum + (lost.has(file) ? count : 0), 0)
  const fits = takeFitting(matches)
  const next_skip = input.skip + (fits.length < matches.length ? fits.length : requested)
  const isOnlyBinary = found.files.length > 0 && found.files.length === found.binary.length
  const truncated = !isOnlyBinary && next_skip < found.total
  const output: GrepOutput = {
    matches: fits,
    total_matches: total,
    files_with_matches: found.files.length - lost.size,
    files_searched: searched ?? found.searched,
    truncated,
    backend,
    ...((found.incomplete || found.full) && { total_is_lower_bound: true as const }),
    ...(truncated && {
      files: await listFirstFiles(),
      next: nextCall('grep', { ...given, skip: next_skip }),
    }),
    ...(fields && { next: nextCall('grep', { ...given, ...fields }) }),
  }
  const notices: Notice[] = [
    ...listSearchNotices({ ...found, gone: gone.length }),
    ...listBinary(found.binary),
    ...explained,
  ]
  return ok(output, { text: renderGrep(output, input, found.full), ...(notices.length > 0 && { notices }) })

  /** Lists the first files with matches that exist in the workspace. */
  async function listFirstFiles(): Promise<{ file: string; count: number }[]> {
    const first = found.first.slice(0, MAX_LISTED_FILES).filter(({ file }) => !lost.has(file))
    const named = new Set(
      await filterExisting(
        context,
        first.map(({ file }) => file),
      ),
    )
    return first.filter(({ file }) => named.has(file)).map(({ file, count }) => ({ file, count }))
  }
}

/** Returns the notice of files without text that match. */
export function listBinary(files: CountedFile[]): Notice[] {
  if (files.length === 0) return []
  const total = files.reduce((sum, { count }) => sum + count, 0)
  const names = formatNames(files.map(({ file }) => `'${file}'`).sort())
  const who = files.length === 1 ? 'is binary; its' : 'are binary; their'
  const count = `${pluralize(total, 'match', 'matches')} ${total === 1 ? 'is' : 'are'} only counted`
  return [notice('VT_FILE_BINARY', `${names} ${who} ${count}.`)]
}
