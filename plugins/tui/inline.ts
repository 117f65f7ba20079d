import { fitRow, truncateToWidth, visibleWidth } from './text/index.js'
import { detectReflow, type Reflow } from './reflow.js'
import type { CursorPosition, ScreenSurface } from './surface.js'
import type { TerminalPort } from './terminal_io.js'

const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l']
const [hide, show] = ['\u001b[?25l', '\u001b[?25h']
/** Without wrapping, each row takes one terminal row, also in a terminal that has not reported a smaller width yet. */
const [unfolded, folded] = ['\u001b[?7l', '\u001b[?7h']
/**
 * Moves down by a row, and scrolls at the end of a terminal that became lower.
 * `CSI B` would stop there, and the way back up would end too high.
 */
const [down, next] = ['\u001bD', '\u001bE']
/**
 * Adds an empty row that continues this one: a letter of two columns does not fit the last column, wraps and is erased.
 */
const link = `${folded}\u001b[999C\u3000\u001b[1K\u001b[K\r${unfolded}`

/**
 * Draws below the history of the shell. Finished rows are written once and never changed, so the history stays whole.
 * The live part below them has at most the height of the terminal minus one row. Only its changed rows are drawn, each
 * frame in one write.
 * A frame also starts at the right place after a resize, for two reasons. All its moves are relative. And the cursor
 * keeps its place: it rests at the start of the live part while the person does not type. In terminals that keep only
 * the line of the cursor (`others`), the live part is one line.
 * No row ends with a line feed: the kernel may pass on the text before it, and that row could still be cut.
 */
export class InlineScreen implements ScreenSurface {
  // Written rows never change.
  readonly stale = false
  readonly restsCursor = true
  /** Drawn rows of the live part, the time of each, and the size of the terminal then. */
  private drawn: readonly string[] = []
  private writtenAt: number[] = []
  private columns: number
  private height: number
  private position: CursorPosition = { row: 0, column: 0 }
  /** `undefined`: unknown, because a killed program may have hidden the cursor. */
  private cursorShown: boolean | undefined
  private out = ''
  private reflow: Reflow

  /** `late_ms`: maximum delay of a resize report. */
  constructor(
    private readonly port: TerminalPort,
    env: Record<string, string | undefined>,
    private readonly late_ms = 100,
  ) {
    this.columns = port.columns
    this.height = port.rows
    this.reflow = detectReflow(env)
  }

  /** Maximum rows of the live part. */
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
    // Draw the live part again in the other form.
    if (before !== this.isSingleLine) this.columns = 0
  }
  /** True if the live part is one line for the terminal. */
  private get isSingleLine(): boolean {
    return this.reflow === 'others'
  }

  /** Writes finished rows above the live part. Returns the number of bytes written. */
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
    // Finished rows were made for the last known width, and are not cut.
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

  /** Erases the live part and leaves the cursor at its start. */
  clear(): void {
    this.eraseLivePart(this.port.columns, this.port.rows)
    this.out += show
    this.cursorShown = true
    this.flush()
  }

  /** Erases the live part for a new size of the terminal, and nothing above it. */
  private eraseLivePart(columns: number, height: number): void {
    if (this.drawn.length > 0) this.out += `${moveUp(this.countRowsAbove(columns, height))}\r\u001b[J`
    this.forgetDrawn()
    this.columns = columns
    this.height = height
  }

  /**
   * Counts terminal rows between the start of the live part and the cursor at the current size. Too few leave a
   * remnant; too many would erase finished rows. So a row counts as wrapped only in a terminal that is known to wrap,
   * and only if it was written before the terminal may have become this narrow.
   */
  private countRowsAbove(columns: number, height: number): number {
    const { position } = this
    // A resting cursor is at the start, and a single line is not wrapped. A change of height may drop rows first.
    if (position.row === 0 || this.reflow !== 'all' || columns >= this.columns || height !== this.height)
      return position.row
    const late = performance.now() - this.late_ms
    const more = this.drawn
      .slice(0, position.row)
      .map((row, of) => (this.writtenAt[of]! > late ? 0 : Math.max(0, Math.ceil(visibleWidth(row) / columns) - 1)))
    return position.row + more.reduce((all, one) => all + one, 0)
  }

  /** Draws finished rows and the whole live part below them. */
  private drawAll(finished: readonly string[], rows: readonly string[]): void {
    this.goTo(0)
    const above = finished.map((row) => row + next).join('')
    const live = rows.join(this.isSingleLine ? link : next)
    this.out += `\u001b[J${above}${unfolded}${live}${folded}`
    this.position = { row: Math.max(0, rows.length - 1), column: -1 }
  }

  /** Draws only changed rows. */
  private drawChanged(rows: readonly string[]): void {
    const { drawn } = this
    const differing = rows.flatMap((row, at) => (row === drawn[at] ? [] : [at]))
    const last = differing.at(-1) ?? 0
    if (differing.length > 0) this.out += unfolded
    for (const at of this.isSingleLine ? differing.filter((at) => at === 0) : differing)
      this.writeRow(at, rows[at]!, drawn[at]!)
    // A lower terminal dropped rows; new rows in their place are not part of the line yet.
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
    // Write only the new end of a row that grew.
    const grew = before !== '' && row.startsWith(before) && !before.includes('\u001b')
    this.out += grew ? `\u001b[${visibleWidth(before) + 1}G${row.slice(before.length)}` : `\u001b[K${row}`
    this.position = { row: at, column: -1 }
  }

  /** Erases below the first `height` rows of the live part. */
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
