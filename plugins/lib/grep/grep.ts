import { isUtf8 } from 'node:buffer'
import { ok, problem, type Call } from '../../../core/shapes/index.js'
import type { Context, Handler } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import {
  pluralize,
  cut,
  excerpt,
  takeFirstByPath,
  takeFitting,
  nextCall,
  notice,
  createSlotError,
  listSearchNotices,
} from '../base/index.js'
import {
  SEARCH_TIMEOUT_SECONDS,
  canSpanLines,
  chomp,
  countCodePointsBetween,
  filterExisting,
  isMatchUnchanged,
  isBinaryText,
  openTextSource,
  readNextLines,
  readPreviousLines,
  toPatternRefusal,
  type CountedFile,
  type MatchPosition,
  type Pattern,
  type SearchCounts,
  type SearchQuery,
  type TextSource,
  type WantedMatches,
} from '../search/index.js'
import { renderGrep, type GrepMatch, type GrepOutput } from './grep_text.js'

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
  globs?: string | string[]
  file_extensions?: string[]
  include_hidden: boolean
}

const MAX_LISTED_FILES = 50

/** Counts and finds matches. Both methods return `undefined` when the engine cannot be started. */
export interface SearchEngine {
  backend: GrepOutput['backend']
  search(context: Context, query: SearchQuery): Promise<SearchCounts | undefined>
  findPositions(context: Context, pattern: Pattern, files: WantedMatches[]): Promise<MatchPosition[][] | undefined>
}

