import { isUtf8 } from 'node:buffer'
import { ok, problem, type Call } from '../../../core/shapes/index.js'
import type { Context, Handler } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import {
  pluralized,
  cut,
  excerpt,
  firstInPathOrder,
  fitting,
  nextCall,
  notice,
  slotRefusal,
  remarks,
} from '../base/index.js'
import { existing } from './entries.js'
import { render, type GrepMatch, type GrepOutput } from './grep_text.js'
import { holdsMatch, type WantedMatches } from './match_positions.js'
import type { MatchPosition } from './ripgrep_events.js'
import type { Counted } from './first_matches.js'
import { seconds, spansLines, type Pattern } from './pattern.js'
import { patternRefusal, type SearchCounts, type SearchQuery } from './search.js'
import {
  chomp,
  codePointsBetween,
  isBinaryText,
  linesAfter,
  linesBefore,
  sourceOf,
  type TextSource,
} from './text_source.js'

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

const shownFiles = 50

/** What counts and finds matches. Both answer `undefined` when the engine cannot be started. */
export interface SearchEngine {
  backend: GrepOutput['backend']
  search(context: Context, query: SearchQuery): Promise<SearchCounts | undefined>
  places(context: Context, pattern: Pattern, files: WantedMatches[]): Promise<MatchPosition[][] | undefined>
}

/** Text search by an engine: one run counts, and only the files of this answer are looked into closer. */
export const grepWith =
  (engine: SearchEngine): Handler<GrepInput, GrepOutput> =>
  async ({ input, given }, context) => {
    const pattern = patternOf(input)
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
        throw patternRefusal(pattern.patterns, error, input.literal ? undefined : next)
      })
    if (!found) return undefined
    if (found.incomplete && found.total === 0) {
      throw slotRefusal('VT_SEARCH_TIMEOUT', `Nothing was found in '${input.path}' within ${seconds} s.`, {
        retryable: true,
      })
    }
    const first = firstInPathOrder(
      found.files,
      ({ file }) => file,
      Math.max(shownFiles, input.skip + input.max_results),
    )
    const shown = await look(engine, context, pattern, page(first, input.skip, input.max_results), input)
    if (!shown) return undefined
    return answer(engine, { ...found, first }, shown, { input, given }, context)
  }

