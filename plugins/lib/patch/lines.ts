import { countLines } from '../files/index.js'

/**
 * The lines of a file, each identified by the offset of its first byte. No content is copied, and only requested lines
 * become text. The end of the file is an offset without a line. Texts are bytes as Latin-1 characters, so that any
 * content survives unchanged.
 */
export class Lines {
  constructor(private readonly bytes: Buffer) {}

  get length(): number {
    return this.bytes.length
  }

  /** Returns the start of the line that holds a byte. */
  start(offset: number): number {
    return offset === 0 ? 0 : this.bytes.lastIndexOf(10, offset - 1) + 1
  }

  /** Returns the line `count` lines before `at`; `undefined` if there are fewer. */
  back(at: number, count: number): number | undefined {
    for (; count > 0 && at > 0; count--) at = this.start(at - 1)
    return count > 0 ? undefined : at
  }

  /** Returns the start of the line after `at`, or the end of the file. */
  after(at: number): number {
    const end = this.bytes.indexOf(10, at)
    return end === -1 ? this.length : end + 1
  }

  /** Returns the offset `count` lines further on, at most the end of the file. */
  skip(at: number, count: number): number {
    for (; count > 0 && at < this.length; count--) at = this.after(at)
    return at
  }

  /** Returns the number (1-based) of the line at an offset. */
  number(at: number): number {
    return countLines(this.bytes.subarray(0, at)) + 1
  }

  /** Returns `\n`, `\r\n`, or '' after a last line without an end and where there is no line. */
  end(at: number | undefined): string {
    if (at === undefined || at >= this.length) return ''
    const next = this.after(at)
    if (this.bytes[next - 1] !== 10) return ''
    return next - 2 >= at && this.bytes[next - 2] === 13 ? '\r\n' : '\n'
  }

  /** Returns a line without its end. */
  text(at: number): string {
    return this.bytes.toString('latin1', at, this.after(at) - this.end(at).length)
  }

  /** Yields every line in order. */
  *all(): Generator<number> {
    for (let at = 0; at < this.length; at = this.after(at)) yield at
  }

  /** Yields the lines that contain a piece of text, in order. */
  *findHolding(piece: string): Generator<number> {
    const sought = Buffer.from(piece, 'latin1')
    for (let found = this.bytes.indexOf(sought); found !== -1;) {
      const at = this.start(found)
      yield at
      const next = this.after(at)
      found = next < this.length ? this.bytes.indexOf(sought, next) : -1
    }
  }

  /** Returns the line end that most lines have. */
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

/** Converts text of a patch to the same form. A carriage return at the end stays only in a line without a line end. */
export const toByteText = (text: string, isUnended = false): string =>
  Buffer.from(isUnended ? text : text.replace(/\r$/, '')).toString('latin1')
