import { ok, type Context, type Handler, type Next } from '../../core/index.js'
import { pluralize, cut, takeFitting, sortByPath, createSlotError, listSearchNotices } from '../lib/base/index.js'
import { isBinaryText, countMatches, SEARCH_TIMEOUT_SECONDS, openTextSource } from '../lib/search/index.js'
import { createScorer } from './fuzzy/score.js'

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
  const found = await findCandidates(input, context)
  const score = createScorer(input.pattern, input.fuzzy_threshold, input.case_sensitive)
  const best = new BestMatches(input.skip + input.max_results)
  for (const { file } of sortByPath(found.files, ({ file }) => file)) {
    context.signal.throwIfAborted()
    for (const match of await scoreLines(file, score, context)) best.add(match)
  }
  const page = best.listSorted().slice(input.skip, input.skip + input.max_results)
  const matches = takeFitting(page)
  const end = input.skip + matches.length
  const truncated = end < best.total
  const output: FuzzyOutput = {
    matches,
    total_matches: best.total,
    files_searched: found.searched,
    truncated,
    ...(found.incomplete && { total_is_lower_bound: true as const }),
    ...(truncated && { next: { tool: 'grep_search', input: { action: 'fuzzy', ...given, skip: end } } }),
  }
  const notices = listSearchNotices(found)
  return ok(output, { text: render(output, input.path), ...(notices.length > 0 && { notices }) })
}
export default fuzzy

/** Finds the files with a line that holds the characters in order, by ripgrep because it is much faster. */
async function findCandidates(
  { pattern, path, case_sensitive, globs, file_extensions = [], include_hidden }: FuzzyInput,
  context: Context,
) {
  const loose = Array.from(pattern, (char) => `\\x{${char.codePointAt(0)!.toString(16)}}`).join('.*')
  const found = await countMatches(context, {
    patterns: [loose],
    case_sensitive,
    path,
    globs: [globs ?? []].flat(),
    file_extensions,
    include_hidden,
  })
  if (!found) throw createSlotError('VT_SEARCH_ENGINE_MISSING', 'ripgrep is not installed here.')
  if (found.incomplete && found.total === 0)
    throw createSlotError('VT_SEARCH_TIMEOUT', `Nothing was found in '${path}' within ${SEARCH_TIMEOUT_SECONDS} s.`, {
      retryable: true,
    })
  return found
}

async function scoreLines(file: string, score: (line: string) => number, context: Context): Promise<FuzzyMatch[]> {
  const handle = await context.workspace.openFile(file).catch(() => undefined)
  if (!handle) return []
  await using held = handle
  const source = await openTextSource(held)
  if (await isBinaryText(source)) return []
  const text = (await source.read(0, Math.min(source.bytes, MAX_SCORED.file))).toString()
  return text.split('\n').flatMap((raw, index) => {
    const line = raw.replace(/\r$/, '').slice(0, MAX_SCORED.line)
    const value = score(line)
    if (value === 0) return []
    const shown = cut(line, 500)
    return [
      {
        file,
        line_number: index + 1,
        text: shown.text,
        score: Math.round(value * 1000) / 1000,
        ...(shown.cut && { text_truncated: true as const }),
      },
    ]
  })
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
