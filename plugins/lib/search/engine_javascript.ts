import type { RE2JS } from 're2js'
import type { Context } from '../../../core/contract/index.js'
import { createSlotError } from '../base/index.js'
import { listBinaryExtensions, readExtension, separateBinaryFiles } from './binary_files.js'
import { openIfReadable, openToSearch } from './entries.js'
import { listFiles } from '../walk/index.js'
import type { WantedMatches } from './match_positions.js'
import { MAX_SEARCHED_BYTES } from './ripgrep.js'
import type { MatchPosition } from './ripgrep_events.js'
import type { CountedFile } from './first_matches.js'
import { SEARCH_TIMEOUT_SECONDS, canSpanLines, type Pattern } from './pattern.js'
import { PatternProblem } from './pattern_problem.js'
import type { SearchQuery } from './run_query.js'
import type { SearchCounts } from './search.js'
import { openTextSource, type TextSource } from './text_source.js'

/** Counts the matches of a query. Throws PatternProblem, VT_PATH_*, VT_SEARCH_ENGINE_MISSING. */
export async function searchInProcess(context: Context, query: SearchQuery): Promise<SearchCounts> {
  const matchers = await Promise.all(query.patterns.map((pattern) => createMatcher({ ...query, patterns: [pattern] })))
  const any = await createMatcher(query)
  await using target = await openToSearch(context, query.path)
  const listing =
    target.kind === 'file'
      ? { files: [target.path], incomplete: false, complaints: [] }
      : await listFiles(context, target, query)
  const found: SearchCounts = {
    ...listing,
    files: [],
    binary: [],
    total: 0,
    searched: 0,
    skipped: [],
    fallback: query.follow !== true,
  }
  const unread: string[] = []
  const counts: CountedFile[] = []
  const binary = new Set(target.kind === 'file' ? [] : listBinaryExtensions(query))
  const end = Date.now() + SEARCH_TIMEOUT_SECONDS * 1000
  for (const file of listing.files) {
    if (query.only?.(file) === false || binary.has(readExtension(file))) continue
    if (Date.now() > end) {
      found.incomplete = true
      break
    }
    context.signal.throwIfAborted()
    const counted = await countFile(file)
    if (counted) counts.push(counted)
  }
  const sorted = await separateBinaryFiles(context, counts, target.kind === 'file')
  return {
    ...found,
    ...sorted,
    total: sorted.files.reduce((sum, { count }) => sum + count, 0),
    complaints: [...found.complaints, ...unread.map((path) => `${path}: it cannot be read`)],
  }

  async function countFile(file: string): Promise<CountedFile | undefined> {
    const handle = await openIfReadable(context.workspace, file, unread)
    if (!handle) return undefined
    await using held = handle
    if (handle.stat.bytes > MAX_SEARCHED_BYTES && target.kind === 'directory') return void found.skipped.push(file)
    const source = await openTextSource(held)
    found.searched++
    const text = await readText(source)
    if (query.every && !matchers.every((matcher) => takeFirst(matcher(text)) !== undefined)) return undefined
    const count = [...any(text)].length
    return count > 0 ? { file, count } : undefined
  }
}

/** Finds the wanted matches of open files. */
export async function findPositionsInProcess(
  context: Context,
  pattern: Pattern,
  files: WantedMatches[],
): Promise<MatchPosition[][]> {
  const matcher = await createMatcher(pattern)
  const all: MatchPosition[][] = []
  for (const { source, skip, limit } of files) {
    context.signal.throwIfAborted()
    const found = [...matcher(await readText(source))]
    all.push(found.slice(skip, skip + limit))
  }
  return all
}

const takeFirst = <T>(items: Iterable<T>): T | undefined => {
  for (const item of items) return item
  return undefined
}

const readText = async (source: TextSource): Promise<string> => (await source.read(0, source.bytes)).toString()

/** Finds all matches of a text, one by one. */
type Matcher = (text: string) => Generator<MatchPosition>

async function createMatcher(pattern: Pattern): Promise<Matcher> {
  const { RE2JS } = await import('re2js')
  const sensitive = pattern.case_sensitive ?? pattern.patterns.some((text) => /\p{Lu}/u.test(text.replace(/\\./g, '')))
  const text = pattern.patterns.map((one) => (pattern.literal ? RE2JS.quote(one) : `(?:${one})`)).join('|')
  const flags = RE2JS.MULTILINE | (sensitive ? 0 : RE2JS.CASE_INSENSITIVE)
  try {
    const regex = RE2JS.compile(text, flags)
    return canSpanLines(pattern) ? (whole) => matchSpans(regex, whole) : (whole) => matchLines(regex, whole)
  } catch (error) {
    throw toPatternError(pattern, (error as Error).message)
  }
}

function toPatternError({ patterns }: Pattern, reason: string): Error {
  if (!/\(\?<?[=!]|\\[1-9]/.test(patterns.join('\n'))) return new PatternProblem(reason)
  return createSlotError(
    'VT_SEARCH_ENGINE_MISSING',
    'Look-around and back-references need ripgrep, which is missing here.',
  )
}

function* matchLines(regex: RE2JS, text: string): Generator<MatchPosition> {
  let [line_number, offset] = [0, 0]
  for (const raw of text.split('\n')) {
    line_number++
    const line = raw.replace(/\r$/, '')
    const submatches = findSubmatches(regex, line)
    if (submatches.length > 0) yield { line_number, end_line_number: line_number, offset, submatches }
    offset += Buffer.byteLength(raw) + 1
  }
}

const MAX_SUBMATCHES = 100

function findSubmatches(regex: RE2JS, line: string): MatchPosition['submatches'] {
  const found: MatchPosition['submatches'] = []
  const matcher = regex.matcher(line)
  while (found.length < MAX_SUBMATCHES && matcher.find()) {
    const start = Buffer.byteLength(line.slice(0, matcher.start()))
    const text = matcher.group() ?? ''
    found.push({ start, end: start + Buffer.byteLength(text), text })
  }
  return found
}

function* matchSpans(regex: RE2JS, text: string): Generator<MatchPosition> {
  const matcher = regex.matcher(text)
  let [line, seen] = [1, 0]
  while (matcher.find()) {
    const [start, end] = [matcher.start(), matcher.end()]
    line += countNewlines(text.slice(seen, start))
    seen = start
    const from = text.lastIndexOf('\n', start - 1) + 1
    const before = Buffer.byteLength(text.slice(from, start))
    const match = text.slice(start, end)
    yield {
      line_number: line,
      end_line_number: line + countNewlines(text.slice(start, Math.max(start, end - 1))),
      offset: Buffer.byteLength(text.slice(0, from)),
      submatches: [{ start: before, end: before + Buffer.byteLength(match), text: match }],
    }
  }
}

const countNewlines = (text: string): number => text.split('\n').length - 1
