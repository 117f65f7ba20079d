import { problem, type Next } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { comparePaths, cut, createSlotError } from '../base/index.js'
import { createGlobFilter } from '../globs/index.js'
import { bytesRead, watchable, type Consumer } from '../process/index.js'
import { parseCounts, createNameReader } from './counts.js'
import { filterExisting, formatComplaints, openToSearch } from './entries.js'
import { isVisible } from './enumerate.js'
import { FirstMatches, type CountedFile } from './first_matches.js'
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
  /** A file must hold every pattern; else a line any of them. */
  every?: boolean
  /** Files whose matches count. */
  only?: (file: string) => boolean
  /** Of how many matches, the first in path order, it helps to be told where they are. */
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

/** The engine does not take the pattern; the message is its own. */
export class PatternProblem extends Error {}

/** In a larger file a single line may hold more matches than memory, and the engine notes them all before it tells one. */
const MAX_REPORTED_BYTES = 16_777_216
/** What a search that tells or does not look at sizes may take. */
const MAX_RESIDENT_BYTES = MAX_SEARCHED_BYTES

/**
 * How much there is to read below directories, by device and inode, where it is more than a file that is too large; nothing may be where
 * there is such a file. The first known are forgotten first.
 */
const readBytesByFolder = new Map<string, number>()
const MAX_KNOWN_FOLDERS = 1000

/**
 * Where so many matches come, more than are wanted, to tell them all takes longer than to search: a run that only counts them is sooner at
 * its end, and what is shown is looked for in the opened files. `bytes` is what is read for each at most.
 */
const FLOOD = { matches: 1000, bytes: 4096 }

/** One search: what is searched, and what is known of it so far. */
interface Search {
  readonly context: Context
  readonly query: SearchQuery
  readonly target: Handle
  readonly readName: ReturnType<typeof createNameReader>
  /** Whether the matches of a file count. */
  readonly passes: (file: string) => boolean
  /** Files too large to be opened. */
  readonly skipped: Set<string>
  /** The process that searches. */
  pid: number
}

/** Counts the matches of a query. `undefined` when ripgrep cannot be started. Throws PatternProblem, VT_PATH_*, VT_INPUT_INVALID. */
export async function countMatches(context: Context, query: SearchQuery): Promise<SearchCounts | undefined> {
  await using target = await openToSearch(context, query.path)
  // A file that a rule keeps comes whether it is chosen or not.
  const chosen = target.kind === 'file' ? () => true : createGlobFilter(target.path, query)
  const passes = (file: string): boolean =>
    chosen(file, false) && query.only?.(file) !== false && isVisible(context, target, file)
  const state: Search = {
    context,
    query,
    target,
    readName: createNameReader(target),
    passes,
    skipped: new Set(),
    pid: 0,
  }
  const allowed = await findCandidates(state)
  if (allowed === undefined) return undefined
  const counted = await runSearch(state)
  if (!counted) return undefined
  const { asked, searched } = counted
  const files = counted.files.filter(({ file }) => (!allowed || allowed.has(file)) && passes(file))
  return {
    files,
    total: files.reduce((sum, { count }) => sum + count, 0),
    searched,
    incomplete: asked.timed_out,
    complaints: target.kind === 'file' ? [] : await formatComplaints(context, target.path, asked.complaints),
    skipped: await filterExisting(context, [...state.skipped].sort(comparePaths)),
  }
}

/** One run tells every match; where there are very many, more to note than memory, or a file that was named is no text, another counts. */
async function runSearch(state: Search): Promise<RunCounts | undefined> {
  const { query, target } = state
  const tellable = query.where !== undefined && (target.kind === 'directory' || target.stat.bytes <= MAX_REPORTED_BYTES)
  const told = tellable ? await withSizes(state, (skips) => findWithPositions(state, skips)) : 'untold'
  return told === 'untold' ? withSizes(state, (skips) => countOnce(state, query.patterns, skips)) : told
}

/** ripgrep looks at the size of each file only where one may be too large: that takes a tenth of a search. */
async function withSizes<T>(
  { target, readName, skipped }: Search,
  run: (skips?: OnSkipped) => Promise<T | 'vast'>,
): Promise<T> {
  const quick = target.kind === 'file' || (watchable && computeReadAllowance(target) > 0)
  const first = quick ? await run() : 'vast'
  if (first !== 'vast') return first
  const sized = await run((name) => skipped.add(readName(name)))
  return sized as T
}

/** One run that tells every match; `untold` where that would take too long or too much memory, and of a file that was named and is no text. */
async function findWithPositions(state: Search, skips?: OnSkipped): Promise<RunCounts | 'untold' | 'vast' | undefined> {
  const { query, target, readName, passes } = state
  const several = canSpanLines(query)
  const first = new FirstMatches(query.where!)
  const isFlood =
    target.kind === 'file' || several ? () => false : createFloodGauge(query.where!, () => bytesRead(state.pid))
  let [searched, bytes, binary] = [0, 0, false]
  let file: (CountedFile & { places: ReadPositions[] }) | undefined
  const read = createEventReader(several, {
    onFile(name) {
      const path = readName(name)
      file = passes(path) ? { file: path, count: 0, places: [] } : undefined
      return file !== undefined && first.canHold(path)
    },
    onMatch(places) {
      // Of lines it is enough to know that they are there until they are shown.
      if (several) for (const place of places()) file!.places.push(() => [place])
      else file!.places.push(places)
      return file!.places.length > query.where! ? false : undefined
    },
    onEnd(lines, matches, no_text) {
      // A walk leaves such a file out, whatever was found before its first NUL.
      binary ||= no_text
      if (file && !no_text) first.add(file, several ? matches : lines)
      return isFlood(lines) ? false : undefined
    },
    onSearched: (files, read) => ([searched, bytes] = [files, read]),
  })
  const asked = await runQuery(state, query.patterns, ['--json'], read, skips)
  if (!asked) return undefined
  if (asked.stopped || (skips ? asked.overburdened : binary && target.kind === 'file')) return 'untold'
  if (hasExceededAllowance(state, asked, bytes, skips)) return 'vast'
  return checkCounts(state, { asked, searched, files: first.files })
}

