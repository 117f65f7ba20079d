import { visible } from '../../../core/text/index.js'
import { renderDiff } from './diff.js'
import { renderMarkdown } from './markdown.js'
import { wrapTextWithAnsi } from './parts.js'
import { breakLongWords, escapeLine, type Theme } from './theme.js'
import type { Block } from './types.js'

/** Keeps only the last text of a line that overwrote itself. */
const applyCarriageReturns = (text: string): string => text.replaceAll('\r\n', '\n').replace(/[^\n]*\r(?=[^\n])/g, '')

const wrapLines = (text: string, columns: number): string[] =>
  breakLongWords(text, columns)
    .replaceAll('\t', '    ')
    .replace(/\n+$/, '')
    .split('\n')
    .flatMap((line) => wrapTextWithAnsi(line, Math.max(1, columns)))

/** Renders a block as rows of at most `columns`, except for `foldable` code. */
export function renderBlock({ kind, text }: Block, columns: number, theme: Theme, foldable = false): string[] {
  if (kind === 'markdown') return renderMarkdown(text, columns, theme, foldable)
  if (kind === 'output') return wrapLines(escapeLine(applyCarriageReturns(text)), columns)
  if (kind === 'diff') return renderDiff(text, columns, theme)
  const rows = wrapLines(visible(text), columns - (kind === 'user' ? 2 : 0))
  if (kind === 'user')
    return rows.map((row, at) => `${theme.bold(theme.cyan(at === 0 ? '>' : ' '))} ${theme.bold(row)}`)
  return kind === 'note' ? rows.map(theme.dim) : kind === 'error' ? rows.map(theme.red) : rows
}