const patternOf = ({ pattern, patterns, literal, case_sensitive }: GrepInput): Pattern => ({
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

interface Part extends Counted {
  skip: number
  limit: number
}

/** The files, in path order, that hold the matches from `skip` on, at most `limit` of them. */
function page(files: Counted[], skip: number, limit: number): Part[] {
  const parts: Part[] = []
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

interface Shown {
  matches: GrepMatch[]
  /** Matches of the page, also those that are no longer there. */
  looked: number
  gone: string[]
  binary: boolean
}

/** Files that are open at the same time. */
const batch = 200

/** Returns what matches in the files of the page, each opened through the workspace: nothing that was read outside. */
async function look(
  engine: SearchEngine,
  context: Context,
  pattern: Pattern,
  parts: Part[],
  input: GrepInput,
): Promise<Shown | undefined> {
  const state = { looked: parts.reduce((sum, { limit }) => sum + limit, 0), gone: [] as string[], binary: false }
  const matches = new Map<string, GrepMatch[]>()
  await using opener = context.workspace.createFileOpener()
  for (let at = 0; at < parts.length; at += batch) {
    const handles: Handle[] = []
    try {
      const files: (Part & WantedMatches)[] = []
      for (const part of parts.slice(at, at + batch)) {
        const handle = await opener.openFile(part.file).catch(() => undefined)
        if (!handle) {
          state.gone.push(part.file)
          continue
        }
        handles.push(handle)
        const source = await sourceOf(handle)
        // A walk never looks into binary files, so this one was named.
        if (await isBinaryText(source)) state.binary = true
        else files.push({ ...part, handle, source })
      }
      const found = await matchesIn(engine, context, pattern, files, input)
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

/** What is found in open files, each for itself. `undefined` when the engine cannot be started. */
async function matchesIn(
  engine: SearchEngine,
  context: Context,
  pattern: Pattern,
  files: (Part & WantedMatches)[],
  input: GrepInput,
): Promise<GrepMatch[][] | undefined> {
  const known = await Promise.all(files.map(positionsIn))
  const others = files.filter((_, index) => !known[index])
  const looked = others.length === 0 ? [] : await engine.places(context, pattern, others)
  if (!looked) return undefined
  const several = spansLines(pattern)
  const found: GrepMatch[][] = []
  for (const [index, { file, source }] of files.entries()) {
    const matches: GrepMatch[] = []
    for (const place of known[index] ?? looked.shift()!)
      matches.push(await match(source, file, place, input.context_lines, several))
    found.push(matches)
  }
  return found
}

/** The places that the search told of, if the file that was opened holds them. */
async function positionsIn({
  places,
  source,
  skip,
  limit,
}: Part & WantedMatches): Promise<MatchPosition[] | undefined> {
  const wanted = places?.slice(skip, skip + limit).flatMap((place) => place()) ?? []
  for (const place of wanted) if (!(await holdsMatch(source, place))) return undefined
  return wanted.length === limit ? wanted : undefined
}

/** Code points of one line that are shown. */
const longestText = 500
/** Bytes around a match that are read to show its line. */
const window = 8 * longestText

async function match(
  source: TextSource,
  file: string,
  place: MatchPosition,
  context: number,
  several: boolean,
): Promise<GrepMatch> {
  const first = place.submatches[0] ?? { start: 0, end: 0 }
  const from = Math.max(0, first.start - window)
  const bytes = await source.read(place.offset + from, first.start - from + window)
  // The lines of a match end with the line in which it ends.
  const last = bytes.indexOf(10, Math.max(first.start, first.end - 1) - from)
  const line = chomp(last < 0 ? bytes : bytes.subarray(0, last + 1))
  const { text, cut: shortened } = excerpt(line, first.start - from, longestText, {
    front: from > 0,
    back: last < 0 && place.offset + from + bytes.length < source.bytes,
  })
  const after = last < 0 ? undefined : place.offset + from + last + 1
  return {
    file,
    line_number: place.line_number,
    column: 1 + (await codePointsBetween(source, place.offset, place.offset + first.start)),
    text,
    ...(several && { end_line_number: place.end_line_number }),
    ...(context > 0 && {
      before: (await linesBefore(source, place.offset, context)).map(shorten),
      after: after === undefined ? [] : (await linesAfter(source, after, context)).map(shorten),
    }),
    ...(shortened && { text_truncated: true as const }),
    ...(!isUtf8(line) && !shortened && { lossy: true as const }),
    absolute_offset: place.offset,
    submatches: place.submatches,
  }
}

const shorten = (line: Buffer): string => cut(line.toString(), longestText).text

/** `first` begins with the first files in path order. */
async function answer(
  { backend }: SearchEngine,
  found: SearchCounts & { first: Counted[] },
  { matches, looked, gone, binary }: Shown,
  { input, given }: Pick<Call<GrepInput>, 'input' | 'given'>,
  context: Context,
) {
  const lost = new Set(gone.filter((file) => !matches.some((match) => match.file === file)))
  const total = found.total - found.first.reduce((sum, { file, count }) => sum + (lost.has(file) ? count : 0), 0)
  const fits = fitting(matches)
  const next_skip = input.skip + (fits.length < matches.length ? fits.length : looked)
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
      files: await namedFirst(),
      next: nextCall('grep', { ...given, skip: next_skip }),
    }),
  }
  const notices = remarks({ ...found, gone: gone.length })
  if (binary)
    notices.push(
      notice(
        'VT_FILE_BINARY',
        `'${input.path}' is binary; its ${pluralized(total, 'match', 'matches')} are only counted.`,
      ),
    )
  return ok(output, { text: render(output, input.path), ...(notices.length > 0 && { notices }) })

  /** The first files with matches, as far as they stand in the workspace. */
  async function namedFirst(): Promise<{ file: string; count: number }[]> {
    const first = found.first.slice(0, shownFiles).filter(({ file }) => !lost.has(file))
    const named = new Set(
      await existing(
        context,
        first.map(({ file }) => file),
      ),
    )
    return first.filter(({ file }) => named.has(file)).map(({ file, count }) => ({ file, count }))
  }
}
