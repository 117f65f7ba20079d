import { visible, visibleLine } from '../../core/text/index.js'
import { matchesKey, truncateToWidth, visibleWidth } from './parts.js'
import type { CursorPlace, DrawnSurface } from './surface.js'
import type { TerminalPort } from './terminal_io.js'
import { fitRow } from './theme.js'
import type { SessionOptions } from './types.js'

interface Point {
  /** Of the terminal, from 0. */
  row: number
  column: number
}
const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']
const graphic = /\u001b\[[\d;:]*m/g
const keys: Record<string, 'up' | 'down'> = { '\u001b[5~': 'up', '\u001b[6~': 'down' }

/**
 * The second screen of a terminal: what is finished is kept here and scrolled by ourselves, the live part stands at the bottom. When a
 * session ends, all that was finished is written to the first screen.
 */
export class AlternateScreen implements DrawnSurface {
  readonly rests = false
  private readonly finished: string[] = []
  private drawn: string[] = []
  private live: readonly string[] = []
  private cursor: CursorPlace | undefined
  private columns: number
  /** Rows between the end of what is finished and what is seen. */
  private back = 0
  private marked: { from: Point; to: Point } | undefined
  /** What is searched for, and in which row of what is finished it was found. */
  private search: { text: string; row: number | undefined } | undefined

  constructor(
    private readonly port: TerminalPort,
    private readonly how: SessionOptions['fullscreen'],
    private readonly copy: (text: string) => void,
  ) {
    this.columns = port.columns
  }

  get room(): number {
    return Math.max(1, this.port.rows - 1)
  }
  /** What is finished was made for another width. */
  get stale(): boolean {
    return this.columns !== this.port.columns
  }
  /** All that is finished comes again. */
  renew(): void {
    this.finished.length = 0
    this.columns = this.port.columns
    this.clear()
  }

  frame(finished: readonly string[], live: readonly string[], cursor?: CursorPlace): number {
    this.finished.push(...finished.map((row) => this.fit(row)))
    // Who reads above stays there.
    if (this.back > 0) this.back += finished.length
    const over = Math.max(0, live.length - this.room)
    this.live = live.slice(over).map((row) => this.fit(row))
    this.cursor = cursor && {
      row: Math.max(0, cursor.row - over),
      column: Math.min(cursor.column, this.port.columns - 1),
    }
    return this.draw()
  }
  clear(): void {
    this.drawn = []
  }
  lost(): void {
    this.clear()
  }
  // It may be as it was again, and what stood there not.
  resized(): void {
    this.clear()
  }
  terminalIs(): void {}
  rest(): string[] {
    return this.finished
  }

  /** Pages, the wheel of the mouse, what is marked with it, and `/` while one reads above. Returns whether the key was one of these. */
  key(data: string, free: boolean): boolean {
    const page = keys[data]
    if (page) this.scroll(page === 'up' ? this.above : -this.above)
    else if (!this.mouse(data)) {
      if (this.search) this.seek(data, this.search)
      else if (data === '/' && free && this.back > 0) this.search = { text: '', row: undefined }
      else return false
    }
    this.draw()
    return true
  }

  /** A key while something is searched for: what was said last is found first. */
  private seek(data: string, search: { text: string; row: number | undefined }): void {
    if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return void (this.search = undefined)
    if (matchesKey(data, 'enter') || matchesKey(data, 'up')) return this.find(search, -1)
    if (matchesKey(data, 'down')) return this.find(search, 1)
    if (matchesKey(data, 'backspace')) search.text = search.text.slice(0, -1)
    else if (!/\p{Cc}/u.test(data)) search.text += data
    search.row = undefined
    this.find(search, -1)
  }
  private find(search: { text: string; row: number | undefined }, way: -1 | 1): void {
    for (let row = (search.row ?? this.finished.length) + way; row >= 0 && row < this.finished.length; row += way) {
      if (placeIn(this.finished[row]!, search.text) === undefined) continue
      search.row = row
      this.back = 0
      return this.scroll(this.finished.length - row - Math.ceil(this.above / 2))
    }
  }
  /** What is searched for, in the place of the last row. */
  private get searchRow(): string {
    const { text, row } = this.search!
    const found = this.finished.flatMap((one, at) => (placeIn(one, text) === undefined ? [] : [at]))
    const where =
      text === '' ? '' : row === undefined ? 'not found' : `${found.length - found.indexOf(row)} of ${found.length}`
    return `/${visibleLine(text)}  ${[where, '↑ ↓ the next one', 'Esc leaves'].filter(Boolean).join(' · ')}`
  }

  private mouse(data: string): boolean {
    const [, button, column, row, kind] = /^\u001b\[<(\d+);(\d+);(\d+)([Mm])$/.exec(data) ?? []
    if (button === undefined) return false
    const at = { row: Number(row) - 1, column: Number(column) - 1 }
    if (button === '64' || button === '65') this.scroll(button === '64' ? this.how.scrollSpeed : -this.how.scrollSpeed)
    else if (button === '0' && kind === 'M') this.marked = { from: at, to: at }
    else if (button === '32' && this.marked) this.marked = { ...this.marked, to: at }
    else if (button === '0' && this.marked) this.taken()
    return true
  }

  /** What is marked when the button is let go is copied. */
  private taken(): void {
    const text = this.seen().flatMap((row, at) => {
      const [from, to] = this.span(at) ?? []
      return from === undefined ? [] : [cutRow(row, from, to!)[1].trimEnd()]
    })
    this.marked = undefined
    if (this.how.copyOnSelect && text.join('') !== '') this.copy(text.join('\n'))
  }

  /** The columns of a row that are marked. */
  private span(row: number): readonly [from: number, to: number] | undefined {
    if (!this.marked) return undefined
    const { from, to } = this.marked
    const [first, last] =
      from.row < to.row || (from.row === to.row && from.column <= to.column) ? [from, to] : [to, from]
    if (row < first.row || row > last.row || (first.row === last.row && first.column === last.column)) return undefined
    return [row === first.row ? first.column : 0, row === last.row ? last.column + 1 : this.port.columns]
  }

  /** The columns of a row in which stands what is searched for. */
  private hit(at: number, row: string): readonly [from: number, to: number] | undefined {
    return this.search && at < this.port.rows - this.live.length ? placeIn(row, this.search.text) : undefined
  }

  private get above(): number {
    return Math.max(1, this.port.rows - this.live.length)
  }
  private scroll(by: number): void {
    this.back = Math.max(0, Math.min(this.finished.length - this.above, this.back + by))
  }

  /** The rows of the terminal, top to bottom. */
  private seen(): string[] {
    const height = Math.max(0, this.port.rows - this.live.length)
    const until = this.finished.length - this.back
    const rows = this.finished.slice(Math.max(0, until - height), until)
    const live = this.search ? [...this.live.slice(0, -1), this.fit(this.searchRow)] : this.live
    return [...rows, ...Array.from({ length: height - rows.length }, () => ''), ...live]
  }

  private draw(): number {
    const rows = this.seen()
    // A terminal of another height moved what stood there.
    if (this.drawn.length !== rows.length) this.drawn = []
    let out = ''
    for (const [at, row] of rows.entries()) {
      const [from, to] = this.span(at) ?? this.hit(at, row) ?? []
      const [before, marked, behind] = from === undefined ? [row, '', ''] : cutRow(row, from, to!)
      const text = marked === '' ? row : `${before}\u001b[7m${marked}\u001b[0m${behind}`
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

  private fit(row: string): string {
    return fitRow(row, this.port.columns, (text, most) => truncateToWidth(text, most, ''))
  }
}

/** The columns in which a text stands in a row, whatever its case. */
function placeIn(row: string, text: string): readonly [from: number, to: number] | undefined {
  const plain = visible(row.replace(graphic, ''))
  const at = text === '' ? -1 : plain.toLowerCase().indexOf(text.toLowerCase())
  if (at < 0) return undefined
  const from = visibleWidth(plain.slice(0, at))
  return [from, from + visibleWidth(plain.slice(at, at + text.length))]
}

/** What stands before, in and behind these columns, without colors. */
function cutRow(row: string, from: number, to: number): [before: string, marked: string, behind: string] {
  const parts: [string, string, string] = ['', '', '']
  let column = 0
  for (const letter of visible(row.replace(graphic, ''))) {
    parts[column < from ? 0 : column < to ? 1 : 2] += letter
    column += visibleWidth(letter)
  }
  return parts
}
