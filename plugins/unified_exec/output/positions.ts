import type { StreamPosition } from './log.js'

/** A position in each stream of a program. */
export interface OutputPositions {
  stdout: StreamPosition
  stderr: StreamPosition
}

const START: StreamPosition = { at: 0, newlines: 0 }
const MAX_MARKS = 1000

/** The positions up to which output was delivered, found again by the cursor of an answer: the sum of both. */
export class DeliveredPositions {
  private readonly marks = new Map<number, OutputPositions>([[0, { stdout: START, stderr: START }]])
  private last: OutputPositions = { stdout: START, stderr: START }

  /** The cursor of the last delivery. */
  get cursor(): number {
    return this.last.stdout.at + this.last.stderr.at
  }

  /** Records a delivery up to `to`. Returns its start, which is the last delivery or `cursor`, and its own cursor. */
  take(to: OutputPositions, cursor?: number): { from: OutputPositions; to: OutputPositions; cursor: number } {
    const from = cursor === undefined ? this.last : this.find(cursor)
    this.last = to
    this.marks.set(this.cursor, to)
    if (this.marks.size > MAX_MARKS) this.marks.delete([...this.marks.keys()][1]!)
    return { from, to, cursor: this.cursor }
  }

  private find(cursor: number): OutputPositions {
    const known = this.marks.get(cursor)
    if (known) return known
    const before = Math.max(...[...this.marks.keys()].filter((mark) => mark <= cursor))
    return this.marks.get(before)!
  }
}
