import { problem, type Next } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { byPath, cut, slotRefusal } from '../base/index.js'
import { globFilter } from '../globs/index.js'
import { bytesRead, watchable, type Consumer } from '../process/index.js'
import { countsIn, namesIn } from './counts.js'
import { existing, tellable, openToSearch } from './entries.js'
import { seenBelow } from './enumerate.js'
import { FirstMatches, type Counted } from './first_matches.js'
import { matching, seconds, spansLines, type Pattern } from './pattern.js'
import { largestSearched, refusedGlob, ripgrep, withWalk, type RipgrepEnd, type WalkOptions } from './ripgrep.js'
import { events, type ReadPositions } from './ripgrep_events.js'

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
  files: Counted[]
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
const largestTold = 16_777_216
/** What a search that tells or does not look at sizes may take. */
const resident = largestSearched

/**
 * How much there is to read below directories, by device and inode, where it is more than a file that is too large; nothing may be where
 * there is such a file. The first known are forgotten first.
 */
const vast = new Map<string, number>()
const mostVast = 1000

/**
 * Where so many matches come, more than are wanted, to tell them all takes longer than to search: a run that only counts them is sooner at
 * its end, and what is shown is looked for in the opened files. `bytes` is what is read for each at most.
 */
const flood = { matches: 1000, bytes: 4096 }

/** One search: what is searched, and what is known of it so far. */
interface Search {
  readonly context: Context
  readonly query: SearchQuery
  readonly target: Handle
  readonly nameOf: ReturnType<typeof namesIn>
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
  const chosen = target.kind === 'file' ? () => true : globFilter(target.path, query)
  const passes = (file: string): boolean =>
    chosen(file, false) && query.only?.(file) !== false && seenBelow(context, target, file)
  const state: Search = { context, query, target, nameOf: namesIn(target), passes, skipped: new Set(), pid: 0 }
  const allowed = await candidates(state)
  if (allowed === undefined) return undefined
  const counted = await answered(state)
  if (!counted) return undefined
  const { asked, searched } = counted
  const files = counted.files.filter(({ file }) => (!allowed || allowed.has(file)) && passes(file))
  return {
    files,
    total: files.reduce((sum, { count }) => sum + count, 0),
    searched,
    incomplete: asked.timed_out,
    complaints: target.kind === 'file' ? [] : await tellable(context, target.path, asked.complaints),
    skipped: await existing(context, [...state.skipped].sort(byPath)),
  }
}

/** One run tells every match; where there are very many, more to note than memory, or a file that was named is no text, another counts. */
async function answered(state: Search): Promise<Counts | undefined> {
  const { query, target } = state
  const tellable = query.where !== undefined && (target.kind === 'directory' || target.stat.bytes <= largestTold)
  const told = tellable ? await withSizes(state, (skips) => tell(state, skips)) : 'untold'
  return told === 'untold' ? withSizes(state, (skips) => countOnce(state, query.patterns, skips)) : told
}

/** ripgrep looks at the size of each file only where one may be too large: that takes a tenth of a search. */
async function withSizes<T>(
  { target, nameOf, skipped }: Search,
  run: (skips?: Skips) => Promise<T | 'vast'>,
): Promise<T> {
  const quick = target.kind === 'file' || (watchable && allowance(target) > 0)
  const first = quick ? await run() : 'vast'
  if (first !== 'vast') return first
  const sized = await run((name) => skipped.add(nameOf(name)))
  return sized as T
}

/** One run that tells every match; `untold` where that would take too long or too much memory, and of a file that was named and is no text. */
async function tell(state: Search, skips?: Skips): Promise<Counts | 'untold' | 'vast' | undefined> {
  const { query, target, nameOf, passes } = state
  const several = spansLines(query)
  const first = new FirstMatches(query.where!)
  const isFlood = target.kind === 'file' || several ? () => false : floodGauge(query.where!, () => bytesRead(state.pid))
  let [searched, bytes, binary] = [0, 0, false]
  let file: (Counted & { places: ReadPositions[] }) | undefined
  const read = events(several, {
    file(name) {
      const path = nameOf(name)
      file = passes(path) ? { file: path, count: 0, places: [] } : undefined
      return file !== undefined && first.mayHold(path)
    },
    match(places) {
      // Of lines it is enough to know that they are there until they are shown.
      if (several) for (const place of places()) file!.places.push(() => [place])
      else file!.places.push(places)
      return file!.places.length > query.where! ? false : undefined
    },
    end(lines, matches, no_text) {
      // A walk leaves such a file out, whatever was found before its first NUL.
      binary ||= no_text
      if (file && !no_text) first.add(file, several ? matches : lines)
      return isFlood(lines) ? false : undefined
    },
    searched: (files, read) => ([searched, bytes] = [files, read]),
  })
  const asked = await ask(state, query.patterns, ['--json'], read, skips)
  if (!asked) return undefined
  if (asked.stopped || (skips ? asked.overburdened : binary && target.kind === 'file')) return 'untold'
  if (overdone(state, asked, bytes, skips)) return 'vast'
  return settled(state, { asked, searched, files: first.files })
}

