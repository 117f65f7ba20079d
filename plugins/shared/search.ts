/** Which files hold a pattern, and how often: ripgrep's count over a file or directory. */
import { encodeName, problem, type Context, type Handle, type Next } from '../../core/index.js'
import { refusal } from './answer.js'
import { existing, tellable } from './entries.js'
import { filesBelow, seenBelow } from './enumerate.js'
import { cut } from './excerpt.js'
import { byPath, inPathOrder } from './order.js'
import { choose, largestSearched, ripgrep, withWalk, type Asked, type Discovery } from './ripgrep.js'

export interface Pattern {
  patterns: string[]
  literal?: boolean
  /** Default: sensitive if the pattern has an upper-case letter. */
  case_sensitive?: boolean
}
export interface Query extends Pattern, Discovery {
  /** File or directory. */
  path: string
  /** A file must hold every pattern; else a line any of them. */
  every?: boolean
  /** Files whose matches count. */
  only?: (file: string) => boolean
}
export interface Counted {
  file: string
  /** Matching lines; matches, where one may span several lines. */
  count: number
}
export interface Found {
  /** In path order. */
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

/** Counts the matches of a query. `undefined` when ripgrep cannot be started. Throws PatternProblem, VT_PATH_*, VT_INPUT_INVALID. */
export async function search(context: Context, query: Query): Promise<Found | undefined> {
  await using target = await context.workspace.open(query.path)
  const nameOf = namesIn(target)
  const skipped: string[] = []
  const allowed = await candidates()
  if (allowed === undefined) return undefined
  // Of a single file nothing needs to be counted but its lines.
  const asked = await ask(query.patterns, target.kind === 'file' ? ['--count'] : ['--count', '--stats'], (line) => {
    const [, name] = / ignoring (.*): \d+ bytes$/.exec(line) ?? []
    if (name !== undefined) skipped.push(nameOf(Buffer.from(name)))
  })
  if (!asked) return undefined
  const { pairs, rest } = counts(asked.stdout)
  const searched = target.kind === 'file' ? 1 : Number(/^(\d+) files? searched$/m.exec(rest)?.[1] ?? pairs.length)
  judge(asked, query, target.kind === 'file' ? pairs.length > 0 : searched > 0)
  const files = pairs
    .map(({ name, count }) => ({ file: nameOf(name), count }))
    .filter(({ file }) => (!allowed || allowed.has(file)) && query.only?.(file) !== false && seenBelow(context, target, file))
  return {
    files: inPathOrder(files, ({ file }) => file),
    total: files.reduce((sum, { count }) => sum + count, 0),
    searched,
    incomplete: asked.timed_out,
    complaints: target.kind === 'file' ? [] : await tellable(context, target.path, asked.complaints),
    skipped: await existing(context, skipped.sort(byPath)),
  }

  /** The files whose matches count: `false` for all, `undefined` without ripgrep. */
  async function candidates(): Promise<Set<string> | false | undefined> {
    const sets: Set<string>[] = []
    if (target.kind === 'directory' && choose(query.globs)) {
      const { files } = await filesBelow(context, target, query)
      sets.push(new Set(files))
    }
    for (const pattern of query.every ? query.patterns : []) {
      const asked = await ask([pattern], ['--count'])
      if (!asked) return undefined
      const { pairs } = counts(asked.stdout)
      judge(asked, query, pairs.length > 0)
      sets.push(new Set(pairs.map(({ name }) => nameOf(name))))
    }
    const [first, ...others] = sets
    return first ? new Set([...first].filter((file) => others.every((other) => other.has(file)))) : false
  }

  async function ask(patterns: string[], how: string[], onLog?: (line: string) => void): Promise<(Asked & { stdout: Buffer }) | undefined> {
    const limits = { signal: context.signal, seconds }
    const chunks: Buffer[] = []
    const take = (chunk: Buffer) => void chunks.push(chunk)
    const args = [...how, '--null', '--with-filename', ...matching({ ...query, patterns })]
    // The handle's own name, not its path: it cannot be swapped, and may be no text.
    const asked = await (target.kind === 'file'
      ? ripgrep('/', [...args, '--', target.ref], limits, take)
      : withWalk(context.workspace, target, query, (flags) =>
          ripgrep(target.ref, [...args, ...flags, '--max-filesize', String(largestSearched), '--', './'], limits, take, onLog),
        ))
    return asked && { ...asked, stdout: Buffer.concat(chunks) }
  }
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

/** `name NUL count` pairs, and the text behind them. */
function counts(bytes: Buffer): { pairs: { name: Buffer; count: number }[]; rest: string } {
  const pairs: { name: Buffer; count: number }[] = []
  let start = 0
  for (let nul = bytes.indexOf(0); nul >= 0; nul = bytes.indexOf(0, start)) {
    const end = bytes.indexOf(10, nul)
    if (end < 0) break
    pairs.push({ name: bytes.subarray(start, nul), count: Number(bytes.toString('latin1', nul + 1, end)) })
    start = end + 1
  }
  return { pairs, rest: bytes.toString('latin1', start) }
}

/** How ripgrep's names of files read in an answer. */
function namesIn(target: Handle): (name: Buffer) => string {
  if (target.kind === 'file') return () => target.path
  const prefix = target.path === '.' ? '' : `${target.path}/`
  return (name) => prefix + encodeName(name[0] === 46 && name[1] === 47 ? name.subarray(2) : name)
}

/** ripgrep's status 2 means that something went wrong: for the whole search if it looked into nothing, else for single files. */
function judge(asked: Asked, query: Query, ran: boolean): void {
  if (asked.exit_code !== 2) return
  const reason = asked.complaints.join('\n')
  const limit = /PCRE2: .*limit/.exec(reason)
  if (limit) throw new PatternProblem(limit[0])
  if (ran) return
  const [, glob] = /error parsing glob (.*)/s.exec(reason) ?? []
  if (glob) throw problem('VT_INPUT_INVALID', { problem: `'globs': ${glob}.` })
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
  return refusal('VT_SEARCH_PATTERN', `${cut(quoted, 100).text} is no valid pattern: ${cut(reason, 180).text}.`, {
    details: { stderr: lines.slice(0, 20).map((line) => cut(line, 400).text) },
    ...(next && { next }),
  })
}
