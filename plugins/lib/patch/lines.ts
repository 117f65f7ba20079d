import { countLines } from '../files/index.js'

/**
 * A file as lines, each known by the byte it begins at: nothing of the file is held twice, and only what is looked at becomes text.
 * The end of the file is a place where no line is. Texts are bytes as characters (Latin-1), so that whatever the file holds comes
 * back as it was.
 */
export class Lines {
  constructor(private readonly bytes: Buffer) {}

  get length(): number {
    return this.bytes.length
  }

  /** Where the line that holds a byte begins. */
  start(offset: number): number {
    return offset === 0 ? 0 : this.bytes.lastIndexOf(10, offset - 1) + 1
  }

  /** The line `count` lines before a place; `undefined` if there are not so many. */
  back(at: number, count: number): number | undefined {
    for (; count > 0 && at > 0; count--) at = this.start(at - 1)
    return count > 0 ? undefined : at
  }

  /** Where the line behind the one at `at` begins, or the end of the file. */
  after(at: number): number {
    const end = this.bytes.indexOf(10, at)
    return end === -1 ? this.length : end + 1
  }

  /** The place `count` lines further on, at most the end of the file. */
  skip(at: number, count: number): number {
    for (; count > 0 && at < this.length; count--) at = this.after(at)
    return at
  }

  /** The number (1-based) of the line at a place. */
  number(at: number): number {
    return countLines(this.bytes.subarray(0, at)) + 1
  }

  /** `\n`, `\r\n`, or nothing: behind a last line that has no end, and where there is no line. */
  end(at: number | undefined): string {
    if (at === undefined || at >= this.length) return ''
    const next = this.after(at)
    if (this.bytes[next - 1] !== 10) return ''
    return next - 2 >= at && this.bytes[next - 2] === 13 ? '\r\n' : '\n'
  }

  /** A line without its end. */
  text(at: number): string {
    return this.bytes.toString('latin1', at, this.after(at) - this.end(at).length)
  }

  /** Every line, in order. */
  *all(): Generator<number> {
    for (let at = 0; at < this.length; at = this.after(at)) yield at
  }

  /** The lines that hold a piece of text, in order. */
  *holding(piece: string): Generator<number> {
    const sought = Buffer.from(piece, 'latin1')
    for (let found = this.bytes.indexOf(sought); found !== -1;) {
      const at = this.start(found)
      yield at
      const next = this.after(at)
      found = next < this.length ? this.bytes.indexOf(sought, next) : -1
    }
  }

  /** The line end that most lines have. */
  get usualEnd(): string {
    if (!this.bytes.includes('\r\n')) return '\n'
    let [crlf, all] = [0, 0]
    for (const at of this.all()) {
      if (this.end(at) === '\r\n') crlf++
      all++
    }
    return crlf * 2 > all ? '\r\n' : '\n'
  }
}

/** Text of a patch in the same form. */
export const asBytes = (text: string): string => Buffer.from(text.replace(/\r$/, '')).toString('latin1')
