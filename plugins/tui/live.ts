import { foldingOf, type Folding } from './folding.js'
import { truncateToWidth, visibleWidth } from './parts.js'
import type { CursorPlace, DrawnSurface } from './surface.js'
import type { TerminalPort } from './terminal_io.js'
import { fitRow } from './theme.js'

const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']
const [hide, show] = ['\u001b[?25l', '\u001b[?25h']
/** Where the cursor is, kept and taken back. */
const [here, back] = ['\u001b7', '\u001b8']
/** Without folding each row takes one of the terminal, also where that became narrower and has not said so yet. */
const [unfolded, folded] = ['\u001b[?7l', '\u001b[?7h']

/**
 * The rule of the screen: what is finished is written once and never touched again; below it stands the live part, at most as high as the
 * terminal but one row, and only that is drawn anew, only rows that differ, each frame in one write. Nothing above is ever erased, so the
 * history of the terminal stays whole. While nobody types, the cursor rests where the live part begins: a terminal that changes its size
 * keeps it there, and a frame that was on its way then begins at the right place, however the rows below it were folded.
 */
export class LiveScreen implements DrawnSurface {
  // What was written stays as it is.
  readonly stale = false
  readonly rests = true
  /** The rows of the live part as they stand there, when each was written, and the size of the terminal then. */
  private drawn: readonly string[] = []
  private written: number[] = []
  private columns: number
  private height: number
  private at: CursorPlace = { row: 0, column: 0 }
  /** A program that was killed may have left the cursor hidden. */
  private shown: boolean | undefined
  private out = ''
  private folding: Folding

  /** `late_ms`: for so long after it changed its width the terminal may not say so. */
  constructor(
    private readonly port: TerminalPort,
    env: Record<string, string | undefined>,
    private readonly late_ms = 100,
  ) {
    this.columns = port.columns
    this.height = port.rows
    this.folding = foldingOf(env)
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
  terminalIs(version: string): void {
    this.folding = foldingOf({}, version)
  }

  /** Moves finished rows up and shows this as the live part. Returns how many bytes were written. */
  frame(finished: readonly string[], live: readonly string[], cursor?: CursorPlace): number {
    const { columns, rows: height } = this.port
    const fit = (row: string): string => fitRow(row, columns, (text, most) => truncateToWidth(text, most, ''))
    const over = Math.max(0, live.length - this.room)
    const rows = live.slice(over).map(fit)
    if (columns !== this.columns || height !== this.height) this.forget()
    const now = performance.now()
    const whole = finished.length > 0 || rows.length > this.drawn.length
    this.written = rows.map((row, at) => (!whole && row === this.drawn[at] ? (this.written[at] ?? now) : now))
    if (whole) this.rewrite(finished.map(fit), rows)
    else this.redraw(rows, cursor === undefined && this.at.row === 0)
    this.drawn = rows
    this.place(cursor && { row: Math.max(0, cursor.row - over), column: Math.min(cursor.column, columns - 1) })
    return this.flush()
  }

  /** Takes the live part away, and leaves the cursor where it began. */
  clear(): void {
    this.forget()
    this.out += show
    this.shown = true
    this.flush()
  }

  /** The live part is erased; above it nothing is. */
  private forget(): void {
    if (this.drawn.length > 0) this.out += `${up(this.above())}\r\u001b[J`
    this.drawn = []
    this.at = { row: 0, column: 0 }
    this.columns = this.port.columns
    this.height = this.port.rows
  }

  /**
   * How many rows of the terminal, as it is now, stand between where the live part begins and the cursor. Too few leave a remnant, too many
   * would erase what is finished: a row counts as folded only where the terminal is known to fold, and was not written when it may have
   * been as narrow as now already.
   */
  private above(): number {
    const { columns, rows } = this.port
    const { folding, at } = this
    // Who rests stands there. A terminal of another height may have dropped rows before it folded any.
    if (at.row === 0 || folding === 'none' || columns >= this.columns || rows !== this.height) return at.row
    const late = performance.now() - this.late_ms
    const more = this.drawn.map((row, of) => (of === at.row || this.written[of]! > late ? 0 : Math.max(0, Math.ceil(visibleWidth(row) / columns) - 1)))
    const moved = folding === 'others' ? more : more.slice(0, at.row)
    return at.row + moved.reduce((all, one) => all + one, 0)
  }

  /** Finished rows, and all of the live part below them. */
  private rewrite(finished: readonly string[], rows: readonly string[]): void {
    this.goTo(0)
    this.out += `\u001b[J${finished.map((row) => `${row}\r\n`).join('')}${unfolded}${rows.join('\r\n')}${folded}`
    this.at = { row: Math.max(0, rows.length - 1), column: -1 }
  }

  /** Rows that differ. Who rests comes back to where they were, wherever the terminal moved them meanwhile. */
  private redraw(rows: readonly string[], resting: boolean): void {
    const { drawn } = this
    const before = this.out
    this.out = ''
    for (const [at, row] of rows.entries()) if (row !== drawn[at]) this.line(at, row, drawn[at]!)
    if (drawn.length > rows.length) this.eraseBelow(rows.length)
    if (resting && this.out !== '') {
      this.out = `${here}${unfolded}${this.out}${folded}${back}`
      this.at = { row: 0, column: 0 }
    }
    this.out = before + this.out
  }

  private line(at: number, row: string, before: string): void {
    this.goTo(at)
    // What merely grew is not written again.
    const grew = before !== '' && row.startsWith(before) && !before.includes('\u001b')
    this.out += grew ? `\u001b[${visibleWidth(before) + 1}G${row.slice(before.length)}` : `\u001b[K${row}`
    this.at = { row: at, column: -1 }
  }

  /** Erases what stands below so many rows of the live part. */
  private eraseBelow(height: number): void {
    this.goTo(Math.max(0, height - 1))
    this.out += height === 0 ? '\u001b[J' : `\r\n\u001b[J${up(1)}`
  }

  private goTo(row: number): void {
    const by = row - this.at.row
    this.out += `${by < 0 ? up(-by) : by > 0 ? `\u001b[${by}B` : ''}\r`
    this.at = { row, column: 0 }
  }

  private place(cursor: CursorPlace | undefined): void {
    const { row, column } = cursor ?? { row: 0, column: 0 }
    const wanted = cursor !== undefined
    if (row !== this.at.row || column !== this.at.column) {
      this.goTo(row)
      if (column > 0) this.out += `\u001b[${column + 1}G`
      this.at = { row, column }
    }
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
