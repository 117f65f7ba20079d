import { visibleLine } from '../../../core/text/index.js'
import { blockRows } from '../blocks.js'
import type { CursorPlace } from '../surface.js'
import { matchesKey, visibleWidth } from '../parts.js'
import { LineInput } from './line_input.js'
import type { Theme } from '../theme.js'
import type { Overlay } from '../types.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'

/** A question that one key answers; an answer may be a text. */
export class Confirm implements OpenOverlay {
  private writing: { value: string; label: string; line: LineInput } | undefined
  /** How many rows of the body are above what is shown. */
  private above = 0

  constructor(private readonly about: Overlay & { kind: 'confirm' }) {}

  rows(columns: number, room: number, theme: Theme, focused: boolean): { rows: string[]; cursor?: CursorPlace } {
    const { title, body } = this.about
    const all = body
      .flatMap((block) => blockRows(block, columns - 2, theme))
      .map((row) => `${theme.yellow('│')} ${row}`)
    const keys = this.keyRows(columns, theme, focused)
    const most = Math.max(1, room - 2 - keys.length)
    this.above = Math.max(0, Math.min(this.above, all.length - most))
    const left = all.length - this.above - most
    const part = all.slice(this.above, this.above + most)
    const more =
      left > 0 || this.above > 0 ? [theme.dim(`  ${left > 0 ? `${left} more rows below` : 'the end'}: ↑ ↓ move`)] : []
    const head = [theme.bold(theme.yellow(`? ${visibleLine(title)}`)), ...part, ...more]
    if (this.writing !== undefined) {
      const { label, line } = this.writing
      return {
        rows: [...head, `${label}: ${visibleLine(line.text)}`],
        cursor: { row: head.length, column: visibleWidth(label) + 2 + line.column },
      }
    }
    return { rows: [...head, ...keys] }
  }

  /** The keys with what they answer, each as a whole in one row. */
  private keyRows(columns: number, theme: Theme, focused: boolean): string[] {
    const rows: string[] = []
    let row = focused ? '' : theme.dim('Tab, then:')
    for (const [at, { key, label }] of this.about.answers.entries()) {
      const text = `${theme.bold(key)} ${label}`
      const joined = row === '' ? text : `${row}${at === 0 ? ' ' : theme.dim(' · ')}${text}`
      const fits = row === '' || visibleWidth(joined) <= columns
      if (!fits) rows.push(row)
      row = fits ? joined : text
    }
    return [...rows, row]
  }

  key(data: string): OverlayAnswer | undefined {
    if (this.writing !== undefined) return this.write(data)
    if (matchesKey(data, 'up')) this.above -= 1
    else if (matchesKey(data, 'down')) this.above += 1
    else if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return { value: undefined }
    const value = this.about.answers.find(({ key }) => key === data.toLowerCase())?.value
    if (value === undefined) return undefined
    const text = this.about.texts?.find((one) => one.value === value)
    if (!text) return { value }
    this.writing = { ...text, line: new LineInput(text.initial) }
    return undefined
  }

  private write(data: string): OverlayAnswer | undefined {
    const { value, line } = this.writing!
    if (matchesKey(data, 'escape')) this.writing = undefined
    else if (matchesKey(data, 'enter')) return { value, text: line.text }
    else line.key(data)
    return undefined
  }
}
