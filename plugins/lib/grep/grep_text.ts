import type { Next } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'
import { pluralize } from '../base/index.js'

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

/**
 * Renders the matches by file with their context lines, then the totals. `full`: the search stopped when the answer was
 * full.
 */
export function renderGrep(
  output: GrepOutput,
  { path, skip }: { path: string; skip: number },
  full: boolean | undefined,
): string {
  if (output.total_matches === 0) {
    const place = path === '.' ? '' : ` in ${visibleLine(path)}`
    return `No matches${place} (${pluralize(output.files_searched, 'file')} searched)`
  }
  const parts: string[] = []
  for (let start = 0; start < output.matches.length;) {
    const { file } = output.matches[start]!
    let end = start
    while (output.matches[end]?.file === file) end++
    parts.push(`${visibleLine(file)}\n${renderBlock(output.matches.slice(start, end))}\n`)
    start = end
  }
  return [...parts, renderTotals(output, skip, full)].join('\n')
}

/** Renders the totals and how to continue. */
function renderTotals(output: GrepOutput, skip: number, full: boolean | undefined): string {
  const { matches, total_matches: total, files_with_matches: files, truncated, next } = output
  const count = (number: number, one: string, many: string): string =>
    output.total_is_lower_bound ? `${number}+ ${many}` : pluralize(number, one, many)
  const all = `${count(total, 'match', 'matches')} in ${count(files, 'file', 'files')}`
  if (matches.length === 0 && skip >= total) return `0 of ${all}; skip=${skip} is past the last`
  if (!truncated) return all
  const counting = full ? ' (count=exact counts all)' : ''
  return `${matches.length} of ${all}${counting}; continue with skip=${String(next?.input['skip'])}`
}

/** Renders the lines of one file, each once, with `--` between groups that do not touch. */
function renderBlock(matches: GrepMatch[]): string {
  if (matches.every(isPlain)) return matches.map(({ line_number, text }) => `${line_number}:${text}`).join('\n')
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

/** Returns whether a match is a single line after the match before, without context. */
const isPlain = ({ line_number, text, before, after }: GrepMatch, at: number, all: GrepMatch[]): boolean =>
  !before && !after && (at === 0 || all[at - 1]!.line_number < line_number) && !text.includes('\n')
