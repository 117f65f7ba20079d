import type { Context } from '../../../core/contract/index.js'
import { comparePaths } from '../base/index.js'
import { createGlobFilter } from '../globs/index.js'
import { countBytesRead, canWatchUsage } from '../process/index.js'
import { parseCounts, createNameReader } from './counts.js'
import { filterExisting, formatComplaints, openToSearch } from './entries.js'
import { separateBinaryFiles, type TextAndBinaryFiles } from './binary_files.js'
import { isVisible } from '../walk/index.js'
import { FirstMatches, type CountedFile } from './first_matches.js'
import { findNamedFiles } from './named_files.js'
import { canSpanLines } from './pattern.js'
import { EngineFault, hasEndedByItself, type RipgrepEnd } from './ripgrep.js'
import { createEventReader, type ReadPositions } from './ripgrep_events.js'
import {
  computeReadAllowance,
  hasExceededAllowance,
  hasSucceeded,
  runQuery,
  type OnSkipped,
  type SearchState,
  type SearchQuery,
} from './run_query.js'

export interface SearchCounts extends TextAndBinaryFiles {
  /** Matches in all files with text. */
  total: number
  searched: number
  /** The search stopped before its end. */
  incomplete: boolean
  complaints: string[]
  /** Files too large to be opened. */
  skipped: string[]
  /** Found without ripgrep. */
  fallback?: boolean
}

/**
 * In a larger file the matches of a single line may exceed memory, because the engine collects them before it prints
 * one.
 */
const MAX_REPORTED_BYTES = 16_777_216

/**
 * Match density from which a run that only counts is faster than one that reports positions. `bytes`: at most so many
 * bytes are read for each match.
 */
const FLOOD = { matches: 1000, bytes: 4096 }

/**
 * Counts the matches of a query. Returns `undefined` when ripgrep cannot be started or fails. Throws PatternProblem,
 * VT_PATH_*, VT_INPUT_INVALID.
 */
export async function countMatches(context: Context, query: SearchQuery): Promise<SearchCounts | undefined> {
  await using target = await openToSearch(context, query.path)
  const named = await findNamedFiles(context, target, query)
  // ripgrep also reports files that an ignore rule keeps, so the globs are applied again.
  const chosen = target.kind === 'file' ? () => true : createGlobFilter(target.path, query)
  const isCounted = (file: string): boolean =>
    chosen(file, false) &&
    named.only?.has(file) !== false &&
    query.only?.(file) !== false &&
    isVisible(context, target, file)
  const state: SearchState = {
    context,
    query,
    target,
    readName: createNameReader(target),
    isCounted,
    roots: named.roots,
    skipped: new Set(),
    pid: 0,
    isText: true,
    isHeavy: false,
  }
  let counted = await search(state)
  if (!counted && state.isHeavy) {
    // A line of zeros may exceed the memory. In this form a NUL byte ends a line.
    state.isText = false
    counted = await search(state)
  }
  if (!counted) return undefined
  const { asked, searched, files } = counted
  const sorted = await separateBinaryFiles(context, files, target.kind === 'file')
  return {
    ...sorted,
    total: sorted.files.reduce((sum, { count }) => sum + count, 0),
    searched,
    incomplete: asked.timed_out,
    complaints: target.kind === 'file' ? [] : await formatComplaints(context, target.path, asked.complaints),
    skipped: await filterExisting(context, [...state.skipped].sort(comparePaths)),
  }
}

async function search(state: SearchState): Promise<RunCounts | undefined> {
  const allowed = await findCandidates(state)
  if (allowed === undefined) return undefined
  const counted = await runSearch(state)
  if (!counted) return undefined
  const files = counted.files.filter(({ file }) => (!allowed || allowed.has(file)) && state.isCounted(file))
  return { ...counted, files }
}

/** Runs a search that reports positions. Runs one that only counts if there are too many matches. */
async function runSearch(state: SearchState): Promise<RunCounts | undefined> {
  const { query, target } = state
  const canReport =
    query.where !== undefined && (target.kind === 'directory' || target.stat.bytes <= MAX_REPORTED_BYTES)
  const found = canReport ? await withSizes(state, (onSkipped) => findWithPositions(state, onSkipped)) : 'too many'
  return found === 'too many' ? withSizes(state, (onSkipped) => countOnce(state, query.patterns, onSkipped)) : found
}