/** Is told how many matches each file has, and says once whether they come as a flood. */
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
  skips?: OnSkipped,
): Promise<RunCounts | 'vast' | undefined> {
  const { target, readName } = state
  const chunks: Buffer[] = []
  const asked = await runQuery(
    state,
    patterns,
    target.kind === 'file' ? ['--count'] : ['--count', '--stats'],
    (chunk) => void chunks.push(chunk),
    skips,
  )
  if (!asked) return undefined
  const { files, searched, bytes } = parseCounts(Buffer.concat(chunks), readName)
  if (hasExceededAllowance(state, asked, bytes, skips)) return 'vast'
  return checkCounts(state, { asked, searched: target.kind === 'file' ? 1 : searched, files })
}

/** How much a run that does not look at sizes may read below a directory: less than what is known of it and a file that is too large. */
const computeReadAllowance = (target: Handle): number =>
  (readBytesByFolder.get(toFolderKey(target)) ?? 0) + MAX_SEARCHED_BYTES

/** Whether a run may have opened a file that is too large: not if all that it read is less. What one read that looked at sizes is noted. */
function hasExceededAllowance(
  { target, skipped }: Search,
  asked: RipgrepEnd,
  bytes: number,
  skips: OnSkipped | undefined,
): boolean {
  if (target.kind === 'file') return false
  if (!skips) return asked.overburdened === true || bytes > computeReadAllowance(target)
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

/** The files whose matches count: `false` for all, `undefined` without ripgrep. */
async function findCandidates(state: Search): Promise<Set<string> | false | undefined> {
  const { query } = state
  const sets: Set<string>[] = []
  for (const pattern of query.every ? query.patterns : []) {
    const counted = await withSizes(state, (skips) => countOnce(state, [pattern], skips))
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
  skips?: OnSkipped,
): Promise<RipgrepEnd | undefined> {
  const { context, query, target } = state
  const limits = {
    signal: context.signal,
    seconds: SEARCH_TIMEOUT_SECONDS,
    onStart: (pid: number) => (state.pid = pid),
  }
  const args = [...how, '--null', '--with-filename', ...toRipgrepFlags({ ...query, patterns })]
  // The handle's own name, not its path: it cannot be swapped, and may be no text.
  if (target.kind === 'file') return runRipgrep('named files', [...args, '--', target.ref], limits, take)
  const most = String(MAX_SEARCHED_BYTES)
  return withWalk(context.workspace, target, query, (flags) => {
    if (!skips)
      return runRipgrep(
        target,
        [...args, ...flags, '--', './'],
        { ...limits, burden: { read: computeReadAllowance(target), resident: MAX_RESIDENT_BYTES } },
        take,
      )
    const burden = how.includes('--json') && { burden: { read: Infinity, resident: MAX_RESIDENT_BYTES } }
    return runRipgrep(
      target,
      [...args, ...flags, '--max-filesize', most, '--', './'],
      { ...limits, ...burden },
      take,
      (line) => {
        const [, name] = / ignoring (.*): \d+ bytes$/.exec(line) ?? []
        if (name !== undefined) skips(Buffer.from(name))
      },
    )
  })
}

/** Is told of the files that are too large to be opened. */
type OnSkipped = (name: Buffer) => void

/** What one run came to. */
interface RunCounts {
  asked: RipgrepEnd
  searched: number
  files: CountedFile[]
}

/** ripgrep's status 2 means that something went wrong: for the whole search if it looked into nothing, else for single files. */
function requireSuccess(asked: RipgrepEnd, query: SearchQuery, ran: boolean): void {
  if (asked.exit_code !== 2) return
  const reason = asked.complaints.join('\n')
  const limit = /PCRE2: .*limit/.exec(reason)
  if (limit) throw new PatternProblem(limit[0])
  if (ran) return
  requireValidGlobs(asked.complaints)
  if (/Permission denied \(os error 13\)/.test(reason))
    throw problem('VT_PATH_PERMISSION', { path: query.path, reason: 'permission denied' })
  // Without a word against the pattern, everything that was to be searched has gone meanwhile.
  if (reason.trim() !== '') throw new PatternProblem(reason)
}

/** What a pattern's author reads when the engine refuses it; any other error comes back as it is. */
export function toPatternRefusal(patterns: string[], error: unknown, next?: Next): unknown {
  if (!(error instanceof PatternProblem)) return error
  const lines = error.message.split('\n').filter((line) => /[^~\s]/.test(line))
  const reason = lines.find((line) => line.startsWith('error: '))?.slice(7) ?? lines.at(-1) ?? 'the engine refuses it'
  const quoted = patterns.map((pattern) => `'${cut(pattern, 80).text}'`).join(', ')
  return createSlotError(
    'VT_SEARCH_PATTERN',
    `${cut(quoted, 100).text} is no valid pattern: ${cut(reason, 180).text}.`,
    {
      details: { stderr: lines.slice(0, 20).map((line) => cut(line, 400).text) },
      ...(next && { next }),
    },
  )
}
