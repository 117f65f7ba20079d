import { problem, type Next } from '../../../core/base/index.js'
import type { Context } from '../../../core/kernel/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { byPath, cut, slotRefusal } from '../base/index.js'
import { watchable, type Consumer } from '../process/index.js'
import { countsIn, namesIn } from './counts.js'
import { existing, tellable } from './entries.js'
import { seenBelow } from './enumerate.js'
import { hangs, largestSearched, refusedGlob, ripgrep, withWalk, type RipgrepEnd, type WalkOptions } from './ripgrep.js'
import { events, type ReadPositions } from './ripgrep_events.js'
import { globFilter } from './walk.js'

export interface Pattern {
  patterns: string[]
  literal?: boolean
  /** Default: sensitive if the pattern has an upper-case letter. */
  case_sensitive?: boolean
}
export interface SearchQuery extends Pattern, WalkOptions {
  /** File or directory. */
  path: string
  /** A file must hold every pattern; else a line any of them. */
  every?: boolean
  /** Files whose matches count. */
  only?: (file: string) => boolean
  /** Whether it helps to be told where the matches are. */
  where?: boolean
}
export interface Counted {
  file: string
  /** Matching lines; matches, where one may span several lines. */
  count: number
  /** Where they are, if that was asked for and they are few. As the engine told of the name: believe it when the opened file holds them. */
  places?: ReadPositions[]
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

export const seconds = 30

/** Matches that are told with their places, and the bytes in which ripgrep may tell them: beyond, counting alone is faster. */
const few = { places: 250, bytes: 1_048_576 }
/** In a larger file a single line may hold more matches than memory, and the engine notes them all before it tells one. */
const largestTold = 16_777_216
/** What a search that does not look at the sizes of files may read and take: less than a file that is too large would make it. */
const burden = { read: largestSearched, resident: largestSearched }

/** Directories, by device and inode, below which more is to be read than that. The first known are forgotten first. */
const vast = new Set<string>()
const mostVast = 1000

/** One search: what is searched, and what is known of it so far. */
interface Search {
  readonly context: Context
  readonly query: SearchQuery
  readonly target: Handle
  readonly nameOf: ReturnType<typeof namesIn>
  /** Files too large to be opened. */
  readonly skipped: Set<string>
}

/** Counts the matches of a query. `undefined` when ripgrep cannot be started. Throws PatternProblem, VT_PATH_*, VT_INPUT_INVALID. */
export async function countMatches(context: Context, query: SearchQuery): Promise<SearchCounts | undefined> {
  await using target = await context.workspace.open(query.path)
  const state: Search = { context, query, target, nameOf: namesIn(target), skipped: new Set() }
  const allowed = await candidates(state)
  if (allowed === undefined) return undefined
  const counted = await answered(state)
  if (!counted) return undefined
  const { asked, searched } = counted
  // A file that a rule keeps comes whether it is chosen or not.
  const passes = target.kind === 'file' ? () => true : globFilter(target.path, query)
  const files = counted.files.filter(({ file }) => (!allowed || allowed.has(file)) && passes(file, false) && query.only?.(file) !== false && seenBelow(context, target, file))
  return {
    files,
    total: files.reduce((sum, { count }) => sum + count, 0),
    searched,
    incomplete: asked.timed_out,
    complaints: target.kind === 'file' ? [] : await tellable(context, target.path, asked.complaints),
    skipped: await existing(context, [...state.skipped].sort(byPath)),
  }
}

/** The matches with their places where that helps and they are few, else their number. */
async function answered(state: Search): Promise<Counts | undefined> {
  const { query, target } = state
  const tellable = query.where && (target.kind === 'directory' ? quick(target) : target.stat.bytes <= largestTold)
  const counted = tellable ? await tell(state) : 'many'
  if (counted === 'vast') remember(target)
  return typeof counted === 'string' ? count(state, query.patterns) : counted
}

/** One run that tells every match; `many` where they are, or where a file that was named is no text. */
async function tell(state: Search): Promise<Counts | 'many' | 'vast' | undefined> {
  const { query, target, nameOf } = state
  const files: { file: string; places: ReadPositions[] }[] = []
  const several = spansLines(query)
  const left = { ...few }
  let [searched, bytes, binary] = [0, 0, false]
  const read = events(several, {
    file: (name) => files.push({ file: nameOf(name), places: [] }),
    match(places) {
      // Of lines it is enough to know that they are there until they are shown.
      const found = several ? places().map((place) => () => [place]) : [places]
      left.places -= found.length
      files.at(-1)!.places.push(...found)
    },
    binary() {
      // A walk leaves such a file out, whatever was found before its first NUL.
      binary = true
      files.pop()
    },
    searched: (files, read) => ([searched, bytes] = [files, read]),
  })
  // ripgrep keeps what it tells of a file until it is through with it.
  const asked = await ask(state, query.patterns, ['--json', '--max-count', String(few.places + 1)], (chunk) => {
    left.bytes -= chunk.length
    void read(chunk)
    return left.places < 0 || left.bytes < 0 ? false : undefined
  })
  if (!asked) return undefined
  if (overdone(target, asked, bytes)) return 'vast'
  if (asked.stopped || (binary && target.kind === 'file')) return 'many'
  return settled(state, { asked, searched, files: files.map((file) => ({ ...file, count: file.places.length })) })
}

async function count(state: Search, patterns: string[]): Promise<Counts | undefined> {
  const { target, nameOf, skipped } = state
  if (quick(target)) {
    const counts = await countOnce(state, patterns)
    if (counts !== 'vast') return counts
    remember(target)
  }
  return (await countOnce(state, patterns, (name) => skipped.add(nameOf(name)))) as Counts | undefined
}

async function countOnce(state: Search, patterns: string[], skips?: Skips): Promise<Counts | 'vast' | undefined> {
  const { target, nameOf } = state
  const chunks: Buffer[] = []
  const asked = await ask(state, patterns, target.kind === 'file' ? ['--count'] : ['--count', '--stats'], (chunk) => void chunks.push(chunk), skips)
  if (!asked) return undefined
  const { files, searched, bytes } = countsIn(Buffer.concat(chunks), nameOf)
  if (!skips && overdone(target, asked, bytes)) return 'vast'
  return settled(state, { asked, searched: target.kind === 'file' ? 1 : searched, files })
}

/** ripgrep looks at the size of each file only where one may be too large: that takes a tenth of a search. */
const quick = (target: Handle): boolean => target.kind === 'file' || (watchable && !vast.has(identity(target)))

/** Whether a run may have opened a file that is too large: not if all that it read is less. */
const overdone = (target: Handle, asked: RipgrepEnd, bytes: number): boolean => target.kind === 'directory' && (asked.overburdened === true || bytes > burden.read)

function remember(target: Handle): void {
  vast.add(identity(target))
  if (vast.size > mostVast) vast.delete(vast.values().next().value!)
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
    const counted = await count(state, [pattern])
    if (!counted) return undefined
    sets.push(new Set(counted.files.map(({ file }) => file)))
  }
  const [first, ...others] = sets
  return first ? new Set([...first].filter((file) => others.every((other) => other.has(file)))) : false
}

