import { ok, type Context, type Handler, type Next, type Notice } from '../../core/index.js'
import {
  pluralize,
  cut,
  takeFitting,
  sortByPath,
  createSlotError,
  formatNames,
  listSearchNotices,
  notice,
} from '../lib/base/index.js'
import { explainNothing, listBinary, readGlobs, replaceNul } from '../lib/grep/index.js'
import {
  countMatches,
  searchInProcess,
  SEARCH_TIMEOUT_SECONDS,
  openTextSource,
  type SearchCounts,
  type SearchQuery,
} from '../lib/search/index.js'
import { createTolerantScorer, listSpellings } from './fuzzy/score.js'

interface FuzzyInput {
  pattern: string
  fuzzy_threshold: number
  path: string
  case_sensitive: boolean
  max_results: number
  skip: number
  globs?: string | string[]
  file_extensions?: string[]
  include_hidden: boolean
  include_ignored: boolean
}
export interface FuzzyMatch {
  file: string
  line_number: number
  text: string
  /** 0 to 1. */
  score: number
  text_truncated?: true
}
export interface FuzzyOutput {
  matches: FuzzyMatch[]
  total_matches: number
  files_searched: number
  truncated: boolean
  total_is_lower_bound?: true
  next?: Next
}

/** Only the beginning of a larger file or longer line is scored. */
const MAX_SCORED = { file: 16_777_216, line: 4096 }

/** Finds lines that hold the characters of a pattern in order, best first. */
const fuzzy: Handler<FuzzyInput, FuzzyOutput> = async ({ input, given }, context) => {
  const query = await toQuery(input, context)
  const found = await findCandidates(query, context)
  const score = createTolerantScorer(input.pattern, input.fuzzy_threshold, input.case_sensitive)
  const best = new BestMatches(input.skip + input.max_results)
  const cutFiles: string[] = []
  for (const { file } of sortByPath(found.files, ({ file }) => file)) {
    context.signal.throwIfAborted()
    const { matches, isWhole } = await scoreLines(file, score, context)
    for (const match of matches) best.add(match)
    if (!isWhole) cutFiles.push(file)
  }
  const page = best.listSorted().slice(input.skip, input.skip + input.max_results)
  const matches = takeFitting(page)
  const end = input.skip + matches.length
  const truncated = end < best.total
  const nothing = best.total === 0 ? await explainNothing(context, query, input.globs) : undefined
  const more = truncated ? { skip: end } : nothing?.fields
  const output: FuzzyOutput = {
    matches,
    total_matches: best.total,
    files_searched: nothing?.reached ?? found.searched,
    truncated,
    ...(found.incomplete && { total_is_lower_bound: true as const }),
    ...(more && { next: { tool: 'grep_search', input: { action: 'fuzzy', ...given, ...more } } }),
  }
  const notices = [
    ...listSearchNotices(found),
    ...listBinary(found.binary),
    ...listCutFiles(cutFiles),
    ...(nothing?.notices ?? []),
  ]
  return ok(output, { text: render(output, input.path), ...(notices.length > 0 && { notices }) })
}
export default fuzzy

/** Returns the notice of files whose lines were scored in part. */
const listCutFiles = (files: string[]): Notice[] =>
  files.length === 0
    ? []
    : [
        notice(
          'VT_SEARCH_PARTIAL',
          `Scored only to 16 MiB of a file and 4,096 characters of a line: ${formatNames(files)}.`,
        ),
      ]

/** Returns the search of files with a line that holds the characters in order. */
async function toQuery(
  { pattern, path, case_sensitive, globs, file_extensions = [], include_hidden, include_ignored }: FuzzyInput,
  context: Context,
) {
  const patterns = listSpellings(pattern).map((spelling) =>
    Array.from(spelling, (char) => `\\x{${char.codePointAt(0)!.toString(16)}}`).join('.*'),
  )
  return {
    patterns,
    case_sensitive,
    path,
    globs: await readGlobs(context, path, globs),
    file_extensions,
    include_hidden,
    include_ignored,
  }
}

/** Finds the files to score, by ripgrep because it is much faster. */
async function findCandidates(query: SearchQuery, context: Context): Promise<SearchCounts> {
  const found = (await countMatches(context, query)) ?? (await searchInProcess(context, query))
  if (found.incomplete && found.total === 0)
    throw createSlotError(
      'VT_SEARCH_TIMEOUT',
      `Nothing was found in '${query.path}' within ${SEARCH_TIMEOUT_SECONDS} s.`,
      { retryable: true },
    )
  return found
}

interface ScoredFile {
  matches: FuzzyMatch[]
  /** False if the end of the file, or of a line, was not scored. */
  isWhole: boolean
}

async function scoreLines(file: string, score: (line: string) => number, context: Context): Promise<ScoredFile> {
  const handle = await context.workspace.openFile(file).catch(() => undefined)
  if (!handle) return { matches: [], isWhole: true }
  await using held = handle
  const source = await openTextSource(held)
  const text = (await source.read(0, Math.min(source.bytes, MAX_SCORED.file))).toString()
  let isWhole = source.bytes <= MAX_SCORED.file
  const matches = text.split('\n').flatMap((raw, index) => {
    if (raw.length > MAX_SCORED.line + 1) isWhole = false
    const line = raw.replace(/\r$/, '').slice(0, MAX_SCORED.line)
    const value = score(line)
    if (value === 0) return []
    const shown = cut(line, 500)
    return [
      {
        file,
        line_number: index + 1,
        text: replaceNul(shown.text),
        score: Math.round(value * 1000) / 1000,
        ...(shown.cut && { text_truncated: true as const }),
      },
    ]
  })
  return { matches, isWhole }
}

/** Keeps the best lines in bounded memory. */
class BestMatches {
  total = 0
  private kept: (FuzzyMatch & { order: number })[] = []
  constructor(private readonly wanted: number) {}

  add(match: FuzzyMatch): void {
    this.kept.push({ ...match, order: this.total++ })
    if (this.kept.length >= 2 * this.wanted + 1000) this.kept = this.rank().slice(0, this.wanted)
  }
  listSorted(): FuzzyMatch[] {
    return this.rank().map(({ order: _, ...match }) => match)
  }
  private rank() {
    return this.kept.sort((a, b) => b.score - a.score || a.order - b.order)
  }
}

function render({ matches, total_matches, files_searched, truncated, next }: FuzzyOutput, path: string): string {
  if (total_matches === 0)
    return `No matches${path === '.' ? '' : ` in ${path}`} (${pluralize(files_searched, 'file')} searched)`
  const lines = matches.map(({ file, line_number, text, score }) => `${file}:${line_number}: ${text.trim()} (${score})`)
  const all = pluralize(total_matches, 'match', 'matches')
  return [
    ...lines,
    truncated ? `${matches.length} of ${all}; continue with skip=${String(next?.input['skip'])}` : all,
  ].join('\n')
}
