import { type Theme, matchesKey, renderBlock, visibleWidth } from '../text/index.js'
import { visibleLine } from '../../../core/text/index.js'
import type { CursorPosition } from '../surface.js'
import { LineInput } from './line_input.js'
import type { Overlay } from '../types.js'
import type { OpenOverlay, OverlayAnswer } from './overlay.js'

const MAX_ANSWER_ROWS = 10
const HELP = '↑ ↓ select · Enter answers · Esc refuses · text is kept'
/** Enter in every form that a terminal reports it, with modifiers too. */
const ENTER = /^\u001b?[\r\n]$|^\u001b\[13(?:[;:][\d;:]+)?u$|^\u001b\[27;\d+;13~$/

/** A question with answers to select; an answer may be a text. Nothing is selected at first. */
export class Confirm implements OpenOverlay {
  private textInput: { value: string; label: string; line: LineInput } | undefined
  /** Rows of the body above the visible ones. */
  private scrolledRows = 0
  private selected: number | undefined
  /** True after Enter without a selection. */
  private missesSelection = false

  constructor(private readonly overlay: Overlay & { kind: 'confirm' }) {}

  render(
    columns: number,
    room: number,
    theme: Theme,
    keysAnswer: boolean,
  ): { rows: string[]; cursor?: CursorPosition } {
    const { title, body } = this.overlay
    const all = body
      .flatMap((block) => renderBlock(block, columns - 2, theme))
      .map((row) => `${theme.yellow('│')} ${row}`)
    const answers = this.renderAnswers(columns, Math.min(MAX_ANSWER_ROWS, Math.max(1, room - 4)), theme, keysAnswer)
    const most = Math.max(1, room - 3 - answers.length)
    this.scrolledRows = Math.max(0, Math.min(this.scrolledRows, all.length - most))
    const left = all.length - this.scrolledRows - most
    const part = all.slice(this.scrolledRows, this.scrolledRows + most)
    const more =
      left > 0 || this.scrolledRows > 0
        ? [theme.dim(`  ${left > 0 ? `${left} more rows` : 'end'}: PgUp PgDn scroll`)]
        : []
    const head = [theme.bold(theme.yellow(`? ${visibleLine(title)}`)), ...part, ...more]
    if (this.textInput !== undefined) {
      const { label, line } = this.textInput
      return {
        rows: [...head, `${label}: ${visibleLine(line.text)}`],
        cursor: { row: head.length, column: visibleWidth(label) + 2 + line.column },
      }
    }
    return { rows: [...head, ...answers, this.missesSelection ? theme.yellow(HELP) : theme.dim(HELP)] }
  }

  /** Renders at most `most` rows of answers, with the selected one: short ones in one row, others in a list. */
  private renderAnswers(columns: number, most: number, theme: Theme, keysAnswer: boolean): string[] {
    const { answers } = this.overlay
    const isShort = answers.some(({ key }) => key !== undefined)
    const rows = isShort ? this.renderShortAnswers(columns, theme, keysAnswer) : this.renderLongAnswers(columns, theme)
    const at = rows.findIndex(({ answer }) => answer >= (this.selected ?? 0))
    const from = Math.max(0, Math.min(at - Math.floor(most / 2), rows.length - most))
    return rows.slice(from, from + most).map(({ text }) => text)
  }

  /** Renders labels after their keys; a key and its label stay in one row. `answer`: the last answer of a row. */
  private renderShortAnswers(columns: number, theme: Theme, keysAnswer: boolean): { text: string; answer: number }[] {
    const rows: { text: string; answer: number }[] = []
    for (const [answer, { key, label }] of this.overlay.answers.entries()) {
      const mark = keysAnswer && key !== undefined ? `${theme.bold(key)} ` : ''
      const text = answer === this.selected ? theme.inverse(`▸ ${label}`) : mark + label
      const last = rows.at(-1)
      const joined = last && `${last.text}${theme.dim(' · ')}${text}`
      if (last && visibleWidth(joined!) <= columns) Object.assign(last, { text: joined, answer })
      else rows.push({ text, answer })
    }
    return rows
  }

  /** Renders texts of others whole; a frame marks each row. */
  private renderLongAnswers(columns: number, theme: Theme): { text: string; answer: number }[] {
    return this.overlay.answers.flatMap(({ label, description = '' }, answer) => {
      const text = [label, description].filter(Boolean).map(visibleLine).join('  ')
      const isSelected = answer === this.selected
      return renderBlock({ kind: 'text', text }, columns - 4, theme).map((row, at) => ({
        text: `${theme.yellow('│')} ${isSelected && at === 0 ? '▸' : ' '} ${isSelected ? theme.inverse(row) : row}`,
        answer,
      }))
    })
  }

  /** Selects the answer with this key. Returns its value, or `undefined` without such a key. */
  selectByKey(key: string): string | undefined {
    const at = this.textInput ? -1 : this.overlay.answers.findIndex((one) => one.key === key.toLowerCase())
    if (at < 0) return undefined
    this.selected = at
    return this.overlay.answers[at]!.value
  }
  clearSelection(): void {
    this.selected = undefined
  }

  handleKey(data: string): OverlayAnswer | 'unused' | undefined {
    if (this.textInput !== undefined) return this.handleTextKey(data)
    const is = (...keys: Parameters<typeof matchesKey>[1][]): boolean => keys.some((key) => matchesKey(data, key))
    if (is('escape', 'ctrl+c')) return { value: undefined }
    this.missesSelection = false
    if (is('up', 'left')) this.moveSelection(-1)
    else if (is('down', 'right')) this.moveSelection(1)
    else if (is('pageUp')) this.scrolledRows -= 5
    else if (is('pageDown')) this.scrolledRows += 5
    else if (is('enter')) return this.answerSelected()
    else if (!ENTER.test(data)) return 'unused'
    return undefined
  }

  private moveSelection(by: -1 | 1): void {
    const { length } = this.overlay.answers
    if (length > 0)
      this.selected = this.selected === undefined ? (by > 0 ? 0 : length - 1) : (this.selected + by + length) % length
  }

  /** Returns the selected answer, or opens its text input. */
  answerSelected(): OverlayAnswer | undefined {
    const value = this.selected === undefined ? undefined : this.overlay.answers[this.selected]?.value
    this.missesSelection = value === undefined
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
