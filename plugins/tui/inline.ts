import { detectReflow, type Reflow } from './reflow.js'
import { truncateToWidth, visibleWidth } from './parts.js'
import type { CursorPosition, ScreenSurface } from './surface.js'
import type { TerminalPort } from './terminal_io.js'
import { fitRow } from './theme.js'

const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']
const [hide, show] = ['\u001b[?25l', '\u001b[?25h']
/** Without folding each row takes one of the terminal, also where that became narrower and has not said so yet. */
const [unfolded, folded] = ['\u001b[?7l', '\u001b[?7h']
/** A row down: where a terminal that became lower has none left, it scrolls. A move by `CSI B` would end there, and the way back up too high. */
const [down, next] = ['\u001bD', '\u001bE']
/** The next row, empty, as one that goes on with this one: a letter of two columns, which the last column has no room for, makes it, and is erased. */
const link = `${folded}\u001b[999C\u3000\u001b[1K\u001b[K\r${unfolded}`

/**
 * The rule of the screen: what is finished is written once and never touched again; below it stands the live part, at most as high as the
 * terminal but one row, and only that is drawn anew, only rows that differ, each frame in one write. Nothing above is ever erased, so the
 * history of the terminal stays whole. A frame may be drawn in a terminal whose size is another one by then; it begins at the right place
 * all the same, because every move in it is relative, and because the cursor keeps its place when the size changes: while nobody types it
 * rests where the live part begins, and where only the line of the cursor stays as it is, the live part is one line.
 * No line ends by a line feed: at one the kernel may hand over what stands before it, and a row that ends there could still be cut.
 */
export class InlineScreen implements ScreenSurface {
  // What was written stays as it is.
  readonly stale = false
  readonly restsCursor = true
  /** The rows of the live part as they stand there, when each was written, and the size of the terminal then. */
  private drawn: readonly string[] = []
  private writtenAt: number[] = []
  private columns: number
  private height: number
  private position: CursorPosition = { row: 0, column: 0 }
  /** A program that was killed may have left the cursor hidden. */
  private cursorShown: boolean | undefined
  private out = ''
  private reflow: Reflow

  /** `late_ms`: for so long after it changed its width the terminal may not say so. */
  constructor(
    private readonly port: TerminalPort,
    env: Record<string, string | undefined>,
    private readonly late_ms = 100,
  ) {
    this.columns = port.columns
    this.height = port.rows
    this.reflow = detectReflow(env)
  }

  /** Rows that the live part may take. */
  get room(): number {
    return Math.max(1, this.port.rows - 1)
  }

  reset(): void {}
  forgetDrawn(): void {
    this.drawn = []
    this.position = { row: 0, column: 0 }
  }
  handleResize(): void {}
  handleKey(): boolean {
    return false
  }
  remainingRows(): string[] {
    return []
  }
  setTerminalVersion(version: string): void {
    const before = this.isSingleLine
    this.reflow = detectReflow({}, version)
    // What stands there is drawn the other way.
    if (before !== this.isSingleLine) this.columns = 0
  }
  /** To the terminal all rows of the live part are one line. */
  private get isSingleLine(): boolean {
    return this.reflow === 'others'
  }

  /** Moves finished rows up and shows this as the live part. Returns how many bytes were written. */
  drawFrame(finished: readonly string[], live: readonly string[], cursor?: CursorPosition): number {
    const { columns, rows: height } = this.port
    const fit = (row: string, most = Math.max(1, columns - 1)): string =>
      fitRow(row, most, (text, most) => truncateToWidth(text, most, ''))
    const over = Math.max(0, live.length - Math.max(1, height - 1))
    const rows = live.slice(over).map((row) => fit(row))
    if (columns !== this.columns || height !== this.height) this.eraseLivePart(columns, height)
    const now = performance.now()
    const whole = finished.length > 0 || rows.length > this.drawn.length
    this.writtenAt = rows.map((row, at) => (!whole && row === this.drawn[at] ? (this.writtenAt[at] ?? now) : now))
    // What is finished was made for the width of a moment ago, and is cut for none.
    if (whole)
      this.drawAll(
        finished.map((row) => fit(row, Infinity)),
        rows,
      )
    else this.drawChanged(rows)
    this.drawn = rows
    this.placeCursor(cursor && { row: Math.max(0, cursor.row - over), column: Math.min(cursor.column, columns - 1) })
    return this.flush()
  }

