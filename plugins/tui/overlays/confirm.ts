import { visibleLine } from '../../../core/text/index.js'
import { renderBlock } from '../blocks.js'
import type { CursorPosition } from '../surface.js'
import { matchesKey, visibleWidth } from '../parts.js'
import { LineInput } from './line_input.js'
import type { Theme } from '../theme.js'
import type { Overlay } from '../types.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'

/** A question with one key for each answer; an answer may be a text. */
export class Confirm implements OpenOverlay {
  private textInput: { value: string; label: string; line: LineInput } | undefined
  /** Rows of the body above the visible ones. */
  private scrolledRows = 0

  constructor(private readonly overlay: Overlay & { kind: 'confirm' }) {}

  render(columns: number, room: number, theme: Theme, focused: boolean): { rows: string[]; cursor?: CursorPosition } {
    const { title, body } = this.overlay
    const all = body
      .flatMap((block) => renderBlock(block, columns - 2, theme))
      .map((row) => `${theme.yellow('│')} ${row}`)
    const keys = this.renderKeys(columns, theme, focused)
    const most = Math.max(1, room - 2 - keys.length)
    this.scrolledRows = Math.max(0, Math.min(this.scrolledRows, all.length - most))
    const left = all.length - this.scrolledRows - most
    const part = all.slice(this.scrolledRows, this.scrolledRows + most)
    const more =
      left > 0 || this.scrolledRows > 0 ? [theme.dim(`  ${left > 0 ? `${left} more rows` : 'end'}: ↑ ↓ scroll`)] : []
    const head = [theme.bold(theme.yellow(`? ${visibleLine(title)}`)), ...part, ...more]
    if (this.textInput !== undefined) {
      const { label, line } = this.textInput
      return {
        rows: [...head, `${label}: ${visibleLine(line.text)}`],
        cursor: { row: head.length, column: visibleWidth(label) + 2 + line.column },
      }
    }
    return { rows: [...head, ...keys] }
  }

  /** Renders keys and labels; a key and its label stay in one row. */
  private renderKeys(columns: number, theme: Theme, focused: boolean): string[] {
    const rows: string[] = []
    let row = focused ? '' : theme.dim('Tab, then:')
    for (const [at, { key, label }] of this.overlay.answers.entries()) {
      const text = `${theme.bold(key)} ${label}`
      const joined = row === '' ? text : `${row}${at === 0 ? ' ' : theme.dim(' · ')}${text}`
      const fits = row === '' || visibleWidth(joined) <= columns
      if (!fits) rows.push(row)
      row = fits ? joined : text
    }
    return [...rows, row]
  }

  handleKey(data: string): OverlayAnswer | undefined {
    if (this.textInput !== undefined) return this.handleTextKey(data)
    if (matchesKey(data, 'up')) this.scrolledRows -= 1
    else if (matchesKey(data, 'down')) this.scrolledRows += 1
    else if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return { value: undefined }
    const value = this.overlay.answers.find(({ key }) => key === data.toLowerCase())?.value
    if (value === undefined) return undefined
    const text = this.overlay.texts?.find((one) => one.value === value)
    if (!text) return { value }
    this.textInput = { ...text, line: new LineInput(text.initial) }
    return undefined
  }

  private handleTextKey(data: string): OverlayAnswer | undefined {
    const { value, line } = this.textInput!
    if (matchesKey(data, 'escape')) this.textInput = undefined
    else if (matchesKey(data, 'enter')) return { value, text: line.text }
    else line.key(data)
    return undefined
  }
}
