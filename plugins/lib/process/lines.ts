import type { Consumer } from './run.js'

/** What is kept of a line that is too long: its first bytes and its end. */
const keptOfLong = { head: 64, tail: 1_048_576 }

/** What is asked of a line. `false` ends the program; a text passes over all that follow, up to one that begins with it. */
export type TakeLine = (line: Buffer) => void | false | string

/** A consumer of lines. Of one over `longest` bytes come the first 64 and, directly behind, its last MiB or more. */
export function lines(take: TakeLine, longest = 4_194_304): { take: Consumer; end: () => void } {
  const reader = new LineReader(take, longest)
  return { take: (chunk) => reader.read(chunk), end: () => reader.end() }
}

class LineReader {
  private parts: Buffer[] = []
  private size = 0
  /** What the next line has to begin with, behind a newline, and the end of what was passed over. */
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
    this.parts = [whole.subarray(0, keptOfLong.head), whole.subarray(-keptOfLong.tail)]
    this.size = keptOfLong.head + keptOfLong.tail
  }

  private flush(): Buffer {
    const line = Buffer.concat(this.parts)
    this.parts = []
    this.size = 0
    return line
  }

  /** Where the line that is looked for begins in a chunk, or the end of it. What of the line lies in the one before is put back. */
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
