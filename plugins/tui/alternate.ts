import { fitRow, matchesKey, truncateToWidth, visibleWidth } from './text/index.js'
import { visible, visibleLine } from '../../core/text/index.js'
import type { CursorPosition, ScreenSurface } from './surface.js'
import type { TerminalPort } from './terminal_io.js'
import type { SessionOptions } from './types.js'

interface Point {
  /** Row of the terminal, 0-based. */
  row: number
  column: number
}
const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']
const STYLE_SEQUENCE = /\u001b\[[\d;:]*m/g
const PAGE_KEYS: Record<string, 'up' | 'down'> = { '\u001b[5~': 'up', '\u001b[6~': 'down' }

/**
 * Draws on the second screen of a terminal. Keeps finished rows and scrolls them; the live part is at the bottom.
 * At the end of a session all finished rows are written to the first screen.
 */
export class AlternateScreen implements ScreenSurface {
  readonly restsCursor = false
  private readonly finished: string[] = []
  private drawn: string[] = []
  private live: readonly string[] = []
  private cursor: CursorPosition | undefined
  private columns: number
  /** Finished rows below the visible ones. */
  private scrolledRows = 0
  private selection: { from: Point; to: Point } | undefined
  /** Text of the search, and the finished row of the current match. */
  private search: { text: string; row: number | undefined } | undefined

  constructor(
    private readonly port: TerminalPort,
    private readonly options: SessionOptions['fullscreen'],
    private readonly copy: (text: string) => void,
  ) {
    this.columns = port.columns
  }

  get room(): number {
    return Math.max(1, this.port.rows - 1)
  }
  /** True if finished rows were made for another width. */
  get stale(): boolean {
    return this.columns !== this.port.columns
  }
  /** Drops finished rows, which are added again. */
  reset(): void {
    this.finished.length = 0
    this.columns = this.port.columns
    this.clear()
  }

  drawFrame(finished: readonly string[], live: readonly string[], cursor?: CursorPosition): number {
    this.finished.push(...finished.map((row) => this.fitToWidth(row)))
    // Keep the position of a person who scrolled up.
    if (this.scrolledRows > 0) this.scrolledRows += finished.length
    const over = Math.max(0, live.length - this.room)
    this.live = live.slice(over).map((row) => this.fitToWidth(row))
    this.cursor = cursor && {
      row: Math.max(0, cursor.row - over),
      column: Math.min(cursor.column, this.port.columns - 1),
    }
    return this.draw()
  }
  clear(): void {
    this.drawn = []
  }
  forgetDrawn(): void {
    this.clear()
  }
  // The size may be the old one again while the rows are gone.
  handleResize(): void {
    this.clear()
  }
  setTerminalVersion(): void {}
  remainingRows(): string[] {
    return this.finished
  }

  /** Handles paging, mouse wheel, selection, and `/` while scrolled up. Returns whether it used the key. */
  handleKey(data: string, free: boolean): boolean {
    const page = PAGE_KEYS[data]
    if (page) this.scroll(page === 'up' ? this.pageRows : -this.pageRows)
    else if (!this.handleMouse(data)) {
      if (this.search) this.handleSearchKey(data, this.search)
      else if (data === '/' && free && this.scrolledRows > 0) this.search = { text: '', row: undefined }
      else return false
    }
    this.draw()
    return true
  }

  /** Handles a key of the search, which starts at the newest row. */
  private handleSearchKey(data: string, search: { text: string; row: number | undefined }): void {
    if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return void (this.search = undefined)
    if (matchesKey(data, 'enter') || matchesKey(data, 'up')) return this.findNext(search, -1)
    if (matchesKey(data, 'down')) return this.findNext(search, 1)
    if (matchesKey(data, 'backspace')) search.text = search.text.slice(0, -1)
    else if (!/\p{Cc}/u.test(data)) search.text += data
    search.row = undefined
    this.findNext(search, -1)
  }
  private findNext(search: { text: string; row: number | undefined }, direction: -1 | 1): void {
    for (
      let row = (search.row ?? this.finished.length) + direction;
      row >= 0 && row < this.finished.length;
      row += direction
    ) {
      if (findColumns(this.finished[row]!, search.text) === undefined) continue
      search.row = row
      this.scrolledRows = 0
      return this.scroll(this.finished.length - row - Math.ceil(this.pageRows / 2))
    }
  }
  /** Row of the search, shown in place of the last row. */
  private get searchRow(): string {
    const { text, row } = this.search!
    const found = this.finished.flatMap((one, at) => (findColumns(one, text) === undefined ? [] : [at]))
    const where =
      text === '' ? '' : row === undefined ? 'not found' : `${found.length - found.indexOf(row)} of ${found.length}`
    return `/${visibleLine(text)}  ${[where, '↑ ↓ next match', 'Esc closes'].filter(Boolean).join(' · ')}`
  }

  private handleMouse(data: string): boolean {
    const [, button, column, row, kind] = /^\u001b\[<(\d+);(\d+);(\d+)([Mm])$/.exec(data) ?? []
    if (button === undefined) return false
    const at = { row: Number(row) - 1, column: Number(column) - 1 }
    if (button === '64' || button === '65')
      this.scroll(button === '64' ? this.options.scrollSpeed : -this.options.scrollSpeed)
    else if (button === '0' && kind === 'M') this.selection = { from: at, to: at }
    else if (button === '32' && this.selection) this.selection = { ...this.selection, to: at }
    else if (button === '0' && this.selection) this.copySelection()
    return true
  }

  /** Copies the selection when the button is released. */
  private copySelection(): void {
    const text = this.composeRows().flatMap((row, at) => {
      const [from, to] = this.getSelection(at) ?? []
      return from === undefined ? [] : [splitRow(row, from, to!)[1].trimEnd()]
    })
    this.selection = undefined
    if (this.options.copyOnSelect && text.join('') !== '') this.copy(text.join('\n'))
  }

  /** Returns the selected columns of a row. */
  private getSelection(row: number): readonly [from: number, to: number] | undefined {
    if (!this.selection) return undefined
    const { from, to } = this.selection
    const [first, last] =
      from.row < to.row || (from.row === to.row && from.column <= to.column) ? [from, to] : [to, from]
    if (row < first.row || row > last.row || (first.row === last.row && first.column === last.column)) return undefined
    return [row === first.row ? first.column : 0, row === last.row ? last.column + 1 : this.port.columns]
  }

  /** Returns the columns of a row that match the search. */
  private getMatch(at: number, row: string): readonly [from: number, to: number] | undefined {
    return this.search && at < this.port.rows - this.live.length ? findColumns(row, this.search.text) : undefined
  }

  private get pageRows(): number {
    return Math.max(1, this.port.rows - this.live.length)
  }
  private scroll(by: number): void {
    this.scrolledRows = Math.max(0, Math.min(this.finished.length - this.pageRows, this.scrolledRows + by))
  }

  /** Returns the rows of the terminal, top to bottom. */
  private composeRows(): string[] {
    const height = Math.max(0, this.port.rows - this.live.length)
    const until = this.finished.length - this.scrolledRows
    const rows = this.finished.slice(Math.max(0, until - height), until)
    const live = this.search ? [...this.live.slice(0, -1), this.fitToWidth(this.searchRow)] : this.live
    return [...rows, ...Array.from({ length: height - rows.length }, () => ''), ...live]
  }

  private draw(): number {
    const rows = this.composeRows()
    // A terminal of another height moved its rows.
    if (this.drawn.length !== rows.length) this.drawn = []
    let out = ''
    for (const [at, row] of rows.entries()) {
      const [from, to] = this.getSelection(at) ?? this.getMatch(at, row) ?? []
      const [before, marked, after] = from === undefined ? [row, '', ''] : splitRow(row, from, to!)
      const text = marked === '' ? row : `${before}\u001b[7m${marked}\u001b[0m${after}`
      if (text !== this.drawn[at]) out += `\u001b[${at + 1};1H\u001b[K${text}`
      this.drawn[at] = text
    }
    const { cursor } = this
    const place = cursor
      ? `\u001b[${rows.length - this.live.length + cursor.row + 1};${cursor.column + 1}H\u001b[?25h`
      : '\u001b[?25l'
    const frame = begin + out + place + end
    this.port.write(frame)
    return Buffer.byteLength(frame)
  }

  private fitToWidth(row: string): string {
    return fitRow(row, this.port.columns, (text, most) => truncateToWidth(text, most, ''))
  }
}

/** Finds the columns of a text in a row, ignoring case. */
function findColumns(row: string, text: string): readonly [from: number, to: number] | undefined {
  const plain = visible(row.replace(STYLE_SEQUENCE, ''))
  const at = text === '' ? -1 : plain.toLowerCase().indexOf(text.toLowerCase())
  if (at < 0) return undefined
  const from = visibleWidth(plain.slice(0, at))
  return [from, from + visibleWidth(plain.slice(at, at + text.length))]
}

/** Splits a row before, in and after these columns, without colors. */
function splitRow(row: string, from: number, to: number): [before: string, marked: string, after: string] {
  const parts: [string, string, string] = ['', '', '']
  let column = 0
  for (const letter of visible(row.replace(STYLE_SEQUENCE, ''))) {
    parts[column < from ? 0 : column < to ? 1 : 2] += letter
    column += visibleWidth(letter)
  }
  return parts
}
