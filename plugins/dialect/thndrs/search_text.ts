import type { JsonObject, Result } from '../../../core/index.js'

interface Match {
  file: string
  line_number: number
  text: string
  before?: string[]
  after?: string[]
}

/** Matches as `file:line:text`, the lines around them as `file-line-text`, each line once. */
export default function searchText(result: Result): Result {
  if (!result.ok) return result
  const {
    matches,
    total_matches: total,
    truncated,
  } = result.output as unknown as { matches: Match[]; total_matches: number; truncated: boolean }
  const output: JsonObject = {
    matches: matches.map(({ file, line_number, text }) => ({ file, line_number, text })),
    total,
    truncated,
  }
  const more = truncated ? [`${total} matches in all; narrow the search.`] : []
  return { ...result, output, text: matches.length === 0 ? 'No matches.' : [...linesOf(matches), ...more].join('\n') }
}

function linesOf(matches: readonly Match[]): string[] {
  const lines = new Map<string, string>()
  const say = (file: string, line: number, mark: string, text: string) => {
    const place = `${file}\0${line}`
    // What matches is told as a match, whoever's neighbour it is.
    if (mark === ':' || !lines.has(place)) lines.set(place, `${file}${mark}${line}${mark}${text}`)
  }
  for (const { file, line_number, text, before = [], after = [] } of matches) {
    before.forEach((line, at) => say(file, line_number - before.length + at, '-', line))
    say(file, line_number, ':', text)
    after.forEach((line, at) => say(file, line_number + at + 1, '-', line))
  }
  return [...lines.values()]
}
