import { ok, problem, type Call, type Context, type Handler, type Next } from '../../core/index.js'
import { count, fitting, notice, refusal, remarks } from '../shared/answer.js'
import { longestText, type FileHits, type Hit } from '../shared/events.js'
import { codePoints, cut, excerpt } from '../shared/excerpt.js'
import { patternRefusal, search, spansLines, standsIn, type Found } from '../shared/search.js'
import { chomp, linesAfter, linesBefore, openSource, type Source } from '../shared/source.js'

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
export interface GrepMatch {
  file: string
  line_number: number
  /** 1-based, in code points. */
  column: number
  text: string
  end_line_number?: number
  before?: string[]
  after?: string[]
  text_truncated?: true
  lossy?: true
  absolute_offset: number
  /** Bytes within the line. */
  submatches: { text: string; start: number; end: number }[]
}
export interface GrepOutput {
  matches: GrepMatch[]
  total_matches: number
  files_with_matches: number
  files_searched: number
  truncated: boolean
  backend: 'ripgrep' | 'javascript'
  total_is_lower_bound?: true
  files?: { file: string; count: number }[]
  next?: Next
}

const shownFiles = 50

/** Broad text search with ripgrep. Declines when ripgrep cannot be started. */
const grep: Handler<GrepInput, GrepOutput> = async ({ input, given }, context) => {
  const patterns = input.patterns ?? [input.pattern!]
  if (patterns.includes('')) throw emptyPattern(input.path)
  const found = await search(context, {
    path: input.path,
    patterns,
    every: patterns.length > 1 && input.logic !== 'OR',
    literal: input.literal,
    ...(input.case_sensitive !== undefined && { case_sensitive: input.case_sensitive }),
    include_hidden: input.include_hidden,
    globs: [input.globs ?? []].flat(),
    file_extensions: input.file_extensions ?? [],
    keep: { hits: input.skip + input.max_results, per_file: input.skip + input.max_results },
  }).catch((error: unknown) => {
    const next = { tool: 'unified_search', input: { action: 'grep', ...given, literal: true } }
    throw patternRefusal(patterns, error, input.literal ? undefined : next)
  })
  if (!found) return undefined
  if (found.incomplete && found.total === 0) {
    throw refusal('VT_SEARCH_TIMEOUT', `Nothing was found in '${input.path}' within 30 s.`, { retryable: true })
  }
  const chosen = page(found.files, input.skip, input.max_results)
  const believed = await believe(context, chosen, input, spansLines(patterns, input.literal))
  return answer(found, chosen, believed, { input, given })
}
export default grep

const emptyPattern = (path: string) =>
  problem('VT_INPUT_INVALID', { problem: "'pattern' is empty; it would match every line." }, {
    hint: `To look at a file: unified_file {"action":"read","path":…}; at a directory: unified_search ${JSON.stringify({ action: 'list', path })}.`,
  })

interface Chosen {
  file: string
  hits: Hit[]
}
interface Believed {
  matches: GrepMatch[]
  /** Files of which something no longer stands where the engine saw it. */
  gone: string[]
}

/** The hits after the first `skip`, at most `limit`, by file. */
function page(files: FileHits[], skip: number, limit: number): Chosen[] {
  const chosen: Chosen[] = []
  let before = 0
  for (const { file, hits } of files) {
    const slice = hits.slice(Math.max(0, skip - before), Math.max(0, skip + limit - before))
    if (slice.length > 0) chosen.push({ file, hits: slice })
    before += hits.length
    if (before >= skip + limit) break
  }
  return chosen
}

/** Opens every file again through the workspace and keeps the hits whose bytes stand there: an engine can be led astray, a handle cannot. */
async function believe(context: Context, chosen: Chosen[], input: GrepInput, multiline: boolean): Promise<Believed> {
  const matches: GrepMatch[] = []
  const gone = new Set<string>()
  for (const { file, hits } of chosen) {
    const source = await openSource(context.workspace, file).catch(() => undefined)
    if (!source) {
      gone.add(file)
      continue
    }
    try {
      for (const hit of hits) {
        const match = await confirm(source, file, hit, input.context_lines, multiline)
        if (match) matches.push(match)
        else gone.add(file)
      }
    } finally {
      await source.close()
    }
  }
  return { matches, gone: [...gone] }
}

