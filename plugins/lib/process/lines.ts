import type { Consumer } from './run.js'

/** Bytes kept from both ends of a line that is too long. */
const KEPT_OF_LONG_BYTES = { head: 64, tail: 1_048_576 }

/** Receives a line. `false` ends the program; a text skips the lines before the next one that begins with this text. */
export type TakeLine = (line: Buffer) => void | false | string

/**
 * Creates a consumer of lines. A line over `longest` bytes is reduced to its first 64 bytes followed by at least its
 * last MiB.
 */
export function createLineReader(take: TakeLine, longest = 4_194_304): { take: Consumer; end: () => void } {
  const reader = new LineReader(take, longest)
  return { take: (chunk) => reader.read(chunk), end: () => reader.end() }
}

class LineReader {
  private parts: Buffer[] = []
  private size = 0
  /** Newline and required beginning of the next line, and the end of the skipped data. */
  private mark = ''
  private passed: Buffer = Buffer.alloc(0)

  constructor(
    private readonly take: TakeLine,
    private readonly longest: number,
  ) {}

  read(chunk: Buffer): void | false {
    for (let start = 0; start < chunk.length;) {
      const at = this.mark === '' ? chunk.indexOf(10, start) : -1
      if (this.mark !== '') start = this.passOver(chunk, start)
      else if (at < 0) return this.push(Buffer.from(chunk.subarray(start)))
      else if (this.line(chunk.subarray(start, at)) === false) return false
      else start = at + 1
    }
    return undefined
  }

  end(): void {
    if (this.size > 0) this.take(this.flush())
  }

  private line(last: Buffer): void | false {
    if (this.size > 0) this.push(last)
    const answer = this.take(this.size > 0 ? this.flush() : last)
    if (answer === false) return false
    if (!answer) return
    this.mark = `\n${answer}`
    this.passed = Buffer.from('\n')
  }

  private push(part: Buffer): void {
    this.parts.push(part)
    this.size += part.length
    if (this.size <= this.longest) return
    const whole = Buffer.concat(this.parts)
    this.parts = [whole.subarray(0, KEPT_OF_LONG_BYTES.head), whole.subarray(-KEPT_OF_LONG_BYTES.tail)]
    this.size = KEPT_OF_LONG_BYTES.head + KEPT_OF_LONG_BYTES.tail
  }

  private flush(): Buffer {
    const line = Buffer.concat(this.parts)
    this.parts = []
    this.size = 0
    return line
  }

  /**
   * Returns the offset of the required line in a chunk, or the end of the chunk. Restores the part of the line that
   * lies in the chunk before.
   */
  private passOver(chunk: Buffer, from: number): number {
    const { mark, passed } = this
    const border = from > 0 ? undefined : Buffer.concat([passed, chunk.subarray(0, mark.length)])
    const early = border?.indexOf(mark) ?? -1
    const at = early >= 0 ? early - passed.length : chunk.indexOf(mark, Math.max(0, from - 1))
    if (early < 0 && at < 0) {
      this.passed = Buffer.concat([passed, chunk.subarray(-mark.length)]).subarray(1 - mark.length)
      return chunk.length
    }
    this.mark = ''
    if (at + 1 < 0) this.push(Buffer.from(passed.subarray(at + 1)))
    return Math.max(0, at + 1)
  }
}
