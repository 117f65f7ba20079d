import { visibleLine } from '../../../core/text/index.js'
import { cut, pluralize } from '../base/index.js'

/** A match of a structural search as its text shows it. Lines of `range` count from 0. */
export interface StructuralMatch {
  file: string
  line_number: number
  text: string
  lines: string
  range: { start: { line: number }; end: { line: number } }
  replacement?: string | undefined
  metaVariables: { single: Record<string, { text: string }>; multi: Record<string, { text: string }[]> }
}

/** Lists the values of captures by name; several nodes are joined, separators included. */
function listCaptures({ metaVariables }: Pick<StructuralMatch, 'metaVariables'>): [string, string][] {
  const single = Object.entries(metaVariables.single).map(([name, { text }]) => [name, text] as [string, string])
  const multi = Object.entries(metaVariables.multi).map(
    ([name, nodes]) => [name, nodes.map(({ text }) => text).join(' ')] as [string, string],
  )
  return [...single, ...multi].sort(([a], [b]) => (a < b ? -1 : 1))
}

interface Totals {
  total: number
  files: number
  searched: number
  path: string
  next: number | undefined
}

/** Parts of a rendering besides the matches. */
export interface Around {
  context_lines: number
  /** The pattern as the engine read it. */
  debug?: { format: string; text: string } | undefined
}

export function renderMatches(matches: StructuralMatch[], totals: Totals, around: Around): string {
  const { total, files, searched, path, next } = totals
  const debug = renderDebug(around)
  if (total === 0) {
    const none = `No matches${path === '.' ? '' : ` in ${visibleLine(path)}`} (${pluralize(searched, 'file')} searched)`
    return [...debug, none].join('\n')
  }
  const lines: string[] = debug
  let file: string | undefined
  for (const match of matches) {
    if (file !== undefined && (file !== match.file || around.context_lines > 0))
      lines.push(file === match.file ? '--' : '')
    if (file !== match.file) lines.push(visibleLine(match.file))
    file = match.file
    lines.push(
      ...(around.context_lines > 0 ? renderLines(match, around.context_lines) : renderText(match)),
      ...listCaptures(match)
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `  $${name} = ${cut(value.replaceAll('\n', '⏎'), 120).text}`),
    )
  }
  const all = `${pluralize(total, 'match', 'matches')} in ${pluralize(files, 'file')}`
  return [...lines, '', next === undefined ? all : `${matches.length} of ${all}; continue with skip=${next}`].join('\n')
}

const renderDebug = ({ debug }: Around): string[] =>
  debug ? [`The pattern as ${debug.format}:`, debug.text.trimEnd(), ''] : []

/** Renders the text of a match, without the rest of its lines. */
function renderText({ line_number, text }: StructuralMatch): string[] {
  const [first = '', ...rest] = text.split('\n')
  const indent = ' '.repeat(String(line_number).length + 1)
  return [`${line_number}:${first}`, ...rest.map((line) => indent + line)]
}

/** Renders the whole lines of a match and those around it, with `:` after the numbers of its own. */
export function renderLines(
  match: Pick<StructuralMatch, 'lines' | 'line_number' | 'range'>,
  context_lines: number,
): string[] {
  const { start, end } = match.range
  return listContext(match, context_lines).map(({ number, text }) => {
    const isOwn = number > start.line && number <= end.line + 1
    return `${number}${isOwn ? ':' : '-'}${text}`
  })
}

/** Lists the lines around a match, its own included, by their numbers. */
function listContext({ lines, line_number }: Pick<StructuralMatch, 'lines' | 'line_number'>, context_lines: number) {
  const first = Math.max(1, line_number - context_lines)
  // The engines end the lines of a match near the end of a file with an empty one.
  return lines
    .replace(/\n$/, '')
    .split('\n')
    .map((text, at) => ({ number: first + at, text }))
}

/** Lines of each side of a rewrite that are shown. */
const MAX_SIDE_LINES = 6

export function renderRewrites(
  rewrites: StructuralMatch[],
  { total, files, next }: Pick<Totals, 'total' | 'files' | 'next'>,
  around: Around,
): string {
  const side = (mark: string, text: string): string[] => {
    const lines = text.split('\n')
    const left = lines.length - MAX_SIDE_LINES
    const shown = lines.slice(0, left > 1 ? MAX_SIDE_LINES : lines.length).map((line) => `${mark} ${line}`)
    return left > 1 ? [...shown, `${mark} … (${left} more lines)`] : shown
  }
  const context = (match: StructuralMatch, isWanted: (number: number) => boolean): string[] =>
    around.context_lines === 0
      ? []
      : listContext(match, around.context_lines)
          .filter(({ number }) => isWanted(number))
          .map(({ number, text }) => `${number}-${text}`)
  const blocks = rewrites.flatMap((match) => [
    `${visibleLine(match.file)}:${match.line_number}`,
    ...context(match, (number) => number <= match.range.start.line),
    ...side('-', match.text),
    ...side('+', match.replacement ?? ''),
    ...context(match, (number) => number > match.range.end.line + 1),
  ])
  const all = `${pluralize(total, 'rewrite')} in ${pluralize(files, 'file')} (preview, nothing written)`
  return [
    ...renderDebug(around),
    ...blocks,
    next === undefined
      ? `${all}; apply it as a patch or by the ast-grep skill`
      : `${rewrites.length} of ${all}; continue with skip=${next}`,
  ].join('\n')
}