async function ask({ context, query, target }: Search, patterns: string[], how: string[], take: Consumer, skips?: Skips): Promise<RipgrepEnd | undefined> {
  const limits = { signal: context.signal, seconds }
  const args = [...how, '--null', '--with-filename', ...matching({ ...query, patterns })]
  // The handle's own name, not its path: it cannot be swapped, and may be no text.
  if (target.kind === 'file') return ripgrep('named files', [...args, '--', target.ref], limits, take)
  const asked = withWalk(context.workspace, target, query, (flags) =>
    skips
      ? ripgrep(target, [...args, ...flags, '--max-filesize', String(largestSearched), '--', './'], limits, take, (line) => {
          const [, name] = / ignoring (.*): \d+ bytes$/.exec(line) ?? []
          if (name !== undefined) skips(Buffer.from(name))
        })
      : ripgrep(target, [...args, ...flags, '--', './'], { ...limits, burden }, take),
  )
  return asked.catch(hangs)
}

/** Is told of the files that are too large to be opened. */
type Skips = (name: Buffer) => void

/** What one run came to. */
interface Counts {
  asked: RipgrepEnd
  searched: number
  files: Counted[]
}

/** How ripgrep is told what to look for. */
export function matching({ patterns, literal, case_sensitive }: Pattern): string[] {
  const flags = ['--crlf', '--engine', 'auto', case_sensitive === undefined ? '--smart-case' : case_sensitive ? '--case-sensitive' : '--ignore-case']
  if (literal) flags.push('--fixed-strings')
  if (spansLines({ patterns, ...(literal && { literal }) })) flags.push('--multiline')
  return [...flags, ...patterns.flatMap((pattern) => ['-e', pattern])]
}

/** Whether a match may span lines: a pattern holds a newline or means one. */
export const spansLines = ({ patterns, literal = false }: Pattern): boolean =>
  patterns.some((pattern) => pattern.includes('\n') || (!literal && /(?<!\\)(\\\\)*\\n/.test(pattern)))

/** ripgrep's status 2 means that something went wrong: for the whole search if it looked into nothing, else for single files. */
function judge(asked: RipgrepEnd, query: SearchQuery, ran: boolean): void {
  if (asked.exit_code !== 2) return
  const reason = asked.complaints.join('\n')
  const limit = /PCRE2: .*limit/.exec(reason)
  if (limit) throw new PatternProblem(limit[0])
  if (ran) return
  refusedGlob(asked.complaints)
  if (/Permission denied \(os error 13\)/.test(reason)) throw problem('VT_PATH_PERMISSION', { path: query.path, reason: 'permission denied' })
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