  /** Takes the live part away, and leaves the cursor where it began. */
  clear(): void {
    this.eraseLivePart(this.port.columns, this.port.rows)
    this.out += show
    this.cursorShown = true
    this.flush()
  }

  /** The live part is erased, now that the terminal has this size; above it nothing is. */
  private eraseLivePart(columns: number, height: number): void {
    if (this.drawn.length > 0) this.out += `${moveUp(this.countRowsAbove(columns, height))}\r\u001b[J`
    this.forgetDrawn()
    this.columns = columns
    this.height = height
  }

  /**
   * How many rows of the terminal, as it is now, stand between where the live part begins and the cursor. Too few leave a remnant, too many
   * would erase what is finished: a row counts as folded only where the terminal is known to fold, and was not written when it may have
   * been as narrow as now already.
   */
  private countRowsAbove(columns: number, height: number): number {
    const { position } = this
    // Who rests stands there, and one line is not folded. A terminal of another height may have dropped rows before it folded any.
    if (position.row === 0 || this.reflow !== 'all' || columns >= this.columns || height !== this.height)
      return position.row
    const late = performance.now() - this.late_ms
    const more = this.drawn
      .slice(0, position.row)
      .map((row, of) => (this.writtenAt[of]! > late ? 0 : Math.max(0, Math.ceil(visibleWidth(row) / columns) - 1)))
    return position.row + more.reduce((all, one) => all + one, 0)
  }

  /** Finished rows, and all of the live part below them. */
  private drawAll(finished: readonly string[], rows: readonly string[]): void {
    this.goTo(0)
    this.out += `\u001b[J${finished.map((row) => row + next).join('')}${unfolded}${rows.join(this.isSingleLine ? link : next)}${folded}`
    this.position = { row: Math.max(0, rows.length - 1), column: -1 }
  }

  /** Rows that differ. */
  private drawChanged(rows: readonly string[]): void {
    const { drawn } = this
    const differing = rows.flatMap((row, at) => (row === drawn[at] ? [] : [at]))
    const last = differing.at(-1) ?? 0
    if (differing.length > 0) this.out += unfolded
    for (const at of this.isSingleLine ? differing.filter((at) => at === 0) : differing)
      this.writeRow(at, rows[at]!, drawn[at]!)
    // A terminal that became lower has dropped rows, and those that come in their place are no part of the line yet.
    if (this.isSingleLine && last > 0) {
      this.goTo(0)
      for (const row of rows.slice(1, last + 1)) this.out += link + row
      this.position = { row: last, column: -1 }
    }
    if (differing.length > 0) this.out += folded
    if (drawn.length > rows.length) this.eraseBelow(rows.length)
  }

  private writeRow(at: number, row: string, before: string): void {
    this.goTo(at)
    // What merely grew is not written again.
    const grew = before !== '' && row.startsWith(before) && !before.includes('\u001b')
    this.out += grew ? `\u001b[${visibleWidth(before) + 1}G${row.slice(before.length)}` : `\u001b[K${row}`
    this.position = { row: at, column: -1 }
  }

  /** Erases what stands below so many rows of the live part. */
  private eraseBelow(height: number): void {
    this.goTo(Math.max(0, height - 1))
    this.out += height === 0 ? '\u001b[J' : `${down}\r\u001b[J${moveUp(1)}`
  }

  private goTo(row: number): void {
    const by = row - this.position.row
    this.out += `${by < 0 ? moveUp(-by) : down.repeat(by)}\r`
    this.position = { row, column: 0 }
  }

  private placeCursor(cursor: CursorPosition | undefined): void {
    const { row, column } = cursor ?? { row: 0, column: 0 }
    const wanted = cursor !== undefined
    if (row !== this.position.row || column !== this.position.column) {
      this.goTo(row)
      if (column > 0) this.out += `\u001b[${column + 1}G`
      this.position = { row, column }
    }
    if (wanted !== this.cursorShown) this.out += wanted ? show : hide
    this.cursorShown = wanted
  }

  private flush(): number {
    const { out } = this
    this.out = ''
    if (out === '') return 0
    this.port.write(begin + out + end)
    return Buffer.byteLength(out) + begin.length + end.length
  }
}

const moveUp = (rows: number): string => (rows > 0 ? `\u001b[${rows}A` : '')
