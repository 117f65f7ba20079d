/** ripgrep's search over a file or directory, as the actions ask for it. */
import { encodeName, problem, type Context, type Handle, type Next } from '../../core/index.js'
import { refusal } from './answer.js'
import { filesBelow } from './enumerate.js'
import { Events, type FileHits, type Hit } from './events.js'
import { cut } from './excerpt.js'
import { byPath } from './order.js'
import { lines, type Consumer } from './process.js'
import { choose, largestSearched, ripgrep, withWalk, type Asked, type Discovery } from './ripgrep.js'
import { openSource, type Source } from './source.js'

export interface Query extends Discovery {
  /** File or directory. */
  path: string
  patterns: string[]
  /** A file must hold every pattern; else a line any of them. */
  every?: boolean
  literal?: boolean
  /** Default: sensitive if the pattern has an upper-case letter. */
  case_sensitive?: boolean
  /** Files whose matches count. */
  only?: (file: string) => boolean
  /** How many hits are kept, the first in path order; how many of them in one file. */
  keep: { hits: number; per_file: number }
}
export interface Found {
  /** Files with matches in path order; only the first hold hits. */
  files: FileHits[]
  /** Matching lines in all files. */
  total: number
  searched: number
  /** The search stopped before its end. */
  incomplete: boolean
  /** The path names a binary file. */
  binary: boolean
  complaints: string[]
  /** Files too large to be opened. */
  skipped: string[]
}

/** The engine does not take the pattern; the message is its own. */
class PatternProblem extends Error {}

const mostMatches = 200_000
const seconds = 30

/** Runs a query. `undefined` when ripgrep cannot be started. Throws PatternProblem, VT_PATH_*, VT_INPUT_INVALID. */
export async function search(context: Context, query: Query): Promise<Found | undefined> {
  await using target = await context.workspace.open(query.path)
  const nameOf = namesIn(target)
  const allowed = await candidates()
  if (allowed === undefined) return undefined

  const events = new Events(query.keep, target.kind === 'file', nameOf, (file) => (!allowed || allowed.has(file)) && query.only?.(file) !== false)
  const skipped: string[] = []
  const stream = lines((line) => {
    events.take(line)
    return events.total < mostMatches ? undefined : false
  })
  const asked = await ask(query.patterns, ['--json'], stream.take, (line) => {
    const [, name] = / ignoring (.*): \d+ bytes$/.exec(line) ?? []
    if (name !== undefined) skipped.push(nameOf(Buffer.from(name)))
  })
  if (!asked) return undefined
  const files = events.result()
  judge(asked, query, events.searched > 0 || files.length > 0)
  return {
    files,
    total: events.total,
    searched: Math.max(events.searched, files.length),
    incomplete: asked.timed_out || asked.stopped,
    binary: events.binary,
    complaints: asked.complaints,
    skipped: skipped.sort(byPath),
  }

  /** The files whose matches count: `false` for all, `undefined` without ripgrep. */
  async function candidates(): Promise<Set<string> | false | undefined> {
    const sets: Set<string>[] = []
    if (target.kind === 'directory' && choose(query.globs)) {
      const found = await filesBelow(context, target, query)
      if (!found) return undefined
      sets.push(new Set(found.files))
    }
    for (const pattern of query.every ? query.patterns : []) {
      const holding = new Set<string>()
      const names = lines((name) => void holding.add(nameOf(name)), 0)
      const asked = await ask([pattern], ['--files-with-matches', '--null'], names.take)
      if (!asked) return undefined
      judge(asked, query, holding.size > 0)
      sets.push(holding)
    }
    const [first, ...others] = sets
    return first ? new Set([...first].filter((file) => others.every((other) => other.has(file)))) : false
  }

  async function ask(patterns: string[], how: string[], onStdout: Consumer, onLog?: (line: string) => void): Promise<Asked | undefined> {
    const limits = { signal: context.signal, seconds }
    const args = [...how, '--crlf', '--engine', 'auto', ...matching(query, patterns), ...patterns.flatMap((pattern) => ['-e', pattern])]
    // The handle's own name, not its path: it cannot be swapped, and may be no text.
    if (target.kind === 'file') return ripgrep('/', [...args, '--', target.ref], limits, onStdout)
    return withWalk(context.workspace, target, query, (flags) =>
      ripgrep(target.ref, [...args, ...flags, '--max-filesize', String(largestSearched), '--', './'], limits, onStdout, onLog),
    )
  }
}

function matching({ literal, case_sensitive }: Query, patterns: string[]): string[] {
  const flags = [case_sensitive === undefined ? '--smart-case' : case_sensitive ? '--case-sensitive' : '--ignore-case']
  if (literal) flags.push('--fixed-strings')
  if (spansLines(patterns, literal)) flags.push('--multiline')
  return flags
}

/** Whether a match may span lines: a pattern holds a newline or means one. */
export const spansLines = (patterns: string[], literal = false): boolean =>
  patterns.some((pattern) => pattern.includes('\n') || (!literal && /(?<!\\)(\\\\)*\\n/.test(pattern)))

/** How ripgrep's names of files read in an answer. */
export function namesIn(target: Handle): (name: Buffer) => string {
  if (target.kind === 'file') return () => target.path
  const prefix = target.path === '.' ? '' : `${target.path}/`
  return (name) => prefix + encodeName(name[0] === 46 && name[1] === 47 ? name.subarray(2) : name)
}

/** ripgrep's status 2 means that something went wrong: for the whole search if it looked into nothing, else for single files. */
function judge(asked: Asked, query: Query, ran: boolean): void {
  if (ran || asked.exit_code !== 2) return
  const reason = asked.complaints.join('\n')
  const [, glob] = /error parsing glob (.*)/s.exec(reason) ?? []
  if (glob) throw problem('VT_INPUT_INVALID', { problem: `'globs': ${glob}.` })
  if (/Permission denied \(os error 13\)/.test(reason)) throw problem('VT_PATH_PERMISSION', { path: query.path, reason: 'permission denied' })
  throw new PatternProblem(reason)
}

/** What a pattern's author reads when the engine refuses it; any other error comes back as it is. */
export function patternRefusal(patterns: string[], error: unknown, next?: Next): unknown {
  if (!(error instanceof PatternProblem)) return error
  const lines = error.message.split('\n').filter((line) => /[^~\s]/.test(line))
  const reason = lines.find((line) => line.startsWith('error: '))?.slice(7) ?? lines.at(-1) ?? 'the engine refuses it'
  const quoted = patterns.map((pattern) => `'${cut(pattern, 80).text}'`).join(', ')
  return refusal('VT_SEARCH_PATTERN', `${cut(quoted, 100).text} is no valid pattern: ${cut(reason, 180).text}.`, {
    details: { stderr: lines.slice(0, 20).map((line) => cut(line, 400).text) },
    ...(next && { next }),
  })
}

/** Whether the bytes that the engine saw stand in the file, opened once more: an engine can be led astray, a handle cannot. */
export async function stands(context: Context, file: string, hit: Hit): Promise<boolean> {
  const source = await openSource(context.workspace, file).catch(() => undefined)
  if (!source) return false
  try {
    return await standsIn(source, hit)
  } finally {
    await source.close()
  }
}

export const standsIn = async (source: Source, { seen }: Hit): Promise<boolean> =>
  (await source.read(seen.at, seen.bytes.length)).equals(seen.bytes)