/** Creates the handler of a text search: one run counts all matches, then only the files of this page are read. */
export const createGrep =
  (engine: SearchEngine): Handler<GrepInput, GrepOutput> =>
  async ({ input, given }, context) => {
    const pattern = toPattern(input)
    if (pattern.patterns.includes('')) throw emptyPattern(input.path)
    const found = await engine
      .search(context, {
        ...pattern,
        path: input.path,
        where: input.skip + input.max_results,
        every: input.logic !== 'OR' && pattern.patterns.length > 1,
        include_hidden: input.include_hidden,
        globs: [input.globs ?? []].flat(),
        file_extensions: input.file_extensions ?? [],
      })
      .catch((error: unknown) => {
        const next = nextCall('grep', { ...given, literal: true })
        throw toPatternRefusal(pattern.patterns, error, input.literal ? undefined : next)
      })
    if (!found) return undefined
    if (found.incomplete && found.total === 0) {
      throw createSlotError(
        'VT_SEARCH_TIMEOUT',
        `Nothing was found in '${input.path}' within ${SEARCH_TIMEOUT_SECONDS} s.`,
        {
          retryable: true,
        },
      )
    }
    const first = takeFirstByPath(
      found.files,
      ({ file }) => file,
      Math.max(MAX_LISTED_FILES, input.skip + input.max_results),
    )
    const shown = await readMatches(engine, context, pattern, selectPage(first, input.skip, input.max_results), input)
    if (!shown) return undefined
    return createAnswer(engine, { ...found, first }, shown, { input, given }, context)
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

interface PagePart extends CountedFile {
  skip: number
  limit: number
}

/** Returns the files, in path order, that hold at most `limit` matches from `skip` on. */
function selectPage(files: CountedFile[], skip: number, limit: number): PagePart[] {
  const parts: PagePart[] = []
  let before = 0
  for (const file of files) {
    if (before >= skip + limit) break
    const { count } = file
    const from = Math.max(0, skip - before)
    const wanted = Math.min(count, skip + limit - before) - from
    if (wanted > 0) parts.push({ file: file.file, count, places: file.places, skip: from, limit: wanted })
    before += count
  }
  return parts
}

interface PageMatches {
  matches: GrepMatch[]
  /** Matches of the page, vanished ones included. */
  requested: number
  gone: string[]
  binary: boolean
}

/** Files open at the same time. */
const BATCH_SIZE = 200

/**
 * Reads the matches of the page. Each file is opened through the workspace, so that nothing from outside is returned.
 */
async function readMatches(
  engine: SearchEngine,
  context: Context,
  pattern: Pattern,
  parts: PagePart[],
  input: GrepInput,
): Promise<PageMatches | undefined> {
  const state = { requested: parts.reduce((sum, { limit }) => sum + limit, 0), gone: [] as string[], binary: false }
  const matches = new Map<string, GrepMatch[]>()
  await using opener = context.workspace.createFileOpener()
  for (let at = 0; at < parts.length; at += BATCH_SIZE) {
    const handles: Handle[] = []
    try {
      const files: (PagePart & WantedMatches)[] = []
      for (const part of parts.slice(at, at + BATCH_SIZE)) {
        const handle = await opener.openFile(part.file).catch(() => undefined)
        if (!handle) {
          state.gone.push(part.file)
          continue
        }
        handles.push(handle)
        const source = await openTextSource(handle)
        // A walk skips binary files, so this one was named.
        if (await isBinaryText(source)) state.binary = true
        else files.push({ ...part, handle, source })
      }
      const found = await findMatches(engine, context, pattern, files, input)
      if (!found) return undefined
      for (const [index, { file, limit }] of files.entries()) {
        if (found[index]!.length < limit) state.gone.push(file)
        matches.set(file, found[index]!)
      }
    } finally {
      for (const handle of handles) await handle.close()
    }
  }
  return { ...state, matches: parts.flatMap(({ file }) => matches.get(file) ?? []) }
}

/** Finds the matches of each open file. Returns `undefined` when the engine cannot be started. */
async function findMatches(
  engine: SearchEngine,
  context: Context,
  pattern: Pattern,
  files: (PagePart & WantedMatches)[],
  input: GrepInput,
): Promise<GrepMatch[][] | undefined> {
  const known = await Promise.all(files.map(confirmPositions))
  const others = files.filter((_, index) => !known[index])
  const looked = others.length === 0 ? [] : await engine.findPositions(context, pattern, others)
  if (!looked) return undefined
  const several = canSpanLines(pattern)
  const found: GrepMatch[][] = []
  for (const [index, { file, source }] of files.entries()) {
    const matches: GrepMatch[] = []
    for (const place of known[index] ?? looked.shift()!)
      matches.push(await toGrepMatch(source, file, place, input.context_lines, several))
    found.push(matches)
  }
  return found
}

/** Returns the positions that the search reported, if the opened file holds them. */
async function confirmPositions({
  places,
  source,
  skip,
  limit,
}: PagePart & WantedMatches): Promise<MatchPosition[] | undefined> {
  const wanted = places?.slice(skip, skip + limit).flatMap((place) => place()) ?? []
  for (const place of wanted) if (!(await isMatchUnchanged(source, place))) return undefined
  return wanted.length === limit ? wanted : undefined
}

/** Code points shown of one line. */
const MAX_TEXT = 500
/** Bytes read on each side of a match to show its line. */
const LINE_WINDOW_BYTES = 8 * MAX_TEXT

async function toGrepMatch(
  source: TextSource,
  file: string,
  place: MatchPosition,
  context: number,
  several: boolean,
): Promise<GrepMatch> {
  const first = place.submatches[0] ?? { start: 0, end: 0 }
  const from = Math.max(0, first.start - LINE_WINDOW_BYTES)
  const bytes = await source.read(place.offset + from, first.start - from + LINE_WINDOW_BYTES)
  // The lines of a match end with the line in which it ends.
  const last = bytes.indexOf(10, Math.max(first.start, first.end - 1) - from)
  const line = chomp(last < 0 ? bytes : bytes.subarray(0, last + 1))
  const { text, cut: shortened } = excerpt(line, first.start - from, MAX_TEXT, {
    front: from > 0,
    back: last < 0 && place.offset + from + bytes.length < source.bytes,
  })
  const after = last < 0 ? undefined : place.offset + from + last + 1
  return {
    file,
    line_number: place.line_number,
    column: 1 + (await countCodePointsBetween(source, place.offset, place.offset + first.start)),
    text,
    ...(several && { end_line_number: place.end_line_number }),
    ...(context > 0 && {
      before: (await readPreviousLines(source, place.offset, context)).map(shorten),
      after: after === undefined ? [] : (await readNextLines(source, after, context)).map(shorten),
    }),
    ...(shortened && { text_truncated: true as const }),
    ...(!isUtf8(line) && !shortened && { lossy: true as const }),
    absolute_offset: place.offset,
    submatches: place.submatches,
  }
}

const shorten = (line: Buffer): string => cut(line.toString(), MAX_TEXT).text

/** Creates the answer; `first` begins with the first files in path order. */
async function createAnswer(
  { backend }: SearchEngine,
  found: SearchCounts & { first: CountedFile[] },
  { matches, requested, gone, binary }: PageMatches,
  { input, given }: Pick<Call<GrepInput>, 'input' | 'given'>,
  context: Context,
) {
  const lost = new Set(gone.filter((file) => !matches.some((match) => match.file === file)))
  const total = found.total - found.first.reduce((sum, { file, count }) => sum + (lost.has(file) ? count : 0), 0)
  const fits = takeFitting(matches)
  const next_skip = input.skip + (fits.length < matches.length ? fits.length : requested)
  const truncated = !binary && next_skip < found.total
  const output: GrepOutput = {
    matches: fits,
    total_matches: total,
    files_with_matches: found.files.length - lost.size,
    files_searched: found.searched,
    truncated,
    backend,
    ...(found.incomplete && { total_is_lower_bound: true as const }),
    ...(truncated && {
      files: await listFirstFiles(),
      next: nextCall('grep', { ...given, skip: next_skip }),
    }),
  }
  const notices = listSearchNotices({ ...found, gone: gone.length })
  if (binary)
    notices.push(
      notice(
        'VT_FILE_BINARY',
        `'${input.path}' is binary; its ${pluralize(total, 'match', 'matches')} are only counted.`,
      ),
    )
  return ok(output, { text: renderGrep(output, input.path), ...(notices.length > 0 && { notices }) })

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