/** Runs ripgrep with a check of file sizes only where a file may be too large: the check takes a tenth of a search. */
async function withSizes<T>(
  { target, readName, skipped }: SearchState,
  run: (onSkipped?: OnSkipped) => Promise<T | 'too large'>,
): Promise<T> {
  const quick = target.kind === 'file' || (canWatchUsage && computeReadAllowance(target) > 0)
  const first = quick ? await run() : 'too large'
  if (first !== 'too large') return first
  const sized = await run((name) => skipped.add(readName(name)))
  return sized as T
}

/** Reports every match with its position. Returns `too many` if there are too many matches. */
async function findWithPositions(
  state: SearchState,
  onSkipped?: OnSkipped,
): Promise<RunCounts | 'too many' | 'too large' | undefined> {
  const { query, target, readName, isCounted } = state
  const several = canSpanLines(query)
  const first = new FirstMatches(query.where!)
  const isFlood =
    target.kind === 'file' || several ? () => false : createFloodGauge(query.where!, () => countBytesRead(state.pid))
  let [searched, bytes, whole] = [0, 0, false]
  let file: (CountedFile & { places: ReadPositions[] }) | undefined
  const read = createEventReader(several, {
    onFile(name) {
      const path = readName(name)
      file = isCounted(path) ? { file: path, count: 0, places: [] } : undefined
      return file !== undefined && first.canHold(path)
    },
    onMatch(places) {
      if (!file) throw new EngineFault('the engine prints a match before its file')
      // Matches of one line are parsed when they are shown.
      if (several) for (const place of places()) file.places.push(() => [place])
      else file.places.push(places)
      return file.places.length > query.where! ? false : undefined
    },
    onEnd(lines, matches) {
      if (file) first.add(file, several ? matches : lines)
      return isFlood(lines) ? false : undefined
    },
    onSearched: (files, read) => ([searched, bytes, whole] = [files, read, true]),
  })
  const asked = await runQuery(state, query.patterns, ['--json'], read, onSkipped)
  if (!asked) return undefined
  if (asked.stopped || (onSkipped && asked.overLimit)) return 'too many'
  if (hasExceededAllowance(state, asked, bytes, onSkipped)) return 'too large'
  return checkCounts(state, { asked, searched, files: first.files }, whole)
}

/** Creates a gauge that gets the match count of each file and returns `true` once if matches are too dense. */
function createFloodGauge(wanted: number, bytes: () => number): (matches: number) => boolean {
  const enough = Math.max(FLOOD.matches, 2 * wanted)
  let count = 0
  return (matches) => {
    const before = count
    count += matches
    if (before >= enough || count < enough) return false
    const read = bytes()
    return read > 0 && read < count * FLOOD.bytes
  }
}

async function countOnce(
  state: SearchState,
  patterns: string[],
  onSkipped?: OnSkipped,
): Promise<RunCounts | 'too large' | undefined> {
  const { target, readName } = state
  const chunks: Buffer[] = []
  const asked = await runQuery(state, patterns, ['--count', '--stats'], (chunk) => void chunks.push(chunk), onSkipped)
  if (!asked) return undefined
  const { files, searched, bytes, whole } = parseCounts(Buffer.concat(chunks), readName)
  if (hasExceededAllowance(state, asked, bytes, onSkipped)) return 'too large'
  return checkCounts(state, { asked, searched: target.kind === 'file' ? 1 : searched, files }, whole)
}

/** Returns the counts of an engine that printed them to the end. Throws PatternProblem, VT_PATH_*, VT_INPUT_INVALID. */
function checkCounts({ query, target }: SearchState, counts: RunCounts, whole: boolean): RunCounts | undefined {
  if (!hasEndedByItself(counts.asked)) return counts
  const ran = target.kind === 'file' ? counts.files.length > 0 : whole && counts.searched > 0
  return hasSucceeded(counts.asked, query, ran) && whole ? counts : undefined
}

/** Returns the files that match every pattern: `false` for no restriction, `undefined` without ripgrep. */
async function findCandidates(state: SearchState): Promise<Set<string> | false | undefined> {
  const { query } = state
  const sets: Set<string>[] = []
  for (const pattern of query.every ? query.patterns : []) {
    const counted = await withSizes(state, (onSkipped) => countOnce(state, [pattern], onSkipped))
    if (!counted) return undefined
    sets.push(new Set(counted.files.map(({ file }) => file)))
  }
  const [first, ...others] = sets
  return first ? new Set([...first].filter((file) => others.every((other) => other.has(file)))) : false
}

/** Result of one run. */
interface RunCounts {
  asked: RipgrepEnd
  searched: number
  files: CountedFile[]
}
