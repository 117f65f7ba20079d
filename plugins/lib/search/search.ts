import type { Context } from '../../../core/contract/index.js'
import { comparePaths } from '../base/index.js'
import { createGlobFilter } from '../globs/index.js'
import { canWatchUsage } from '../process/index.js'
import { parseCounts, createNameReader } from './counts.js'
import { filterExisting, formatComplaints, openToSearch } from './entries.js'
import { separateBinaryFiles, type TextAndBinaryFiles } from './binary_files.js'
import { isVisible } from '../walk/index.js'
import type { CountedFile } from './first_matches.js'
import { FoundPositions, type Order } from './found_positions.js'
import { findNamedFiles } from './named_files.js'
import { hasEndedByItself, type RipgrepEnd } from './ripgrep.js'
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
  /** The search stopped after more than the wanted matches, the first in path order; the counts are lower bounds. */
  full?: boolean
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
    total: sumCounts(sorted.files),
    searched,
    incomplete: asked.timed_out,
    ...(asked.stopped && { full: true }),
    complaints: target.kind === 'file' ? [] : await formatComplaints(context, target.path, asked.complaints),
    skipped: await filterExisting(context, [...state.skipped].sort(comparePaths)),
  }
}

async function search(state: SearchState): Promise<RunCounts | undefined> {
  const candidates = await findCandidates(state)
  if (candidates === undefined || (candidates && candidates.files.length === 0)) return candidates
  if (candidates) {
    const { isCounted } = state
    const allowed = new Set(candidates.files.map(({ file }) => file))
    state.isCounted = (file) => allowed.has(file) && isCounted(file)
  }
  const counted = await runSearch(state)
  return counted && { ...counted, files: counted.files.filter(({ file }) => state.isCounted(file)) }
}

/** Runs a search that reports positions. Runs one that only counts if there are too many matches. */
async function runSearch(state: SearchState): Promise<RunCounts | undefined> {
  const { query, target, roots } = state
  const canReport =
    query.where !== undefined && (target.kind === 'directory' || target.stat.bytes <= MAX_REPORTED_BYTES)
  if (!canReport) return withSizes(state, (onSkipped) => countOnce(state, query.patterns, onSkipped))
  const canStop = query.may_stop === true && target.kind === 'directory' && roots.length === 0
  const found = await findAll(state, canStop ? 'any' : 'whole')
  if (found !== 'full') return found
  // The threads of a run find matches in any order. A run in path order has one thread.
  const first = await withSizes(state, (onSkipped) => findWithPositions(state, 'path', onSkipped))
  if (typeof first === 'object' && (await hasEnoughText(state, first))) return first
  const whole = await findAll(state, 'whole')
  return whole === 'full' ? undefined : whole
}

async function findAll(state: SearchState, order: Order): Promise<RunCounts | 'full' | undefined> {
  const found = await withSizes(state, (onSkipped) => findWithPositions(state, order, onSkipped))
  if (found !== 'too many') return found
  return withSizes(state, (onSkipped) => countOnce(state, state.query.patterns, onSkipped))
}

/** Returns whether a search that stopped found enough matches in files with text, the only ones that are shown. */
async function hasEnoughText({ context, query }: SearchState, { asked, files }: RunCounts): Promise<boolean> {
  if (!asked.stopped) return true
  const { binary } = await separateBinaryFiles(context, files, false)
  return binary.length === 0 || sumCounts(files) - sumCounts(binary) > query.where!
}

const sumCounts = (files: CountedFile[]): number => files.reduce((sum, { count }) => sum + count, 0)

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

/**
 * Reports matches with their positions. Returns `too many` if there are too many for that, `full` if a run in any order
 * stopped.
 */
async function findWithPositions(
  state: SearchState,
  order: Order,
  onSkipped?: OnSkipped,
): Promise<RunCounts | 'full' | 'too many' | 'too large' | undefined> {
  const { query } = state
  const found = new FoundPositions(state, order)
  const sorted = order === 'path' ? ['--sort', 'path'] : []
  const asked = await runQuery(state, query.patterns, ['--json', ...sorted], found.read, onSkipped)
  if (!asked) return undefined
  const { full, bytes, whole } = found
  const { files } = found.first
  if (full && order === 'any') return 'full'
  if ((asked.stopped && !full) || (onSkipped && asked.overLimit)) return 'too many'
  if (hasExceededAllowance(state, asked, bytes, onSkipped)) return 'too large'
  return checkCounts(state, { asked, searched: full ? files.length : found.searched, files }, whole)
}

async function countOnce(
  state: SearchState,
  patterns: string[],
  onSkipped?: OnSkipped,
  flags: string[] = [],
): Promise<RunCounts | 'too large' | undefined> {
  const { target, readName } = state
  const chunks: Buffer[] = []
  const asked = await runQuery(
    state,
    patterns,
    ['--count', '--stats', ...flags],
    (chunk) => void chunks.push(chunk),
    onSkipped,
  )
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
async function findCandidates(state: SearchState): Promise<RunCounts | false | undefined> {
  const { query } = state
  if (!query.every) return false
  let found: RunCounts | undefined
  for (const pattern of query.patterns) {
    const counted = await withSizes(state, (onSkipped) => countOnce(state, [pattern], onSkipped, ['--max-count', '1']))
    if (!counted) return undefined
    const before = new Set((found ?? counted).files.map(({ file }) => file))
    found = { ...counted, files: counted.files.filter(({ file }) => before.has(file)) }
  }
  return found
}

/** Result of one run. */
interface RunCounts {
  asked: RipgrepEnd
  searched: number
  files: CountedFile[]
}