async function confirm(source: Source, file: string, hit: Hit, context: number, multiline: boolean): Promise<GrepMatch | undefined> {
  if (!(await standsIn(source, hit))) return undefined
  const { text, column, end } = hit.excerpt ? { text: hit.excerpt, column: hit.column!, end: hit.end! } : await longLine(source, hit)
  const plain = (line: Buffer) => cut(line.toString(), longestText).text
  return {
    file,
    line_number: hit.line_number,
    column,
    text: text.text,
    ...(multiline && { end_line_number: hit.end_line_number }),
    ...(context > 0 && {
      before: (await linesBefore(source, hit.offset, context)).map(plain),
      after: (await linesAfter(source, end, context)).map(plain),
    }),
    ...(text.cut && { text_truncated: true as const }),
    ...(hit.lossy && { lossy: true as const }),
    absolute_offset: hit.offset,
    submatches: hit.submatches,
  }
}

/** The place of a hit in a line that was too long to come whole from the engine. */
async function longLine(source: Source, hit: Hit): Promise<{ text: { text: string; cut: boolean }; column: number; end: number }> {
  const first = hit.submatches[0]!
  const step = 8_388_608
  let column = 1
  for (let at = 0; at < first.start; at += step) column += codePoints(await source.read(hit.offset + at, Math.min(step, first.start - at)))
  const lead = Math.min(first.start, 4 * longestText)
  const around = await source.read(hit.offset + first.start - lead, 8 * longestText)
  const at = around.indexOf(10, lead)
  const line = chomp(at < 0 ? around : around.subarray(0, at + 1))
  return { text: { text: excerpt(line, lead, longestText).text, cut: true }, column, end: source.bytes }
}

function answer(found: Found, chosen: Chosen[], { matches, gone }: Believed, { input, given }: Pick<Call<GrepInput>, 'input' | 'given'>) {
  const lost = found.files.filter(({ file }) => gone.includes(file) && !matches.some((match) => match.file === file))
  const files = found.files.filter((file) => !lost.includes(file))
  const total = found.total - sum(lost)
  const shown = fitting(matches)
  const next_skip = input.skip + (shown.length < matches.length ? shown.length : chosen.reduce((hits, file) => hits + file.hits.length, 0))
  const truncated = !found.binary && next_skip < found.total
  const output: GrepOutput = {
    matches: shown,
    total_matches: total,
    files_with_matches: files.length,
    files_searched: found.searched,
    truncated,
    backend: 'ripgrep',
    ...(found.incomplete && { total_is_lower_bound: true as const }),
    ...(truncated && {
      files: files.slice(0, shownFiles).map(({ file, count }) => ({ file, count })),
      next: { tool: 'unified_search', input: { action: 'grep', ...given, skip: next_skip } },
    }),
  }
  const notices = remarks({ ...found, gone })
  if (found.binary) notices.push(notice('VT_FILE_BINARY', `'${input.path}' is binary; its ${count(total, 'match', 'matches')} are only counted.`))
  return ok(output, { text: render(output, input.path), ...(notices.length > 0 && { notices }) })
}

const sum = (files: FileHits[]): number => files.reduce((total, file) => total + file.count, 0)

/** The matches by file, context lines between them, and what they come to. */
export function render(output: GrepOutput, path: string): string {
  if (output.total_matches === 0) return `No matches in ${path} (${count(output.files_searched, 'file')} searched)`
  const parts: string[] = []
  for (let start = 0; start < output.matches.length; ) {
    const { file } = output.matches[start]!
    let end = start
    while (output.matches[end]?.file === file) end++
    parts.push(`${file}\n${block(output.matches.slice(start, end))}\n`)
    start = end
  }
  const all = `${count(output.total_matches, 'match', 'matches')} in ${count(output.files_with_matches, 'file')}`
  const last = output.truncated ? `${output.matches.length} of ${all}; continue with skip=${String(output.next?.input['skip'])}` : all
  return [...parts, last].join('\n')
}

/** The lines of one file, each once, `--` between groups that do not touch. */
function block(matches: GrepMatch[]): string {
  const lines = new Map<number, string>()
  const add = (line: number, mark: ':' | '-', text: string) => {
    if (mark === ':' || !lines.has(line)) lines.set(line, `${line}${mark}${text}`)
  }
  for (const { line_number, text, before = [], after = [] } of matches) {
    const own = text.split('\n')
    before.forEach((line, index) => add(line_number - before.length + index, '-', line))
    own.forEach((line, index) => add(line_number + index, ':', line))
    after.forEach((line, index) => add(line_number + own.length + index, '-', line))
  }
  const withContext = matches.some(({ before, after }) => before || after)
  let last: number | undefined
  return [...lines]
    .sort(([a], [b]) => a - b)
    .map(([line, text]) => {
      const gap = withContext && last !== undefined && line !== last + 1 ? '--\n' : ''
      last = line
      return gap + text
    })
    .join('\n')
}
