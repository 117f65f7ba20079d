import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { comparePaths } from '../base/index.js'
import { createGlobFilter } from '../globs/index.js'
import { countBytesRead, canWatchUsage, type Consumer } from '../process/index.js'
import { parseCounts, createNameReader } from './counts.js'
import { filterExisting, formatComplaints, openToSearch } from './entries.js'
import { isVisible } from './enumerate.js'
import { FirstMatches, type CountedFile } from './first_matches.js'
import { PatternProblem } from './pattern_problem.js'
import { toRipgrepFlags, SEARCH_TIMEOUT_SECONDS, canSpanLines, type Pattern } from './pattern.js'
import {
  MAX_SEARCHED_BYTES,
  requireValidGlobs,
  runRipgrep,
  withWalk,
  type RipgrepEnd,
  type WalkOptions,
} from './ripgrep.js'
import { createEventReader, type ReadPositions } from './ripgrep_events.js'

export interface SearchQuery extends Pattern, WalkOptions {
  /** File or directory. */
  path: string
  /** A file must match every pattern; otherwise a line must match one of them. */
  every?: boolean
  /** Files whose matches count. */
  only?: (file: string) => boolean
  /** Number of matches, the first in path order, whose positions are useful. */
  where?: number
}
export interface SearchCounts {
  /** In no order. */
  files: CountedFile[]
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
/** Memory limit of a run that reports positions or does not check sizes. */
const MAX_RESIDENT_BYTES = MAX_SEARCHED_BYTES

/**
 * Bytes read by earlier runs below a directory, by device and inode. -Infinity where a file is too large. The oldest
 * entries are removed first.
 */
const readBytesByFolder = new Map<string, number>()
const MAX_KNOWN_FOLDERS = 1000

/**
 * Match density from which a run that only counts is faster than one that reports positions. `bytes`: at most so many
 * bytes are read for each match.
 */
const FLOOD = { matches: 1000, bytes: 4096 }

/** State of one search. */
interface Search {
  readonly context: Context
  readonly query: SearchQuery
  readonly target: Handle
  readonly readName: ReturnType<typeof createNameReader>
  /** Returns whether the matches of a file count. */
  readonly isCounted: (file: string) => boolean
  /** Files too large to be opened. */
  readonly skipped: Set<string>
  /** The process that searches. */
  pid: number
}

/**
 * Counts the matches of a query. Returns `undefined` when ripgrep cannot be started. Throws PatternProblem,
 * VT_PATH_*, VT_INPUT_INVALID.
 */
export async function countMatches(context: Context, query: SearchQuery): Promise<SearchCounts | undefined> {
  await using target = await openToSearch(context, query.path)
  // ripgrep also reports files that an ignore rule keeps, so the globs are applied again.
  const chosen = target.kind === 'file' ? () => true : createGlobFilter(target.path, query)
  const isCounted = (file: string): boolean =>
    chosen(file, false) && query.only?.(file) !== false && isVisible(context, target, file)
  const state: Search = {
    context,
    query,
    target,
    readName: createNameReader(target),
    isCounted,
    skipped: new Set(),
    pid: 0,
  }
  const allowed = await findCandidates(state)
  if (allowed === undefined) return undefined
  const counted = await runSearch(state)
  if (!counted) return undefined
  const { asked, searched } = counted
  const files = counted.files.filter(({ file }) => (!allowed || allowed.has(file)) && isCounted(file))
  return {
    files,
    total: files.reduce((sum, { count }) => sum + count, 0),
    searched,
    incomplete: asked.timed_out,
    complaints: target.kind === 'file' ? [] : await formatComplaints(context, target.path, asked.complaints),
    skipped: await filterExisting(context, [...state.skipped].sort(comparePaths)),
  }
}

/**
 * Runs a search that reports positions. Runs one that only counts if there are too many matches or a named file is
 * binary.
 */
async function runSearch(state: Search): Promise<RunCounts | undefined> {
  const { query, target } = state
  const canReport =
    query.where !== undefined && (target.kind === 'directory' || target.stat.bytes <= MAX_REPORTED_BYTES)
  const found = canReport ? await withSizes(state, (onSkipped) => findWithPositions(state, onSkipped)) : 'too many'
  return found === 'too many' ? withSizes(state, (onSkipped) => countOnce(state, query.patterns, onSkipped)) : found
}

/** Runs ripgrep with a check of file sizes only where a file may be too large: the check takes a tenth of a search. */
async function withSizes<T>(
  { target, readName, skipped }: Search,
  run: (onSkipped?: OnSkipped) => Promise<T | 'too large'>,
): Promise<T> {
  const quick = target.kind === 'file' || (canWatchUsage && computeReadAllowance(target) > 0)
  const first = quick ? await run() : 'too large'
  if (first !== 'too large') return first
  const sized = await run((name) => skipped.add(readName(name)))
  return sized as T
}

/**
 * Reports every match with its position. Returns `too many` if there are too many matches or a named file is binary.
 */
async function findWithPositions(
  state: Search,
  onSkipped?: OnSkipped,
): Promise<RunCounts | 'too many' | 'too large' | undefined> {
  const { query, target, readName, isCounted } = state
  const several = canSpanLines(query)
  const first = new FirstMatches(query.where!)
  const isFlood =
    target.kind === 'file' || several ? () => false : createFloodGauge(query.where!, () => countBytesRead(state.pid))
  let [searched, bytes, binary] = [0, 0, false]
  let file: (CountedFile & { places: ReadPositions[] }) | undefined
  const read = createEventReader(several, {
    onFile(name) {
      const path = readName(name)
      file = isCounted(path) ? { file: path, count: 0, places: [] } : undefined
      return file !== undefined && first.canHold(path)
    },
    onMatch(places) {
      // Matches of one line are parsed when they are shown.
      if (several) for (const place of places()) file!.places.push(() => [place])
      else file!.places.push(places)
      return file!.places.length > query.where! ? false : undefined
    },
    onEnd(lines, matches, no_text) {
      // A walk drops a binary file, also matches before its first NUL.
      binary ||= no_text
      if (file && !no_text) first.add(file, several ? matches : lines)
      return isFlood(lines) ? false : undefined
    },
    onSearched: (files, read) => ([searched, bytes] = [files, read]),
  })
  const asked = await runQuery(state, query.patterns, ['--json'], read, onSkipped)
  if (!asked) return undefined
  if (asked.stopped || (onSkipped ? asked.overLimit : binary && target.kind === 'file')) return 'too many'
  if (hasExceededAllowance(state, asked, bytes, onSkipped)) return 'too large'
  return checkCounts(state, { asked, searched, files: first.files })
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
  state: Search,
  patterns: string[],
  onSkipped?: OnSkipped,
): Promise<RunCounts | 'too large' | undefined> {
  const { target, readName } = state
  const chunks: Buffer[] = []
  const asked = await runQuery(
    state,
    patterns,
    target.kind === 'file' ? ['--count'] : ['--count', '--stats'],
    (chunk) => void chunks.push(chunk),
    onSkipped,
  )
  if (!asked) return undefined
  const { files, searched, bytes } = parseCounts(Buffer.concat(chunks), readName)
  if (hasExceededAllowance(state, asked, bytes, onSkipped)) return 'too large'
  return checkCounts(state, { asked, searched: target.kind === 'file' ? 1 : searched, files })
}

/**
 * Returns the bytes that a run without size checks may read below a directory: the known bytes plus the limit of one
 * file.
 */
const computeReadAllowance = (target: Handle): number =>
  (readBytesByFolder.get(toFolderKey(target)) ?? 0) + MAX_SEARCHED_BYTES

/**
 * Returns whether a run without size checks may have opened a file that is too large. Records the bytes read by a run
 * with size checks.
 */
function hasExceededAllowance(
  { target, skipped }: Search,
  asked: RipgrepEnd,
  bytes: number,
  onSkipped: OnSkipped | undefined,
): boolean {
  if (target.kind === 'file') return false
  if (!onSkipped) return asked.overLimit === true || bytes > computeReadAllowance(target)
  if (asked.timed_out) return false
  readBytesByFolder.set(toFolderKey(target), skipped.size > 0 ? -Infinity : bytes)
  if (readBytesByFolder.size > MAX_KNOWN_FOLDERS) readBytesByFolder.delete(readBytesByFolder.keys().next().value!)
  return false
}

const toFolderKey = ({ stat }: Handle): string => `${stat.dev}:${stat.ino}`

function checkCounts({ query, target }: Search, counts: RunCounts): RunCounts {
  requireSuccess(counts.asked, query, target.kind === 'file' ? counts.files.length > 0 : counts.searched > 0)
  return counts
}

/** Returns the files that match every pattern: `false` for no restriction, `undefined` without ripgrep. */
async function findCandidates(state: Search): Promise<Set<string> | false | undefined> {
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

async function runQuery(
  state: Search,
  patterns: string[],
  how: string[],
  take: Consumer,
  onSkipped?: OnSkipped,
): Promise<RipgrepEnd | undefined> {
  const { context, query, target } = state
  const limits = {
    signal: context.signal,
    seconds: SEARCH_TIMEOUT_SECONDS,
    onStart: (pid: number) => (state.pid = pid),
  }
  const args = [...how, '--null', '--with-filename', ...toRipgrepFlags({ ...query, patterns })]
  // The path of the handle cannot be replaced by another file and need not be valid UTF-8.
  if (target.kind === 'file') return runRipgrep('named files', [...args, '--', target.ref], limits, take)
  const most = String(MAX_SEARCHED_BYTES)
  return withWalk(context.workspace, target, query, (flags) => {
    if (!onSkipped)
      return runRipgrep(
        target,
        [...args, ...flags, '--', './'],
        { ...limits, maxUsage: { read: computeReadAllowance(target), resident: MAX_RESIDENT_BYTES } },
        take,
      )
    const usageLimit = how.includes('--json') && { maxUsage: { read: Infinity, resident: MAX_RESIDENT_BYTES } }
    return runRipgrep(
      target,
      [...args, ...flags, '--max-filesize', most, '--', './'],
      { ...limits, ...usageLimit },
      take,
      (line) => {
        const [, name] = / ignoring (.*): \d+ bytes$/.exec(line) ?? []
        if (name !== undefined) onSkipped(Buffer.from(name))
      },
    )
  })
}

/** Receives each file that is too large to open. */
type OnSkipped = (name: Buffer) => void

/** Result of one run. */
interface RunCounts {
  asked: RipgrepEnd
  searched: number
  files: CountedFile[]
}

/** Throws if ripgrep ended with status 2 and searched no file. With searched files, status 2 is about single files. */
function requireSuccess(asked: RipgrepEnd, query: SearchQuery, ran: boolean): void {
  if (asked.exit_code !== 2) return
  const reason = asked.complaints.join('\n')
  const limit = /PCRE2: .*limit/.exec(reason)
  if (limit) throw new PatternProblem(limit[0])
  if (ran) return
  requireValidGlobs(asked.complaints)
  if (/Permission denied \(os error 13\)/.test(reason))
    throw problem('VT_PATH_PERMISSION', { path: query.path, reason: 'permission denied' })
  // Without a reason, all files vanished during the search.
  if (reason.trim() !== '') throw new PatternProblem(reason)
}