/** Is told how many matches each file has, and says once whether they come as a flood. */
function floodGauge(wanted: number, bytes: () => number): (matches: number) => boolean {
  const enough = Math.max(flood.matches, 2 * wanted)
  let count = 0
  return (matches) => {
    const before = count
    count += matches
    if (before >= enough || count < enough) return false
    const read = bytes()
    return read > 0 && read < count * flood.bytes
  }
}

async function countOnce(state: Search, patterns: string[], skips?: Skips): Promise<Counts | 'vast' | undefined> {
  const { target, nameOf } = state
  const chunks: Buffer[] = []
  const asked = await ask(
    state,
    patterns,
    target.kind === 'file' ? ['--count'] : ['--count', '--stats'],
    (chunk) => void chunks.push(chunk),
    skips,
  )
  if (!asked) return undefined
  const { files, searched, bytes } = countsIn(Buffer.concat(chunks), nameOf)
  if (overdone(state, asked, bytes, skips)) return 'vast'
  return settled(state, { asked, searched: target.kind === 'file' ? 1 : searched, files })
}

/** How much a run that does not look at sizes may read below a directory: less than what is known of it and a file that is too large. */
const allowance = (target: Handle): number => (vast.get(identity(target)) ?? 0) + largestSearched

/** Whether a run may have opened a file that is too large: not if all that it read is less. What one read that looked at sizes is noted. */
function overdone({ target, skipped }: Search, asked: RipgrepEnd, bytes: number, skips: Skips | undefined): boolean {
  if (target.kind === 'file') return false
  if (!skips) return asked.overburdened === true || bytes > allowance(target)
  if (asked.timed_out) return false
  vast.set(identity(target), skipped.size > 0 ? -Infinity : bytes)
  if (vast.size > mostVast) vast.delete(vast.keys().next().value!)
  return false
}

const identity = ({ stat }: Handle): string => `${stat.dev}:${stat.ino}`

function settled({ query, target }: Search, counts: Counts): Counts {
  judge(counts.asked, query, target.kind === 'file' ? counts.files.length > 0 : counts.searched > 0)
  return counts
}

/** The files whose matches count: `false` for all, `undefined` without ripgrep. */
async function candidates(state: Search): Promise<Set<string> | false | undefined> {
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

async function ask(
  state: Search,
  patterns: string[],
  how: string[],
  take: Consumer,
  skips?: Skips,
): Promise<RipgrepEnd | undefined> {
  const { context, query, target } = state
  const limits = { signal: context.signal, seconds, onStart: (pid: number) => (state.pid = pid) }
  const args = [...how, '--null', '--with-filename', ...matching({ ...query, patterns })]
  // The handle's own name, not its path: it cannot be swapped, and may be no text.
  if (target.kind === 'file') return ripgrep('named files', [...args, '--', target.ref], limits, take)
  const most = String(largestSearched)
  return withWalk(context.workspace, target, query, (flags) => {
    if (!skips)
      return ripgrep(
        target,
        [...args, ...flags, '--', './'],
        { ...limits, burden: { read: allowance(target), resident } },
        take,
      )
    const burden = how.includes('--json') && { burden: { read: Infinity, resident } }
    return ripgrep(
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
type Skips = (name: Buffer) => void

/** What one run came to. */
interface Counts {
  asked: RipgrepEnd
  searched: number
  files: Counted[]
}

/** ripgrep's status 2 means that something went wrong: for the whole search if it looked into nothing, else for single files. */
function judge(asked: RipgrepEnd, query: SearchQuery, ran: boolean): void {
  if (asked.exit_code !== 2) return
  const reason = asked.complaints.join('\n')
  const limit = /PCRE2: .*limit/.exec(reason)
  if (limit) throw new PatternProblem(limit[0])
  if (ran) return
  refusedGlob(asked.complaints)
  if (/Permission denied \(os error 13\)/.test(reason))
    throw problem('VT_PATH_PERMISSION', { path: query.path, reason: 'permission denied' })
  // Without a word against the pattern, everything that was to be searched has gone meanwhile.
  if (reason.trim() !== '') throw new PatternProblem(reason)
}

/** What a pattern's author reads when the engine refuses it; any other error comes back as it is. */
export function patternRefusal(patterns: string[], error: unknown, next?: Next): unknown {
  if (!(error instanceof PatternProblem)) return error
  const lines = error.message.split('\n').filter((line) => /[^~\s]/.test(line))
  const reason = lines.find((line) => line.startsWith('error: '))?.slice(7) ?? lines.at(-1) ?? 'the engine refuses it'
  const quoted = patterns.map((pattern) => `'${cut(pattern, 80).text}'`).join(', ')
  return slotRefusal('VT_SEARCH_PATTERN', `${cut(quoted, 100).text} is no valid pattern: ${cut(reason, 180).text}.`, {
    details: { stderr: lines.slice(0, 20).map((line) => cut(line, 400).text) },
    ...(next && { next }),
  })
}
