import { visibleLine } from '../../../core/index.js'
import { pluralize, cut } from '../../lib/base/index.js'
import type { Native } from './types.js'

const MAX_TEXT = 4000

export type Match = ReturnType<typeof toMatch>

/** Converts a record of ast-grep to a match of the slot. */
export function toMatch(native: Native) {
  const text = cut(native.text, MAX_TEXT)
  const around = cut(native.lines, MAX_TEXT)
  return {
    file: native.file,
    line_number: native.range.start.line + 1,
    text: text.text,
    lines: around.text,
    language: native.language,
    range: native.range,
    ...((text.cut || around.cut) && { text_truncated: true as const }),
    ...(native.replacement !== undefined && {
      replacement: native.replacement,
      replacementOffsets: native.replacementOffsets,
    }),
    metaVariables: removeSecondary(native.metaVariables),
    charCount: native.charCount ?? { leading: 0, trailing: 0 },
  }
}

/** Removes the `secondary` nodes, which only reports of the program use. */
function removeSecondary(metaVariables: Native['metaVariables']): NonNullable<Native['metaVariables']> {
  if (!metaVariables) return { single: {}, multi: {}, transformed: {} }
  const { secondary: _, ...multi } = metaVariables.multi
  return { ...metaVariables, multi }
}

/** Lists the values of captures by name; several nodes are joined, separators included. */
export function listCaptures({ metaVariables }: Pick<Match, 'metaVariables'>): [string, string][] {
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

export function renderMatches(matches: Match[], { total, files, searched, path, next }: Totals): string {
  if (total === 0)
    return `No matches${path === '.' ? '' : ` in ${visibleLine(path)}`} (${pluralize(searched, 'file')} searched)`
  const lines: string[] = []
  let file: string | undefined
  for (const match of matches) {
    if (file !== undefined && file !== match.file) lines.push('')
    if (file !== match.file) lines.push(visibleLine(match.file))
    file = match.file
    const [first = '', ...rest] = match.text.split('\n')
    const indent = ' '.repeat(String(match.line_number).length + 1)
    lines.push(`${match.line_number}:${first}`, ...rest.map((line) => indent + line))
    lines.push(
      ...listCaptures(match)
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `  $${name} = ${cut(value.replaceAll('\n', '⏎'), 120).text}`),
    )
  }
  const all = `${pluralize(total, 'match', 'matches')} in ${pluralize(files, 'file')}`
  return [...lines, '', next === undefined ? all : `${matches.length} of ${all}; continue with skip=${next}`].join('\n')
}

export function renderRewrites(
  rewrites: Match[],
  { total, files, next }: Pick<Totals, 'total' | 'files' | 'next'>,
): string {
  const side = (mark: string, text: string) =>
    text
      .split('\n')
      .slice(0, 6)
      .map((line) => `${mark} ${line}`)
  const blocks = rewrites.flatMap((match) => [
    `${visibleLine(match.file)}:${match.line_number}`,
    ...side('-', match.text),
    ...side('+', match.replacement ?? ''),
  ])
  const all = `${pluralize(total, 'rewrite')} in ${pluralize(files, 'file')} (preview, nothing written)`
  return [
    ...blocks,
    next === undefined
      ? `${all}; apply it as a patch or by the ast-grep skill`
      : `${rewrites.length} of ${all}; continue with skip=${next}`,
  ].join('\n')
}
