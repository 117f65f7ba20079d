import type { JsonObject, Result } from '../../../core/index.js'

interface Match {
  file: string
  line_number: number
  text: string
  before?: string[]
  after?: string[]
}

interface Found {
  matches: Match[]
  total_matches: number
  total_is_lower_bound?: true
  truncated: boolean
}

/** Formats matches as `file:line:text` and their context as `file-line-text`, each line once. */
export default function searchText(result: Result): Result {
  if (!result.ok) return result
  const { matches, total_matches: total, total_is_lower_bound: isBound, truncated } = result.output as unknown as Found
  const output: JsonObject = {
    matches: matches.map(({ file, line_number, text }) => ({ file, line_number, text })),
    total,
    truncated,
  }
  const count = isBound ? `At least ${total} matches` : `${total} matches in all`
  const more = truncated ? [`${count}; narrow the search.`] : []
  return {
    ...result,
    output,
    text: matches.length === 0 ? 'No matches.' : [...formatLines(matches), ...more].join('\n'),
  }
}

function formatLines(matches: readonly Match[]): string[] {
  const lines = new Map<string, string>()
  const addLine = (file: string, line: number, mark: string, text: string) => {
    const place = `${file}\0${line}`
    // A line that matches stays a match, even as context of another.
    if (mark === ':' || !lines.has(place)) lines.set(place, `${file}${mark}${line}${mark}${text}`)
  }
  for (const { file, line_number, text, before = [], after = [] } of matches) {
    before.forEach((line, at) => addLine(file, line_number - before.length + at, '-', line))
    addLine(file, line_number, ':', text)
    after.forEach((line, at) => addLine(file, line_number + at + 1, '-', line))
  }
  return [...lines.values()]
}
