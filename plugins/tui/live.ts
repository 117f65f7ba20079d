import { truncateToWidth, visibleWidth } from './parts.js'
import type { CursorPlace, DrawnSurface } from './surface.js'
import type { TerminalPort } from './terminal_io.js'
import { fitRow } from './theme.js'

const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']
const [hide, show] = ['\u001b[?25l', '\u001b[?25h']

/**
 * The rule of the screen: what is finished is written once and never touched again; below it stands the live part, at most as high as the
 * terminal but one row, and only that is drawn anew, only rows that differ, each frame in one write. Nothing above is ever erased, so the
 * history of the terminal stays whole.
 */
export class LiveScreen implements DrawnSurface {
  // What was written stays as it is.
  readonly stale = false
  /** The rows of the live part as they stand there, and how wide the terminal was then. */
  private drawn: string[] = []
  private columns: number
  private height: number
  /** Counted from where the session began: the first row of the live part, and the lowest row that was ever reached. */
  private top = 0
  private deepest = 0
  private at: CursorPlace = { row: 0, column: 0 }
  private shown = true
  private out = ''

  /** When each row of the live part was written. */
  private written: number[] = []

  /** `late_ms`: for so long after it changed its width the terminal may not say so. */
  constructor(
    private readonly port: TerminalPort,
    private readonly late_ms = 0,
  ) {
    this.columns = port.columns
    this.height = port.rows
  }

  /** Rows that the live part may take. */
  get room(): number {
    return Math.max(1, this.port.rows - 1)
  }

  renew(): void {}
  resized(): void {}
  key(): boolean {
    return false
  }
  rest(): string[] {
    return []
  }

  /** Moves finished rows up and shows this as the live part. Returns how many bytes were written. */
  frame(finished: readonly string[], live: readonly string[], cursor?: CursorPlace): number {
    const { columns } = this.port
    const fit = (row: string): string => fitRow(row, columns, (text, most) => truncateToWidth(text, most, ''))
    const over = Math.max(0, live.length - this.room)
    const rows = live.slice(over).map(fit)
    if (columns !== this.columns || this.port.rows !== this.height) this.forget()
    if (finished.length > 0) this.moveUp(finished.map(fit), rows)
    else this.redraw(rows)
    const now = performance.now()
    this.written = rows.map((row, at) => (finished.length === 0 && row === this.drawn[at] ? (this.written[at] ?? now) : now))
    this.drawn = rows
    this.top += finished.length
    this.deepest = Math.max(this.deepest, this.top + rows.length - 1)
    this.place(cursor && { row: Math.max(0, cursor.row - over), column: Math.min(cursor.column, columns - 1) })
    return this.flush()
  }

  /** Takes the live part away, and leaves the cursor where it began. */
  clear(): void {
    this.forget()
    this.renumber()
    this.out += show
    this.shown = true
    this.flush()
  }

  /** The live part, its height counted as the terminal is wide now, is erased; above it nothing is. */
  private forget(): void {
    const { columns, rows } = this.port
    // The row of the cursor is cut by some terminals and folded by others; rows too few leave a remnant, rows too many would erase what is finished.
    // What was written when it may have been as wide as now already was not folded by it.
    const folded = performance.now() - this.late_ms
    const heights = this.drawn.map((row, at) => (at === this.at.row || this.written[at]! > folded ? 1 : Math.max(1, Math.ceil(visibleWidth(row) / columns))))
    const sum = (rows: readonly number[]): number => rows.reduce((all, one) => all + one, 0)
    const gap = this.deepest - (this.top + this.drawn.length - 1)
    // Where rows below the cursor are folded, it stands elsewhere afterwards, each terminal its own way; what stood on the last row stays there.
    const anchored = columns < this.columns && rows === this.height && this.deepest >= this.height - 1
    const from = anchored ? `\u001b[${rows}B${up(gap + sum(heights) - 1)}` : up(sum(heights.slice(0, this.at.row)))
    if (this.drawn.length > 0) this.out += `${from}\r\u001b[J`
    if (anchored) this.top = this.deepest - gap - sum(heights) + 1
    // How much is empty below is not known there; too little leaves a remnant at most.
    else if (rows === this.height) this.deepest = this.top + this.drawn.length - 1
    // A lower terminal drops rows below the cursor, a higher one may bring back rows from above: where its last row is, is not known.
    else this.renumber()
    this.drawn = []
    this.at = { row: 0, column: 0 }
    this.columns = columns
    this.height = rows
  }

  /** The terminal says in which of its rows the session began, the first being 1. */
  beganAt(row: number): void {
    this.top += row - 1
    this.deepest += row - 1
  }

  /** Where the last row of the terminal is, is not known any more. */
  private renumber(): void {
    this.top = 0
    this.deepest = 0
  }

  private moveUp(finished: readonly string[], rows: readonly string[]): void {
    this.goTo(0)
    const all = [...finished, ...rows]
    // A row is erased before it is written: behind its last column a terminal would erase that.
    this.out += all.map((row) => `\u001b[K${row}`).join('\r\n')
    if (rows.length === 0) this.out += '\r\n'
    this.at = { row: Math.max(0, rows.length - 1), column: -1 }
    if (this.drawn.length > all.length) this.eraseBelow(rows.length)
  }

  private redraw(rows: readonly string[]): void {
    const { drawn } = this
    for (const [at, row] of rows.entries()) {
      const before = drawn[at]
      if (row === before) continue
      if (at > 0 && at >= drawn.length) {
        this.goTo(at - 1)
        this.out += `\r\n\u001b[K${row}`
      } else {
        this.goTo(at)
        // What merely grew is not written again.
        const grew = before !== undefined && before !== '' && row.startsWith(before) && !before.includes('\u001b')
        this.out += grew ? `\u001b[${visibleWidth(before) + 1}G${row.slice(before.length)}` : `\r\u001b[K${row}`
      }
      this.at = { row: at, column: -1 }
    }
    if (drawn.length > rows.length) {
      this.goTo(Math.max(0, rows.length - 1))
      this.eraseBelow(rows.length)
    }
  }

  /** Erases what stands below the last row of the live part, where the cursor is. */
  private eraseBelow(height: number): void {
    this.out += height === 0 ? '\r\u001b[J' : `\r\n\u001b[J${up(1)}`
    this.at.column = 0
  }

  private goTo(row: number): void {
    const by = row - this.at.row
    this.out += `${by < 0 ? up(-by) : by > 0 ? `\u001b[${by}B` : ''}\r`
    this.at = { row, column: 0 }
  }

  private place(cursor: CursorPlace | undefined): void {
    if (cursor && (cursor.row !== this.at.row || cursor.column !== this.at.column)) {
      this.goTo(cursor.row)
      if (cursor.column > 0) this.out += `\u001b[${cursor.column + 1}G`
      this.at = cursor
    }
    const wanted = cursor !== undefined
    if (wanted !== this.shown) this.out += wanted ? show : hide
    this.shown = wanted
  }

  private flush(): number {
    const { out } = this
    this.out = ''
    if (out === '') return 0
    this.port.write(begin + out + end)
    return Buffer.byteLength(out) + begin.length + end.length
  }
}

const up = (rows: number): string => (rows > 0 ? `\u001b[${rows}A` : '')
